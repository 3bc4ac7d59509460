#include "runtimes/terraform/takeover.h"

#include "engine/base/str.h"
#include "engine/value/redaction.h"
#include "engine/value/value_mark.h"
#include "runtimes/terraform/import.h"

int takeover_find(const struct runtime_session *session, const struct runtime_target *target,
                  const struct value **ret, struct error *error)
{
    bool counts =
        target->attributes && !target->prior && target->part == TARGET_WHOLE && !import_id(target);

    *ret = NULL;
    if (!counts)
        return 0;
    if (session->existing_error.code)
        return err_copy(error, &session->existing_error);
    *ret = value_get(session->existing, target->id);
    return 0;
}

/* What a file has is read as what State has (memory.h), which it is like. */
static int load(const struct visit *visit, const struct value *found, struct tf_state *ret,
                struct error *error)
{
    const struct resource_type *type = &visit->type;

    if (value_int(value_get(found, "schemaVersion"), 0) > type->schema->version)
        return err_set(error, ERR_UNSUPPORTED, "NewerState",
                       "Terraform's state has it as a newer version of the provider wrote it than "
                       "%s",
                       type->instance->provider->version);
    return memory_load(type, found, ret, error);
}

int takeover_read(const struct visit *visit, const struct value *found, struct tf_state *ret,
                  struct error *error)
{
    const char *why_not = value_get_string(found, "error");
    const char *address = value_get_string(found, "address");
    int r;

    if (why_not)
        return err_set(error, ERR_INVALID, "TakeoverFailed", "%s", why_not);
    if (!str_equal(value_get_string(found, "type"), visit->type.name))
        return err_set(error, ERR_INVALID, "TakeoverFailed",
                       "%s of Terraform's state is no %s, which the resource is", address,
                       visit->type.name);
    r = load(visit, found, ret, error);
    if (r >= 0 && !tf_state_is_null(ret))
        r = resource_read(&visit->type, ret, error);
    if (r >= 0 && tf_state_is_null(ret))
        r = err_set(error, ERR_INVALID, "TakeoverFailed",
                    "the object of %s of Terraform's state does not exist any more (`terraform "
                    "state rm` takes it out; then a new one is created)",
                    address);
    return r;
}

const struct value *takeover_mark(const struct value *found, const struct value *object)
{
    return value_mark_paths(object, value_get(found, "sensitive"));
}

void takeover_redact(const struct visit *visit, const struct value *found, struct error *error)
{
    const struct value *state = value_get(found, "state");
    _cleanup_value_ const struct value *marked =
        visit->schema ? tf_mark(visit->schema->block, state) : NULL;
    _cleanup_value_ const struct value *secret = takeover_mark(found, marked);

    redact_error(error, &secret, 1);
}
