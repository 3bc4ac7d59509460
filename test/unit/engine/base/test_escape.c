#include "engine/base/escape.h"

#include <string.h>

#include "test/unit/suite.h"

static bool is_letter(char c)
{
    return c >= 'a' && c <= 'z';
}

static void what_is_escaped_is_read_again(void)
{
    static const struct {
        const char *text, *escaped;
    } texts[] = {
        {"", ""},
        {"web", "web"},
        {"a=B/", "a=3D=42=2F"},
        {"\xc3\xbc\x01", "=C3=BC=01"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        _cleanup_buf_ struct buf escaped = BUF_INIT;
        _cleanup_free_ char *text = NULL;

        escape_add(&escaped, texts[i].text, strlen(texts[i].text), '=', is_letter);
        EXPECT_STR(escaped.data, texts[i].escaped, texts[i].text);
        text = escape_read(escaped.data, '=', is_letter);
        EXPECT_STR(text, texts[i].text, texts[i].escaped);
    }
}

static void what_is_not_escaped_so_is_no_such_text(void)
{
    static const char *const texts[] = {"A", "=", "=4", "=4g", "=3d", "%41", "=00", "a\xc3"};

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        _cleanup_free_ char *text = escape_read(texts[i], '=', is_letter);

        EXPECT(!text, texts[i]);
    }
}

static void escapes_urls(void)
{
    static const struct {
        const char *text;
        bool keep_slashes;
        const char *expected;
    } texts[] = {
        {"a b+c%2F", true, "a%20b%2Bc%252F"},
        {"v1/state/team/web/=41~0001", true, "v1/state/team/web/%3D41~0001"},
        {"a/b", false, "a%2Fb"},
        {"ü", true, "%C3%BC"},
        {"(p)!*':@$,;", true, "%28p%29%21%2A%27%3A%40%24%2C%3B"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        _cleanup_buf_ struct buf to = BUF_INIT;

        escape_url(&to, texts[i].text, texts[i].keep_slashes);
        EXPECT_STR(to.data, texts[i].expected, texts[i].text);
    }
}

static void reads_urls(void)
{
    static const struct {
        const char *text, *expected; /* NULL: it is none */
    } texts[] = {
        {"", ""},    {"a+b/c", "a+b/c"}, {"%2f%2F%C3%bc", "//ü"}, {"%41~", "A~"},
        {"%", NULL}, {"a%4", NULL},      {"%4g", NULL},           {"%00", NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        _cleanup_free_ char *text = escape_url_read(texts[i].text, strlen(texts[i].text));

        EXPECT_STR(text, texts[i].expected, texts[i].text);
    }
    EXPECT(!escape_url_read("%41", 2), "not beyond its end");
}

SUITE(escape, TEST(what_is_escaped_is_read_again), TEST(what_is_not_escaped_so_is_no_such_text),
      TEST(escapes_urls), TEST(reads_urls))
