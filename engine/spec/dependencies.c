#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/path.h"
#include "engine/base/str.h"
#include "engine/spec/check.h"
#include "engine/spec/ref.h"
#include "engine/spec/ref_text.h"

#define SECRET_PREFIX "ref://"

struct collect {
    struct check *check;
    size_t index; /* of the resource at hand */
};

/* Each once, whatever names it. */
static void take(const struct collect *collect, const struct resource *target,
                 const struct place *place)
{
    struct check *check = collect->check;
    size_t index = spec_index(check->spec, target);

    if (index == collect->index)
        check_problem(check, CYCLIC_DEPENDENCY, place, "a resource cannot depend on itself");
    if (check->taken[index] == collect->index + 1)
        return;
    check->taken[index] = (uint32_t)collect->index + 1;
    check->found = mem_grow(check->found, check->n_found, &check->capacity, sizeof(*check->found));
    check->found[check->n_found++] = (uint32_t)index;
}

static void take_explicit(const struct collect *collect, const struct resource *resource,
                          const struct place *place)
{
    const struct place in = {.above = place, .key = "dependsOn"};

    for (size_t i = 0; i < resource->n_depends_on; i++) {
        const struct place at = {.above = &in, .index = i};
        const char *id = resource->depends_on[i];
        const struct resource *target = strmap_get(&collect->check->spec->by_id, id);

        if (target)
            take(collect, target, &at);
        else
            check_problem(collect->check, INVALID_SPEC, &at, "no resource has the id \"%s\"", id);
    }
}

/* ---- References into data ---- */

static bool is_core_kind(const struct value *attributes, const char *kind)
{
    return str_equal(value_get_string(attributes, "apiVersion"), "v1") &&
           str_equal(value_get_string(attributes, "kind"), kind);
}

static bool has_first_step(const char *path, const char *step)
{
    size_t length = strlen(step);

    return strncmp(path, step, length) == 0 && strchr(".[", path[length]);
}

/* The data is begun by these attributes, and has no such key. */
static bool lacks_key(const struct value *attributes, const char *path)
{
    size_t length = strcspn(path, ".["), reached = 0;

    return path[length] && value_count(value_get_n(attributes, path, length)) &&
           !path_find(attributes, path, &reached) && reached == length;
}

static bool is_string_data(struct check *check, const struct value *attributes, const char *path)
{
    const char *rest = path + strcspn(path, ".[");

    return path_find(attributes, arena_printf(&check->scratch, "stringData%s", rest), NULL);
}

/* What can be told before anything is made: who begins the data of a ConfigMap or a Secret says
 * what is in it. All else may be filled in by the cluster, and is looked for there. */
static void check_reference(struct check *check, const struct ref *ref, const struct place *place)
{
    const struct resource *target = ref->target;
    const struct value *attributes = target->attributes;
    bool writes_only = has_first_step(ref->path, "stringData"), is_secret;

    if (!writes_only && !has_first_step(ref->path, "data") &&
        !has_first_step(ref->path, "binaryData"))
        return;
    is_secret = is_core_kind(attributes, "Secret");
    if (is_secret && writes_only)
        check_problem(check, INVALID_SPEC, place,
                      "the stringData of \"%s\" cannot be read back: refer to its data",
                      target->id);
    else if ((is_secret || is_core_kind(attributes, "ConfigMap")) &&
             lacks_key(attributes, ref->path) &&
             !(is_secret && is_string_data(check, attributes, ref->path)))
        check_problem(check, INVALID_SPEC, place, "\"%s\" has no field \"%s\"", target->id,
                      ref->path);
}

static void take_reference(const struct collect *collect, const struct value *string,
                           const struct place *place)
{
    struct check *check = collect->check;
    struct error error; /* large, and set by what fails */
    struct ref ref = {0};
    const char *text = "";

    if (ref_text(string, &text, &error) < 0 ||
        ref_parse(text, &check->spec->by_id, &ref, &error) < 0) {
        check_problem(check, INVALID_SPEC, place, "%s", error.message);
        return;
    }
    take(collect, ref.target, place);
    check_reference(check, &ref, place);
}

static int look_at_string(void *arg, const struct value *string, const struct place *place,
                          struct error *error)
{
    const struct collect *collect = arg;

    (void)error;
    if (ref_is(string))
        take_reference(collect, string, place);
    else if (strncmp(value_string(string), SECRET_PREFIX, strlen(SECRET_PREFIX)) == 0)
        check_problem(collect->check, UNSUPPORTED, place,
                      "secret references (" SECRET_PREFIX ") are not supported by this version");
    return 0;
}

void check_dependencies(struct check *check, size_t index, const struct place *place)
{
    struct collect collect = {.check = check, .index = index};
    const struct place attributes = {.above = place, .key = "attributes"};
    const struct resource *resource = &check->spec->resources[index];
    struct spec_dependencies *dependencies = &check->spec->dependencies[index];

    check->n_found = 0;
    take_explicit(&collect, resource, place);
    place_each_string(resource->attributes, &attributes, look_at_string, &collect, NULL);
    dependencies->count = check->n_found;
    if (!check->n_found)
        return;
    dependencies->indices = ARENA_ARRAY(&check->spec->arena, uint32_t, check->n_found);
    memcpy(dependencies->indices, check->found, check->n_found * sizeof(*check->found));
}
