/*
 * Streams, in pieces whose sizes the first line gives (its bytes): documents come as they do
 * from one piece; what a callback refuses ends the reading; the items of a list, and the rest of
 * it, are those of the list as it is read whole.
 */
#include "engine/base/mem.h"
#include "engine/value/json.h"
#include "test/fuzz/fuzz.h"

#define MOST 64 /* values that are kept */

struct seen {
    const struct value *values[MOST], *rest;
    size_t count, n_rests, refuse_at; /* refuse_at: from 1; 0: none */
};

static int see(void *arg, const struct value *value, struct error *error)
{
    struct seen *seen = arg;

    must(value);
    if (seen->count < MOST)
        seen->values[seen->count] = value_ref(value);
    if (++seen->count == seen->refuse_at)
        return err_set(error, ERR_GONE, "Refused", "refused");
    return 0;
}

static int see_rest(void *arg, const struct value *value, struct error *error)
{
    struct seen *seen = arg;

    (void)error;
    value_assign(&seen->rest, value);
    seen->n_rests++;
    return 0;
}

static void seen_done(struct seen *seen)
{
    for (size_t i = 0; i < seen->count && i < MOST; i++)
        value_unref(seen->values[i]);
    value_unref(seen->rest);
}

/* pieces "" : all at once. */
static int feed(struct json_stream *stream, const char *pieces, const char *text, size_t size)
{
    struct error error = {0};
    size_t turn = 0;
    int r = 0;

    while (r == 0 && size) {
        size_t piece = *pieces ? (unsigned char)pieces[turn++ % strlen(pieces)] : size;

        piece = piece < size ? piece : size;
        r = json_stream_add(stream, text, piece, &error);
        text += piece;
        size -= piece;
    }
    if (r == 0)
        r = json_stream_end(stream, &error);
    must_agree(r, &error);
    return r;
}

static int read_documents(struct seen *seen, const char *pieces, const char *text, size_t size)
{
    _cleanup_(json_stream_free_p) struct json_stream *stream = json_stream_new(see, seen);

    return feed(stream, pieces, text, size);
}

static void same(const struct seen *a, const struct seen *b)
{
    must(a->count == b->count && a->n_rests == b->n_rests);
    for (size_t i = 0; i < a->count && i < MOST; i++)
        must(value_equal(a->values[i], b->values[i]));
    must(!a->n_rests || value_equal(a->rest, b->rest));
}

static void check_documents(const char *pieces, const char *text, size_t size)
{
    struct seen whole = {0}, cut = {0}, refused = {0};
    int r = read_documents(&whole, "", text, size);

    must(read_documents(&cut, pieces, text, size) == r);
    same(&whole, &cut);
    refused.refuse_at = (whole.count + 1) / 2;
    if (refused.refuse_at) {
        must(read_documents(&refused, pieces, text, size) == ERR_GONE);
        must(refused.count == refused.refuse_at);
    }
    seen_done(&whole);
    seen_done(&cut);
    seen_done(&refused);
}

static int read_items(struct seen *seen, const char *pieces, const char *text, size_t size)
{
    _cleanup_(json_stream_free_p) struct json_stream *stream =
        json_item_stream_new("items", see, see_rest, seen);

    return feed(stream, pieces, text, size);
}

static void check_items(const char *pieces, const char *text, size_t size)
{
    struct seen whole = {0}, cut = {0};
    _cleanup_value_ const struct value *list = NULL, *rest = NULL;
    int r = read_items(&whole, "", text, size);

    must(read_items(&cut, pieces, text, size) == r);
    same(&whole, &cut);
    if (json_read(text, size, &list, NULL) == 0 && value_is(list, VALUE_OBJECT) &&
        value_is(value_get(list, "items"), VALUE_ARRAY)) {
        const struct value *items = value_get(list, "items");

        must(r == 0 && whole.count == value_count(items) && whole.n_rests == 1);
        for (size_t i = 0; i < whole.count && i < MOST; i++)
            must(value_equal(whole.values[i], value_at(items, i)));
        rest = value_without(list, "items");
        must(value_equal(whole.rest, rest));
    }
    seen_done(&whole);
    seen_done(&cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *pieces = take_line(&data, &size);

    check_documents(pieces, (const char *)data, size);
    check_items(pieces, (const char *)data, size);
    return 0;
}
