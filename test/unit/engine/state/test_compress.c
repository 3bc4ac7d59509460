#include "engine/state/compress.h"

#include <zlib.h>

#include "engine/base/limits.h"
#include "test/unit/engine/state/records.h"
#include "test/unit/suite.h"

static void comes_back(void)
{
    static const char *const rows[] = {"null", "{}", "{\"a\":[1,1.10,\"x\\u0000y\",null]}"};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *value = json(rows[i]), *back = NULL;
        _cleanup_buf_ struct buf bytes = BUF_INIT, again = BUF_INIT;

        EXPECT_INT(value_compress(value, &bytes, NULL), 0, rows[i]);
        EXPECT_INT(value_expand(bytes.data, bytes.length, &back, NULL), 0, rows[i]);
        EXPECT(value_equal(value, back), rows[i]);
        value_compress(back, &again, NULL);
        EXPECT(again.length == bytes.length && !memcmp(again.data, bytes.data, bytes.length),
               "the same bytes each time");
    }
}

static void what_is_cut_or_longer_is_damage(void)
{
    _cleanup_value_ const struct value *value = json("{\"a\":\"some text that is stored\"}");
    _cleanup_buf_ struct buf bytes = BUF_INIT;

    value_compress(value, &bytes, NULL);
    for (size_t length = 0; length < bytes.length; length++) {
        const struct value *back = NULL;

        EXPECT_INT(value_expand(bytes.data, length, &back, NULL), ERR_CORRUPT, "cut");
        EXPECT(!back, "nothing comes of it");
    }
    buf_add(&bytes, bytes.data, 2);
    EXPECT_INT(value_expand(bytes.data, bytes.length, &value, NULL), ERR_CORRUPT, "longer");
}

/* 128 MiB of blanks in 128 KiB. */
static void a_bomb_ends_at_the_limit(void)
{
    static char blanks[1 << 16], packed[1 << 18];
    z_stream stream = {.next_out = (unsigned char *)packed, .avail_out = sizeof(packed)};
    const struct value *value = NULL;

    memset(blanks, ' ', sizeof(blanks));
    CU_ASSERT_EQUAL_FATAL(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY),
                          Z_OK);
    for (size_t i = 0; i < (128u << 20) / sizeof(blanks); i++) {
        stream.next_in = (unsigned char *)blanks;
        stream.avail_in = sizeof(blanks);
        deflate(&stream, Z_NO_FLUSH);
    }
    deflate(&stream, Z_FINISH);
    EXPECT_INT(value_expand(packed, stream.total_out, &value, NULL), ERR_CORRUPT, "too large");
    deflateEnd(&stream);
}

SUITE(compress, TEST(comes_back), TEST(what_is_cut_or_longer_is_damage),
      TEST(a_bomb_ends_at_the_limit))
