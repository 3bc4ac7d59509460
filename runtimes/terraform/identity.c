#include "runtimes/terraform/identity.h"

#include "engine/base/mem.h"
#include "engine/value/json.h"

const struct value *identity_read(const struct resource_type *type, const struct buf *identity)
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

int identity_load(const struct resource_type *type, const struct value *json, int64_t version,
                  struct buf *ret, struct error *error)
{
    const struct identity_schema *schema = provider_identity(type->instance->provider, type->name);

    if (!schema || (version == schema->version && pack(schema, json, ret)))
        return 0;
    return upgrade(type, json, version, ret, error);
}
