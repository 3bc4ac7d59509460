#include "engine/base/utf8.h"

#include "engine/base/cleanup.h"
#include "test/unit/suite.h"

static void what_is_shown_is_what_it_looks_like(void)
{
    static const struct {
        const char *note, *text, *shown;
    } rows[] = {
        {"plain", "web-1: ok", "web-1: ok"},
        {"other alphabets", "\u00e4\u4e2d\U0001f600", "\u00e4\u4e2d\U0001f600"},
        {"ends of lines and tabs", "a\nb\rc\td", "a b c d"},
        {"C0", "a\x1b[2Jb", "a\\u001b[2Jb"},
        {"DEL", "a\x7f", "a\\u007f"},
        {"C1",
         "a\xc2\x9b"
         "31mb",
         "a\\u009b31mb"},
        {"overrides of direction", "\u202a\u202e", "\\u202a\\u202e"},
        {"isolates of direction", "\u2066\u2069", "\\u2066\\u2069"},
        {"marks of direction", "\u200e\u061c", "\\u200e\\u061c"},
        {"no width", "a\u200bb\u200d\ufeff", "a\\u200bb\\u200d\\ufeff"},
        {"ends of lines of Unicode", "\u2028\u2029", "\\u2028\\u2029"},
        {"tags", "\U000e0041", "\\U000e0041"},
        {"variation selectors", "a\ufe0f\U000e0101", "a\\ufe0f\\U000e0101"},
        {"fillers and joiners", "\u034f\u115f\u3164\uffa0", "\\u034f\\u115f\\u3164\\uffa0"},
        {"their neighbours", "\u00a0\u2010\u2030\u2070", "\u00a0\u2010\u2030\u2070"},
        {"no UTF-8", "a\xff\xc3", "a??"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *once = utf8_show(rows[i].text);
        _cleanup_free_ char *twice = utf8_show(once);

        EXPECT_STR(once, rows[i].shown, rows[i].note);
        EXPECT_STR(twice, rows[i].shown, "again");
    }
}

SUITE(base_utf8, TEST(what_is_shown_is_what_it_looks_like))
