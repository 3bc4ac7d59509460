#include <string.h>

#include "engine/base/mem.h"
#include "engine/spec/check.h"
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

static void take_reference(const struct collect *collect, const struct value *string,
                           const struct place *place)
{
    struct error error; /* large, and set by what fails */
    struct ref ref = {0};
    const char *text = "";

    if (ref_text(string, &text, &error) == 0 &&
        ref_parse(text, &collect->check->spec->by_id, &ref, &error) == 0)
        take(collect, ref.target, place);
    else
        check_problem(collect->check, INVALID_SPEC, place, "%s", error.message);
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
