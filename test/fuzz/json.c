/*
 * Whatever the bytes: reading ends; what was read, written and read again is
 * equal; and a stream reads the same from pieces.
 */
#include "engine/value/json.h"
#include "test/fuzz/fuzz.h"

static void read_again(const struct value *value, enum json_style style)
{
    _cleanup_value_ const struct value *again = NULL;
    _cleanup_buf_ struct buf text = BUF_INIT, twice = BUF_INIT;

    json_write(&text, value, style);
    must(json_read(text.data, text.length, &again, NULL) == 0);
    must(value_equal(value, again));
    json_write(&twice, again, style);
    must(text.length == twice.length && memcmp(text.data, twice.data, text.length) == 0);
}

struct seen {
    const struct value *last;
    size_t count;
};

static int see(void *arg, const struct value *value, struct error *error)
{
    struct seen *seen = arg;

    (void)error;
    value_unref(seen->last);
    seen->last = value_ref(value);
    seen->count++;
    return 0;
}

static int feed(struct json_stream *stream, const char *text, size_t size, size_t largest)
{
    struct error error = {0};
    size_t piece = 1;
    int r = 0;

    for (size_t at = 0; r == 0 && at < size; at += piece, piece = piece % largest + 1)
        r = json_stream_add(stream, text + at, size - at < piece ? size - at : piece, &error);
    if (r == 0)
        r = json_stream_end(stream, &error);
    must(r == error.code);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    _cleanup_value_ const struct value *value = NULL;
    _cleanup_(json_stream_free_p) struct json_stream *documents = NULL, *larger = NULL,
                                                     *items = NULL;
    struct seen seen = {0}, again = {0}, others = {0};
    struct error error = {0};
    int r = json_read(text, size, &value, &error), of_stream;

    must(r == error.code && (r == 0) == (value != NULL));
    documents = json_stream_new(see, &seen);
    of_stream = feed(documents, text, size, 7);
    larger = json_stream_new(see, &again);
    must(feed(larger, text, size, 150) == of_stream && again.count == seen.count);
    items = json_item_stream_new("items", see, see, &others);
    feed(items, text, size, 150);
    if (value) {
        read_again(value, JSON_COMPACT);
        read_again(value, JSON_CANONICAL);
        read_again(value, JSON_PRETTY);
        read_again(value, JSON_FOR_YAML);
        must(of_stream == 0 && seen.count == 1 && value_equal(seen.last, value));
    }
    value_unref(seen.last);
    value_unref(again.last);
    value_unref(others.last);
    return 0;
}
