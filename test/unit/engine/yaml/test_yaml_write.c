#include "engine/value/json.h"
#include "engine/yaml/yaml.h"
#include "test/unit/suite.h"

static const struct value *from_json(const char *text)
{
    const struct value *value = NULL;
    struct error error = {0};

    EXPECT_INT(json_read_str(text, &value, &error), 0, error.message);
    return value;
}

static void forms_are_as_people_write_them(void)
{
    static const struct {
        const char *json, *yaml;
    } table[] = {
        {"{\"a\":1,\"b\":[],\"c\":{}}", "a: 1\nb: []\nc: {}\n"},
        {"{\"a\":{\"b\":[1,{\"c\":2,\"d\":[3]}]}}", "a:\n  b:\n  - 1\n  - c: 2\n    d:\n    - 3\n"},
        {"[[1,[2]],{}]", "- - 1\n  - - 2\n- {}\n"},
        {"{\"a\":\"yes\",\"b\":\"v1\",\"c\":\"1\",\"d\":\"\"}",
         "a: \"yes\"\nb: v1\nc: \"1\"\nd: \"\"\n"},
        {"{\"on\":null,\"a b\":true}", "\"on\": null\n\"a b\": true\n"},
        {"{\"a\":\"x\\ny\\n\"}", "a: |\n  x\n  y\n"},
        {"{\"a\":\"x\\n\\n y\"}", "a: |-\n  x\n\n   y\n"},
        {"[\"x\\n\\n\"]", "- |+\n  x\n\n"},
        {"{\"a\":\" x\\ny\"}", "a: \" x\\ny\"\n"},
        {"{\"a\":\"\\u202e\\u001b[2J\\u0085\"}", "a: \"\\u202e\\u001b[2J\\u0085\"\n"},
        {"{\"a\":\"\\ud83d\\ude42 \\udb40\\udc41\"}", "a: \"🙂 \\U000e0041\"\n"},
        {"\"a:\"", "\"a:\"\n"},
        {"\"null\"", "\"null\"\n"},
        {"12345678901234567890123", "12345678901234567890123\n"},
        {"[1e3, 1e300, 1.5E-7, 1.10]", "- 1000\n- 1.0e+300\n- 1.5e-7\n- 1.10\n"},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        _cleanup_value_ const struct value *value = from_json(table[i].json);
        _cleanup_buf_ struct buf text = BUF_INIT;

        yaml_write(&text, value);
        EXPECT_STR(text.data, table[i].yaml, table[i].json);
    }
}

/* Whatever is in a string, it is read back: as a value, as a key, in a list. */
static void strings_are_read_back(void)
{
    static const char *const letters[] = {
        " ", "\n",           ":", "-", "#", "a", "0", ".", "\"", "\\", "é", "\t", "|",
        "'", "\xe2\x80\xa8", "y", "~"};
    unsigned state = 1;

    for (int round = 0; round < 3000; round++) {
        _cleanup_buf_ struct buf string = BUF_INIT, text = BUF_INIT;
        _cleanup_value_ const struct value *value = NULL, *again = NULL;
        _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
        struct error error = {0};

        for (unsigned n = (state = state * 1103515245 + 12345) >> 16 & 7; n > 0; n--) {
            state = state * 1103515245 + 12345;
            buf_add_str(&string, letters[(state >> 16) % (sizeof(letters) / sizeof(letters[0]))]);
        }
        value_begin_object(b);
        value_key(b, string.data);
        value_add_string(b, string.data);
        value_key(b, "list in a list, and a key that comes after");
        value_begin_array(b);
        value_begin_array(b);
        value_add_string(b, string.data);
        value_end_array(b);
        value_end_array(b);
        value_end_object(b);
        EXPECT_INT(value_builder_finish(b, &value, &error), 0, error.message);
        yaml_write(&text, value);
        EXPECT_INT(yaml_read(text.data, text.length, &again, &error), 0, text.data);
        EXPECT(value_equal(value, again), text.data);
    }
}

static void long_keys_are_read_back(void)
{
    char key[3000];
    _cleanup_value_ const struct value *value = NULL, *again = NULL;
    _cleanup_buf_ struct buf text = BUF_INIT;
    struct error error = {0};

    memset(key, 'a', sizeof(key) - 1);
    key[sizeof(key) - 1] = '\0';
    value = value_pack("{s:{s:[i], s:{}}, s:s}", key, key, 1, "b", "c", "d");
    yaml_write(&text, value);
    EXPECT_INT(yaml_read(text.data, text.length, &again, &error), 0, error.message);
    EXPECT(value_equal(value, again), text.data);
}

static void finds_where_a_path_stands(void)
{
    static const char text[] = "# first\n"
                               "---\n"
                               "a: &x {b: 1, \"c.d\": [1, {e: 2}]}\n"
                               "list:\n"
                               "- one\n"
                               "-   f: |\n"
                               "      text\n"
                               "    g: *x\n"
                               "h: *x\n";
    static const struct {
        const char *path;
        size_t line, column;
    } table[] = {
        {"", 3, 1},
        {"a", 3, 1},
        {"a.b", 3, 8},
        {"a[c.d]", 3, 14},
        {"a[c.d][1].e", 3, 26},
        {"list[0]", 5, 3},
        {"list[1].g", 8, 5},
        {"h.b", 9, 1},     /* below an alias: the alias */
        {"list[7]", 4, 1}, /* as far as it goes */
        {"list[1].nope.b", 6, 5},
        {"nope", 3, 1},
        {"a[b", 3, 1}, /* no path */
    };

    struct place_wanted wanted[sizeof(table) / sizeof(table[0]) + 1] = {{0}};
    size_t n = sizeof(table) / sizeof(table[0]);

    for (size_t i = 0; i < n; i++)
        wanted[i].path = table[i].path;
    wanted[n].path = "list[1].g"; /* twice */
    yaml_find(text, strlen(text), wanted, n + 1);
    for (size_t i = 0; i < n; i++) {
        EXPECT_INT(wanted[i].mark.line, table[i].line, table[i].path);
        EXPECT_INT(wanted[i].mark.column, table[i].column, table[i].path);
    }
    EXPECT_INT(wanted[n].mark.line, 8, "one that is wanted twice");
    yaml_find("a: [", 4, wanted, n);
    EXPECT_INT(wanted[0].mark.line, 1, "no YAML");
    yaml_find("", 0, wanted, n);
    EXPECT_INT(wanted[1].mark.line, 1, "nothing");
}

static void documents_know_their_lines(void)
{
    static const char text[] = "# a\na: 1\n---\n---\n\nb: 1\n--- {c: 1}\n";
    const struct value **values = NULL;
    size_t *lines = NULL, count = 0;
    struct error error = {0};

    EXPECT_INT(yaml_read_lines(text, strlen(text), &values, &lines, &count, &error), 0,
               error.message);
    CU_ASSERT_EQUAL_FATAL(count, 3);
    EXPECT_INT(lines[0], 2, "no ---");
    EXPECT_INT(lines[1], 4, "after an empty one");
    EXPECT_INT(lines[2], 7, "on the line of its ---");
    yaml_free_all(values, count);
    free(lines);
}

SUITE(yaml_write, TEST(forms_are_as_people_write_them), TEST(strings_are_read_back),
      TEST(long_keys_are_read_back), TEST(finds_where_a_path_stands),
      TEST(documents_know_their_lines))
