#include "engine/base/buf.h"
#include "test/unit/suite.h"

static void grows_and_terminates(void)
{
    struct buf buf = BUF_INIT;

    EXPECT_STR(buf.data, "", "empty from the start");
    for (int i = 0; i < 1000; i++)
        buf_add_str(&buf, "0123456789");
    EXPECT_INT(buf.length, 10000, "length");
    EXPECT_INT(strlen(buf.data), 10000, "terminated");
    buf_reset(&buf);
    EXPECT_STR(buf.data, "", "reset");
    buf_printf(&buf, "%s=%d", "a", 1);
    buf_add_char(&buf, ';');
    buf_add(&buf, "b\0c", 3);
    EXPECT_INT(buf.length, 7, "with a NUL inside");
    EXPECT(memcmp(buf.data, "a=1;b\0c", 8) == 0, "content");
    buf_done(&buf);
    EXPECT_STR(buf.data, "", "done leaves an empty one");
    buf_done(&buf);
}

static void remembers_overflow(void)
{
    struct buf buf;

    buf_init(&buf, 8);
    buf_add_str(&buf, "1234");
    buf_reserve(&buf, 100);
    EXPECT(!buf_overflowed(&buf), "reserving is a wish");
    buf_add_str(&buf, "5678");
    EXPECT(!buf_overflowed(&buf), "the maximum itself fits");
    buf_add_char(&buf, '9');
    EXPECT(buf_overflowed(&buf), "past the maximum");
    EXPECT_STR(buf.data, "12345678", "nothing more was taken");
    buf_reset(&buf);
    EXPECT(!buf_overflowed(&buf), "reset");
    buf_printf(&buf, "%d", 123456789);
    EXPECT(buf_overflowed(&buf), "printf too");
    buf_add_char(&buf, 'x');
    EXPECT_STR(buf.data, "", "takes nothing after an overflow, or the middle would miss");
    buf_done(&buf);
    EXPECT_INT(buf.maximum, 8, "the maximum stays");
}

static void hands_out(void)
{
    struct buf buf = BUF_INIT;
    _cleanup_free_ char *empty = buf_take(&buf), *text = NULL;

    buf_add_str(&buf, "text");
    text = buf_take(&buf);
    EXPECT_STR(empty, "", "of an empty one");
    EXPECT_STR(text, "text", "of another");
    EXPECT_STR(buf.data, "", "empty after");
    EXPECT_INT(buf_empty[0], 0, "shared and never written");
}

SUITE(buf, TEST(grows_and_terminates), TEST(remembers_overflow), TEST(hands_out))
