#include "engine/state/codec.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/json.h"
#include "engine/base/limits.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/value_mark.h"
#include "test/unit/suite.h"

static const struct value *parse(const char *text)
{
    const struct value *value = NULL;

    EXPECT_INT(json_read_str(text, &value, NULL), 0, text);
    return value;
}

static void add(struct state *state, const char *id, const char *attributes, const char *sensitive)
{
    struct record *record = state_record(state, id, "Kubernetes");
    _cleanup_value_ const struct value *value = parse(attributes);
    _cleanup_value_ const struct value *pointers = sensitive ? parse(sensitive) : NULL;
    _cleanup_value_ const struct value *marked = value_mark_paths(value, pointers);

    record->status = RECORD_APPLIED;
    value_assign(&record->attributes, marked);
    record_set_str(&record->uid, "u-1");
    record_set_str(&record->digest, "d");
    record_set_str(&record->footprint, "f");
}

static struct state *sample(void)
{
    struct state *state = state_new("team-a", "web", "uid-1");

    state->revision = 7;
    state->applied_revision = 6;
    state->generation = 3;
    state->epoch = 2;
    add(state, "v1:ConfigMap:a:b", "{\"data\":{\"k\":\"v\"},\"n\":12345678901234567890123}", NULL);
    add(state, "v1:Secret:a:s", "{\"data\":{\"p\":\"aHVudGVyMg==\"},\"kind\":\"Secret\"}",
        "[\"/data\"]");
    state_record(state, "v1:Pod:a:p", "Kubernetes");
    value_assign(&state_find(state, "v1:Pod:a:p")->attributes,
                 state_find(state, "v1:ConfigMap:a:b")->attributes);
    return state;
}

/* Values, and what of them is sensitive. */
static bool is_same(const struct state *a, const struct state *b)
{
    _cleanup_value_ const struct value *x = state_to_value(a), *y = state_to_value(b);
    _cleanup_value_ const struct value *in_x = value_sensitive_paths(x),
                                       *in_y = value_sensitive_paths(y);

    return value_equal(x, y) && value_equal(in_x, in_y);
}

static void comes_back_as_it_was(void)
{
    _cleanup_(state_free_p) struct state *state = sample(), *back = NULL;
    struct payload open, secret;

    CU_ASSERT_EQUAL_FATAL(state_encode(state, &open, &secret, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(state_decode(open.bytes.data, open.bytes.length, secret.bytes.data,
                                       secret.bytes.length, &back, NULL),
                          0);
    EXPECT(is_same(state, back), "round trip");
    EXPECT_INT(state_find(back, "v1:Pod:a:p")->status, RECORD_INTENT, "an intent stays one");
    payload_done(&open);
    payload_done(&secret);
}

static void keeps_secrets_out_of_the_open_part(void)
{
    _cleanup_(state_free_p) struct state *state = sample();
    _cleanup_value_ const struct value *value = NULL;
    _cleanup_free_ char *text = NULL;
    struct payload open, secret;

    CU_ASSERT_EQUAL_FATAL(state_encode(state, &open, &secret, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(payload_decode(open.bytes.data, open.bytes.length, &value, NULL), 0);
    text = json_to_str(value);
    EXPECT(!strstr(text, "aHVudGVyMg"), text);
    EXPECT(secret.bytes.length > 0, "it is in the secret part");
    payload_done(&open);
    payload_done(&secret);
}

static void refuses_what_is_damaged(void)
{
    _cleanup_(state_free_p) struct state *state = sample();
    struct payload open, secret;

    CU_ASSERT_EQUAL_FATAL(state_encode(state, &open, &secret, NULL), 0);
    for (size_t length = 0; length < open.bytes.length; length++) {
        struct state *back = NULL;

        EXPECT_INT(state_decode(open.bytes.data, length, NULL, 0, &back, NULL), ERR_CORRUPT, "cut");
        EXPECT(!back, "nothing comes of it");
    }
    for (size_t i = 10; i < open.bytes.length; i++) {
        struct state *back = NULL;
        int r;

        open.bytes.data[i] = (char)(open.bytes.data[i] ^ 0x40);
        r = state_decode(open.bytes.data, open.bytes.length, secret.bytes.data, secret.bytes.length,
                         &back, NULL);
        /* A few bits are padding, and mean nothing. */
        EXPECT(r == ERR_CORRUPT ? !back : is_same(state, back), "flipped");
        state_free(back);
        open.bytes.data[i] = (char)(open.bytes.data[i] ^ 0x40);
    }
    payload_done(&open);
    payload_done(&secret);
}

static void cuts_large_ones_into_chunks(void)
{
    _cleanup_value_ const struct value *value = NULL, *back = NULL;
    struct buf text = BUF_INIT, joined = BUF_INIT;
    struct payload payload;

    srand(1);
    buf_add_char(&text, '"');
    for (size_t i = 0; i < 3u << 20; i++)
        buf_add_char(&text, (char)('!' + 2 + rand() % 57));
    buf_add_char(&text, '"');
    value = parse(text.data);
    CU_ASSERT_EQUAL_FATAL(payload_encode(value, &payload, NULL), 0);
    EXPECT(payload_chunks(&payload) > 2, "several chunks");
    for (size_t i = 0; i < payload_chunks(&payload); i++) {
        const char *bytes;
        size_t length;

        payload_chunk(&payload, i, &bytes, &length);
        EXPECT(length > 0 && length <= LIMIT_CHUNK_BYTES, "chunk's size");
        buf_add(&joined, bytes, length);
    }
    CU_ASSERT_EQUAL_FATAL(payload_decode(joined.data, joined.length, &back, NULL), 0);
    EXPECT(value_equal(value, back), "joined");
    buf_done(&text);
    buf_done(&joined);
    payload_done(&payload);
}

static void the_same_state_is_the_same_bytes(void)
{
    _cleanup_(state_free_p) struct state *a = sample(), *b = sample();
    struct payload open_a, open_b, secret_a, secret_b;

    CU_ASSERT_EQUAL_FATAL(state_encode(a, &open_a, &secret_a, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(state_encode(b, &open_b, &secret_b, NULL), 0);
    EXPECT_STR(open_a.checksum, open_b.checksum, "open");
    EXPECT_STR(secret_a.checksum, secret_b.checksum, "secret");
    payload_done(&open_a);
    payload_done(&open_b);
    payload_done(&secret_a);
    payload_done(&secret_b);
}

/* A JSON string of so many bytes, quotes included. */
static const struct value *string_of(size_t length, bool compressible)
{
    struct buf text = BUF_INIT;
    const struct value *value;

    srand(2);
    buf_reserve(&text, length);
    buf_add_char(&text, '"');
    while (text.length < length - 1)
        buf_add_char(&text, (char)(compressible ? 'x' : '#' + rand() % 57));
    buf_add_char(&text, '"');
    value = parse(text.data);
    buf_done(&text);
    return value;
}

static const struct value *strings_of(size_t count, size_t length, bool compressible)
{
    struct value_builder *b = value_builder_new();
    const struct value *value = NULL, *item = string_of(length, compressible);

    value_begin_array(b);
    for (size_t i = 0; i < count; i++)
        value_add(b, item);
    value_end_array(b);
    CU_ASSERT_EQUAL_FATAL(value_builder_finish(b, &value, NULL), 0);
    value_builder_free(b);
    value_unref(item);
    return value;
}

/* Near the bound of a document, deflateBound() is past it: what counts is what comes out. */
static void takes_documents_up_to_their_bound(void)
{
    static const struct {
        const char *note;
        size_t count, length; /* of JSON strings, with their quotes */
        bool compressible;
        int code;
    } rows[] = {
        {"tiny", 1, 3, true, 0},
        {"a byte past a piece of output", 1, 16385, false, 0},
        {"16 MB, incompressible", 2, 8u << 20, false, 0},
        {"the last that fits", 8, (8u << 20) - 2, true, 0},
        {"past the bound of documents", 8, 8u << 20, true, ERR_TOO_LARGE},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *value =
            strings_of(rows[i].count, rows[i].length, rows[i].compressible);
        _cleanup_value_ const struct value *back = NULL;
        struct payload payload = {.bytes = BUF_INIT};
        struct error error = {0};

        EXPECT_INT(payload_encode(value, &payload, &error), rows[i].code, rows[i].note);
        if (rows[i].code) {
            EXPECT_STR(error.reason, "StateTooLarge", error.message);
            continue;
        }
        EXPECT_INT(payload_decode(payload.bytes.data, payload.bytes.length, &back, &error), 0,
                   error.message);
        EXPECT(value_equal(value, back), rows[i].note);
        payload_done(&payload);
    }
}

SUITE(codec, TEST(comes_back_as_it_was), TEST(keeps_secrets_out_of_the_open_part),
      TEST(refuses_what_is_damaged), TEST(cuts_large_ones_into_chunks),
      TEST(the_same_state_is_the_same_bytes), TEST(takes_documents_up_to_their_bound))
