#include "controller/reconcile/status/exposed.h"

#include "engine/base/buf.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"
#include "engine/spec/secret_ref.h"

/* Ids in the message. */
#define NAMED 3

char *exposed_secrets(const struct value *resources)
{
    _cleanup_buf_ struct buf ids = BUF_INIT;
    size_t count = 0;

    for (size_t i = 0; value_is(resources, VALUE_ARRAY) && i < value_count(resources); i++) {
        const struct value *resource = value_at(resources, i);
        const struct value *attributes = value_get(resource, "attributes");
        const char *id = value_get_string(resource, "id");
        _cleanup_free_ char *shown = id ? utf8_show(id) : NULL; /* only hints begin a line */

        if (!secret_ref_is_clear(attributes, "data") &&
            !secret_ref_is_clear(attributes, "stringData"))
            continue;
        if (count++ < NAMED)
            buf_printf(&ids, "%s%s", count > 1 ? ", " : "", shown ? shown : "(no id)");
    }
    if (!count)
        return NULL;
    if (count > NAMED)
        buf_printf(&ids, ", and %zu more", count - NAMED);
    return str_printf(
        "the values of %zu %s are in clear in this Spec, for all who can read it: %s. "
        "References to a secret store (secretStore, ref://) keep them out of it",
        count, count == 1 ? "Secret" : "Secrets", ids.data);
}
