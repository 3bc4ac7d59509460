#include "runtimes/terraform/memory.h"

#include "engine/base/base64.h"
#include "engine/base/json.h"
#include "engine/base/str.h"

int memory_make(const struct resource_type *type, const struct tf_state *state,
                const struct value *sensitive, const struct value **ret, struct error *error)
{
    const struct provider *provider = type->instance->provider;
    _cleanup_value_ const struct value *json = NULL;
    _cleanup_buf_ struct buf private = BUF_INIT;
    int r = tf_decode(state->value.data, state->value.length, type->schema->block->type, TF_TYPED,
                      &json, error);

    if (r < 0)
        return r;
    base64_encode(&private, state->private.data, state->private.length);
    *ret = value_pack("{s:s, s:s, s:s, s:s, s:I, s:s, s:v, s:v?}", "provider", provider->address,
                      "version", provider->version, "hash", provider->h1, "type", type->name,
                      "schemaVersion", type->schema->version, "private", private.data, "state",
                      json, "sensitive", sensitive);
    return *ret ? 0 : err_set(error, ERR_TOO_LARGE, NULL, "the resource's state is too large");
}

int memory_load(const struct resource_type *type, const struct value *memory, struct tf_state *ret,
                struct error *error)
{
    const struct value *state = value_get(memory, "state");
    const char *private = value_get_string(memory, "private");
    int64_t version = value_int(value_get(memory, "schemaVersion"), 0);
    _cleanup_free_ char *json = NULL;

    if (!value_is(state, VALUE_OBJECT))
        return err_set(error, ERR_UNSUPPORTED, "CannotBeFound",
                       "State has nothing by which the provider finds it");
    if (version > type->schema->version)
        return err_set(error, ERR_UNSUPPORTED, "NewerState",
                       "its state was written by the provider's version %s, which is newer than %s",
                       value_get_string(memory, "version"), type->instance->provider->version);
    if (private && !base64_decode(&ret->private, private, strlen(private)))
        return err_set(error, ERR_CORRUPT, NULL, "the provider's data in State is damaged");
    json = json_to_str(state);
    return resource_upgrade(type, version, json, &ret->value, error);
}
