#include "runtimes/terraform/memory.h"

#include "engine/base/base64.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/json.h"

/* ---- Identities ---- */

/* The identity of an object: by what its provider tells it from all others of its type, wherever
 * they are. Newer providers give one beside each state, have it back with the next call, and say
 * what it is made of (provider_identity()). Terraform's state has it as JSON. */

/* As JSON, of the schema that the provider has now. A reference; NULL: there is none, or it cannot
 * be read. Nothing fails for want of it. */
static const struct value *identity_read(const struct resource_type *type,
                                         const struct buf *identity)
{
    const struct identity_schema *schema = provider_identity(type->instance->provider, type->name);
    _cleanup_message_ Tfplugin__IdentityData *data = NULL;
    _cleanup_value_ const struct value *json = NULL;

    if (schema && identity->length)
        data = tfplugin__identity_data__unpack(NULL, identity->length, (uint8_t *)identity->data);
    if (data && data->identity_data && data->identity_data->msgpack.len)
        tf_decode(data->identity_data->msgpack.data, data->identity_data->msgpack.len, schema->type,
                  TF_PLAIN, &json, NULL);
    return value_is(json, VALUE_OBJECT) ? TAKE(json) : NULL;
}

/* False: it is not of the schema. */
static bool pack(const struct identity_schema *schema, const struct value *json, struct buf *ret)
{
    _cleanup_buf_ struct buf bytes = BUF_INIT;
    _cleanup_free_ uint8_t *packed = NULL;
    Tfplugin__DynamicValue value = TFPLUGIN__DYNAMIC_VALUE__INIT;
    Tfplugin__IdentityData data = TFPLUGIN__IDENTITY_DATA__INIT;

    if (tf_encode(&bytes, json, schema->type, NULL) < 0)
        return false;
    value.msgpack = (ProtobufCBinaryData){bytes.length, (uint8_t *)bytes.data};
    data.identity_data = &value;
    packed = NEW_ARRAY(uint8_t, tfplugin__identity_data__get_packed_size(&data));
    buf_add(ret, packed, tfplugin__identity_data__pack(&data, packed));
    return true;
}

static int upgrade(const struct resource_type *type, const struct value *json, int64_t version,
                   struct buf *ret, struct error *error)
{
    _cleanup_free_ char *text = json_to_str(json);
    Tfplugin__RawState raw = TFPLUGIN__RAW_STATE__INIT;
    Tfplugin__UpgradeIdentityRequest request = TFPLUGIN__UPGRADE_IDENTITY_REQUEST__INIT;
    _cleanup_message_ Tfplugin__UpgradeIdentityResponse *answer = NULL;
    int r;

    raw.json = (ProtobufCBinaryData){strlen(text), (uint8_t *)text};
    request.type_name = (char *)(uintptr_t)type->name;
    request.version = version;
    request.raw_identity = &raw;
    r = plugin_ask(&(struct plugin_asking){.plugin = type->instance->plugin,
                                           .call = type->call,
                                           .root = "identity",
                                           .warnings = type->warnings},
                   PLUGIN_UPGRADE_IDENTITY, &request.base, &answer, error);
    if (r >= 0)
        buf_add(ret, answer->upgraded_identity.data, answer->upgraded_identity.len);
    return r;
}

/* What a provider is handed back, of the JSON that was written by that version of the schema: the
 * provider brings it up to its own. The type has none any more: *ret stays empty. */
static int identity_load(const struct resource_type *type, const struct value *json,
                         int64_t version, struct buf *ret, struct error *error)
{
    const struct identity_schema *schema = provider_identity(type->instance->provider, type->name);

    if (!schema || (version == schema->version && pack(schema, json, ret)))
        return 0;
    return upgrade(type, json, version, ret, error);
}

int memory_make(const struct resource_type *type, const struct tf_state *state,
                const struct value *sensitive, const struct value **ret, struct error *error)
{
    const struct provider *provider = type->instance->provider;
    _cleanup_value_ const struct value *identity = identity_read(type, &state->identity);
    _cleanup_value_ const struct value *json = NULL, *version = NULL;
    _cleanup_buf_ struct buf private = BUF_INIT;
    int r = tf_decode(state->value.data, state->value.length, type->schema->block->type, TF_TYPED,
                      &json, error);

    if (r < 0)
        return r;
    if (identity)
        version = value_pack("I", provider_identity(type->instance->provider, type->name)->version);
    base64_encode(&private, state->private.data, state->private.length);
    *ret = value_pack("{s:s, s:s, s:s, s:s, s:I, s:s, s:v, s:v?, s:V?, s:v?, s:v?}", "provider",
                      provider->address, "version", provider->version, "hash", provider->h1, "type",
                      type->name, "schemaVersion", type->schema->version, "private", private.data,
                      "state", json, "sensitive", sensitive, "sensitiveBySchema",
                      tf_schema_paths(type->schema->block, json), "identity", identity,
                      "identitySchemaVersion", version);
    return *ret ? 0 : err_set(error, ERR_TOO_LARGE, NULL, "the resource's state is too large");
}

/* The object is of another type in State, which the provider may know. A state of nothing would
 * make a second object. */
static int move(const struct resource_type *type, const struct tf_origin *origin,
                struct tf_state *ret, struct error *error)
{
    struct provider *provider = type->instance->provider;
    struct error failure = {0};
    int r = provider_moves(provider)
                ? resource_move(type, origin, ret, &failure)
                : err_set(&failure, ERR_INVALID, NULL, "the provider moves no objects");

    if (r >= 0 && tf_state_is_null(ret))
        r = err_set(&failure, ERR_INVALID, NULL, "the provider gave no object");
    if (r >= 0 || r != ERR_INVALID)
        return err_copy(error, &failure);
    return err_set(
        error, ERR_INVALID, "MoveFailed",
        "its object is a %s of %s, and cannot become a %s: %s (a new one is made under an "
        "id that State does not know, and without kusionstack.io/moved-from)",
        origin->type, origin->provider, type->name, failure.message);
}

bool memory_is_of(const struct resource_type *type, const struct value *memory)
{
    const struct provider *provider = type->instance->provider;

    return str_equal(value_get_string(memory, "provider"), provider->address) &&
           str_equal(value_get_string(memory, "hash"), provider->h1) &&
           str_equal(value_get_string(memory, "type"), type->name) &&
           value_int(value_get(memory, "schemaVersion"), -1) == type->schema->version;
}

/* What this very program wrote need not be brought up to date, which is a call for each resource.
 * The JSON of a dynamic value is not that of a Spec's. False: the provider has to read it. */
static bool take_as_is(const struct resource_type *type, const struct value *memory,
                       struct buf *ret)
{
    const struct tf_type *form = type->schema->block->type;

    if (!memory_is_of(type, memory) || tf_type_has_dynamic(form))
        return false;
    if (tf_encode(ret, value_get(memory, "state"), form, NULL) >= 0)
        return true;
    buf_reset(ret);
    return false;
}

int memory_load(const struct resource_type *type, const struct value *memory, struct tf_state *ret,
                struct error *error)
{
    const struct value *state = value_get(memory, "state");
    const char *private = value_get_string(memory, "private");
    struct tf_origin origin = {.provider = value_get_string(memory, "provider"),
                               .type = value_get_string(memory, "type"),
                               .version = value_int(value_get(memory, "schemaVersion"), 0)};
    const struct value *identity = value_get(memory, "identity");
    _cleanup_free_ char *json = NULL, *identity_json = NULL;
    int r;
    /* The same type of a provider with another address is the same provider from elsewhere. */
    bool is_same = !origin.type || str_equal(origin.type, type->name);

    if (!value_is(state, VALUE_OBJECT))
        return err_set(error, ERR_UNSUPPORTED, "CannotBeFound",
                       "State has nothing by which the provider finds it");
    if (is_same && origin.version > type->schema->version)
        return err_set(error, ERR_UNSUPPORTED, "NewerState",
                       "its state was written by the provider's version %s, which is newer than %s",
                       value_get_string(memory, "version"), type->instance->provider->version);
    if (private && !base64_decode(&ret->private, private, strlen(private)))
        return err_set(error, ERR_CORRUPT, NULL, "the provider's data in State is damaged");
    origin.identity_version = value_int(value_get(memory, "identitySchemaVersion"), 0);
    if (is_same && identity) {
        r = identity_load(type, identity, origin.identity_version, &ret->identity, error);
        if (r < 0)
            return r;
    }
    if (take_as_is(type, memory, &ret->value))
        return 0;
    origin.json = json = json_to_str(state);
    if (is_same)
        return resource_upgrade(type, origin.version, json, &ret->value, error);
    origin.identity = identity_json = identity ? json_to_str(identity) : NULL;
    return move(type, &origin, ret, error);
}
