#include "engine/base/buf.h"
#include "engine/base/cleanup.h"
#include "engine/base/json.h"
#include "engine/base/yaml.h"
#include "test/unit/suite.h"

static void writes_as_kubectl_prints(void)
{
    _cleanup_value_ const struct value *value = NULL;
    _cleanup_buf_ struct buf text = BUF_INIT;
    static const char expected[] = "apiVersion: v1\n"
                                   "data:\n"
                                   "  empty: \"\"\n"
                                   "  lines: |\n"
                                   "    one\n"
                                   "\n"
                                   "      two\n"
                                   "  open: |-\n"
                                   "    one\n"
                                   "    two\n"
                                   "  port: \"80\"\n"
                                   "  star: '*.x''y'\n"
                                   "  \"yes\": \"no\"\n"
                                   "items:\n"
                                   "- a: 1\n"
                                   "  b:\n"
                                   "  - x\n"
                                   "  - - q\n"
                                   "    - |+\n"
                                   "      z\n"
                                   "\n"
                                   "- {}\n"
                                   "- []\n"
                                   "- null\n"
                                   "- 1.10\n"
                                   "- true\n";
    struct error error = {0};

    EXPECT_INT(
        json_read_str(
            "{\"apiVersion\":\"v1\",\"data\":{\"empty\":\"\",\"lines\":\"one\\n\\n"
            "  two\\n\",\"open\":\"one\\ntwo\",\"port\":\"80\",\"star\":\"*.x'y\",\"yes\":\"no\"},"
            "\"items\":[{\"a\":1,\"b\":[\"x\",[\"q\",\"z\\n\\n\"]]},{},[],null,"
            "1.10,true]}",
            &value, &error),
        0, error.message);
    yaml_write(&text, value);
    EXPECT_STR(text.data, expected, NULL);
}

/* As an item, a root, a member and a key, alone and before another line. */
static void expect_same_after_writing(const struct value *value, const char *note)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    _cleanup_value_ const struct value *again = NULL;
    struct error error = {0};

    yaml_write(&text, value);
    EXPECT_INT(yaml_read(text.data, text.length, &again, &error), 0, error.message);
    EXPECT(value_equal(value, again), text.data);
    EXPECT(text.length && text.data[text.length - 1] == '\n', note);
}

static void expect_string_survives(const char *s, size_t length)
{
    struct value_builder *b = value_builder_new();
    const struct value *value = NULL;

    value_add_string_n(b, s, length);
    value_builder_finish(b, &value, NULL);
    expect_same_after_writing(value, s);
    value_unref(value);

    value_begin_array(b);
    value_add_string_n(b, s, length);
    value_begin_object(b);
    value_key_n(b, s, length);
    value_add_string_n(b, s, length);
    value_key_n(b, "another", 7);
    value_begin_array(b);
    value_add_string_n(b, s, length);
    value_add_string_n(b, s, length);
    value_end_array(b);
    value_end_object(b);
    value_begin_object(b);
    value_key_n(b, s, length);
    value_begin_array(b);
    value_begin_object(b);
    value_key_n(b, s, length);
    value_begin_object(b);
    value_key_n(b, s, length);
    value_add_null(b);
    value_end_object(b);
    value_end_object(b);
    value_end_array(b);
    value_end_object(b);
    value_add_string_n(b, s, length);
    value_end_array(b);
    value_builder_finish(b, &value, NULL);
    expect_same_after_writing(value, s);
    value_unref(value);
    value_builder_free(b);
}

static void awkward_strings_survive(void)
{
    /* clang-format off */
    static const char *const rows[] = {
        "", " ", "  ", " lead", "trail ", "\ttab", "tab\t", "a\tb", "\n", "\n\n", "\nx",
        "x\n", "x\n\n", "x\n\n\n", "x\ny", "x\n y", " x\ny", "x\n  \ny", "x\n  ", "x \ny",
        "x\n\ty", "x\r\ny", "x\r", "yes", "Y", "n", "No", "on", "~", "null", "true", "0",
        "-0", "014", "0x1F", "0b1", "0o7", "1e3", "1e400", ".5", "1.", "+1", "1_000", "12e",
        ".inf", ".nan", "-.INF", "2001-01-01", "190:20:30", "2001-01-01T00:00:00Z",
        "10.0.0.1", "1.2.3", "# x", "x # y", "x#y", "a: b", "a:b", "a:", ":a", ":", "::", "- a",
        "-", "--", "--flag=x", "---", "--- x", "...", "... x", "?", "? a", "?a", "<<",
        "=", "!x", "!!str x", "&a", "*a", "|", "|-", ">", "%TAG", "@a", "`a", "'", "''",
        "\"", "it's", "say \"x\"", "\\", "\\n", "{", "}", "{a}", "[", "]", "[a]", ",",
        "a,b", "a, b", "{{ x }}", "\x7f", "\001", "\x1b[0m", "\xc2\x85", ("a\xc2\x85" "b"),
        "\u00a0", "\u2028", "x\u2029y", "\ufeff", "x\ufeff", "\ufffd", "\ufffe", "\uffff",
        "\u00e4", "\U0001F600", "\U0010FFFF", "x\n\xc2\x85", "x\n\ufeffy", "a\n---\nb\n",
        "a\n...\nb", "# a\nb", "- a\n- b\n", "k: v\nl: w\n", "%YAML\nx", "/var/run",
        "app=web", "*.example.com", "10m", "nginx:1.27", "image@sha256:0", "a b c",
    };
    /* clang-format on */
    _cleanup_buf_ struct buf longest = BUF_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        expect_string_survives(rows[i], strlen(rows[i]));
    expect_string_survives("\0", 1);
    expect_string_survives("a\0b", 3);
    for (int i = 0; i < 5000; i++) {
        buf_add_str(&longest, i % 7 ? "x" : " ");
        if (i == 150 || i == 170 || i == 1030)
            expect_string_survives(longest.data, longest.length);
    }
    expect_string_survives(longest.data, longest.length);
    buf_reset(&longest);
    for (int i = 0; i < 160; i++)
        buf_add_str(&longest, "\u2028");
    expect_string_survives(longest.data, longest.length);
}

static void values_survive(void)
{
    static const char *const rows[] = {
        "null",
        "true",
        "-0",
        "1.10",
        "1E+2",
        "1e400",
        "-1e-400",
        "12345678901234567890123",
        "[]",
        "{}",
        "[[]]",
        "[{}]",
        "[[[1],[2]],[3]]",
        "{\"a\":{\"b\":{\"c\":[]}}}",
        "[{\"a\":[{\"b\":[1,[2,{\"c\":3}]]}],\"d\":null}]",
        "{\"\":{\"\":[\"\"]}}",
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *value = NULL;
        struct error error = {0};

        EXPECT_INT(json_read_str(rows[i], &value, &error), 0, error.message);
        if (value_type(value) != VALUE_NULL) /* a document of null is an empty one */
            expect_same_after_writing(value, rows[i]);
    }
}

SUITE(yaml_write, TEST(writes_as_kubectl_prints), TEST(awkward_strings_survive),
      TEST(values_survive))
