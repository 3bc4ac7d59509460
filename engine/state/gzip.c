#include "engine/state/gzip.h"

#include <stdint.h>
#include <string.h>
#include <zlib.h>

#define WINDOW     (15 + 16) /* zlib: the largest window, with a gzip header */
#define PIECE_SIZE 16384

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

int gzip_compress(const void *bytes, size_t length, struct buf *to)
{
    z_stream stream = {.next_in = (unsigned char *)(uintptr_t)bytes, .avail_in = (unsigned)length};
    int r;

    if (length > UINT32_MAX)
        return ERR_TOO_LARGE;
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW, 8, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        return ERR_INTERNAL;
    r = deflate_all(&stream, to);
    deflateEnd(&stream);
    if (buf_overflowed(to))
        return ERR_TOO_LARGE;
    return r == Z_STREAM_END ? 0 : ERR_INTERNAL;
}

static int inflate_all(z_stream *stream, gzip_on_piece *fn, void *arg, bool *ret_goes_on)
{
    unsigned char piece[PIECE_SIZE];
    bool goes_on = true;
    int r = Z_OK;

    while (r == Z_OK && goes_on) {
        stream->next_out = piece;
        stream->avail_out = sizeof(piece);
        r = inflate(stream, Z_NO_FLUSH);
        goes_on = fn(arg, piece, sizeof(piece) - stream->avail_out);
        if (r == Z_OK && stream->avail_in == 0 && stream->avail_out == sizeof(piece))
            r = Z_DATA_ERROR;
    }
    explicit_bzero(piece, sizeof(piece));
    *ret_goes_on = goes_on;
    return r;
}

int gzip_expand_each(const void *bytes, size_t length, gzip_on_piece *fn, void *arg)
{
    z_stream stream = {.next_in = (unsigned char *)(uintptr_t)bytes, .avail_in = (unsigned)length};
    bool goes_on;
    int r;

    if (length > UINT32_MAX)
        return ERR_TOO_LARGE;
    if (inflateInit2(&stream, WINDOW) != Z_OK)
        return ERR_CORRUPT;
    r = inflate_all(&stream, fn, arg, &goes_on);
    inflateEnd(&stream);
    if (!goes_on)
        return ERR_TOO_LARGE;
    return r == Z_STREAM_END && !stream.avail_in ? 0 : ERR_CORRUPT;
}

static bool add_piece(void *arg, const void *piece, size_t length)
{
    struct buf *to = arg;

    buf_add(to, piece, length);
    return !buf_overflowed(to);
}

int gzip_expand(const void *bytes, size_t length, struct buf *to)
{
    return gzip_expand_each(bytes, length, add_piece, to);
}

bool gzip_is(const void *bytes, size_t length)
{
    return length >= 2 && memcmp(bytes, "\x1f\x8b", 2) == 0;
}
