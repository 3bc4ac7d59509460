#include "engine/state/compress.h"

#include "engine/base/limits.h"
#include "engine/state/gzip.h"
#include "engine/state/state_value.h"
#include "engine/value/json.h"

static int too_large(struct error *error, const char *how)
{
    return err_set(error, ERR_TOO_LARGE, "StateTooLarge", "State is larger than %u bytes%s",
                   LIMIT_DOCUMENT_BYTES, how);
}

int value_compress(const struct value *value, struct buf *ret, struct error *error)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    int r;

    json_write(&text, value, JSON_COMPACT);
    if (buf_overflowed(&text))
        return too_large(error, "");
    r = gzip_compress(text.data, text.length, ret);
    if (r == ERR_TOO_LARGE)
        return too_large(error, ", even when compressed");
    return r < 0 ? err_set(error, r, "Compression", "zlib does not work") : 0;
}

static int expand(const void *bytes, size_t length, struct buf *to, struct error *error)
{
    int r = length > LIMIT_DOCUMENT_BYTES ? ERR_TOO_LARGE : gzip_expand(bytes, length, to);

    if (r < 0)
        return state_corrupt(error, r == ERR_TOO_LARGE ? "not what was stored: too large"
                                                       : "not what was stored: bad gzip data");
    return 0;
}

int value_expand(const void *bytes, size_t length, const struct value **ret, struct error *error)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    struct error problem = {0};
    int r = expand(bytes, length, &text, error);

    if (r < 0)
        return r;
    if (json_read(text.data, text.length, ret, &problem) < 0)
        return state_corrupt(error, "not what was stored: %s", problem.message);
    return 0;
}
