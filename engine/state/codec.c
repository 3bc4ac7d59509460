#include "engine/state/codec.h"

#include <string.h>
#include <zlib.h>

#include "engine/base/json.h"
#include "engine/base/limits.h"
#include "engine/base/path.h"
#include "engine/base/str.h"

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

static const struct value *replace_member(const struct value *object, const char *key,
                                          const struct value *taken)
{
    const struct value *next = value_with(object, key, taken);

    value_unref(object);
    value_unref(taken);
    return next;
}

/* Whether the pointer at an index is of no use: no string, there before, or below another. What
 * is left can be taken and put back in any order. */
static bool is_covered(const struct value *pointers, size_t index)
{
    const char *pointer = value_string(value_at(pointers, index));

    for (size_t i = 0; pointer && i < value_count(pointers); i++) {
        const char *other = value_string(value_at(pointers, i));
        char next;

        if (!other || i == index || !str_has_prefix(pointer, other))
            continue;
        next = pointer[strlen(other)];
        if (next == '/' || (next == '\0' && i < index))
            return true;
    }
    return !pointer;
}

/* Moves sensitive values out of one resource. resource is taken over. *secret collects. */
static const struct value *take_secrets(const struct value *resource, const struct value **secret)
{
    const struct value *pointers = value_path(resource, "record", "sensitive", NULL);
    const struct value *attributes = value_ref(value_get(resource, "attributes"));
    const struct value *taken = value_pack("{}"), *null = value_pack("n");

    for (size_t i = 0; i < value_count(pointers); i++) {
        const char *pointer = value_string(value_at(pointers, i));
        const struct value *found = NULL, *next;

        if (!is_covered(pointers, i))
            found = pointer_find(attributes, pointer);
        if (!found)
            continue;
        taken = replace_member(taken, pointer, value_ref(found));
        next = pointer_replace(attributes, pointer, null);
        value_unref(attributes);
        attributes = next;
    }
    value_unref(null);
    if (value_count(taken))
        *secret = replace_member(*secret, value_get_string(resource, "id"), value_ref(taken));
    value_unref(taken);
    return replace_member(resource, "attributes", attributes);
}

/* Whether all that was taken out of one resource is there to be put back. */
static bool has_secrets(const struct value *resource, const struct value *secret)
{
    const struct value *pointers = value_path(resource, "record", "sensitive", NULL);
    const struct value *attributes = value_get(resource, "attributes");
    const struct value *mine = value_get(secret, value_get_string(resource, "id"));

    for (size_t i = 0; i < value_count(pointers); i++) {
        const char *pointer = value_string(value_at(pointers, i));

        if (!is_covered(pointers, i) && pointer_find(attributes, pointer) &&
            !value_get(mine, pointer))
            return false;
    }
    return true;
}

static int check_secrets(const struct value *open, const struct value *secret, struct error *error)
{
    const struct value *resources = value_get(open, "resources");

    for (size_t i = 0; i < value_count(resources); i++)
        if (!has_secrets(value_at(resources, i), secret))
            return err_set(error, ERR_CORRUPT, "StateCorrupt",
                           "the secret part lacks values of State's resource %zu", i);
    return 0;
}

static const struct value *put_secrets(const struct value *resource, const struct value *secret)
{
    const struct value *mine = value_get(secret, value_get_string(resource, "id"));
    const struct value *attributes = value_ref(value_get(resource, "attributes"));

    for (size_t i = 0; i < value_count(mine); i++) {
        const struct value *next =
            pointer_replace(attributes, value_member_key(mine, i, NULL), value_member(mine, i));

        value_unref(attributes);
        attributes = next;
    }
    return replace_member(resource, "attributes", attributes);
}

static const struct value *split(const struct value *whole, const struct value **ret_secret)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const struct value *resources = value_get(whole, "resources"), *list = NULL;

    *ret_secret = value_pack("{}");
    value_begin_array(b);
    for (size_t i = 0; i < value_count(resources); i++) {
        const struct value *open = value_ref(value_at(resources, i));

        if (value_count(value_path(open, "record", "sensitive", NULL)))
            open = take_secrets(open, ret_secret);
        value_add(b, open);
        value_unref(open);
    }
    value_end_array(b);
    value_builder_finish(b, &list, NULL);
    return replace_member(value_ref(whole), "resources", list);
}

static const struct value *join(const struct value *open, const struct value *secret)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const struct value *resources = value_get(open, "resources"), *list = NULL;

    if (!value_is(resources, VALUE_ARRAY))
        return value_ref(open);
    value_begin_array(b);
    for (size_t i = 0; i < value_count(resources); i++) {
        const struct value *whole = value_ref(value_at(resources, i));

        if (value_get(secret, value_get_string(whole, "id")))
            whole = put_secrets(whole, secret);
        value_add(b, whole);
        value_unref(whole);
    }
    value_end_array(b);
    value_builder_finish(b, &list, NULL);
    return replace_member(value_ref(open), "resources", list);
}

int state_encode(const struct state *state, struct payload *ret_open, struct payload *ret_secret,
                 struct error *error)
{
    _cleanup_value_ const struct value *whole = state_to_value(state);
    _cleanup_value_ const struct value *secret = NULL;
    _cleanup_value_ const struct value *open = split(whole, &secret);
    struct payload open_payload = {.bytes = BUF_INIT}, secret_payload = {.bytes = BUF_INIT};
    int r = payload_encode(open, &open_payload, error);

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
    if (r >= 0)
        r = check_secrets(open_value, secret_value, error);
    if (r < 0)
        return r;
    whole = secret_value ? join(open_value, secret_value) : value_ref(open_value);
    return state_from_value(whole, ret, error);
}
