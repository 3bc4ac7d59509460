#include "runtimes/terraform/import.h"

#include "engine/value/redaction.h"

const struct value *import_id(const struct runtime_target *target)
{
    const struct value *id = value_get(target->extensions, IMPORT_ID);
    bool counts = target->attributes && !target->prior && target->part == TARGET_WHOLE;

    return counts && !value_is(id, VALUE_NULL) ? id : NULL;
}

const struct value *import_strip(const struct value *extensions)
{
    return value_get(extensions, IMPORT_ID) ? value_without(extensions, IMPORT_ID)
                                            : value_ref(extensions);
}

void import_redact(const struct value *id, struct error *error)
{
    _cleanup_value_ const struct value *secret = value_sensitive(id);

    redact_error(error, &secret, 1);
}

int import_read(const struct visit *visit, const struct value *id, struct tf_state *ret,
                struct error *error)
{
    const char *text = value_string(id);
    struct error failure = {0};
    int r;

    if (!text || !*text)
        return err_set(error, ERR_INVALID, "ImportFailed",
                       "extensions[" IMPORT_ID "]: must be a string that is not empty");
    r = resource_import(&visit->type, text, ret, &failure);
    if (r >= 0)
        return 0;
    import_redact(id, &failure);
    if (r == ERR_INVALID)
        return err_set(error, r, "ImportFailed",
                       "extensions[" IMPORT_ID
                       "]: the object cannot be taken over: %s (without the "
                       "extension, a new one is created)",
                       failure.message);
    return err_copy(error, &failure);
}
