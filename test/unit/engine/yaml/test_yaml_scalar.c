#include "engine/base/cleanup.h"
#include "engine/value/json.h"
#include "engine/yaml/yaml.h"
#include "test/unit/suite.h"

/* yaml is read as the value of a key, so that a row is what a manifest has. */
static const struct value *read_one(const char *yaml, struct error *error)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    _cleanup_value_ const struct value *object = NULL;

    buf_printf(&text, "v: %s\n", yaml);
    if (yaml_read(text.data, text.length, &object, error) < 0)
        return NULL;
    return value_ref(value_get(object, "v"));
}

struct row {
    const char *yaml, *json;
};

static void expect_row(const struct row *row)
{
    struct error error = {0};
    _cleanup_value_ const struct value *value = read_one(row->yaml, &error);
    _cleanup_free_ char *json = value ? json_to_str(value) : NULL;

    EXPECT_STR(json ? json : error.message, row->json, row->yaml);
}

/* Each row was tried on kubectl 1.36.3. */
static void plain_words(void)
{
    static const struct row rows[] = {
        {"y", "true"},          {"Y", "true"},        {"yes", "true"},
        {"Yes", "true"},        {"YES", "true"},      {"on", "true"},
        {"On", "true"},         {"ON", "true"},       {"true", "true"},
        {"True", "true"},       {"TRUE", "true"},     {"n", "false"},
        {"N", "false"},         {"no", "false"},      {"No", "false"},
        {"NO", "false"},        {"off", "false"},     {"Off", "false"},
        {"OFF", "false"},       {"false", "false"},   {"False", "false"},
        {"FALSE", "false"},     {"~", "null"},        {"null", "null"},
        {"Null", "null"},       {"NULL", "null"},     {"", "null"},
        {"# nothing", "null"},  {"yEs", "\"yEs\""},   {"tRue", "\"tRue\""},
        {"nUll", "\"nUll\""},   {"oN", "\"oN\""},     {"inf", "\"inf\""},
        {"nan", "\"nan\""},     {"=", "\"=\""},       {"<<", "\"<<\""},
        {"+.nan", "\"+.nan\""}, {".inF", "\".inF\""}, {"Infinity", "\"Infinity\""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        expect_row(&rows[i]);
}

static void whole_numbers_of_any_base(void)
{
    static const struct row rows[] = {
        {"0", "0"},
        {"-0", "0"},
        {"+0", "0"},
        {"-00", "0"},
        {"000", "0"},
        {"-0x0", "0"},
        {"+1", "1"},
        {"-1", "-1"},
        {"014", "12"},
        {"-014", "-12"},
        {"+014", "12"},
        {"0o14", "12"},
        {"0O14", "12"},
        {"-0o7", "-7"},
        {"019", "19"},
        {"08", "8"},
        {"-08", "-8"},
        {"0x1F", "31"},
        {"0X1f", "31"},
        {"-0x1F", "-31"},
        {"+0x1F", "31"},
        {"0b11", "3"},
        {"0B11", "3"},
        {"-0b11", "-3"},
        {"1_000", "1000"},
        {"1__0", "10"},
        {"1_", "1"},
        {"-_1", "-1"},
        {"0_1", "1"},
        {"0_o14", "12"},
        {"0x_1F", "31"},
        {"0b_1", "1"},
        {"9223372036854775807", "9223372036854775807"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"0xFFFFFFFFFFFFFFFF", "18446744073709551615"},
        {"-0x8000000000000000", "-9223372036854775808"},
        {"0777777777777777777777", "9223372036854775807"},
        {"01777777777777777777777", "18446744073709551615"},
        {"0x", "\"0x\""},
        {"0b", "\"0b\""},
        {"0o", "\"0o\""},
        {"0x__", "\"0x__\""},
        {"0b2", "\"0b2\""},
        {"0o19", "\"0o19\""},
        {"0xg", "\"0xg\""},
        {"0x-1F", "\"0x-1F\""},
        {"0o-7", "\"0o-7\""},
        {"--1", "\"--1\""},
        {"+-1", "\"+-1\""},
        {"+", "\"+\""},
        {"-_", "\"-_\""},
        {"_1", "\"_1\""},
        {"_0x1", "\"_0x1\""},
        {"1,000", "\"1,000\""},
        {"1-1", "\"1-1\""},
        {"0b1e3", "\"0b1e3\""},
        {"0x1e+3", "\"0x1e+3\""},
        /* Past 64 bits kubectl takes them for strings, */
        {"0xFFFFFFFFFFFFFFFFF", "\"0xFFFFFFFFFFFFFFFFF\""},
        {"+0xFFFFFFFFFFFFFFFF", "\"+0xFFFFFFFFFFFFFFFF\""},
        {"-0x8000000000000001", "\"-0x8000000000000001\""},
        {"0b11111111111111111111111111111111111111111111111111111111111111111",
         "\"0b11111111111111111111111111111111111111111111111111111111111111111\""},
        /* and octal ones without an o for decimal floats. */
        {"02000000000000000000000", "2000000000000000000000"},
        {"-01777777777777777777777", "-1777777777777777777777"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        expect_row(&rows[i]);
}

/* Where kubectl prints another text for the same number, ours is as written. */
static void other_numbers_keep_their_text(void)
{
    static const struct row rows[] = {
        {"1.10", "1.10"},
        {"1.0", "1.0"},
        {"12345678901234567890123", "12345678901234567890123"},
        {"-9223372036854775809", "-9223372036854775809"},
        {"+9223372036854775808", "9223372036854775808"},
        {"18446744073709551616", "18446744073709551616"},
        {"1e3", "1e3"},
        {"1E+3", "1E+3"},
        {"1e-3", "1e-3"},
        {"1e308", "1e308"},
        {"1e-400", "1e-400"},
        {"0e400", "0e400"},
        {"1.", "1"},
        {"0.", "0"},
        {"08.", "8"},
        {"1.e3", "1e3"},
        {".5", "0.5"},
        {"-.5", "-0.5"},
        {"+.5", "0.5"},
        {".5e3", "0.5e3"},
        {"01.5", "1.5"},
        {"00.5", "0.5"},
        {"08e1", "8e1"},
        {"-0.0", "-0.0"},
        {"1_000.5", "1000.5"},
        {"1_0e1_0", "10e10"},
        {"1e_3", "1e3"},
        {".5_0", "0.50"},
        {"-.5_0", "-0.50"},
        {"._5", "\"._5\""},
        {"1e400", "\"1e400\""},
        {"-1e400", "\"-1e400\""},
        {".5e400", "\".5e400\""},
        {"1e", "\"1e\""},
        {"12e", "\"12e\""},
        {"12e+", "\"12e+\""},
        {"1e3.5", "\"1e3.5\""},
        {"1.2.3", "\"1.2.3\""},
        {"0x1.8p3", "\"0x1.8p3\""},
        {".", "\".\""},
        {".e3", "\".e3\""},
        {".1.", "\".1.\""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        expect_row(&rows[i]);
}

static void dates_and_quoted_scalars_are_strings(void)
{
    static const struct row rows[] = {
        {"2001-01-01", "\"2001-01-01\""},
        {"2001-01-01T00:00:00Z", "\"2001-01-01T00:00:00Z\""},
        {"190:20:30", "\"190:20:30\""},
        {"12:30", "\"12:30\""},
        {"1 2", "\"1 2\""},
        {"\"1\"", "\"1\""},
        {"'true'", "\"true\""},
        {"'~'", "\"~\""},
        {"\"\"", "\"\""},
        {"|\n  1\n", "\"1\\n\""},
        {">-\n  1\n", "\"1\""},
        {"'.inf'", "\".inf\""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        expect_row(&rows[i]);
}

static void core_tags(void)
{
    static const struct row rows[] = {
        {"!!str 1", "\"1\""},
        {"!!str ~", "\"~\""},
        {"!!str", "\"\""},
        {"! 1", "\"1\""},
        {"!<tag:yaml.org,2002:str> 1", "\"1\""},
        {"!!int 0x10", "16"},
        {"!!int \"1\"", "1"},
        {"!!float 1", "1"},
        {"!!float \"1.50\"", "1.50"},
        {"!!float 1e400", "1e400"},
        {"!!bool n", "false"},
        {"!!bool \"true\"", "true"},
        {"!!null ''", "null"},
        {"!!null ~", "null"},
        {"!!map {a: 1}", "{\"a\":1}"},
        {"!!seq [1]", "[1]"},
        {"! [1]", "[1]"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        expect_row(&rows[i]);
}

static void refuses_what_has_no_json(void)
{
    static const struct row rows[] = {
        {".inf", "line 1, column 4: .inf is not a number that JSON has; quote it if it is a text"},
        {"-.Inf",
         "line 1, column 4: -.Inf is not a number that JSON has; quote it if it is a text"},
        {"+.INF",
         "line 1, column 4: +.INF is not a number that JSON has; quote it if it is a text"},
        {".NaN", "line 1, column 4: .NaN is not a number that JSON has; quote it if it is a text"},
        {"!!float .inf",
         "line 1, column 4: .inf is not a number that JSON has; quote it if it is a text"},
        {"!!int abc", "line 1, column 4: \"abc\" is not what its tag !!int says"},
        {"!!int 1.5", "line 1, column 4: \"1.5\" is not what its tag !!int says"},
        {"!!int", "line 1, column 4: \"\" is not what its tag !!int says"},
        {"!!float abc", "line 1, column 4: \"abc\" is not what its tag !!float says"},
        {"!!bool 1", "line 1, column 4: \"1\" is not what its tag !!bool says"},
        {"!!null abc", "line 1, column 4: \"abc\" is not what its tag !!null says"},
        {"!!binary aGk=", "line 1, column 4: the tag !!binary is not for scalars here"},
        {"!!timestamp 2001-01-01", "line 1, column 4: the tag !!timestamp is not for scalars here"},
        {"!foo bar", "line 1, column 4: the tag !foo is not for scalars here"},
        {"!!map x", "line 1, column 4: the tag !!map is not for scalars here"},
        {"!!str {a: 1}", "line 1, column 4: the tag tag:yaml.org,2002:str does not fit a mapping"},
        {"!!set {a}", "line 1, column 4: the tag tag:yaml.org,2002:set does not fit a mapping"},
        {"!foo [a]", "line 1, column 4: the tag !foo does not fit a sequence"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        expect_row(&rows[i]);
}

static void numbers_have_bounds(void)
{
    static const struct {
        size_t zeros;
        int code;
    } rows[] = {{300, 0}, {1500, ERR_TOO_LARGE}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_buf_ struct buf text = BUF_INIT;
        _cleanup_value_ const struct value *value = NULL;
        struct error error = {0};

        buf_add_str(&text, "0.");
        for (size_t n = 0; n < rows[i].zeros; n++)
            buf_add_char(&text, '0');
        buf_add_str(&text, "1");
        EXPECT_INT(yaml_read(text.data, text.length, &value, &error), rows[i].code, text.data);
    }
    expect_row(&(struct row){"1e-9999999999",
                             "line 1, column 4: 1e-9999999999 is a number with an exponent of more "
                             "than 9 digits; quote it if it is a text"});
    expect_row(&(struct row){"0e0967014998816", /* a hash, as other writers leave it */
                             "line 1, column 4: 0e0967014998816 is a number with an exponent of "
                             "more than 9 digits; quote it if it is a text"});
}

/* Tried on kubectl 1.36.3, which rounds floats that are keys to single precision. */
static void keys_become_strings(void)
{
    static const struct row rows[] = {
        {"1", "1"},
        {"\"1\"", "1"},
        {"n", "false"},
        {"y", "true"},
        {"\"n\"", "n"},
        {"0x1F", "31"},
        {"014", "12"},
        {"-0", "0"},
        {"1.5", "1.5"},
        {"1.10", "1.1"},
        {".5", "0.5"},
        {"1.", "1"},
        {"0.0", "0"},
        {"-0.0", "-0"},
        {"0.1", "0.1"},
        {"1e3", "1000"},
        {"1e5", "100000"},
        {"100000.0", "100000"},
        {"1e20", "1e+20"},
        {"1e21", "1e+21"},
        {"1e-7", "1e-07"},
        {"1e400", "1e400"},
        {"123456789.5", "1.2345679e+08"},
        {"1234567.0", "1.234567e+06"},
        {"16777217.0", "1.6777216e+07"},
        {"3.14159265358979", "3.1415927"},
        {"0.3333333333", "0.33333334"},
        {"12345678901234567890123", "1.2345679e+22"},
        {"2001-01-01", "2001-01-01"},
        {"\"\"", ""},
        {"!!str 1", "1"},
        {"!!int \"1\"", "1"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_buf_ struct buf text = BUF_INIT;
        _cleanup_value_ const struct value *value = NULL;
        struct error error = {0};
        size_t length;

        buf_printf(&text, "%s: v\n", rows[i].yaml);
        EXPECT_INT(yaml_read(text.data, text.length, &value, &error), 0, error.message);
        EXPECT_STR(value_member_key(value, 0, &length), rows[i].json, rows[i].yaml);
    }
}

SUITE(yaml_scalar, TEST(plain_words), TEST(whole_numbers_of_any_base),
      TEST(other_numbers_keep_their_text), TEST(dates_and_quoted_scalars_are_strings),
      TEST(core_tags), TEST(refuses_what_has_no_json), TEST(numbers_have_bounds),
      TEST(keys_become_strings))
