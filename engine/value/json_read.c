#include <string.h>

#include "engine/base/limits.h"
#include "engine/value/json_private.h"

/* The stream's value, which it lends for the time of the call. */
static int keep(void *arg, const struct value *value, struct error *error)
{
    const struct value **kept = arg;

    (void)error;
    *kept = value_ref(value);
    return 0;
}

int json_read(const char *text, size_t length, const struct value **ret, struct error *error)
{
    _cleanup_value_ const struct value *value = NULL;
    _cleanup_(json_stream_free_p) struct json_stream *stream = NULL;
    int r;

    if (length > LIMIT_DOCUMENT_BYTES)
        return err_set(error, ERR_TOO_LARGE, "DocumentTooLarge",
                       "line 1, column 1: a document of more than %u bytes", LIMIT_DOCUMENT_BYTES);
    stream = json_single_stream_new(keep, &value);
    r = json_stream_add(stream, text, length, error);
    if (r == 0)
        r = json_stream_end(stream, error);
    if (r == 0)
        *ret = TAKE(value);
    return r;
}

int json_read_str(const char *text, const struct value **ret, struct error *error)
{
    return json_read(text, strlen(text), ret, error);
}
