#include "engine/state/codec.h"

#include <string.h>
#include <zlib.h>

#include "engine/base/json.h"
#include "engine/base/limits.h"
#include "engine/base/value_mark.h"

#define GZIP_WINDOW (15 + 16) /* zlib: the largest window, in gzip's frame */

void payload_done(struct payload *payload)
{
    buf_done(&payload->bytes);
    payload->checksum[0] = '\0';
}

size_t payload_chunks(const struct payload *payload)
{
    return (payload->bytes.length + LIMIT_CHUNK_BYTES - 1) / LIMIT_CHUNK_BYTES;
}

void payload_chunk(const struct payload *payload, size_t index, const char **ret_data,
                   size_t *ret_length)
{
    size_t offset = index * LIMIT_CHUNK_BYTES, left = payload->bytes.length - offset;

    *ret_data = payload->bytes.data + offset;
    *ret_length = left < LIMIT_CHUNK_BYTES ? left : LIMIT_CHUNK_BYTES;
}

/* ---- gzip ---- */

static int deflate_all(z_stream *stream, struct buf *to)
{
    unsigned char piece[16384];
    int r = Z_OK;

    while (r == Z_OK && !buf_overflowed(to)) {
        stream->next_out = piece;
        stream->avail_out = sizeof(piece);
        r = deflate(stream, Z_FINISH);
        buf_add(to, piece, sizeof(piece) - stream->avail_out);
    }
    return r;
}

/* Deterministic: the frame holds neither a name nor a time. */
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
        return err_set(error, ERR_TOO_LARGE, "StateTooLarge",
                       "State is larger than %u bytes even when compressed", LIMIT_DOCUMENT_BYTES);
    if (r != Z_STREAM_END)
        return err_set(error, ERR_INTERNAL, "Compression", "zlib does not end: %d", r);
    return 0;
}

static int inflate_all(z_stream *stream, struct buf *to)
{
    unsigned char piece[16384];
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

static int decompress(const char *bytes, size_t length, struct buf *to, struct error *error)
{
    z_stream stream = {0};
    int r;

    if (length > LIMIT_DOCUMENT_BYTES || inflateInit2(&stream, GZIP_WINDOW) != Z_OK)
        return err_set(error, ERR_CORRUPT, "StateCorrupt", "not what was stored: too large");
    stream.next_in = (unsigned char *)(uintptr_t)bytes;
    stream.avail_in = (unsigned)length;
    r = inflate_all(&stream, to);
    inflateEnd(&stream);
    if (buf_overflowed(to))
        return err_set(error, ERR_CORRUPT, "StateCorrupt", "not what was stored: too large");
    if (r != Z_STREAM_END || stream.avail_in)
        return err_set(error, ERR_CORRUPT, "StateCorrupt", "not what was stored: bad gzip data");
    return 0;
}

int payload_encode(const struct value *value, struct payload *ret, struct error *error)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    struct payload payload = {.bytes = BUF_INIT};
    int r;

    json_write(&text, value, JSON_COMPACT);
    if (buf_overflowed(&text))
        return err_set(error, ERR_TOO_LARGE, "StateTooLarge", "State is larger than %u bytes",
                       LIMIT_DOCUMENT_BYTES);
    r = compress_text(&text, &payload.bytes, error);
    if (r >= 0 && payload_chunks(&payload) > LIMIT_CHUNKS)
        r = err_set(error, ERR_TOO_LARGE, "StateTooLarge", "State needs more than %d chunks",
                    LIMIT_CHUNKS);
    if (r < 0) {
        payload_done(&payload);
        return r;
    }
    hash_hex(payload.bytes.data, payload.bytes.length, payload.checksum);
    *ret = payload;
    return 0;
}

int payload_decode(const char *bytes, size_t length, const struct value **ret, struct error *error)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    struct error problem = {0};
    int r = decompress(bytes, length, &text, error);

    if (r < 0)
        return r;
    if (json_read(text.data, text.length, ret, &problem) < 0)
        return err_set(error, ERR_CORRUPT, "StateCorrupt", "not what was stored: %s",
                       problem.message);
    return 0;
}

/* ---- What is secret, apart ---- */

static const struct value *keys_of(const struct value *object)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const struct value *keys = NULL;

    value_begin_array(b);
    for (size_t i = 0; i < value_count(object); i++) {
        size_t length = 0;
        const char *key = value_member_key(object, i, &length);

        value_add_string_n(b, key, length);
    }
    value_end_array(b);
    value_builder_finish(b, &keys, NULL);
    return keys;
}

/* The open part of one resource; what is secret of it is added to secret, an object. A reference;
 * NULL: past a bound. */
static const struct value *take_secrets(const struct value *resource, struct value_builder *secret)
{
    _cleanup_value_ const struct value *left = NULL, *taken = NULL, *pointers = NULL, *open = NULL;
    const struct value *attributes = value_get(resource, "attributes");

    if (!value_has_sensitive(attributes))
        return value_ref(resource);
    left = value_take_sensitive(attributes, &taken);
    pointers = left ? keys_of(taken) : NULL;
    if (!pointers)
        return NULL;
    value_key(secret, value_get_string(resource, "id"));
    value_add(secret, taken);
    open = value_with(resource, "attributes", left);
    return value_with(open, "sensitive", pointers);
}

/* Whether the secret part has what was taken from a resource, and nothing else. */
static bool is_complete(const struct value *pointers, const struct value *mine)
{
    if (value_count(mine) != value_count(pointers))
        return false;
    for (size_t i = 0; i < value_count(pointers); i++) {
        size_t length = 0;
        const char *pointer = value_string_n(value_at(pointers, i), &length);

        if (!pointer || !value_get_n(mine, pointer, length))
            return false;
    }
    return true;
}

/* The inverse of take_secrets(). A reference; NULL: not all of them are there, or have a place. */
static const struct value *put_secrets(const struct value *resource, const struct value *secret)
{
    const struct value *pointers = value_get(resource, "sensitive");
    const struct value *mine = value_get(secret, value_get_string(resource, "id"));
    _cleanup_value_ const struct value *attributes = NULL;

    if (!value_count(pointers))
        return value_ref(resource);
    if (!is_complete(pointers, mine))
        return NULL;
    attributes = value_put_sensitive(value_get(resource, "attributes"), mine);
    return attributes ? value_with(resource, "attributes", attributes) : NULL;
}

/* The open part of a State; NULL: past a bound. */
static const struct value *split(const struct value *whole, const struct value **ret_secret)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new(),
                                                         *secrets = value_builder_new();
    const struct value *resources = value_get(whole, "resources");
    _cleanup_value_ const struct value *list = NULL, *secret = NULL;

    value_begin_array(b);
    value_begin_object(secrets);
    for (size_t i = 0; i < value_count(resources); i++) {
        _cleanup_value_ const struct value *open = take_secrets(value_at(resources, i), secrets);

        if (!open)
            return NULL;
        value_add(b, open);
    }
    value_end_object(secrets);
    value_end_array(b);
    value_builder_finish(b, &list, NULL);
    value_builder_finish(secrets, &secret, NULL);
    if (!list || !secret)
        return NULL;
    *ret_secret = TAKE(secret);
    return value_with(whole, "resources", list);
}

static int join(const struct value *open, const struct value *secret, const struct value **ret,
                struct error *error)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const struct value *resources = value_get(open, "resources");
    _cleanup_value_ const struct value *list = NULL;

    value_begin_array(b);
    for (size_t i = 0; i < value_count(resources); i++) {
        _cleanup_value_ const struct value *whole = put_secrets(value_at(resources, i), secret);

        if (!whole)
            return err_set(error, ERR_CORRUPT, "StateCorrupt",
                           "the secret part lacks values of State's resource %zu", i);
        value_add(b, whole);
    }
    value_end_array(b);
    if (value_builder_finish(b, &list, NULL) == 0)
        *ret = value_with(open, "resources", list);
    if (!*ret)
        return err_set(error, ERR_CORRUPT, "StateCorrupt", "not what was stored: too large");
    return 0;
}

int state_encode(const struct state *state, struct payload *ret_open, struct payload *ret_secret,
                 struct error *error)
{
    _cleanup_value_ const struct value *whole = state_to_value(state);
    _cleanup_value_ const struct value *secret = NULL;
    _cleanup_value_ const struct value *open = whole ? split(whole, &secret) : NULL;
    struct payload open_payload = {.bytes = BUF_INIT}, secret_payload = {.bytes = BUF_INIT};
    int r;

    if (!open)
        return err_set(error, ERR_TOO_LARGE, "StateTooLarge", "State holds more than %u values",
                       LIMIT_DOCUMENT_VALUES);
    r = payload_encode(open, &open_payload, error);
    if (r >= 0 && value_count(secret))
        r = payload_encode(secret, &secret_payload, error);
    if (r < 0) {
        payload_done(&open_payload);
        return r;
    }
    *ret_open = open_payload;
    *ret_secret = secret_payload;
    return 0;
}

int state_decode(const char *open, size_t open_length, const char *secret, size_t secret_length,
                 struct state **ret, struct error *error)
{
    _cleanup_value_ const struct value *open_value = NULL, *secret_value = NULL, *whole = NULL;
    int r = payload_decode(open, open_length, &open_value, error);

    if (r >= 0 && secret_length)
        r = payload_decode(secret, secret_length, &secret_value, error);
    if (r >= 0 && value_is(value_get(open_value, "resources"), VALUE_ARRAY))
        r = join(open_value, secret_value, &whole, error);
    if (r < 0)
        return r;
    return state_from_value(whole ? whole : open_value, ret, error);
}
