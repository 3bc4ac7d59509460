/*
 * State's codec. The input, in three parts with a line "---" between them, is what was stored:
 * the open part, the secret part, an entry of the journal. They are read as they are (bytes that
 * are no gzip), and compressed as they should be. Whatever it is, reading it gives ERR_CORRUPT or
 * a State; a State that was read comes back the same from writing it; and damage to what was
 * written is found.
 */
#include <zlib.h>

#include "engine/state/codec.h"
#include "test/fuzz/fuzz.h"

#define PARTS 3

static const char between[] = "\n---\n";

static struct state *decode(const struct document *document)
{
    struct state *state = NULL;
    struct error error = {0};
    int r = state_decode(document, &state, &error);

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

static bool same_state(struct state *a, struct state *b)
{
    const struct state_head *x = state_head(a), *y = state_head(b);
    bool same = state_count(a) == state_count(b) && x->serial == y->serial &&
                x->revision == y->revision && x->epoch == y->epoch &&
                value_equal(x->policy, y->policy);

    for (size_t i = 0; same && i < state_count(a); i++)
        same = record_equal(state_at(a, i), state_at(b, i));
    return same;
}

/* Reads it, a part having changed: it is either found, or no change of the State (some bits of
 * gzip's mean nothing). */
static void must_find(const struct document *document, struct state *saved)
{
    _cleanup_(state_free_p) struct state *state = decode(document);

    must(!state || same_state(state, saved));
}

/* One bit changed; cut off; two bytes more. */
static void damage(struct document *document, struct buf *part, size_t at, struct state *saved)
{
    struct buf whole = *part, copy = BUF_INIT;
    size_t place;

    if (!whole.length)
        return;
    place = at % whole.length;
    buf_add(&copy, whole.data, whole.length);
    copy.data[place] = (char)(copy.data[place] ^ (1 << at % 8));
    *part = copy;
    must_find(document, saved);
    copy.data[place] = whole.data[place];
    part->length = place;
    must_find(document, saved);
    buf_add(&copy, whole.data, whole.length < 2 ? whole.length : 2);
    *part = copy;
    must_find(document, saved);
    buf_done(&copy);
    *part = whole;
}

static void write_again(struct state *state, size_t at)
{
    _cleanup_(document_done) struct document document = DOCUMENT_INIT;
    _cleanup_(state_free_p) struct state *again = NULL;
    struct error error = {0};
    int r = state_encode(state, &document, &error);

    must_agree(r, &error);
    if (r < 0)
        return;
    again = decode(&document);
    must(again && same_state(state, again));
    damage(&document, &document.open, at, again);
    damage(&document, &document.secret, at, again);
}

/* The next part of the text, up to a line "---" or the end. */
static struct buf take_part(const char **text, size_t *size)
{
    const char *cut = *size ? memmem(*text, *size, between, strlen(between)) : NULL;
    size_t length = cut ? (size_t)(cut - *text) : *size;
    size_t used = cut ? length + strlen(between) : length;
    struct buf part = BUF_INIT;

    buf_add(&part, *text, length);
    *text += used;
    *size -= used;
    return part;
}

static struct state *decode_parts(const struct buf *parts, bool is_compressed)
{
    _cleanup_(document_done) struct document document = DOCUMENT_INIT;
    struct buf *to[PARTS] = {&document.open, &document.secret, NULL};

    document.entries = calloc(1, sizeof(struct buf));
    must(document.entries);
    buf_init(&document.entries[0], 0);
    to[2] = &document.entries[0];
    for (size_t i = 0; i < PARTS; i++)
        if (is_compressed)
            compress_to(to[i], parts[i].data, parts[i].length);
        else
            buf_add(to[i], parts[i].data, parts[i].length);
    document.n_entries = document.entries[0].length ? 1 : 0;
    if (!document.n_entries)
        buf_done(&document.entries[0]);
    return decode(&document);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    size_t left = size, at = 0;
    struct buf parts[PARTS];
    _cleanup_(state_free_p) struct state *raw = NULL, *state = NULL;

    for (size_t i = 0; i < PARTS; i++)
        parts[i] = take_part(&text, &left);
    raw = decode_parts(parts, false);
    state = decode_parts(parts, true);
    for (size_t i = 0; i < size; i++)
        at = at * 31 + data[i];
    if (state)
        write_again(state, at);
    for (size_t i = 0; i < PARTS; i++)
        buf_done(&parts[i]);
    return 0;
}
