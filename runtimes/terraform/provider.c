#include "runtimes/terraform/provider.h"

#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/similar.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"
#include "engine/threads/locked.h"
#include "engine/value/json.h"

/* Bytes of all schemas of a provider that is small. */
#define SMALL_SCHEMAS (1u << 20)

char *provider_key(const struct source *source, const struct found *found)
{
    return str_printf("%s %s %s", source->address, found->version, found->program);
}

struct provider *provider_new(const struct source *source, const struct found *found)
{
    struct provider *provider = NEW(struct provider);

    provider->key = provider_key(source, found);
    provider->address = str_new(source->address);
    provider->version = str_new(found->version);
    provider->name = str_printf("%s %s", source->shown, found->version);
    provider->program = str_new(found->program);
    provider->h1 = str_new(found->package->h1);
    pthread_mutex_init(&provider->lock, NULL);
    strmap_init(&provider->schemas);
    strmap_init(&provider->identities);
    arena_init(&provider->identity_arena);
    return provider;
}

static void free_key(const char *key)
{
    free((void *)(uintptr_t)key);
}

void provider_free(struct provider *provider)
{
    if (!provider)
        return;
    for (struct strmap_entry *e = NULL; (e = strmap_next(&provider->schemas, e));) {
        free_key(e->key);
        tf_schema_unref(e->value);
    }
    strmap_done(&provider->schemas);
    strmap_done(&provider->identities);
    arena_done(&provider->identity_arena);
    tf_schema_unref(provider->own);
    pthread_mutex_destroy(&provider->lock);
    free(provider->key);
    free(provider->address);
    free(provider->version);
    free(provider->name);
    free(provider->program);
    free(provider->h1);
    free(provider);
}

/* ---- What a process says ---- */

static struct tf_schema *find(struct provider *provider, const char *type)
{
    struct tf_schema *schema;
    LOCKED(&provider->lock);

    schema = strmap_get(&provider->schemas, type);
    if (schema)
        tf_schema_ref(schema);
    return schema;
}

/* Takes the schema over. */
static void keep(struct provider *provider, const char *type, struct tf_schema *schema)
{
    LOCKED(&provider->lock);

    if (strmap_get(&provider->schemas, type))
        tf_schema_unref(schema);
    else
        strmap_put(&provider->schemas, str_new(type), schema);
}

/* The schemas of one kind of types: of resources, or of data sources. */
struct listed {
    Tfplugin__SchemaEntry *const *entries;
    size_t count;
    const char *prefix; /* before a type: "", DATA_PREFIX */
};

static size_t size_of_all(const struct listed lists[2])
{
    size_t bytes = 0;

    for (size_t l = 0; l < 2; l++)
        for (size_t i = 0; i < lists[l].count; i++)
            bytes += lists[l].entries[i]->value.len;
    return bytes;
}

static int keep_schema(struct provider *provider, const Tfplugin__SchemaEntry *entry, int protocol,
                       const char *type, struct error *error)
{
    struct tf_schema *schema;
    int r = tf_schema_decode(entry->value.data, entry->value.len, protocol, &schema, error);

    if (r >= 0)
        keep(provider, type, schema);
    else
        err_wrap(error, "%s", type);
    return r;
}

/* wanted: keeps this one, or NULL: none, unless the provider is small. */
static int keep_schemas(struct provider *provider, const struct listed lists[2], int protocol,
                        const char *wanted, struct error *error)
{
    bool is_small = size_of_all(lists) <= SMALL_SCHEMAS;
    int r = 0;

    for (size_t l = 0; l < 2; l++)
        for (size_t i = 0; i < lists[l].count && r >= 0; i++) {
            const Tfplugin__SchemaEntry *entry = lists[l].entries[i];
            _cleanup_free_ char *type = str_printf("%s%s", lists[l].prefix, entry->key);

            if (is_small || str_equal(type, wanted))
                r = keep_schema(provider, entry, protocol, type, error);
        }
    return r;
}

static int keep_own(struct provider *provider, const Tfplugin__GetSchemaResponse *answer,
                    int protocol, struct error *error)
{
    _cleanup_(tf_schema_unref_p) struct tf_schema *schema = NULL;
    int r = tf_schema_decode(answer->provider.data, answer->provider.len, protocol, &schema, error);

    if (r < 0)
        return r;
    LOCKED(&provider->lock);
    if (!provider->own)
        provider->own = TAKE(schema);
    if (answer->server_capabilities) {
        provider->plans_destroy = answer->server_capabilities->plan_destroy;
        provider->moves = answer->server_capabilities->move_resource_state;
        provider->schema_is_optional = answer->server_capabilities->get_provider_schema_optional;
    }
    return 0;
}

/* The type that is meant, as a Spec writes it; NULL: none is like it. free(). */
static char *find_similar(const struct listed lists[2], const char *type)
{
    size_t own = str_has_prefix(type, DATA_PREFIX);
    const char *name = type + strlen(lists[own].prefix);
    struct similar similar;

    for (size_t i = 0; i < lists[!own].count; i++)
        if (str_equal(lists[!own].entries[i]->key, name))
            return str_printf("%s%s", lists[!own].prefix, name);
    similar_begin(&similar, name);
    for (size_t i = 0; i < lists[own].count; i++)
        similar_offer(&similar, lists[own].entries[i]->key);
    return similar.found ? str_printf("%s%s", lists[own].prefix, similar.found) : NULL;
}

static int refuse_type(const struct provider *provider, const struct listed lists[2],
                       const char *type, struct error *error)
{
    bool is_data = str_has_prefix(type, DATA_PREFIX);
    _cleanup_free_ char *similar = find_similar(lists, type), *shown = NULL, *question = NULL;

    shown = similar ? utf8_show(similar) : NULL;
    question = shown ? str_printf("; is \"%s\" meant?", shown) : NULL;
    return err_set(
        error, ERR_INVALID, "UnknownResourceType",
        is_data ? "extensions.resourceType: the provider %s has no data source of the type "
                  "\"%s\"%s"
                : "extensions.resourceType: the provider %s has no resources of the type "
                  "\"%s\"%s",
        provider->name, is_data ? type + strlen(DATA_PREFIX) : type, question ? question : "");
}

static bool has_type(const struct listed lists[2], const char *type)
{
    const struct listed *own = &lists[str_has_prefix(type, DATA_PREFIX)];

    for (size_t i = 0; i < own->count; i++)
        if (str_equal(own->entries[i]->key, type + strlen(own->prefix)))
            return true;
    return false;
}

static int learn(struct provider *provider, struct plugin *plugin, const char *wanted,
                 const struct plugin_call *call, struct warnings *warnings, struct error *error)
{
    Tfplugin__Empty request = TFPLUGIN__EMPTY__INIT;
    _cleanup_message_ Tfplugin__GetSchemaResponse *answer = NULL;
    struct listed lists[2];
    int r;

    r = plugin_call(plugin, PLUGIN_GET_SCHEMA, &request.base, call, &answer, NULL, error);
    if (r < 0)
        return r;
    lists[0] = (struct listed){answer->resource_schemas, answer->n_resource_schemas, ""};
    lists[1] =
        (struct listed){answer->data_source_schemas, answer->n_data_source_schemas, DATA_PREFIX};
    r = diagnostics_check(answer->diagnostics, answer->n_diagnostics, "schema", warnings, error);
    if (r >= 0)
        r = keep_own(provider, answer, plugin_protocol(plugin), error);
    if (r >= 0)
        r = keep_schemas(provider, lists, plugin_protocol(plugin), wanted, error);
    if (r < 0)
        err_wrap(error, "the provider %s", provider->name);
    else if (wanted && !has_type(lists, wanted))
        r = refuse_type(provider, lists, wanted, error);
    return r;
}

/* ---- Identities ---- */

static const struct tf_type *identity_type(struct arena *arena,
                                           const Tfplugin__IdentitySchema *wire)
{
    struct tf_type *type = ARENA_NEW(arena, struct tf_type);

    type->kind = TF_OBJECT;
    type->n_members = wire->n_identity_attributes;
    type->members = ARENA_ARRAY(arena, struct tf_member, type->n_members);
    for (size_t i = 0; i < type->n_members; i++) {
        const Tfplugin__IdentityAttribute *attribute = wire->identity_attributes[i];
        _cleanup_value_ const struct value *json = NULL;

        type->members[i].name = arena_str(arena, attribute->name);
        if (json_read((const char *)attribute->type.data, attribute->type.len, &json, NULL) < 0 ||
            tf_type_read(arena, json, &type->members[i].type, NULL) < 0)
            return NULL;
    }
    return type;
}

/* With the lock. */
static void keep_identity(struct provider *provider, const Tfplugin__IdentityEntry *entry)
{
    struct arena *arena = &provider->identity_arena;
    struct identity_schema *schema = ARENA_NEW(arena, struct identity_schema);

    if (!entry->value || strmap_get(&provider->identities, entry->key))
        return;
    schema->version = entry->value->version;
    schema->type = identity_type(arena, entry->value);
    if (schema->type)
        strmap_put(&provider->identities, arena_str(arena, entry->key), schema);
}

/* Older providers have none, and nothing fails for want of them: so an error is none. */
static void learn_identities(struct provider *provider, struct plugin *plugin,
                             const struct plugin_call *call)
{
    Tfplugin__Empty request = TFPLUGIN__EMPTY__INIT;
    _cleanup_message_ Tfplugin__GetIdentitiesResponse *answer = NULL;
    int r = plugin_call(plugin, PLUGIN_GET_IDENTITIES, &request.base, call, &answer, NULL, NULL);

    LOCKED(&provider->lock);
    for (size_t i = 0; r >= 0 && i < answer->n_identity_schemas; i++)
        keep_identity(provider, answer->identity_schemas[i]);
    provider->knows_identities = provider->knows_identities || r >= 0 || r == ERR_UNSUPPORTED;
}

/* ---- For others ---- */

int provider_greet(struct provider *provider, struct plugin *plugin, const struct plugin_call *call,
                   struct warnings *warnings, struct error *error)
{
    bool is_needed, knows_identities;
    int r = 0;

    pthread_mutex_lock(&provider->lock);
    is_needed = !provider->own || !provider->schema_is_optional;
    knows_identities = provider->knows_identities;
    pthread_mutex_unlock(&provider->lock);
    if (is_needed)
        r = learn(provider, plugin, NULL, call, warnings, error);
    if (r >= 0 && !knows_identities)
        learn_identities(provider, plugin, call);
    return r;
}

struct tf_schema *provider_own_schema(struct provider *provider)
{
    LOCKED(&provider->lock);

    return tf_schema_ref(provider->own);
}

int provider_schema(struct provider *provider, struct plugin *plugin, const char *type,
                    const struct plugin_call *call, struct tf_schema **ret,
                    struct warnings *warnings, struct error *error)
{
    int r = 0;

    while (r >= 0 && !(*ret = find(provider, type)))
        r = learn(provider, plugin, type, call, warnings, error);
    return r;
}

const struct identity_schema *provider_identity(struct provider *provider, const char *type)
{
    LOCKED(&provider->lock);

    return strmap_get(&provider->identities, type);
}

bool provider_plans_destroy(struct provider *provider)
{
    LOCKED(&provider->lock);

    return provider->plans_destroy;
}

bool provider_moves(struct provider *provider)
{
    LOCKED(&provider->lock);

    return provider->moves;
}
