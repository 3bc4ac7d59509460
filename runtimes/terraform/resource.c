#include "runtimes/terraform/resource.h"

#include "engine/base/str.h"
#include "runtimes/terraform/plugin/diagnostics.h"
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

/* ---- Requests ---- */

/* NULL: null. SDK v2 dies of a value that is left out. */
static Tfplugin__DynamicValue value_of(const struct buf *bytes)
{
    Tfplugin__DynamicValue value;

    tfplugin__dynamic_value__init(&value);
    value.msgpack =
        bytes ? (ProtobufCBinaryData){bytes->length, (uint8_t *)bytes->data}
              : (ProtobufCBinaryData){sizeof(null_bytes), (uint8_t *)(uintptr_t)null_bytes};
    return value;
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
    Tfplugin__Capabilities caps;

    tfplugin__capabilities__init(&caps);
    caps.write_only_attributes_allowed = true;
    return caps;
}

/* ---- Calls ---- */

int resource_validate(const struct resource_type *type, const struct buf *config,
                      struct error *error)
{
    Tfplugin__DynamicValue value = value_of(config);
    Tfplugin__Capabilities caps = capabilities();
    Tfplugin__ValidateResourceRequest request;
    Tfplugin__ValidateResourceResponse *answer = NULL;
    int r;

    tfplugin__validate_resource_request__init(&request);
    request.type_name = name_of(type);
    request.config = &value;
    request.client_capabilities = &caps;
    r = plugin_call(type->instance->plugin, PLUGIN_VALIDATE_RESOURCE, &request.base, type->call,
                    &answer, NULL, error);
    if (r < 0)
        return r;
    r = diagnostics_check(answer->diagnostics, answer->n_diagnostics, ROOT, type->warnings, error);
    tfplugin__validate_resource_response__free_unpacked(answer, NULL);
    return r;
}

int resource_upgrade(const struct resource_type *type, int64_t version, const char *json,
                     struct buf *ret, struct error *error)
{
    Tfplugin__RawState raw;
    Tfplugin__UpgradeStateRequest request;
    Tfplugin__UpgradeStateResponse *answer = NULL;
    int r;

    tfplugin__raw_state__init(&raw);
    raw.json = (ProtobufCBinaryData){strlen(json), (uint8_t *)(uintptr_t)json};
    tfplugin__upgrade_state_request__init(&request);
    request.type_name = name_of(type);
    request.version = version;
    request.raw_state = &raw;
    r = plugin_call(type->instance->plugin, PLUGIN_UPGRADE_STATE, &request.base, type->call,
                    &answer, NULL, error);
    if (r < 0)
        return r;
    r = diagnostics_check(answer->diagnostics, answer->n_diagnostics, ROOT, type->warnings, error);
    if (r >= 0)
        set_value(ret, answer->upgraded_state);
    tfplugin__upgrade_state_response__free_unpacked(answer, NULL);
    return r;
}

int resource_move(const struct resource_type *type, const struct tf_origin *origin,
                  struct tf_state *state, struct error *error)
{
    Tfplugin__RawState raw, identity;
    Tfplugin__MoveRequest request;
    Tfplugin__MoveResponse *answer = NULL;
    int r;

    tfplugin__raw_state__init(&raw);
    raw.json = (ProtobufCBinaryData){strlen(origin->json), (uint8_t *)(uintptr_t)origin->json};
    tfplugin__move_request__init(&request);
    request.source_provider_address = (char *)(uintptr_t)origin->provider;
    request.source_type_name = (char *)(uintptr_t)origin->type;
    request.source_schema_version = origin->version;
    request.source_state = &raw;
    request.source_private = binary(&state->private);
    request.target_type_name = name_of(type);
    tfplugin__raw_state__init(&identity);
    if (origin->identity) {
        identity.json =
            (ProtobufCBinaryData){strlen(origin->identity), (uint8_t *)(uintptr_t)origin->identity};
        request.source_identity = &identity;
        request.source_identity_schema_version = origin->identity_version;
    }
    r = plugin_call(type->instance->plugin, PLUGIN_MOVE, &request.base, type->call, &answer, NULL,
                    error);
    if (r < 0)
        return r;
    r = diagnostics_check(answer->diagnostics, answer->n_diagnostics, ROOT, type->warnings, error);
    if (r >= 0) {
        set_value(&state->value, answer->target_state);
        set(&state->private, &answer->target_private);
        set(&state->identity, &answer->target_identity);
    }
    tfplugin__move_response__free_unpacked(answer, NULL);
    return r;
}

int resource_read(const struct resource_type *type, struct tf_state *state, struct error *error)
{
    Tfplugin__DynamicValue value = value_of(&state->value);
    Tfplugin__Capabilities caps = capabilities();
    Tfplugin__ReadResourceRequest request;
    Tfplugin__ReadResourceResponse *answer = NULL;
    int r;

    tfplugin__read_resource_request__init(&request);
    request.type_name = name_of(type);
    request.current_state = &value;
    request.private_ = binary(&state->private);
    request.client_capabilities = &caps;
    request.current_identity = binary(&state->identity);
    r = plugin_call(type->instance->plugin, PLUGIN_READ, &request.base, type->call, &answer, NULL,
                    error);
    if (r < 0)
        return r;
    r = diagnostics_check(answer->diagnostics, answer->n_diagnostics, ROOT, type->warnings, error);
    if (r >= 0) {
        set_value(&state->value, answer->new_state);
        set(&state->private, &answer->private_);
        set(&state->identity, &answer->new_identity);
    }
    tfplugin__read_resource_response__free_unpacked(answer, NULL);
    return r;
}

/* ---- Data sources ---- */

int data_validate(const struct resource_type *type, const struct buf *config, struct error *error)
{
    Tfplugin__DynamicValue value = value_of(config);
    Tfplugin__ValidateDataRequest request;
    Tfplugin__ValidateDataResponse *answer = NULL;
    int r;

    tfplugin__validate_data_request__init(&request);
    request.type_name = name_of(type);
    request.config = &value;
    r = plugin_call(type->instance->plugin, PLUGIN_VALIDATE_DATA, &request.base, type->call,
                    &answer, NULL, error);
    if (r < 0)
        return r;
    r = diagnostics_check(answer->diagnostics, answer->n_diagnostics, ROOT, type->warnings, error);
    tfplugin__validate_data_response__free_unpacked(answer, NULL);
    return r;
}

int data_read(const struct resource_type *type, const struct buf *config, struct buf *ret,
              struct error *error)
{
    Tfplugin__DynamicValue value = value_of(config);
    Tfplugin__Capabilities caps = capabilities();
    Tfplugin__ReadDataRequest request;
    Tfplugin__ReadDataResponse *answer = NULL;
    int r;

    tfplugin__read_data_request__init(&request);
    request.type_name = name_of(type);
    request.config = &value;
    request.client_capabilities = &caps;
    r = plugin_call(type->instance->plugin, PLUGIN_READ_DATA, &request.base, type->call, &answer,
                    NULL, error);
    if (r < 0)
        return r;
    r = diagnostics_check(answer->diagnostics, answer->n_diagnostics, ROOT, type->warnings, error);
    if (r >= 0)
        set_value(ret, answer->state);
    tfplugin__read_data_response__free_unpacked(answer, NULL);
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
    set_value(&ret->value, imported->state);
    set(&ret->private, &imported->private_);
    set(&ret->identity, &imported->identity);
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
    Tfplugin__ImportRequest request;
    Tfplugin__ImportResponse *answer = NULL;
    int r;

    tfplugin__import_request__init(&request);
    request.type_name = name_of(type);
    request.id = (char *)(uintptr_t)id;
    request.client_capabilities = &caps;
    r = plugin_call(type->instance->plugin, PLUGIN_IMPORT, &request.base, type->call, &answer, NULL,
                    error);
    if (r < 0)
        return r;
    r = diagnostics_check(answer->diagnostics, answer->n_diagnostics, ROOT, type->warnings, error);
    if (r >= 0)
        r = read_imported(type, answer, ret, error);
    tfplugin__import_response__free_unpacked(answer, NULL);
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
    Tfplugin__PlanRequest request;
    int r;

    tfplugin__plan_request__init(&request);
    request.type_name = name_of(type);
    request.prior_state = &before;
    request.proposed_new_state = &after;
    request.config = &wanted;
    request.prior_private = binary(&prior->private);
    request.prior_identity = binary(&prior->identity);
    request.client_capabilities = &caps;
    r = plugin_call(type->instance->plugin, PLUGIN_PLAN, &request.base, type->call, &ret->answer,
                    NULL, error);
    if (r < 0)
        return r;
    r = diagnostics_check(ret->answer->diagnostics, ret->answer->n_diagnostics, ROOT,
                          type->warnings, error);
    if (r < 0)
        return r;
    set_value(&ret->planned.value, ret->answer->planned_state);
    set(&ret->planned.private, &ret->answer->planned_private);
    set(&ret->planned.identity, &ret->answer->planned_identity);
    return 0;
}

int resource_apply(const struct resource_type *type, const struct buf *prior,
                   const struct tf_state *planned, const struct buf *config, struct tf_state *ret,
                   bool *ret_told, enum grpc_delivery *ret_delivery, struct error *error)
{
    Tfplugin__DynamicValue before = value_of(prior), after = value_of(&planned->value);
    Tfplugin__DynamicValue wanted = value_of(config);
    Tfplugin__ApplyRequest request;
    Tfplugin__ApplyResponse *answer = NULL;
    int r;

    tfplugin__apply_request__init(&request);
    request.type_name = name_of(type);
    request.prior_state = &before;
    request.planned_state = &after;
    request.config = &wanted;
    request.planned_private = binary(&planned->private);
    request.planned_identity = binary(&planned->identity);
    *ret_told = false;
    r = plugin_call(type->instance->plugin, PLUGIN_APPLY, &request.base, type->call, &answer,
                    ret_delivery, error);
    if (r < 0)
        return r;
    *ret_told = true;
    r = diagnostics_check(answer->diagnostics, answer->n_diagnostics, ROOT, type->warnings, error);
    set_value(&ret->value, answer->new_state);
    set(&ret->private, &answer->private_);
    set(&ret->identity, &answer->new_identity);
    tfplugin__apply_response__free_unpacked(answer, NULL);
    return r;
}
