#include "runtimes/terraform/provider.h"

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/terraform/plugin/diagnostics.h"

/* Bytes of all schemas of a provider that is small. */
#define SMALL_SCHEMAS (1u << 20)

struct provider *provider_new(const struct source *source, const struct found *found)
{
    struct provider *provider = NEW(struct provider);

    provider->address = str_new(source->address);
    provider->version = str_new(found->version);
    provider->name = str_printf("%s %s", source->shown, found->version);
    provider->program = str_new(found->program);
    provider->h1 = str_new(found->package->h1);
    pthread_mutex_init(&provider->lock, NULL);
    strmap_init(&provider->schemas);
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
    tf_schema_unref(provider->own);
    pthread_mutex_destroy(&provider->lock);
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

    pthread_mutex_lock(&provider->lock);
    schema = strmap_get(&provider->schemas, type);
    if (schema)
        tf_schema_ref(schema);
    pthread_mutex_unlock(&provider->lock);
    return schema;
}

/* Takes the schema over. */
static void keep(struct provider *provider, const char *type, struct tf_schema *schema)
{
    pthread_mutex_lock(&provider->lock);
    if (strmap_get(&provider->schemas, type))
        tf_schema_unref(schema);
    else
        strmap_put(&provider->schemas, str_new(type), schema);
    pthread_mutex_unlock(&provider->lock);
}

static size_t size_of_all(const Tfplugin__GetSchemaResponse *answer)
{
    size_t bytes = 0;

    for (size_t i = 0; i < answer->n_resource_schemas; i++)
        bytes += answer->resource_schemas[i]->value.len;
    return bytes;
}

/* wanted: keeps this one, or NULL: none, unless the provider is small. */
static int keep_schemas(struct provider *provider, const Tfplugin__GetSchemaResponse *answer,
                        int protocol, const char *wanted, struct error *error)
{
    bool is_small = size_of_all(answer) <= SMALL_SCHEMAS;
    int r = 0;

    for (size_t i = 0; i < answer->n_resource_schemas && r >= 0; i++) {
        const Tfplugin__SchemaEntry *entry = answer->resource_schemas[i];
        struct tf_schema *schema;

        if (!is_small && !str_equal(entry->key, wanted))
            continue;
        r = tf_schema_decode(entry->value.data, entry->value.len, protocol, &schema, error);
        if (r >= 0)
            keep(provider, entry->key, schema);
        else
            err_wrap(error, "%s", entry->key);
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
    pthread_mutex_lock(&provider->lock);
    if (!provider->own)
        provider->own = TAKE(schema);
    if (answer->server_capabilities) {
        provider->plans_destroy = answer->server_capabilities->plan_destroy;
        provider->schema_is_optional = answer->server_capabilities->get_provider_schema_optional;
    }
    pthread_mutex_unlock(&provider->lock);
    return 0;
}

static int learn(struct provider *provider, struct plugin *plugin, const char *wanted,
                 const struct plugin_call *call, struct error *error)
{
    Tfplugin__GetSchemaRequest request;
    Tfplugin__GetSchemaResponse *answer = NULL;
    int r;

    tfplugin__get_schema_request__init(&request);
    r = plugin_call(plugin, PLUGIN_GET_SCHEMA, &request.base, call, &answer, NULL, error);
    if (r < 0)
        return r;
    r = diagnostics_check(answer->diagnostics, answer->n_diagnostics, "schema", error);
    if (r >= 0)
        r = keep_own(provider, answer, plugin_protocol(plugin), error);
    if (r >= 0)
        r = keep_schemas(provider, answer, plugin_protocol(plugin), wanted, error);
    if (r < 0)
        err_wrap(error, "the provider %s", provider->name);
    tfplugin__get_schema_response__free_unpacked(answer, NULL);
    return r;
}

/* ---- For others ---- */

int provider_greet(struct provider *provider, struct plugin *plugin, const struct plugin_call *call,
                   struct error *error)
{
    bool is_needed;

    pthread_mutex_lock(&provider->lock);
    is_needed = !provider->own || !provider->schema_is_optional;
    pthread_mutex_unlock(&provider->lock);
    return is_needed ? learn(provider, plugin, NULL, call, error) : 0;
}

struct tf_schema *provider_own_schema(struct provider *provider)
{
    struct tf_schema *schema;

    pthread_mutex_lock(&provider->lock);
    schema = tf_schema_ref(provider->own);
    pthread_mutex_unlock(&provider->lock);
    return schema;
}

int provider_schema(struct provider *provider, struct plugin *plugin, const char *type,
                    const struct plugin_call *call, struct tf_schema **ret, struct error *error)
{
    struct tf_schema *schema = find(provider, type);
    int r;

    if (!schema) {
        r = learn(provider, plugin, type, call, error);
        if (r < 0)
            return r;
        schema = find(provider, type);
    }
    if (!schema)
        return err_set(error, ERR_INVALID, "UnknownResourceType",
                       "the provider %s has no resources of the type \"%s\"", provider->name, type);
    *ret = schema;
    return 0;
}

bool provider_plans_destroy(struct provider *provider)
{
    bool plans;

    pthread_mutex_lock(&provider->lock);
    plans = provider->plans_destroy;
    pthread_mutex_unlock(&provider->lock);
    return plans;
}
