#include "engine/state/compress.h"

#include <zlib.h>

#include "engine/base/json.h"
#include "engine/base/limits.h"
#include "engine/state/state_value.h"

#define GZIP_WINDOW (15 + 16) /* zlib: the largest window, with a gzip header */
#define PIECE_SIZE  16384

static int too_large(struct error *error, const char *how)
{
    return err_set(error, ERR_TOO_LARGE, "StateTooLarge", "State is larger than %u bytes%s",
                   LIMIT_DOCUMENT_BYTES, how);
}

static int deflate_all(z_stream *stream, struct buf *to)
{
    unsigned char piece[PIECE_SIZE];
    int r = Z_OK;

    while (r == Z_OK && !buf_overflowed(to)) {
        stream->next_out = piece;
        stream->avail_out = sizeof(piece);
        r = deflate(stream, Z_FINISH);
        buf_add(to, piece, sizeof(piece) - stream->avail_out);
    }
    return r;
}

/* The gzip header holds neither a name nor a time, so equal text gives equal bytes. */
static int compress_text(const struct buf *text, struct buf *to, struct error *error)
{
    z_stream stream = {.next_in = (unsigned char *)text->data, .avail_in = (unsigned)text->length};
    int r;

    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return err_set(error, ERR_INTERNAL, "Compression", "zlib does not start");
    r = deflate_all(&stream, to);
    deflateEnd(&stream);
    if (buf_overflowed(to))
        return too_large(error, ", even when compressed");
    if (r != Z_STREAM_END)
        return err_set(error, ERR_INTERNAL, "Compression", "zlib does not end: %d", r);
    return 0;
}

int value_compress(const struct value *value, struct buf *ret, struct error *error)
{
    _cleanup_buf_ struct buf text = BUF_INIT;

    json_write(&text, value, JSON_COMPACT);
    if (buf_overflowed(&text))
        return too_large(error, "");
    return compress_text(&text, ret, error);
}

static int inflate_all(z_stream *stream, struct buf *to)
{
    unsigned char piece[PIECE_SIZE];
    int r = Z_OK;

    while (r == Z_OK && !buf_overflowed(to)) {
        stream->next_out = piece;
        stream->avail_out = sizeof(piece);
        r = inflate(stream, Z_NO_FLUSH);
        buf_add(to, piece, sizeof(piece) - stream->avail_out);
        if (r == Z_OK && stream->avail_in == 0 && stream->avail_out == sizeof(piece))
            return Z_DATA_ERROR;
    }
    return r;
}

static int expand(const void *bytes, size_t length, struct buf *to, struct error *error)
{
    z_stream stream = {0};
    int r;

    if (length > LIMIT_DOCUMENT_BYTES || inflateInit2(&stream, GZIP_WINDOW) != Z_OK)
        return state_corrupt(error, "not what was stored: too large");
    stream.next_in = (unsigned char *)(uintptr_t)bytes;
    stream.avail_in = (unsigned)length;
    r = inflate_all(&stream, to);
    inflateEnd(&stream);
    if (buf_overflowed(to))
        return state_corrupt(error, "not what was stored: too large");
    if (r != Z_STREAM_END || stream.avail_in)
        return state_corrupt(error, "not what was stored: bad gzip data");
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
