#include "controller/reconcile/exposed.h"

#include "engine/base/buf.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"
#include "engine/spec/secret_ref.h"

/* Ids in the message. */
#define NAMED 3

/* A reference is no value. What is sensitive came from a Secret (sources.h). */
static bool is_in_clear(const struct value *value, bool is_data)
{
    const char *text = value_string(value);
    _cleanup_free_ char *reference = secret_ref_text(value, is_data);

    return text && *text && !value_is_sensitive(value) && !reference &&
           !str_has_prefix(text, "$kusion_path.");
}

static bool has_in_clear(const struct value *data, bool is_data)
{
    for (size_t i = 0; value_is(data, VALUE_OBJECT) && i < value_count(data); i++)
        if (is_in_clear(value_member(data, i), is_data))
            return true;
    return false;
}

static bool is_exposed(const struct value *resource)
{
    const struct value *attributes = value_get(resource, "attributes");

    return str_equal(value_get_string(attributes, "kind"), "Secret") &&
           str_equal(value_get_string(attributes, "apiVersion"), "v1") &&
           (has_in_clear(value_get(attributes, "data"), true) ||
            has_in_clear(value_get(attributes, "stringData"), false));
}

char *exposed_secrets(const struct value *resources)
{
    _cleanup_buf_ struct buf ids = BUF_INIT;
    size_t count = 0;

    for (size_t i = 0; value_is(resources, VALUE_ARRAY) && i < value_count(resources); i++) {
        const struct value *resource = value_at(resources, i);
        const char *id = value_get_string(resource, "id");
        _cleanup_free_ char *shown = id ? utf8_show(id) : NULL; /* only hints begin a line */

        if (!is_exposed(resource))
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
