#include "engine/base/base64.h"

#include "test/unit/suite.h"

static void codes_base64(void)
{
    static const struct {
        const char *plain, *coded;
    } rows[] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
        {"\xfb\xff\xbf", "+/+/"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_buf_ struct buf coded = BUF_INIT, plain = BUF_INIT;

        base64_encode(&coded, rows[i].plain, strlen(rows[i].plain));
        EXPECT_STR(coded.data, rows[i].coded, rows[i].plain);
        EXPECT(base64_decode(&plain, rows[i].coded, strlen(rows[i].coded)), rows[i].coded);
        EXPECT_STR(plain.data, rows[i].plain, rows[i].coded);
    }
}

static void refuses_what_is_not_base64(void)
{
    static const char *const rows[] = {"Z",    "Zg",   "Zg=",  "Zg===",    "Zh==",
                                       "Zm9=", "====", "Z===", "Zg==Zg==", "Zm\n9v",
                                       "Zm9-", "=Zg=", "Zm 9"};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_buf_ struct buf plain = BUF_INIT;

        buf_add_str(&plain, "before");
        EXPECT(!base64_decode(&plain, rows[i], strlen(rows[i])), rows[i]);
        EXPECT_STR(plain.data, "before", rows[i]);
    }
}

/* It is encoded in pieces of some thousand bytes. */
static void codes_what_is_long(void)
{
    static const size_t lengths[] = {3071, 3072, 3073, 6144, 100001};

    for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
        _cleanup_buf_ struct buf plain = BUF_INIT, coded = BUF_INIT, again = BUF_INIT;

        for (size_t k = 0; k < lengths[i]; k++)
            buf_add_char(&plain, (char)(k * 7 + k / 251));
        base64_encode(&coded, plain.data, plain.length);
        EXPECT_INT(coded.length, (lengths[i] + 2) / 3 * 4, "its length");
        EXPECT(base64_decode(&again, coded.data, coded.length), "it is base64");
        EXPECT(again.length == plain.length && !memcmp(again.data, plain.data, plain.length), "");
    }
}

SUITE(base64, TEST(codes_base64), TEST(refuses_what_is_not_base64), TEST(codes_what_is_long))
