#include "engine/spec/spec.h"

#include <string.h>

#include "engine/base/mem.h"
#include "engine/spec/private.h"

/* The types that Kusion and this API define. Without a runtime for one of them, the problem is
 * Unsupported rather than a mistake in the Spec. */
static const char *const types_of_kusion[] = {"Kubernetes", "Terraform"};

/* ---- The Spec as a whole ---- */

static const char *read_coordinate(struct check *check, const struct value *fields,
                                   const char *name, const char *fallback)
{
    const struct value *value = value_get(fields, name);
    const struct place place = {.key = name};
    const char *text;

    if (check_is_absent(value))
        return fallback;
    text = check_text(check, value, &place);
    return text ? text : fallback;
}

static void read_head(struct parse *parse, const struct value *object)
{
    struct check *check = &parse->check;
    const struct place in = {.key = "metadata"};
    const struct place at_name = {.above = &in, .key = "name"};
    const struct place at_namespace = {.above = &in, .key = "namespace"};
    const struct value *metadata = value_get(object, "metadata"), *fields;
    struct spec *spec = parse->spec;

    spec->name = check_text(check, value_get(metadata, "name"), &at_name);
    spec->namespace_name = check_text(check, value_get(metadata, "namespace"), &at_namespace);
    spec->uid = value_get_string(metadata, "uid");
    spec->generation = value_int(value_get(metadata, "generation"), 0);
    fields = value_get(object, "spec");
    spec->project = read_coordinate(check, fields, "project", spec->name);
    spec->stack = read_coordinate(check, fields, "stack", "default");
    spec->workspace = read_coordinate(check, fields, "workspace", "default");
    check_policy(check, fields, &spec->policy);
    check_awaited(check, fields, parse->options->no_cross_namespace, spec);
    spec->has_secret_store = check_secret_store(check, value_get(fields, "secretStore")) ||
                             parse->options->may_lack_store;
    parse_health_checks(parse, fields);
    parse_health_check_exprs(parse, fields);
}

/* ---- One resource ---- */

static size_t find_type(const struct spec_options *options, const char *type)
{
    size_t i = 0;

    while (i < options->n_types && strcmp(options->types[i].name, type) != 0)
        i++;
    return i;
}

size_t parse_checked_type(const struct parse *parse, const char *type)
{
    const struct spec_options *options = parse->options;
    size_t found = type ? find_type(options, type) : options->n_types;

    return found < options->n_types && options->types[found].checks ? found : options->n_types;
}

static void report_type(struct parse *parse, const char *type, const struct place *place)
{
    const struct spec_options *options = parse->options;
    _cleanup_buf_ struct buf known = BUF_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(types_of_kusion); i++)
        if (strcmp(type, types_of_kusion[i]) == 0) {
            check_problem(&parse->check, UNSUPPORTED, place,
                          "the type \"%s\" is known, and not supported by this version", type);
            return;
        }
    for (size_t i = 0; i < options->n_types; i++)
        buf_printf(&known, "%s%s", i ? ", " : "", options->types[i].name);
    check_problem(&parse->check, INVALID_SPEC, place, "unknown type \"%s\"; supported: %s", type,
                  known.length ? known.data : "none");
}

static void check_type(struct parse *parse, const struct value *value, const struct place *place)
{
    const struct place at = {.above = place, .key = "type"};
    const char *type = check_text(&parse->check, value, &at);

    if (type && find_type(parse->options, type) == parse->options->n_types)
        report_type(parse, type, &at);
}

static void check_depends_on(struct check *check, const struct value *list,
                             const struct place *place)
{
    const struct place in = {.above = place, .key = "dependsOn"};

    if (check_is_absent(list))
        return;
    if (!value_is(list, VALUE_ARRAY))
        check_problem(check, INVALID_SPEC, &in, "must be a list of ids, and is of type %s",
                      value_type_name(list));
    else if (value_count(list) > LIMIT_DEPENDS_ON)
        check_problem(check, INVALID_SPEC, &in, "holds %zu ids, %d at most", value_count(list),
                      LIMIT_DEPENDS_ON);
    for (size_t i = 0; value_is(list, VALUE_ARRAY) && i < value_count(list); i++) {
        const struct place at = {.above = &in, .index = i};

        check_text(check, value_at(list, i), &at);
    }
}

static void check_is_object(struct check *check, const struct value *value, const char *key,
                            const struct place *place)
{
    const struct place at = {.above = place, .key = key};

    if (!value_is(value, VALUE_OBJECT))
        check_problem(check, INVALID_SPEC, &at, "must be an object, and is %s%s",
                      check_is_absent(value) ? "absent" : "of type ",
                      check_is_absent(value) ? "" : value_type_name(value));
}

/* Returns the id if it is valid and unique. From here on it names the resource in problems. */
static const char *read_id(struct parse *parse, const struct value *value,
                           struct resource *resource, const struct place *place)
{
    struct check *check = &parse->check;
    const struct place at = {.above = place, .key = "id"};
    const char *id = check_text(check, value, &at);
    struct resource *other;

    if (!id)
        return NULL;
    if (strlen(id) > LIMIT_ID_BYTES) {
        check_problem(check, INVALID_SPEC, &at, "has %zu bytes, %d at most", strlen(id),
                      LIMIT_ID_BYTES);
        return NULL;
    }
    check->id = id;
    other = strmap_put(&parse->spec->by_id, id, resource);
    if (!other)
        return id;
    strmap_put(&parse->spec->by_id, id, other); /* the first resource keeps the id */
    check_problem(check, INVALID_SPEC, &at, "resources[%zu] has the same id",
                  spec_index(parse->spec, other));
    return NULL;
}

/* First pass: reads a resource's id. All ids must be known before dependencies are checked. */
static void read_resource(struct parse *parse, const struct value *value, size_t index)
{
    struct check *check = &parse->check;
    const struct place list = {.key = "resources"};
    const struct place place = {.above = &list, .index = index};
    struct resource *resource = &parse->spec->resources[index];
    const struct entry entry = parse->entries[index] = entry_of(value);

    check->id = NULL;
    if (!value_is(value, VALUE_OBJECT)) {
        check_problem(check, INVALID_SPEC, &place, "must be an object, and is of type %s",
                      value_type_name(value));
        return;
    }
    *resource = entry_resource(&parse->spec->arena, &entry);
    resource->id = read_id(parse, entry.id, resource, &place);
}

static void check_by_type(struct parse *parse, size_t index, const struct place *place)
{
    size_t type = parse_checked_type(parse, parse->spec->resources[index].type);

    if (type < parse->options->n_types)
        parse->options->types[type].checks->resource(parse->states[type], &parse->check, index,
                                                     place);
}

/* Second pass: checks everything else of a resource at once, while it is in the CPU's cache. */
static void check_resource(struct parse *parse, const struct value *value, size_t index)
{
    struct check *check = &parse->check;
    const struct place list = {.key = "resources"};
    const struct place place = {.above = &list, .index = index};
    const struct resource *resource = &parse->spec->resources[index];
    const struct entry *entry = &parse->entries[index];

    if (!value_is(value, VALUE_OBJECT))
        return;
    check->id = resource->id;
    check_type(parse, entry->type, &place);
    check_is_object(check, entry->attributes, "attributes", &place);
    check_depends_on(check, entry->depends_on, &place);
    if (!check_is_absent(entry->extensions))
        check_is_object(check, entry->extensions, "extensions", &place);
    check_by_type(parse, index, &place);
    parse_moved(parse, index, &place);
    parse_dependencies(parse, index, &place);
}

/* Reads and checks all resources, in two passes. */
static void check_resources(struct parse *parse, const struct value *list)
{
    const struct spec_type *types = parse->options->types;
    size_t n_types = parse->options->n_types, n = value_count(list);

    for (size_t i = 0; i < n; i++)
        read_resource(parse, value_at(list, i), i);
    parse->check.id = NULL;
    for (size_t i = 0; i < n_types; i++)
        if (types[i].checks)
            parse->states[i] = types[i].checks->begin
                                   ? types[i].checks->begin(types[i].arg, &parse->check)
                                   : types[i].arg;
    for (size_t i = 0; i < n; i++)
        check_resource(parse, value_at(list, i), i);
    for (size_t i = 0; i < n_types; i++) {
        parse->check.id = NULL;
        if (types[i].checks && types[i].checks->end)
            types[i].checks->end(parse->states[i], &parse->check);
    }
    parse->check.id = NULL;
}

static void read_resources(struct parse *parse, const struct value *fields)
{
    struct check *check = &parse->check;
    const struct value *list = value_get(fields, "resources");
    const struct place place = {.key = "resources"};
    struct spec *spec = parse->spec;

    if (check_is_absent(list)) {
        if (!value_count(value_get(fields, "resourcesFrom")))
            check_problem(check, INVALID_SPEC, &place,
                          "is required; an empty list says that nothing is wanted");
        return;
    }
    if (!value_is(list, VALUE_ARRAY)) {
        check_problem(check, INVALID_SPEC, &place, "must be a list, and is of type %s",
                      value_type_name(list));
        return;
    }
    if (value_count(list) > LIMIT_RESOURCES) {
        check_problem(check, INVALID_SPEC, &place, "holds %zu resources, %d at most",
                      value_count(list), LIMIT_RESOURCES);
        return;
    }
    spec->n_resources = value_count(list);
    spec->resources = ARENA_ARRAY(&spec->arena, struct resource, spec->n_resources);
    spec->dependencies = ARENA_ARRAY(&spec->arena, struct spec_dependencies, spec->n_resources);
    strmap_reserve(&spec->by_id, spec->n_resources);
    parse->taken = NEW_ARRAY(uint32_t, spec->n_resources);
    parse->entries = NEW_ARRAY(struct entry, spec->n_resources);
    parse->states = NEW_ARRAY(void *, parse->options->n_types);
    check_resources(parse, list);
}

/* ---- From outside ---- */

static void parse_done(struct parse *parse)
{
    arena_done(&parse->check.scratch);
    free(parse->entries);
    free(parse->taken);
    free(parse->found);
    free(parse->states);
}

int spec_parse(const struct value *object, const struct spec_options *options, struct spec **ret,
               struct problems *problems, struct error *error)
{
    _cleanup_(spec_free_p) struct spec *spec = NEW(struct spec);
    struct parse parse = {
        .check = {.spec = spec, .problems = problems}, .spec = spec, .options = options};
    int r;

    spec->source = value_ref(object);
    parse.is_partial =
        !options->has_sources && value_count(value_path(object, "spec", "resourcesFrom", NULL)) > 0;
    read_head(&parse, object);
    read_resources(&parse, value_get(object, "spec"));
    parse_done(&parse);
    r = problems_to_error(problems, error);
    if (r == 0)
        *ret = TAKE(spec);
    return r;
}

void spec_free(struct spec *spec)
{
    if (!spec)
        return;
    strmap_done(&spec->by_id);
    strmap_done(&spec->moved);
    for (size_t i = 0; i < spec->n_health_checks; i++)
        value_unref(spec->health_checks[i].attributes);
    arena_done(&spec->arena);
    value_unref(spec->source);
    free(spec);
}

size_t spec_index(const struct spec *spec, const struct resource *resource)
{
    return (size_t)(resource - spec->resources);
}
