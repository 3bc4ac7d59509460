#include <stdlib.h>
#include <time.h>
#include <zlib.h>

#include "engine/base/json.h"
#include "engine/base/limits.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/value_mark.h"
#include "engine/state/codec.h"
#include "test/unit/suite.h"

static const struct value *parse(const char *text)
{
    const struct value *value = NULL;

    EXPECT_INT(json_read_str(text, &value, NULL), 0, text);
    return value;
}

static struct state *with_secret(const char *attributes, const char *sensitive)
{
    struct state *state = state_new("team-a", "web", "uid-1");
    struct record *record = state_record(state, "v1:Secret:a:s", "Kubernetes");
    _cleanup_value_ const struct value *value = parse(attributes), *pointers = parse(sensitive);

    record->attributes = value_mark_paths(value, pointers);
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

/* Pointers that repeat, nest, need escapes, or lead nowhere. */
static void secrets_come_back(void)
{
    static const struct {
        const char *note, *attributes, *sensitive;
    } rows[] = {
        {"two", "{\"data\":{\"p\":\"hunter2\",\"q\":\"hunter2\"}}", "[\"/data/p\",\"/data/q\"]"},
        {"repeated", "{\"data\":{\"p\":\"hunter2\"}}", "[\"/data\",\"/data\"]"},
        {"inner first", "{\"data\":{\"p\":\"hunter2\"}}", "[\"/data/p\",\"/data\"]"},
        {"outer first", "{\"data\":{\"p\":\"hunter2\"}}", "[\"/data\",\"/data/p\"]"},
        {"no ancestor", "{\"a\":\"hunter2\",\"ab\":\"hunter2\"}", "[\"/a\",\"/ab\"]"},
        {"in a list", "{\"l\":[1,{\"p\":\"hunter2\"}]}", "[\"/l/1/p\"]"},
        {"escaped", "{\"a/b\":{\"~c\":\"hunter2\"}}", "[\"/a~1b/~0c\"]"},
        {"null", "{\"p\":null,\"q\":\"hunter2\"}", "[\"/p\",\"/q\"]"},
        {"nowhere", "{\"p\":\"hunter2\"}", "[\"/p\",\"/gone\"]"},
        {"the root", "{\"p\":\"hunter2\"}", "[\"\",\"/p\"]"},
        {"a NUL in a key", "{\"a\\u0000b\":\"hunter2\",\"a\":1}", "[\"/a\\u0000b\"]"},
        {"empty keys", "{\"\":{\"\":\"hunter2\"}}", "[\"//\"]"},
        {"between others", "{\"a\":{\"x\":\"hunter2\"},\"a-b\":\"hunter2\",\"a/b\":1}",
         "[\"/a-b\",\"/a/x\"]"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(state_free_p) struct state *state =
            with_secret(rows[i].attributes, rows[i].sensitive);
        _cleanup_(state_free_p) struct state *back = NULL;
        _cleanup_value_ const struct value *seen = NULL;
        _cleanup_free_ char *text = NULL;
        struct payload open, secret;

        CU_ASSERT_EQUAL_FATAL(state_encode(state, &open, &secret, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(payload_decode(open.bytes.data, open.bytes.length, &seen, NULL), 0);
        text = json_to_str(seen);
        EXPECT(!strstr(text, "hunter2"), rows[i].note);
        EXPECT_INT(state_decode(open.bytes.data, open.bytes.length, secret.bytes.data,
                                secret.bytes.length, &back, NULL),
                   0, rows[i].note);
        EXPECT(back && is_same(state, back), rows[i].note);
        payload_done(&open);
        payload_done(&secret);
    }
}

static struct state *with_many_secrets(size_t n)
{
    struct state *state = state_new("team-a", "web", "uid-1");
    struct record *record = state_record(state, "v1:ConfigMap:a:c", "Kubernetes");
    struct value_builder *b = value_builder_new();
    const struct value *secret = value_pack("s", "hunter2");

    value_begin_object(b);
    for (size_t i = 0; i < n; i++) {
        char key[32];

        snprintf(key, sizeof(key), "k%zu", i);
        value_key(b, key);
        value_add_sensitive(b, secret);
    }
    value_end_object(b);
    CU_ASSERT_EQUAL_FATAL(value_builder_finish(b, &record->attributes, NULL), 0);
    value_builder_free(b);
    value_unref(secret);
    return state;
}

static double seconds_for_secrets(size_t n)
{
    _cleanup_(state_free_p) struct state *state = with_many_secrets(n), *back = NULL;
    struct payload open, secret;
    clock_t begin = clock();

    CU_ASSERT_EQUAL_FATAL(state_encode(state, &open, &secret, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(state_decode(open.bytes.data, open.bytes.length, secret.bytes.data,
                                       secret.bytes.length, &back, NULL),
                          0);
    EXPECT(is_same(state, back), "round trip");
    payload_done(&open);
    payload_done(&secret);
    return (double)(clock() - begin) / CLOCKS_PER_SEC;
}

static void many_secrets_take_no_longer_each(void)
{
    double few = seconds_for_secrets(2000), many = seconds_for_secrets(20000);

    EXPECT(many < 40 * few, "ten times as many take about ten times as long");
}

/* Without its secrets a State would apply nulls over what is in the world. */
static void a_lost_secret_part_is_damage(void)
{
    static const char *const parts[] = {NULL,
                                        "{}",
                                        "{\"v1:Secret:a:s\":{}}",
                                        "[]",
                                        "{\"v1:Secret:a:s\":{\"/data/p\":\"x\"}}",
                                        "{\"another\":{\"/data\":{}}}"};
    _cleanup_(state_free_p) struct state *state =
        with_secret("{\"data\":{\"p\":\"hunter2\"}}", "[\"/data\"]");
    struct payload open, secret;

    CU_ASSERT_EQUAL_FATAL(state_encode(state, &open, &secret, NULL), 0);
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        _cleanup_value_ const struct value *value = parts[i] ? parse(parts[i]) : NULL;
        _cleanup_(state_free_p) struct state *back = NULL;
        struct payload other = {.bytes = BUF_INIT};

        if (value)
            CU_ASSERT_EQUAL_FATAL(payload_encode(value, &other, NULL), 0);
        EXPECT_INT(state_decode(open.bytes.data, open.bytes.length, other.bytes.data,
                                other.bytes.length, &back, NULL),
                   ERR_CORRUPT, parts[i] ? parts[i] : "none");
        EXPECT(!back, "nothing comes of it");
        payload_done(&other);
    }
    payload_done(&open);
    payload_done(&secret);
}

/* Good gzip, good JSON, no State. */
static void refuses_other_documents(void)
{
    static const char *const texts[] = {
        "null",
        "[]",
        "{}",
        "{\"format\":2,\"resources\":[]}",
        "{\"format\":1}",
        "{\"format\":1,\"resources\":{}}",
        "{\"format\":1,\"resources\":[1]}",
        "{\"format\":1,\"resources\":[{\"type\":\"t\",\"attributes\":{}}]}",
        "{\"format\":1,\"resources\":[{\"id\":\"i\",\"attributes\":{}}]}",
        "{\"format\":1,\"resources\":[{\"id\":\"i\",\"type\":\"t\",\"attributes\":1}]}",
        ("{\"format\":1,\"resources\":[{\"id\":\"i\",\"type\":\"t\",\"attributes\":{}},"
         "{\"id\":\"i\",\"type\":\"t\",\"attributes\":{}}]}"),
    };
    _cleanup_value_ const struct value *some = parse("{\"i\":{\"/x\":1}}");
    struct payload secret;

    CU_ASSERT_EQUAL_FATAL(payload_encode(some, &secret, NULL), 0);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        _cleanup_value_ const struct value *value = parse(texts[i]);
        _cleanup_(state_free_p) struct state *back = NULL;
        struct payload open;

        CU_ASSERT_EQUAL_FATAL(payload_encode(value, &open, NULL), 0);
        EXPECT_INT(state_decode(open.bytes.data, open.bytes.length, secret.bytes.data,
                                secret.bytes.length, &back, NULL),
                   ERR_CORRUPT, texts[i]);
        EXPECT(!back, texts[i]);
        payload_done(&open);
    }
    payload_done(&secret);
}

/* 128 MiB of blanks in 128 KiB. */
static void a_bomb_ends_at_the_limit(void)
{
    static char blanks[1 << 16], packed[1 << 18];
    z_stream stream = {.next_out = (unsigned char *)packed, .avail_out = sizeof(packed)};
    const struct value *value = NULL;

    memset(blanks, ' ', sizeof(blanks));
    CU_ASSERT_EQUAL_FATAL(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, 0), Z_OK);
    for (size_t i = 0; i < 2 * (LIMIT_DOCUMENT_BYTES / sizeof(blanks)); i++) {
        stream.next_in = (unsigned char *)blanks;
        stream.avail_in = sizeof(blanks);
        CU_ASSERT_EQUAL_FATAL(deflate(&stream, Z_NO_FLUSH), Z_OK);
    }
    CU_ASSERT_EQUAL_FATAL(deflate(&stream, Z_FINISH), Z_STREAM_END);
    EXPECT_INT(payload_decode(packed, stream.total_out, &value, NULL), ERR_CORRUPT, "bomb");
    EXPECT(!value, "nothing comes of it");
    deflateEnd(&stream);
}

/* Text just below the limit: zlib's bound for its gzip is above it. */
static void the_largest_text_is_encoded(void)
{
    const size_t each = 8u << 20, n = LIMIT_DOCUMENT_BYTES / (8u << 20);
    _cleanup_free_ char *piece = NEW_ARRAY(char, each);
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *value = NULL, *back = NULL;
    struct payload payload = {.bytes = BUF_INIT};

    memset(piece, 'x', each - 4);
    value_begin_array(b);
    for (size_t i = 0; i < n; i++)
        value_add_string(b, piece);
    value_end_array(b);
    CU_ASSERT_EQUAL_FATAL(value_builder_finish(b, &value, NULL), 0);
    EXPECT_INT(payload_encode(value, &payload, NULL), 0, "encoded");
    EXPECT_INT(payload_decode(payload.bytes.data, payload.bytes.length, &back, NULL), 0, "decoded");
    EXPECT(value_equal(value, back), "as it was");
    payload_done(&payload);
}

static void the_header_holds_no_time(void)
{
    static const char expected[] = {'\x1f', '\x8b', 8, 0, 0, 0, 0, 0};
    _cleanup_value_ const struct value *value = parse("{}");
    struct payload payload;

    CU_ASSERT_EQUAL_FATAL(payload_encode(value, &payload, NULL), 0);
    EXPECT(memcmp(payload.bytes.data, expected, sizeof(expected)) == 0, "gzip header");
    payload_done(&payload);
}

SUITE(codec_damage, TEST(secrets_come_back), TEST(many_secrets_take_no_longer_each),
      TEST(a_lost_secret_part_is_damage),
      TEST(refuses_other_documents), TEST(a_bomb_ends_at_the_limit),
      TEST(the_largest_text_is_encoded), TEST(the_header_holds_no_time))
