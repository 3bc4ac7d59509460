#include "engine/state/gzip.h"

#include "engine/base/limits.h"
#include "test/unit/suite.h"

static void comes_back(void)
{
    static const char *const rows[] = {"", "a", "some text that is stored"};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_buf_ struct buf packed = BUF_INIT, back = BUF_INIT, again = BUF_INIT;

        EXPECT_INT(gzip_compress(rows[i], strlen(rows[i]), &packed), 0, rows[i]);
        EXPECT(gzip_is(packed.data, packed.length), rows[i]);
        EXPECT_INT(gzip_expand(packed.data, packed.length, &back), 0, rows[i]);
        EXPECT_STR(back.data, rows[i], "what was packed");
        gzip_compress(back.data, back.length, &again);
        EXPECT(again.length == packed.length && !memcmp(again.data, packed.data, packed.length),
               "the same bytes each time");
    }
}

static void is_told_from_what_it_is_not(void)
{
    EXPECT(!gzip_is("\x1f", 1), "cut");
    EXPECT(!gzip_is("{}", 2), "JSON");
    EXPECT(!gzip_is("", 0), "nothing");
}

static void damage_is_found(void)
{
    _cleanup_buf_ struct buf packed = BUF_INIT, longer = BUF_INIT;

    gzip_compress("some text that is stored", 24, &packed);
    for (size_t length = 0; length < packed.length; length++) {
        _cleanup_buf_ struct buf back = BUF_INIT;

        EXPECT_INT(gzip_expand(packed.data, length, &back), ERR_CORRUPT, "cut");
    }
    for (size_t i = 0; i < packed.length; i++) {
        _cleanup_buf_ struct buf back = BUF_INIT;
        int r;

        packed.data[i] ^= 0x55;
        r = gzip_expand(packed.data, packed.length, &back);
        packed.data[i] ^= 0x55;
        /* Its head has bytes that nobody reads. */
        EXPECT(r == ERR_CORRUPT || (r == 0 && strcmp(back.data, "some text that is stored") == 0),
               "a byte is another");
    }
    buf_add(&packed, "more", 4);
    EXPECT_INT(gzip_expand(packed.data, packed.length, &longer), ERR_CORRUPT, "more");
}

static void bounds_are_kept(void)
{
    static char blanks[1 << 20];
    struct buf packed, back;

    memset(blanks, ' ', sizeof(blanks));
    buf_init(&packed, 100);
    EXPECT_INT(gzip_compress(blanks, sizeof(blanks), &packed), ERR_TOO_LARGE, "packed");
    buf_done(&packed);
    buf_init(&packed, 0);
    buf_init(&back, sizeof(blanks) - 1);
    EXPECT_INT(gzip_compress(blanks, sizeof(blanks), &packed), 0, "packed");
    EXPECT_INT(gzip_expand(packed.data, packed.length, &back), ERR_TOO_LARGE, "unpacked");
    buf_done(&packed);
    buf_done(&back);
}

SUITE(gzip, TEST(comes_back), TEST(is_told_from_what_it_is_not), TEST(damage_is_found),
      TEST(bounds_are_kept))
