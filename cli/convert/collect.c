/* Takes documents apart: lists, Specs, Kusion specs, objects. */
#include <string.h>

#include "cli/convert/convert.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/objects/object_ref.h"

#define OWN_GROUP "api.kusion.io"

struct collector {
    struct convert_source *source;
    struct findings *findings;
    const struct input_document *document;
};

static void PRINTF_LIKE(3, 4) report(struct collector *c, const char *path, const char *format, ...)
{
    const struct place_in place = {c->document, path};
    va_list args;

    va_start(args, format);
    _cleanup_free_ char *text = str_vprintf(format, args);
    va_end(args);
    findings_add(c->findings, SEVERITY_ERROR, "NoManifest", &place, NULL, "%s", text);
}

static struct place_in place(struct collector *c, const char *path)
{
    return (struct place_in){c->document, arena_str(&c->source->arena, path)};
}

static void add_item(struct collector *c, const char *path, const struct value *value,
                     bool is_entry)
{
    struct convert_source *source = c->source;

    source->items =
        mem_grow(source->items, source->n_items, &source->items_capacity, sizeof(*source->items));
    source->items[source->n_items++] =
        (struct convert_item){value, place(c, path), is_entry, is_entry ? source->n_heads - 1 : 0};
}

static void add_head(struct collector *c, const char *path, const struct value *document,
                     const struct value *fields, bool is_spec)
{
    struct convert_source *source = c->source;

    source->heads =
        mem_grow(source->heads, source->n_heads, &source->heads_capacity, sizeof(*source->heads));
    source->heads[source->n_heads++] =
        (struct convert_head){.document = document,
                              .metadata = is_spec ? value_get(document, "metadata") : NULL,
                              .fields = fields,
                              .place = place(c, path),
                              .is_spec = is_spec};
}

static void add_entries(struct collector *c, const char *path, const struct value *list)
{
    for (size_t i = 0; i < value_count(list); i++) {
        _cleanup_free_ char *at = str_printf("%s[%zu]", path, i);

        add_item(c, at, value_at(list, i), true);
    }
}

static const char *below(struct collector *c, const char *path, const char *key)
{
    return arena_printf(&c->source->arena, "%s%s%s", path, *path ? "." : "", key);
}

/* {resources, secretStore, context} */
static void add_kusion(struct collector *c, const char *path, const struct value *value)
{
    static const char *const kept[] = {"context", "secretStore"};
    const struct value *fields = value_pack("{}");

    for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
        const struct value *before = fields, *member = value_get(value, kept[i]);

        if (!value_count(member))
            continue;
        fields = value_with(before, kept[i], member);
        value_unref(before);
    }
    add_head(c, path, value, fields, false);
    add_entries(c, below(c, path, "resources"), value_get(value, "resources"));
}

static void add_spec(struct collector *c, const char *path, const struct value *value)
{
    const struct value *fields = value_get(value, "spec"), *list = value_get(fields, "resources");
    const struct value *metadata = value_get(value, "metadata");

    if (value_type(fields) != VALUE_NULL && !value_is(fields, VALUE_OBJECT))
        report(c, below(c, path, "spec"), "spec must be an object, and is of type %s",
               value_type_name(fields));
    else if (value_type(metadata) != VALUE_NULL && !value_is(metadata, VALUE_OBJECT))
        report(c, below(c, path, "metadata"), "metadata must be an object, and is of type %s",
               value_type_name(metadata));
    else if (value_type(list) != VALUE_NULL && !value_is(list, VALUE_ARRAY))
        report(c, below(c, path, "spec.resources"),
               "spec.resources must be a list, and is of type %s", value_type_name(list));
    else {
        add_head(c, path, value, value_without(fields, "resources"), true);
        add_entries(c, below(c, path, "spec.resources"), list);
    }
}

static bool is_text(const struct value *value)
{
    return value_is(value, VALUE_STRING) && *value_string(value);
}

static void add_any(struct collector *c, const char *path, const struct value *value,
                    unsigned depth);

/* Items of a ConfigMapList may leave out what they are. */
static const struct value *complete_item(const struct value *item, const char *version,
                                         const char *kind)
{
    _cleanup_free_ char *own = str_new_n(kind, strlen(kind) - strlen("List"));
    _cleanup_value_ const struct value *with_kind = NULL;

    if (str_equal(kind, "List") || !value_is(item, VALUE_OBJECT))
        return value_ref(item);
    if (value_get(item, "kind") && value_get(item, "apiVersion"))
        return value_ref(item);
    with_kind = value_get(item, "kind") ? value_ref(item) : NULL;
    if (!with_kind) {
        _cleanup_value_ const struct value *name = value_pack("s", own);

        with_kind = value_with(item, "kind", name);
    }
    if (value_get(with_kind, "apiVersion"))
        return TAKE(with_kind);
    _cleanup_value_ const struct value *text = value_pack("s", version);
    return value_with(with_kind, "apiVersion", text);
}

static void add_list(struct collector *c, const char *path, const struct value *value,
                     unsigned depth)
{
    struct convert_source *source = c->source;
    const struct value *items = value_get(value, "items");

    for (size_t i = 0; i < value_count(items); i++) {
        _cleanup_free_ char *at = str_printf("%s[%zu]", below(c, path, "items"), i);
        const struct value *item =
            complete_item(value_at(items, i), value_get_string(value, "apiVersion"),
                          value_get_string(value, "kind"));

        source->kept =
            mem_grow(source->kept, source->n_kept, &source->kept_capacity, sizeof(*source->kept));
        source->kept[source->n_kept++] = item; /* the source holds the reference */
        add_any(c, at, item, depth + 1);
    }
}

static void add_any(struct collector *c, const char *path, const struct value *value,
                    unsigned depth)
{
    const struct value *kind = value_get(value, "kind"), *version = value_get(value, "apiVersion");

    if (!value_is(value, VALUE_OBJECT))
        report(c, path, "neither a manifest nor a Kusion spec, but of type %s",
               value_type_name(value));
    else if (!kind && value_is(value_get(value, "resources"), VALUE_ARRAY))
        add_kusion(c, path, value);
    else if (!is_text(version))
        report(c, path, "is not a manifest: apiVersion is missing, or not a string");
    else if (!is_text(kind))
        report(c, path, "is not a manifest: kind is missing, or not a string");
    else if (str_has_suffix(value_string(kind), "List") &&
             value_is(value_get(value, "items"), VALUE_ARRAY) && depth < 8)
        add_list(c, path, value, depth);
    else if (str_has_prefix(value_string(version), "kustomize.config.k8s.io"))
        report(c, path, "is read by Kustomize: use -k FOLDER, or kustomize build FOLDER | … -f -");
    else if (api_group_is(value_string(version), OWN_GROUP) &&
             str_equal(value_string(kind), "Spec"))
        add_spec(c, path, value);
    else
        add_item(c, path, value, false);
}

void convert_collect(const struct input *input, struct convert_source *ret,
                     struct findings *findings)
{
    *ret = (struct convert_source){0};
    for (size_t i = 0; i < input->count; i++) {
        struct collector c = {ret, findings, &input->documents[i]};

        add_any(&c, "", input->documents[i].value, 0);
    }
}

void convert_source_done(struct convert_source *source)
{
    for (size_t i = 0; i < source->n_heads; i++)
        value_unref(source->heads[i].fields);
    for (size_t i = 0; i < source->n_kept; i++)
        value_unref(source->kept[i]);
    free(source->heads);
    free(source->items);
    free(source->kept);
    arena_done(&source->arena);
    *source = (struct convert_source){0};
}
