/*
 * State's codec. The input, in two parts with a line "---" between, is what was stored: bytes
 * that are no gzip; and, compressed as they should be, the open and the secret text. Whatever
 * it is, reading it gives ERR_CORRUPT or a State; a State that was read comes back the same from
 * writing it; and damage to what was written is found.
 */
#include <zlib.h>

#include "engine/base/json.h"
#include "engine/state/codec.h"
#include "test/fuzz/fuzz.h"

static const char between[] = "\n---\n";

static struct state *decode(const struct buf *open, const struct buf *secret)
{
    struct state *state = NULL;
    struct error error = {0};
    int r = state_decode(open->data, open->length, secret->data, secret->length, &state, &error);

    must_agree(r, &error);
    must((r == 0) == (state != NULL) && (r == 0 || r == ERR_CORRUPT));
    return state;
}

/* As the codec does, but of any text. Empty stays empty. */
static void compress_to(struct buf *to, const char *text, size_t length)
{
    size_t room = compressBound(length) + 64;
    unsigned char *bytes = malloc(room);
    z_stream stream = {.next_in = (unsigned char *)(uintptr_t)text,
                       .avail_in = (unsigned)length,
                       .next_out = bytes,
                       .avail_out = (unsigned)room};

    must(bytes && deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    must(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    if (length)
        buf_add(to, bytes, stream.total_out);
    deflateEnd(&stream);
    free(bytes);
}

/* Reads it, open or secret having changed: it is either found, or no change of the State (some
 * bits of gzip's mean nothing). */
static void must_find(const struct buf *changed, const struct buf *other, bool is_open,
                      const struct value *saved)
{
    _cleanup_(state_free_p) struct state *state =
        is_open ? decode(changed, other) : decode(other, changed);
    _cleanup_value_ const struct value *value = state ? state_to_value(state) : NULL;

    must(!state || value_equal(value, saved));
}

/* One bit changed; cut off; two bytes more. */
static void damage(const struct buf *from, const struct buf *other, bool is_open, size_t at,
                   const struct value *saved)
{
    _cleanup_buf_ struct buf copy = BUF_INIT;
    size_t place;

    if (!from->length)
        return;
    place = at % from->length;
    buf_add(&copy, from->data, from->length);
    copy.data[place] = (char)(copy.data[place] ^ (1 << at % 8));
    must_find(&copy, other, is_open, saved);
    buf_reset(&copy);
    buf_add(&copy, from->data, place);
    must_find(&copy, other, is_open, saved);
    buf_reset(&copy);
    buf_add(&copy, from->data, from->length);
    buf_add(&copy, from->data, 2);
    must_find(&copy, other, is_open, saved);
}

static void write_again(const struct state *state, size_t at)
{
    struct payload open = {.bytes = BUF_INIT}, secret = {.bytes = BUF_INIT};
    _cleanup_(state_free_p) struct state *again = NULL;
    _cleanup_value_ const struct value *before = state_to_value(state), *after = NULL;
    struct error error = {0};
    int r = state_encode(state, &open, &secret, &error);

    must_agree(r, &error);
    if (r < 0)
        return;
    again = decode(&open.bytes, &secret.bytes);
    must(again);
    after = state_to_value(again);
    must(value_equal(before, after));
    damage(&open.bytes, &secret.bytes, true, at, before);
    damage(&secret.bytes, &open.bytes, false, at, before);
    payload_done(&open);
    payload_done(&secret);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const char *cut = size ? memmem(text, size, between, strlen(between)) : NULL;
    size_t open_size = cut ? (size_t)(cut - text) : size;
    const char *rest = cut ? cut + strlen(between) : text + size;
    _cleanup_buf_ struct buf raw_open = BUF_INIT, raw_secret = BUF_INIT;
    _cleanup_buf_ struct buf open = BUF_INIT, secret = BUF_INIT;
    _cleanup_(state_free_p) struct state *raw = NULL, *state = NULL;
    size_t at = 0;

    buf_add(&raw_open, text, open_size);
    buf_add(&raw_secret, rest, size - (size_t)(rest - text));
    raw = decode(&raw_open, &raw_secret);
    compress_to(&open, raw_open.data, raw_open.length);
    compress_to(&secret, raw_secret.data, raw_secret.length);
    state = decode(&open, &secret);
    for (size_t i = 0; i < size; i++)
        at = at * 31 + data[i];
    if (state)
        write_again(state, at);
    return 0;
}
