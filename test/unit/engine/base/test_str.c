#include <limits.h>
#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"
#include "test/unit/suite.h"

static void copies_cut_at_characters(void)
{
    static const struct {
        size_t size;
        const char *from, *expected;
        bool whole;
    } rows[] = {
        {6, "hello", "hello", true},     {5, "hello", "h…", false}, {4, "hello", "…", false},
        {3, "hello", "he", false},       {1, "hello", "", false},   {1, "", "", true},
        {7, "äöüß", "ä…", false},        {6, "äöüß", "ä…", false},  {3, "a€uro", "a", false},
        {8, "12345678", "1234…", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char to[16];
        bool whole = str_copy(to, rows[i].size, rows[i].from);

        EXPECT_STR(to, rows[i].expected, rows[i].from);
        EXPECT_INT(whole, rows[i].whole, rows[i].from);
    }
    EXPECT(!str_copy(NULL, 0, "x"), "no room at all");
}

static void reads_whole_numbers(void)
{
    static const struct {
        const char *text;
        bool good;
        int64_t number;
    } rows[] = {
        {"0", true, 0},
        {"-1", true, -1},
        {"007", true, 7},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {"+1", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
        {"1.0", false, 0},
        {"0x10", false, 0},
        {NULL, false, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        int64_t number = 42;

        EXPECT_INT(str_to_int64(rows[i].text, &number), rows[i].good, rows[i].text);
        EXPECT_INT(number, rows[i].good ? rows[i].number : 42, rows[i].text);
    }
}

static void knows_dns_names(void)
{
    static const struct {
        const char *text;
        bool label, subdomain;
    } rows[] = {
        {"a", true, true},      {"a-b", true, true},
        {"1a", true, true},     {"example.com", false, true},
        {"-a", false, false},   {"a-", false, false},
        {"a..b", false, false}, {".a", false, false},
        {"a.", false, false},   {"a.-b", false, false},
        {"a-.b", false, false}, {"A", false, false},
        {"a_b", false, false},  {"", false, false},
        {NULL, false, false},   {"a--b", true, true},
        {"ä", false, false},
    };
    char long_name[255];

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        EXPECT_INT(str_is_dns_label(rows[i].text), rows[i].label, rows[i].text);
        EXPECT_INT(str_is_dns_subdomain(rows[i].text), rows[i].subdomain, rows[i].text);
    }
    memset(long_name, 'a', sizeof(long_name));
    long_name[254] = '\0';
    EXPECT(!str_is_dns_subdomain(long_name), "254 bytes");
    long_name[253] = '\0';
    EXPECT(str_is_dns_subdomain(long_name), "253 bytes");
    long_name[64] = '\0';
    EXPECT(!str_is_dns_label(long_name), "64 bytes");
    long_name[63] = '\0';
    EXPECT(str_is_dns_label(long_name), "63 bytes");
}

static void copies_and_compares(void)
{
    _cleanup_free_ char *copy = str_new("text"), *part = str_new_n("text", 2);
    _cleanup_free_ char *printed = str_printf("%s-%d", "a", 7), *none = str_new_n(NULL, 0);
    const char *words[] = {"b", "c", "a"};

    EXPECT_STR(copy, "text", "copy");
    EXPECT_STR(part, "te", "part");
    EXPECT_STR(printed, "a-7", "printed");
    EXPECT_STR(none, "", "nothing");
    EXPECT(!str_new(NULL), "NULL stays NULL");
    EXPECT(str_equal(NULL, NULL) && str_equal("a", "a"), "equal");
    EXPECT(!str_equal(NULL, "a") && !str_equal("a", NULL) && !str_equal("a", "b"), "not equal");
    EXPECT(str_has_prefix("abc", "ab") && str_has_prefix("abc", ""), "prefix");
    EXPECT(!str_has_prefix("a", "ab") && !str_has_prefix("abc", "b"), "no prefix");
    EXPECT(str_has_suffix("abc", "bc") && str_has_suffix("abc", ""), "suffix");
    EXPECT(!str_has_suffix("c", "bc") && !str_has_suffix("abc", "b"), "no suffix");
    qsort(words, 3, sizeof(words[0]), str_compare);
    EXPECT_STR(words[0], "a", "sorted");
    EXPECT_STR(words[2], "c", "sorted");
}

static void knows_utf8(void)
{
    static const struct {
        const char *text;
        size_t length;
    } rows[] = {
        {"a", 1},
        {"ä", 2},
        {"€", 3},
        {"😀", 4},
        {"\x80", 0},
        {"\xc3", 0},
        {"\xc0\x80", 0},
        {"\xc1\xbf", 0},
        {"\xe0\x80\x80", 0},
        {"\xed\xa0\x80", 0},
        {"\xc3(", 0},
        {"\xf5\x80\x80\x80", 0},
        {"\xf4\x90\x80\x80", 0},
        {"\xf4\x8f\xbf\xbf", 4},
        {"\xf0\x80\x80\x80", 0},
        {"\xed\x9f\xbf", 3},
        {"\xe2\x82(", 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        EXPECT_INT(utf8_char(rows[i].text, strlen(rows[i].text)), rows[i].length, rows[i].text);
    EXPECT_INT(utf8_char("", 0), 0, "nothing");
    EXPECT_INT(utf8_valid("0123456789abcdef\xff", 17), 16, "after eight at a time");
    EXPECT_INT(utf8_valid("0123456ä9", 10), 10, "across eight");
}

static void grows_arrays(void)
{
    int *numbers = NULL;
    size_t capacity = 0;

    for (int i = 0; i < 1000; i++) {
        numbers = mem_grow(numbers, (size_t)i, &capacity, sizeof(*numbers));
        numbers[i] = i;
    }
    EXPECT(capacity >= 1000 && capacity < 4000, "doubles");
    EXPECT_INT(numbers[999], 999, "kept");
    free(numbers);
}

SUITE(str, TEST(copies_cut_at_characters), TEST(reads_whole_numbers), TEST(knows_dns_names),
      TEST(copies_and_compares), TEST(knows_utf8), TEST(grows_arrays))
