/*
 * From a state file of Terraform (version 4; runtimes/terraform/tfstate/tfstate.h has its form) to
 * resources of a Spec.
 *
 * An attribute is left out where the provider's schema says that it is only computed, where it has
 * no value, and where it is a secret: a Spec would show it. The import id is the attribute `id`, as
 * nearly all providers take it.
 */
#include <ctype.h>
#include <string.h>

#include "cli/convert/convert.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "engine/spec/import_id.h"

#define STATE_ADDRESS "kusionstack.io/state-address"

struct reader {
    struct convert_source *source;
    const struct input_document *document;
    const struct value *schemas; /* NULL: none */
    struct findings *findings;
    struct strmap ids; /* "module.a.T.N" -> struct list of ids */
    bool is_told;      /* that there are no schemas */
};

/* The ids of all instances of one resource. */
struct list {
    const char **items;
    size_t count, capacity;
};

/* An instance on its way. */
struct instance {
    struct reader *reader;
    const struct value *resource, *value;
    const char *path; /* in the file */
    const char *host, *namespace_name, *provider;
    const char *name; /* of the resource in the Spec */
    const char *id;
};

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static struct place_in place(struct instance *in, const char *key)
{
    return (struct place_in){in->reader->document,
                             arena_printf(&in->reader->source->arena, "%s.%s", in->path, key)};
}

/* ---- Names ---- */

/* provider["HOST/NAMESPACE/NAME"], perhaps of a module, perhaps with an alias. */
static bool read_provider(struct instance *in)
{
    struct arena *arena = &in->reader->source->arena;
    const char *text = or_empty(value_get_string(in->resource, "provider"));
    const char *from = strstr(text, "provider[\""), *end;
    char *copy, *slash;

    if (!from)
        return false;
    from += strlen("provider[\"");
    end = strstr(from, "\"]");
    if (!end)
        return false;
    copy = arena_str_n(arena, from, (size_t)(end - from));
    slash = strchr(copy, '/');
    if (!slash)
        return false;
    *slash = '\0';
    in->host = copy;
    in->namespace_name = slash + 1;
    slash = strchr(slash + 1, '/');
    if (!slash)
        return false;
    *slash = '\0';
    in->provider = slash + 1;
    return true;
}

static char *key_text(const struct value *key)
{
    return value_string(key)   ? str_new(value_string(key))
           : value_number(key) ? str_new(value_number(key))
                               : NULL;
}

/* A name that is its own for each instance: module.a.T.N["k"] is a-N-k. */
static void name_instance(struct instance *in)
{
    struct arena *arena = &in->reader->source->arena;
    const char *module = value_get_string(in->resource, "module");
    _cleanup_free_ char *key = key_text(value_get(in->value, "index_key"));
    _cleanup_buf_ struct buf name = BUF_INIT;

    for (const char *at = or_empty(module); *at; at++) {
        if (str_has_prefix(at, "module.") && (at == module || at[-1] == '.'))
            at += strlen("module.");
        if (*at == ']' || *at == '"')
            continue;
        buf_add_char(&name, isalnum((unsigned char)*at) || *at == '_' ? *at : '-');
    }
    if (name.length)
        buf_add_char(&name, '-');
    buf_add_str(&name, or_empty(value_get_string(in->resource, "name")));
    if (key)
        buf_add_char(&name, '-');
    for (const char *at = or_empty(key); *at; at++)
        buf_add_char(&name, isalnum((unsigned char)*at) || *at == '_' ? *at : '-');
    in->name = arena_str(arena, name.data);
    in->id = arena_printf(arena, "%s:%s:%s:%s", in->namespace_name, in->provider,
                          or_empty(value_get_string(in->resource, "type")), in->name);
}

/* As Terraform writes it. free(); NULL: the id says it. */
static char *address_of(const struct instance *in)
{
    const char *module = value_get_string(in->resource, "module");
    const struct value *key = value_get(in->value, "index_key");
    bool is_text = value_is(key, VALUE_STRING);
    _cleanup_free_ char *text = key_text(key);

    if (!module && !text)
        return NULL;
    return str_printf("%s%s%s.%s%s%s%s%s%s", or_empty(module), module ? "." : "",
                      or_empty(value_get_string(in->resource, "type")),
                      or_empty(value_get_string(in->resource, "name")), text ? "[" : "",
                      is_text ? "\"" : "", or_empty(text), is_text ? "\"" : "", text ? "]" : "");
}

/* ---- Attributes ---- */

static const struct value *schema_of(const struct instance *in)
{
    _cleanup_free_ char *source =
        str_printf("%s/%s/%s", in->host, in->namespace_name, in->provider);
    const struct value *provider =
        value_get(value_get(in->reader->schemas, "provider_schemas"), source);

    return value_path(provider, "resource_schemas",
                      or_empty(value_get_string(in->resource, "type")), "block", NULL);
}

static bool is_computed(const struct value *attribute)
{
    return value_bool(value_get(attribute, "computed"), false);
}

static bool is_computed_only(const struct value *attribute)
{
    return is_computed(attribute) && !value_bool(value_get(attribute, "optional"), false) &&
           !value_bool(value_get(attribute, "required"), false);
}

/* SDK v2 gives every resource an `id` that is computed, and may be written. */
static bool is_id(const struct value *attribute, const char *path)
{
    return str_equal(path, "id") && (!attribute || is_computed(attribute));
}

/* Whether the state file names this attribute, or one in it, as sensitive. */
static bool is_listed_sensitive(const struct instance *in, const char *key)
{
    const struct value *list = value_get(in->value, "sensitive_attributes");

    for (size_t i = 0; i < value_count(list); i++)
        if (str_equal(value_get_string(value_at(value_at(list, i), 0), "value"), key))
            return true;
    return false;
}

static bool is_empty(const struct value *value)
{
    return value_type(value) == VALUE_NULL ||
           ((value_is(value, VALUE_ARRAY) || value_is(value, VALUE_OBJECT)) && !value_count(value));
}

/* Of an attribute of any type, a state file has the type beside the value:
 * {"value": "x", "type": "string"}. */
static const struct value *without_type(const struct value *attribute, const struct value *value)
{
    const struct value *inner = value_get(value, "value");

    return str_equal(value_get_string(attribute, "type"), "dynamic") && inner ? inner : value;
}

static void add_block(struct instance *in, struct value_builder *b, const struct value *value,
                      const struct value *schema, const char *path);

/* A nested block: an object, or a list or a map of objects. */
static void add_nested(struct instance *in, struct value_builder *b, const struct value *value,
                       const struct value *schema, const char *path)
{
    if (value_is(value, VALUE_OBJECT) && !value_get(schema, "block")) {
        value_add(b, value);
        return;
    }
    if (value_is(value, VALUE_OBJECT)) {
        add_block(in, b, value, value_get(schema, "block"), path);
        return;
    }
    value_begin_array(b);
    for (size_t i = 0; i < value_count(value); i++)
        if (value_is(value_at(value, i), VALUE_OBJECT))
            add_block(in, b, value_at(value, i), value_get(schema, "block"), path);
        else
            value_add(b, value_at(value, i));
    value_end_array(b);
}

static void tell_secret(struct instance *in, const char *path)
{
    const struct place_in at = place(in, "attributes");

    findings_add(in->reader->findings, SEVERITY_WARNING, "SecretLeftOut", &at, in->id,
                 "%s is left out: it is a secret, and a Spec would show it; write a reference "
                 "($kusion_path.ID.PATH) in its place",
                 path);
}

/* The state has it either way: whether it was written, only the configuration says. */
static void tell_computed(struct instance *in, const char *path)
{
    const struct place_in at = place(in, "attributes");

    findings_add(in->reader->findings, SEVERITY_WARNING, "MaybeComputed", &at, in->id,
                 "%s is as it is now: the provider chooses it where nobody has written it; remove "
                 "it if that is so",
                 path);
}

/* schema NULL: what is computed cannot be told. */
static void add_block(struct instance *in, struct value_builder *b, const struct value *value,
                      const struct value *schema, const char *path)
{
    const struct value *attributes = value_get(schema, "attributes");
    const struct value *blocks = value_get(schema, "block_types");

    value_begin_object(b);
    for (size_t i = 0; i < value_count(value); i++) {
        const char *key = value_member_key(value, i, NULL);
        const struct value *attribute = value_get(attributes, key);
        const struct value *member = without_type(attribute, value_member(value, i));
        _cleanup_free_ char *below = str_printf("%s%s%s", path, *path ? "." : "", key);

        if (is_empty(member) || is_computed_only(attribute) ||
            (!value_get(blocks, key) && is_id(attribute, below)))
            continue;
        if (value_bool(value_get(attribute, "sensitive"), false) ||
            (!*path && is_listed_sensitive(in, key))) {
            tell_secret(in, below);
            continue;
        }
        if (is_computed(attribute))
            tell_computed(in, below);
        value_key(b, key);
        if (value_get(blocks, key))
            add_nested(in, b, member, value_get(blocks, key), below);
        else
            value_add(b, member);
    }
    value_end_object(b);
}

static void tell_no_schema(struct instance *in)
{
    const struct place_in at = {in->reader->document, "resources"};

    if (in->reader->is_told)
        return;
    in->reader->is_told = true;
    findings_add(in->reader->findings, SEVERITY_WARNING, "NoSchema", &at, NULL,
                 "what the provider computes cannot be told from what was written: give --schemas "
                 "the output of `terraform providers schema -json`, or remove such attributes by "
                 "hand");
}

/* ---- Resources ---- */

static const char *config_address(struct reader *reader, const struct value *resource)
{
    const char *module = value_get_string(resource, "module");

    return arena_printf(&reader->source->arena, "%s%s%s.%s", or_empty(module), module ? "." : "",
                        or_empty(value_get_string(resource, "type")),
                        or_empty(value_get_string(resource, "name")));
}

static void note_id(struct reader *reader, const char *address, const char *id)
{
    struct list *list = strmap_get(&reader->ids, address);

    if (!list) {
        list = NEW(struct list);
        strmap_put(&reader->ids, address, list);
    }
    list->items = mem_grow(list->items, list->count, &list->capacity, sizeof(char *));
    list->items[list->count++] = id;
}

static void add_dependencies(struct instance *in, struct value_builder *b)
{
    const struct value *list = value_get(in->value, "dependencies");

    value_begin_array(b);
    for (size_t i = 0; i < value_count(list); i++) {
        const char *address = value_string(value_at(list, i));
        const struct list *ids = address ? strmap_get(&in->reader->ids, address) : NULL;

        for (size_t k = 0; ids && k < ids->count; k++)
            value_add_string(b, ids->items[k]);
    }
    value_end_array(b);
}

/* The import id; without one, the address by which spec.terraformState.from finds it. A resource
 * must not have both. */
static void add_identity(struct instance *in, struct value_builder *b)
{
    const char *id = value_get_string(value_get(in->value, "attributes"), "id");
    const struct place_in at = place(in, "attributes");
    _cleanup_free_ char *address = address_of(in);

    if (id && *id && !str_equal(id, "none") && !is_listed_sensitive(in, "id")) {
        value_key(b, IMPORT_ID);
        value_add_string(b, id);
        return;
    }
    if (address) {
        value_key(b, STATE_ADDRESS);
        value_add_string(b, address);
    }
    findings_add(in->reader->findings, SEVERITY_WARNING, "NoImportId", &at, in->id,
                 "has no id to be imported by, and would be created once more: have it taken over "
                 "from the state file by spec.terraformState.from (docs/terraform.md)");
}

static const struct value *make_entry(struct instance *in)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const struct value *schema = schema_of(in);

    if (!schema)
        tell_no_schema(in);
    value_begin_object(b);
    value_key(b, "id");
    value_add_string(b, in->id);
    value_key(b, "type");
    value_add_string(b, "Terraform");
    value_key(b, "attributes");
    add_block(in, b, value_get(in->value, "attributes"), schema, "");
    if (value_count(value_get(in->value, "dependencies"))) {
        value_key(b, "dependsOn");
        add_dependencies(in, b);
    }
    value_key(b, "extensions");
    value_begin_object(b);
    value_key(b, "provider");
    value_add_printf(b, "%s/%s/%s", in->host, in->namespace_name, in->provider);
    value_key(b, "resourceType");
    value_add_string(b, value_get_string(in->resource, "type"));
    add_identity(in, b);
    value_end_object(b);
    value_end_object(b);
    return value_finish(b);
}

static void add_entry(struct instance *in)
{
    struct convert_source *source = in->reader->source;
    const struct value *entry = make_entry(in);

    if (!entry)
        return;
    source->kept =
        mem_grow(source->kept, source->n_kept, &source->kept_capacity, sizeof(*source->kept));
    source->kept[source->n_kept++] = entry;
    source->items =
        mem_grow(source->items, source->n_items, &source->items_capacity, sizeof(*source->items));
    source->items[source->n_items++] =
        (struct convert_item){entry, {in->reader->document, in->path}, true, 0};
}

/* Calls fn for each instance of a managed resource. */
static void each_instance(struct reader *reader, void (*fn)(struct instance *in))
{
    const struct value *resources = value_get(reader->document->value, "resources");

    for (size_t i = 0; i < value_count(resources); i++) {
        const struct value *resource = value_at(resources, i);
        const struct value *instances = value_get(resource, "instances");

        for (size_t k = 0; k < value_count(instances); k++) {
            struct instance in = {.reader = reader,
                                  .resource = resource,
                                  .value = value_at(instances, k),
                                  .path = arena_printf(&reader->source->arena,
                                                       "resources[%zu].instances[%zu]", i, k)};

            if (str_equal(value_get_string(resource, "mode"), "managed") &&
                !value_get(in.value, "deposed") && read_provider(&in)) {
                name_instance(&in);
                fn(&in);
            }
        }
    }
}

static void note_instance(struct instance *in)
{
    note_id(in->reader, config_address(in->reader, in->resource), in->id);
}

static void tell_data(struct reader *reader)
{
    const struct value *resources = value_get(reader->document->value, "resources");

    for (size_t i = 0; i < value_count(resources); i++) {
        const struct value *resource = value_at(resources, i);
        _cleanup_free_ char *path = str_printf("resources[%zu]", i);
        const struct place_in at = {reader->document, path};

        if (str_equal(value_get_string(resource, "mode"), "data"))
            findings_add(reader->findings, SEVERITY_NOTE, "DataLeftOut", &at,
                         config_address(reader, resource),
                         "is left out: the state file does not tell what a data source was asked; "
                         "write it with the id NAMESPACE:PROVIDER:data.TYPE:NAME");
    }
}

int convert_add_tfstate(struct convert_source *source, const struct input_document *state,
                        const struct value *schemas, struct findings *findings, struct error *error)
{
    struct reader reader = {
        .source = source, .document = state, .schemas = schemas, .findings = findings};

    if (value_int(value_get(state->value, "version"), 0) != 4 ||
        !value_is(value_get(state->value, "resources"), VALUE_ARRAY))
        return err_set(error, ERR_INVALID, "InvalidInput",
                       "%s: not a state file of Terraform, version 4", state->file);
    each_instance(&reader, note_instance);
    each_instance(&reader, add_entry);
    tell_data(&reader);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&reader.ids, e));) {
        struct list *list = e->value;

        free(list->items);
        free(list);
    }
    strmap_done(&reader.ids);
    return 0;
}
