#include "runtimes/terraform/resource.h"

#include "engine/base/str.h"
#include "runtimes/terraform/values/msgpack.h"

/* Where attributes are in a Spec. */
#define ROOT "attributes"

static const char null_bytes[] = {(char)0xc0};

/* ---- States ---- */

void tf_state_done(struct tf_state *state)
{
    buf_done(&state->value);
    buf_done(&state->private);
    buf_done(&state->identity);
}

void tf_state_set_null(struct tf_state *state)
{
    buf_reset(&state->value);
    buf_reset(&state->private);
    buf_reset(&state->identity);
    msgpack_add_nil(&state->value);
}

bool tf_state_is_null(const struct tf_state *state)
{
    return state->value.length == sizeof(null_bytes) && state->value.data[0] == null_bytes[0];
}

void tf_state_copy(struct tf_state *to, const struct tf_state *from)
{
    buf_reset(&to->value);
    buf_add(&to->value, from->value.data, from->value.length);
    buf_reset(&to->private);
    buf_add(&to->private, from->private.data, from->private.length);
    buf_reset(&to->identity);
    buf_add(&to->identity, from->identity.data, from->identity.length);
}

static void set(struct buf *to, const ProtobufCBinaryData *from)
{
    buf_reset(to);
    buf_add(to, from->data, from->len);
}

/* A provider leaves the value out where it is null, as SDK v2 does after errors. */
static void set_value(struct buf *to, const Tfplugin__DynamicValue *from)
{
    buf_reset(to);
    if (from && from->msgpack.len)
        buf_add(to, from->msgpack.data, from->msgpack.len);
    else
        msgpack_add_nil(to);
}

static void set_state(struct tf_state *to, const Tfplugin__DynamicValue *value,
                      const ProtobufCBinaryData *private, const ProtobufCBinaryData *identity)
{
    set_value(&to->value, value);
    set(&to->private, private);
    set(&to->identity, identity);
}

/* ---- Requests ---- */

/* NULL: null. SDK v2 dies of a value that is left out. */
static Tfplugin__DynamicValue value_of(const struct buf *bytes)
{
    Tfplugin__DynamicValue value = TFPLUGIN__DYNAMIC_VALUE__INIT;

    value.msgpack =
        bytes ? (ProtobufCBinaryData){bytes->length, (uint8_t *)bytes->data}
              : (ProtobufCBinaryData){sizeof(null_bytes), (uint8_t *)(uintptr_t)null_bytes};
    return value;
}

static Tfplugin__RawState raw_of(const char *json)
{
    Tfplugin__RawState raw = TFPLUGIN__RAW_STATE__INIT;

    raw.json = (ProtobufCBinaryData){strlen(json), (uint8_t *)(uintptr_t)json};
    return raw;
}

static ProtobufCBinaryData binary(const struct buf *bytes)
{
    return (ProtobufCBinaryData){bytes->length, (uint8_t *)bytes->data};
}

static char *name_of(const struct resource_type *type)
{
    return (char *)(uintptr_t)type->name;
}

/* What we can do. */
static Tfplugin__Capabilities capabilities(void)
{
    Tfplugin__Capabilities caps = TFPLUGIN__CAPABILITIES__INIT;

    caps.write_only_attributes_allowed = true;
    return caps;
}

/* ---- Calls ---- */

/* *ret: the method's answer, also where the provider reports errors in it. */
static int ask(const struct resource_type *type, enum plugin_method method,
               const ProtobufCMessage *request, void *ret, enum grpc_delivery *ret_delivery,
               struct error *error)
{
    return plugin_ask(&(struct plugin_asking){type->instance->plugin, type->call, ROOT,
                                              type->warnings, ret_delivery},
                      method, request, ret, error);
}

static int validate(const struct resource_type *type, enum plugin_method method,
                    Tfplugin__Capabilities *caps, const struct buf *config, struct error *error)
{
    Tfplugin__DynamicValue value = value_of(config);
    Tfplugin__ValidateRequest request = TFPLUGIN__VALIDATE_REQUEST__INIT;
    _cleanup_message_ Tfplugin__Said *answer = NULL;

    request.type_name = name_of(type);
    request.config = &value;
    request.client_capabilities = caps;
    return ask(type, method, &request.base, &answer, NULL, error);
}

int resource_validate(const struct resource_type *type, const struct buf *config,
                      struct error *error)
{
    Tfplugin__Capabilities caps = capabilities();

    return validate(type, PLUGIN_VALIDATE_RESOURCE, &caps, config, error);
}

int data_validate(const struct resource_type *type, const struct buf *config, struct error *error)
{
    return validate(type, PLUGIN_VALIDATE_DATA, NULL, config, error);
}

int resource_upgrade(const struct resource_type *type, int64_t version, const char *json,
                     struct buf *ret, struct error *error)
{
    Tfplugin__RawState raw = raw_of(json);
    Tfplugin__UpgradeStateRequest request = TFPLUGIN__UPGRADE_STATE_REQUEST__INIT;
    _cleanup_message_ Tfplugin__UpgradeStateResponse *answer = NULL;
    int r;

    request.type_name = name_of(type);
    request.version = version;
    request.raw_state = &raw;
    r = ask(type, PLUGIN_UPGRADE_STATE, &request.base, &answer, NULL, error);
    if (r >= 0)
        set_value(ret, answer->upgraded_state);
    return r;
}

int resource_move(const struct resource_type *type, const struct tf_origin *origin,
                  struct tf_state *state, struct error *error)
{
    Tfplugin__RawState raw = raw_of(origin->json), identity;
    Tfplugin__MoveRequest request = TFPLUGIN__MOVE_REQUEST__INIT;
    _cleanup_message_ Tfplugin__MoveResponse *answer = NULL;
    int r;

    request.source_provider_address = (char *)(uintptr_t)origin->provider;
    request.source_type_name = (char *)(uintptr_t)origin->type;
    request.source_schema_version = origin->version;
    request.source_state = &raw;
    request.source_private = binary(&state->private);
    request.target_type_name = name_of(type);
    if (origin->identity) {
        identity = raw_of(origin->identity);
        request.source_identity = &identity;
        request.source_identity_schema_version = origin->identity_version;
    }
    r = ask(type, PLUGIN_MOVE, &request.base, &answer, NULL, error);
    if (r >= 0)
        set_state(state, answer->target_state, &answer->target_private, &answer->target_identity);
    return r;
}

int resource_read(const struct resource_type *type, struct tf_state *state, struct error *error)
{
    Tfplugin__DynamicValue value = value_of(&state->value);
    Tfplugin__Capabilities caps = capabilities();
    Tfplugin__ReadResourceRequest request = TFPLUGIN__READ_RESOURCE_REQUEST__INIT;
    _cleanup_message_ Tfplugin__ReadResourceResponse *answer = NULL;
    int r;

    request.type_name = name_of(type);
    request.current_state = &value;
    request.private_ = binary(&state->private);
    request.client_capabilities = &caps;
    request.current_identity = binary(&state->identity);
    r = ask(type, PLUGIN_READ, &request.base, &answer, NULL, error);
    if (r >= 0)
        set_state(state, answer->new_state, &answer->private_, &answer->new_identity);
    return r;
}

/* ---- Data sources ---- */

int data_read(const struct resource_type *type, const struct buf *config, struct buf *ret,
              struct error *error)
{
    Tfplugin__DynamicValue value = value_of(config);
    Tfplugin__Capabilities caps = capabilities();
    Tfplugin__ReadDataRequest request = TFPLUGIN__READ_DATA_REQUEST__INIT;
    _cleanup_message_ Tfplugin__ReadDataResponse *answer = NULL;
    int r;

    request.type_name = name_of(type);
    request.config = &value;
    request.client_capabilities = &caps;
    r = ask(type, PLUGIN_READ_DATA, &request.base, &answer, NULL, error);
    if (r >= 0)
        set_value(ret, answer->state);
    return r;
}

/* ---- Import ---- */

/* Of several that an id stands for, the one of the type. */
static const Tfplugin__ImportedResource *imported_of(const Tfplugin__ImportResponse *answer,
                                                     const char *type)
{
    for (size_t i = 0; i < answer->n_imported_resources; i++)
        if (str_equal(answer->imported_resources[i]->type_name, type))
            return answer->imported_resources[i];
    return NULL;
}

/* What an import gives is little more than the id; the rest is read. */
static int read_imported(const struct resource_type *type, const Tfplugin__ImportResponse *answer,
                         struct tf_state *ret, struct error *error)
{
    const Tfplugin__ImportedResource *imported = imported_of(answer, type->name);
    int r = 0;

    if (!imported)
        return err_set(error, ERR_INVALID, "ImportFailed",
                       "the provider %s gave no object of the type \"%s\" for it",
                       type->instance->provider->name, type->name);
    set_state(ret, imported->state, &imported->private_, &imported->identity);
    if (!tf_state_is_null(ret))
        r = resource_read(type, ret, error);
    if (r >= 0 && tf_state_is_null(ret))
        r = err_set(error, ERR_INVALID, "ImportFailed", "there is no such object");
    return r;
}

int resource_import(const struct resource_type *type, const char *id, struct tf_state *ret,
                    struct error *error)
{
    Tfplugin__Capabilities caps = capabilities();
    Tfplugin__ImportRequest request = TFPLUGIN__IMPORT_REQUEST__INIT;
    _cleanup_message_ Tfplugin__ImportResponse *answer = NULL;
    int r;

    request.type_name = name_of(type);
    request.id = (char *)(uintptr_t)id;
    request.client_capabilities = &caps;
    r = ask(type, PLUGIN_IMPORT, &request.base, &answer, NULL, error);
    if (r >= 0)
        r = read_imported(type, answer, ret, error);
    return r;
}

/* ---- Changes ---- */

void tf_plan_done(struct tf_plan *plan)
{
    tf_state_done(&plan->planned);
    tfplugin__plan_response__free_unpacked(plan->answer, NULL);
    plan->answer = NULL;
}

int resource_plan(const struct resource_type *type, const struct tf_state *prior,
                  const struct buf *proposed, const struct buf *config, struct tf_plan *ret,
                  struct error *error)
{
    Tfplugin__DynamicValue before = value_of(&prior->value), after = value_of(proposed);
    Tfplugin__DynamicValue wanted = value_of(config);
    Tfplugin__Capabilities caps = capabilities();
    Tfplugin__PlanRequest request = TFPLUGIN__PLAN_REQUEST__INIT;
    int r;

    request.type_name = name_of(type);
    request.prior_state = &before;
    request.proposed_new_state = &after;
    request.config = &wanted;
    request.prior_private = binary(&prior->private);
    request.prior_identity = binary(&prior->identity);
    request.client_capabilities = &caps;
    r = ask(type, PLUGIN_PLAN, &request.base, &ret->answer, NULL, error);
    if (r >= 0)
        set_state(&ret->planned, ret->answer->planned_state, &ret->answer->planned_private,
                  &ret->answer->planned_identity);
    return r;
}

int resource_apply(const struct resource_type *type, const struct buf *prior,
                   const struct tf_state *planned, const struct buf *config, struct tf_state *ret,
                   bool *ret_told, enum grpc_delivery *ret_delivery, struct error *error)
{
    Tfplugin__DynamicValue before = value_of(prior), after = value_of(&planned->value);
    Tfplugin__DynamicValue wanted = value_of(config);
    Tfplugin__ApplyRequest request = TFPLUGIN__APPLY_REQUEST__INIT;
    _cleanup_message_ Tfplugin__ApplyResponse *answer = NULL;
    int r;

    request.type_name = name_of(type);
    request.prior_state = &before;
    request.planned_state = &after;
    request.config = &wanted;
    request.planned_private = binary(&planned->private);
    request.planned_identity = binary(&planned->identity);
    r = ask(type, PLUGIN_APPLY, &request.base, &answer, ret_delivery, error);
    *ret_told = answer;
    if (answer)
        set_state(ret, answer->new_state, &answer->private_, &answer->new_identity);
    return r;
}
