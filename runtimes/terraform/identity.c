#include "runtimes/terraform/identity.h"

#include "engine/base/mem.h"
#include "engine/value/json.h"

const struct value *identity_read(const struct resource_type *type, const struct buf *identity)
{
    const struct identity_schema *schema = provider_identity(type->instance->provider, type->name);
    Tfplugin__IdentityData *data = NULL;
    const struct value *json = NULL;

    if (schema && identity->length)
        data = tfplugin__identity_data__unpack(NULL, identity->length, (uint8_t *)identity->data);
    if (data && data->identity_data && data->identity_data->msgpack.len)
        tf_decode(data->identity_data->msgpack.data, data->identity_data->msgpack.len, schema->type,
                  TF_PLAIN, &json, NULL);
    tfplugin__identity_data__free_unpacked(data, NULL);
    if (value_is(json, VALUE_OBJECT))
        return json;
    value_unref(json);
    return NULL;
}

/* False: it is not of the schema. */
static bool pack(const struct identity_schema *schema, const struct value *json, struct buf *ret)
{
    _cleanup_buf_ struct buf bytes = BUF_INIT;
    _cleanup_free_ uint8_t *packed = NULL;
    Tfplugin__DynamicValue value;
    Tfplugin__IdentityData data;

    if (tf_encode(&bytes, json, schema->type, NULL) < 0)
        return false;
    tfplugin__dynamic_value__init(&value);
    value.msgpack = (ProtobufCBinaryData){bytes.length, (uint8_t *)bytes.data};
    tfplugin__identity_data__init(&data);
    data.identity_data = &value;
    packed = NEW_ARRAY(uint8_t, tfplugin__identity_data__get_packed_size(&data));
    buf_add(ret, packed, tfplugin__identity_data__pack(&data, packed));
    return true;
}

static int upgrade(const struct resource_type *type, const struct value *json, int64_t version,
                   struct buf *ret, struct error *error)
{
    _cleanup_free_ char *text = json_to_str(json);
    Tfplugin__RawState raw;
    Tfplugin__UpgradeIdentityRequest request;
    Tfplugin__UpgradeIdentityResponse *answer = NULL;
    int r;

    tfplugin__raw_state__init(&raw);
    raw.json = (ProtobufCBinaryData){strlen(text), (uint8_t *)text};
    tfplugin__upgrade_identity_request__init(&request);
    request.type_name = (char *)(uintptr_t)type->name;
    request.version = version;
    request.raw_identity = &raw;
    r = plugin_call(type->instance->plugin, PLUGIN_UPGRADE_IDENTITY, &request.base, type->call,
                    &answer, NULL, error);
    if (r < 0)
        return r;
    r = diagnostics_check(answer->diagnostics, answer->n_diagnostics, "identity", type->warnings,
                          error);
    if (r >= 0)
        buf_add(ret, answer->upgraded_identity.data, answer->upgraded_identity.len);
    tfplugin__upgrade_identity_response__free_unpacked(answer, NULL);
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
