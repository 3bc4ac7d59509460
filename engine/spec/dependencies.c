#include <string.h>

#include "engine/base/limits.h"
#include "engine/base/mem.h"
#include "engine/base/similar.h"
#include "engine/base/str.h"
#include "engine/spec/private.h"
#include "engine/spec/ref.h"
#include "engine/spec/secret_ref.h"

/* Unknown ids of a Spec that are compared with all others. */
#define MOST_COMPARED 8

struct collect {
    struct parse *parse;
    const struct value *attributes; /* of the current resource */
    size_t index;                   /* index of the current resource */
};

/* Adds a dependency, once, even if both dependsOn and a reference name it. */
static void take(const struct collect *collect, const struct resource *target,
                 const struct place *place)
{
    struct parse *parse = collect->parse;
    size_t index = spec_index(parse->spec, target);

    if (index == collect->index)
        check_problem(&parse->check, CYCLIC_DEPENDENCY, place,
                      "a resource cannot depend on itself");
    if (parse->taken[index] == collect->index + 1)
        return;
    parse->taken[index] = (uint32_t)collect->index + 1;
    parse->found = mem_grow(parse->found, parse->n_found, &parse->capacity, sizeof(*parse->found));
    parse->found[parse->n_found++] = (uint32_t)index;
}

/* The id that was probably meant, for the first problems of a Spec: it takes a look at all ids. */
static const char *find_similar_id(const struct collect *collect, const char *id)
{
    struct parse *parse = collect->parse;
    const struct spec *spec = parse->spec;
    struct similar similar;

    if (parse->n_compared++ >= MOST_COMPARED)
        return NULL;
    similar_begin(&similar, id);
    for (size_t i = 0; i < spec->n_resources; i++)
        if (i != collect->index && spec->resources[i].id)
            similar_offer(&similar, spec->resources[i].id);
    return similar.found;
}

static void report_unknown_id(const struct collect *collect, const char *id,
                              const struct place *place)
{
    struct check *check = &collect->parse->check;
    const char *meant = find_similar_id(collect, id);

    if (meant)
        check_problem(check, INVALID_SPEC, place,
                      "no resource has the id \"%s\": did you mean \"%s\"?", id, meant);
    else
        check_problem(check, INVALID_SPEC, place, "no resource has the id \"%s\"", id);
}

static void take_explicit(const struct collect *collect, const struct resource *resource,
                          const struct place *place)
{
    const struct place in = {.above = place, .key = "dependsOn"};

    for (size_t i = 0; i < resource->n_depends_on; i++) {
        const struct place at = {.above = &in, .index = i};
        const char *id = resource->depends_on[i];
        const struct resource *target = strmap_get(&collect->parse->spec->by_id, id);

        if (target)
            take(collect, target, &at);
        else if (!collect->parse->is_partial)
            report_unknown_id(collect, id, &at);
    }
}

static void check_reference(struct parse *parse, const struct ref *ref, const struct place *place)
{
    const struct resource *target = ref->target;
    const struct spec_options *options = parse->options;
    size_t type = parse_checked_type(parse, target->type);

    if (type < options->n_types && options->types[type].checks->reference)
        options->types[type].checks->reference(parse->states[type], &parse->check, target,
                                               ref->path, place);
}

static void take_reference(const struct collect *collect, const struct value *string,
                           const struct place *place)
{
    struct parse *parse = collect->parse;
    struct error error; /* not initialised: it is large, and a call that fails sets it */
    struct ref ref = {0};
    const char *text = "";
    int r = ref_text(string, &text, &error);

    if (r >= 0)
        r = ref_parse(text, &parse->spec->by_id, &ref, &error);
    if (r == ERR_NOT_FOUND && parse->is_partial)
        return;
    if (r < 0) {
        check_problem(&parse->check, INVALID_SPEC, place, "%s", error.message);
        return;
    }
    take(collect, ref.target, place);
    check_reference(parse, &ref, place);
}

/* One key may be as long as the Spec, and thousands of references below it. */
static bool has_room(struct parse *parse, const struct place *place)
{
    if (parse->place_bytes > LIMIT_PLACE_BYTES)
        return false;
    for (; place; place = place->above)
        parse->place_bytes += place->key ? strlen(place->key) + 1 : 1;
    if (parse->place_bytes > LIMIT_PLACE_BYTES)
        check_problem(&parse->check, INVALID_SPEC, NULL,
                      "the paths of all references have more than %u MiB: shorten keys above them",
                      LIMIT_PLACE_BYTES >> 20);
    return parse->place_bytes <= LIMIT_PLACE_BYTES;
}

/* Below `data` of the attributes of resources[N]. */
static bool is_in_data(const struct place *place)
{
    const struct place *below = NULL;

    for (; place && !(str_equal(place->key, "attributes") && place->above && !place->above->key);
         place = place->above)
        below = place;
    return place && below && str_equal(below->key, "data");
}

/* The Base64 form counts only where the Spec has a store: elsewhere it is a value as any other. */
static void check_secret(const struct collect *collect, const struct value *string,
                         const struct place *place)
{
    struct parse *parse = collect->parse;
    bool is_data = parse->spec->has_secret_store && secret_ref_has_data(collect->attributes) &&
                   is_in_data(place);
    _cleanup_free_ char *text = secret_ref_text(string, is_data);
    struct secret_ref ref;
    struct error error;

    if (!text)
        return;
    if (!parse->spec->has_secret_store)
        check_problem(&parse->check, INVALID_SPEC, place,
                      "refers to a secret, and the Spec has no secretStore");
    else if (secret_ref_parse(text, &ref, &error) < 0)
        check_problem(&parse->check, INVALID_SPEC, place, "%s", error.message);
    else
        secret_ref_done(&ref);
}

static int look_at_string(void *arg, const struct value *string, const struct place *place,
                          struct error *error)
{
    const struct collect *collect = arg;

    (void)error;
    if (ref_is(string) && !has_room(collect->parse, place))
        return 1;
    if (ref_is_within(string))
        check_problem(&collect->parse->check, INVALID_SPEC, place,
                      "has \"" REF_PREFIX "\" in the middle of a text, where it is not replaced: a "
                      "reference must be the whole string. Put the reference into a string of its "
                      "own, and join the parts where they are used");
    else if (ref_is(string))
        take_reference(collect, string, place);
    else
        check_secret(collect, string, place);
    return 0;
}

void parse_dependencies(struct parse *parse, size_t index, const struct place *place)
{
    struct collect collect = {.parse = parse, .index = index};
    const struct place attributes = {.above = place, .key = "attributes"};
    const struct place extensions = {.above = place, .key = "extensions"};
    const struct resource *resource = &parse->spec->resources[index];
    struct spec_dependencies *dependencies = &parse->spec->dependencies[index];

    parse->n_found = 0;
    take_explicit(&collect, resource, place);
    collect.attributes = resource->attributes;
    place_each_string(resource->attributes, &attributes, look_at_string, &collect, NULL);
    place_each_string(resource->extensions, &extensions, look_at_string, &collect, NULL);
    dependencies->count = parse->n_found;
    if (!parse->n_found)
        return;
    dependencies->indices = ARENA_ARRAY(&parse->spec->arena, uint32_t, parse->n_found);
    memcpy(dependencies->indices, parse->found, parse->n_found * sizeof(*parse->found));
}
