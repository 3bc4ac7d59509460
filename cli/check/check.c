#include "cli/check/check.h"

#include <string.h>

#include "cli/check/rules.h"
#include "cli/check/schema.h"
#include "cli/check/spec_graph.h"
#include "engine/base/limits.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/spec/place.h"
#include "engine/spec/secret_ref.h"
#include "engine/value/json.h"

/* A namespace where none is known: no name of one. */
#define SOME_NAMESPACE "-"

#define LETTERS_AND_DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/* One Spec that is checked. */
struct subject {
    const struct value *spec;        /* the custom resource, with a namespace */
    const struct convert_head *head; /* NULL: of manifests */
    const struct conversion *made;   /* NULL: the Spec stands as it is */
    struct findings *findings;
    struct arena arena;
    struct strmap told; /* paths that have a finding */
};

/* ---- Places ---- */

/* free(); NULL: it has no name. */
static char *label_of(const struct value *resource)
{
    const struct value *attributes = value_get(resource, "attributes");
    const char *kind = value_get_string(attributes, "kind");
    const char *name = value_get_string(value_get(attributes, "metadata"), "name");

    return kind && name ? str_printf("%s/%s", kind, name)
                        : str_new(value_get_string(resource, "id"));
}

/* Reads "resources[3]" and what follows its dot. False: it is another path. */
static bool read_index(const char *path, size_t *ret_index, const char **ret_rest)
{
    char *end;

    if (!str_has_prefix(path, "resources["))
        return false;
    *ret_index = strtoul(path + strlen("resources["), &end, 10);
    if (*end != ']')
        return false;
    *ret_rest = end + 1 + (end[1] == '.');
    return true;
}

/* Where a resource, or what is below it, stands in the input. */
static struct place_in place_of_resource(struct subject *subject, size_t index, const char *rest)
{
    const struct place_in *place;
    const char *below = rest;

    if (!subject->made) {
        place = &subject->head->place;
        return (struct place_in){place->document,
                                 arena_printf(&subject->arena, "%s%sspec.resources[%zu]%s%s",
                                              place->path, *place->path ? "." : "", index,
                                              *rest ? "." : "", rest)};
    }
    place = &subject->made->places[index];
    if (!subject->made->are_entries[index])
        below = str_has_prefix(rest, "attributes.") ? rest + strlen("attributes.") : "";
    return (struct place_in){place->document,
                             arena_printf(&subject->arena, "%s%s%s", place->path,
                                          *place->path && *below ? "." : "", below)};
}

static struct place_in place_of_field(struct subject *subject, const char *field)
{
    const struct place_in *place;
    const char *in = "";

    if (!subject->head)
        return (struct place_in){0};
    place = &subject->head->place;
    if (subject->head->is_spec && !str_has_prefix(field, "metadata.") &&
        !str_has_prefix(field, "spec"))
        in = "spec.";
    if (!subject->head->is_spec && str_has_prefix(field, "spec."))
        field += strlen("spec.");
    return (struct place_in){place->document, arena_printf(&subject->arena, "%s%s%s%s", place->path,
                                                           *place->path ? "." : "", in, field)};
}

/* ---- Findings ---- */

/* field: from the Spec's `spec` on; NULL: none. index: of the resource; SIZE_MAX: none. */
static void tell(struct subject *subject, enum severity severity, const char *reason,
                 const char *field, size_t index, const char *message)
{
    struct place_in place;
    _cleanup_free_ char *label = NULL;
    const char *rest = "";

    if (field && read_index(field, &index, &rest))
        field = *rest ? rest : NULL;
    else if (field)
        index = SIZE_MAX;
    if (index != SIZE_MAX) {
        place = place_of_resource(subject, index, rest);
        label = label_of(value_at(value_path(subject->spec, "spec", "resources", NULL), index));
    } else {
        place = place_of_field(subject, field ? field : "");
    }
    if (field && place.path && strmap_put(&subject->told, place.path, subject))
        return;
    if (field && index == SIZE_MAX && !str_has_prefix(field, "metadata."))
        findings_add(subject->findings, severity, reason, &place, label, "spec.%s: %s", field,
                     message);
    else
        findings_add(subject->findings, severity, reason, &place, label, "%s%s%s",
                     field ? field : "", field ? ": " : "", message);
}

static size_t index_of_id(const struct subject *subject, const char *id)
{
    const struct value *resources = value_path(subject->spec, "spec", "resources", NULL);

    for (size_t i = 0; id && i < value_count(resources); i++)
        if (str_equal(value_get_string(value_at(resources, i), "id"), id))
            return i;
    return SIZE_MAX;
}

/* ---- What is checked ---- */

static void on_schema_problem(void *arg, const char *path, const char *message)
{
    struct subject *subject = arg;

    tell(subject, SEVERITY_ERROR, "InvalidSpec",
         str_has_prefix(path, "spec.") ? path + strlen("spec.") : NULL, SIZE_MAX, message);
}

static void check_schema(struct subject *subject)
{
    _cleanup_value_ const struct value *definition = NULL;
    const struct value *fields = value_get(subject->spec, "spec");
    struct path path;

    if (yaml_read(check_definition, strlen(check_definition), &definition, NULL) < 0)
        abort(); /* it was built in, and tests read it */
    path_init(&path);
    path_push_key(&path, "spec");
    schema_check(fields, schema_of_definition(definition, "spec"), &path, on_schema_problem,
                 subject);
    rules_check(fields, &path, on_schema_problem, subject);
    path_done(&path);
}

static void tell_problems(struct subject *subject, const struct problems *problems)
{
    for (size_t i = 0; i < problems->count; i++) {
        const struct problem *problem = &problems->items[i];

        tell(subject, SEVERITY_ERROR, problem->reason, problem->field,
             index_of_id(subject, problem->resource), problem->message);
    }
    if (problems->total > problems->count)
        findings_add(subject->findings, SEVERITY_ERROR, "InvalidSpec", NULL, NULL,
                     "and %zu more problems of one Spec", problems->total - problems->count);
}

/* The first resource that the message of a cycle names. */
static size_t index_in_cycle(const struct subject *subject, const char *message)
{
    const struct value *resources = value_path(subject->spec, "spec", "resources", NULL);
    const char *found = NULL;
    size_t index = SIZE_MAX;

    for (size_t i = 0; i < value_count(resources); i++) {
        const char *id = value_get_string(value_at(resources, i), "id");
        const char *at = id ? strstr(message, id) : NULL;

        if (at && str_has_prefix(at + strlen(id), " -> ") && (!found || at < found))
            found = at, index = i;
    }
    return index;
}

static void check_graph(struct subject *subject, const struct spec *spec)
{
    _cleanup_(spec_graph_done) struct spec_graph graph = {0};
    struct error error = {0};

    if (spec_graph_make(spec, &graph, &error) < 0)
        tell(subject, SEVERITY_ERROR, error.reason, NULL, index_in_cycle(subject, error.message),
             error.message);
}

static void check_engine(struct subject *subject)
{
    _cleanup_(problems_done) struct problems problems = PROBLEMS_INIT;
    _cleanup_(spec_free_p) struct spec *spec = NULL;
    struct error error = {0};

    if (spec_parse(subject->spec, &spec_graph_options, &spec, &problems, &error) < 0)
        tell_problems(subject, &problems);
    else
        check_graph(subject, spec);
}

static void check_secrets(struct subject *subject)
{
    static const char *const members[] = {"data", "stringData"};
    const struct value *resources = value_path(subject->spec, "spec", "resources", NULL);

    for (size_t i = 0; i < value_count(resources); i++) {
        const struct value *attributes = value_get(value_at(resources, i), "attributes");

        for (size_t k = 0; k < ARRAY_SIZE(members); k++)
            if (secret_ref_is_clear(attributes, members[k])) {
                _cleanup_free_ char *field =
                    str_printf("resources[%zu].attributes.%s", i, members[k]);

                tell(subject, SEVERITY_WARNING, "SecretsInClear", field, i,
                     "values in clear, for all who can read the Spec; see: kubectl kusion explain "
                     "SecretsInClear");
            }
    }
}

/* A reference to a secret counts where it is the whole of a string. */
struct inner_check {
    struct subject *subject;
    size_t index;
};

static bool has_inner_reference(const char *text)
{
    const char *at = text ? strstr(text, SECRET_REF_PREFIX) : NULL;

    return at && at > text && !strchr(LETTERS_AND_DIGITS, at[-1]);
}

static int warn_of_inner(void *arg, const struct value *string, const struct place *place,
                         struct error *error)
{
    const struct inner_check *check = arg;
    struct path path;

    (void)error;
    if (!has_inner_reference(value_string(string)))
        return 0;
    path_init(&path);
    place_path(place, &path);
    tell(check->subject, SEVERITY_WARNING, "InvalidReference", path_text(&path), check->index,
         "has \"" SECRET_REF_PREFIX "\" in the middle of a text, where it is not replaced: a "
         "reference must be the whole string");
    path_done(&path);
    return 0;
}

static void check_inner_references(struct subject *subject)
{
    const struct value *resources = value_path(subject->spec, "spec", "resources", NULL);
    bool has_store = value_path(subject->spec, "spec", "secretStore", NULL);

    for (size_t i = 0; has_store && i < value_count(resources); i++) {
        const struct place all = {.key = "resources"}, one = {.above = &all, .index = i};
        const struct place in = {.above = &one, .key = "attributes"};
        struct inner_check check = {subject, i};

        place_each_string(value_get(value_at(resources, i), "attributes"), &in, warn_of_inner,
                          &check, NULL);
    }
}

static void check_size(struct subject *subject)
{
    _cleanup_buf_ struct buf text = BUF_INIT;

    json_write(&text, value_get(subject->spec, "spec"), JSON_COMPACT);
    if (text.length <= LIMIT_SPEC_BYTES)
        return;
    _cleanup_free_ char *message =
        str_printf("the Spec is %.2f MiB as JSON, and the limit is %.2f MiB: kubectl kusion "
                   "convert --split %zu makes several",
                   (double)text.length / (1 << 20), (double)LIMIT_SPEC_BYTES / (1 << 20),
                   text.length / LIMIT_SPEC_BYTES + 1);
    tell(subject, SEVERITY_ERROR, "TooLarge", NULL, SIZE_MAX, message);
}

static void check_subject(struct subject *subject, struct checked *ret)
{
    check_engine(subject); /* first: of two findings at one place, the engine says more */
    check_schema(subject);
    check_secrets(subject);
    check_inner_references(subject);
    check_size(subject);
    ret->n_resources += value_count(value_path(subject->spec, "spec", "resources", NULL));
    strmap_done(&subject->told);
    arena_done(&subject->arena);
}

/* ---- Subjects ---- */

/* A reference: the document with a name and a namespace, where it has none. */
static const struct value *complete(const struct value *document,
                                    const struct convert_options *options)
{
    static const char *const path[] = {"metadata", "namespace"};
    const char *own = value_get_string(value_get(document, "metadata"), "namespace");
    _cleanup_value_ const struct value *name = NULL;

    if (value_type(value_path(document, "metadata", "namespace", NULL)) != VALUE_NULL || own)
        return value_ref(document);
    name = value_pack("s", options->namespace_name ? options->namespace_name : SOME_NAMESPACE);
    return value_with_path(document, path, 2, name);
}

/* head: its index, or SIZE_MAX: the objects of no head. */
static void check_made(const struct convert_source *source, size_t head,
                       const struct convert_options *options, struct findings *findings,
                       struct checked *ret)
{
    struct convert_options named = *options;
    struct convert_source part = {0};
    _cleanup_(conversion_done) struct conversion made = {0};
    _cleanup_value_ const struct value *spec = NULL;
    struct error error = {0};

    named.name = options->name ? options->name : "spec";
    named.is_checked = true;
    part.items = NEW_ARRAY(struct convert_item, source->n_items + 1);
    for (size_t i = 0; i < source->n_items; i++)
        if (source->items[i].is_entry ? source->items[i].head == head : head == SIZE_MAX) {
            part.items[part.n_items] = source->items[i];
            part.items[part.n_items++].head = 0;
        }
    if (head != SIZE_MAX) {
        part.heads = &source->heads[head];
        part.n_heads = 1;
    }
    if (convert_make(&part, &named, &made, findings, &error) < 0) {
        findings_add(findings, SEVERITY_ERROR, error.reason, NULL, NULL, "%s", error.message);
    } else {
        spec = complete(made.spec, options);
        struct subject subject = {.spec = spec,
                                  .head = head == SIZE_MAX ? NULL : &source->heads[head],
                                  .made = &made,
                                  .findings = findings};
        check_subject(&subject, ret);
    }
    free(part.items);
    arena_done(&part.arena);
}

void check_source(const struct convert_source *source, const struct convert_options *options,
                  struct findings *findings, struct checked *ret)
{
    bool has_objects = false;

    *ret = (struct checked){0};
    for (size_t i = 0; i < source->n_heads; i++)
        if (source->heads[i].is_spec) {
            const struct convert_head *head = &source->heads[i];
            _cleanup_value_ const struct value *spec = complete(head->document, options);
            struct subject subject = {.spec = spec, .head = head, .findings = findings};

            check_subject(&subject, ret);
        } else {
            check_made(source, i, options, findings, ret);
        }
    for (size_t i = 0; i < source->n_items; i++)
        has_objects = has_objects || !source->items[i].is_entry;
    if (has_objects)
        check_made(source, SIZE_MAX, options, findings, ret);
}
