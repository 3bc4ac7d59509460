#include <time.h>

#include "engine/base/cleanup.h"
#include "engine/base/json.h"
#include "engine/base/limits.h"
#include "engine/base/yaml.h"
#include "test/unit/suite.h"

struct row {
    const char *yaml, *expected; /* JSON, or the error's message */
};

static void expect_row(const struct row *row)
{
    _cleanup_value_ const struct value *value = NULL;
    _cleanup_free_ char *json = NULL;
    struct error error = {0};

    if (yaml_read(row->yaml, strlen(row->yaml), &value, &error) == 0)
        json = json_to_str(value);
    EXPECT_STR(json ? json : error.message, row->expected, row->yaml);
    if (!json) {
        EXPECT(error.code == ERR_INVALID || error.code == ERR_TOO_LARGE, row->yaml);
        EXPECT(value == NULL, "untouched on failure");
    }
}

static void reads_the_usual(void)
{
    static const struct row rows[] = {
        {"a: 1\nb:\n- x\n- k: [1, {z: w}]\n", "{\"a\":1,\"b\":[\"x\",{\"k\":[1,{\"z\":\"w\"}]}]}"},
        {"{\"b\": 1, \"a\": [true, null, \"x\"]}", "{\"b\":1,\"a\":[true,null,\"x\"]}"},
        {"- a\n- - b\n  - c\n-\n", "[\"a\",[\"b\",\"c\"],null]"},
        {"plain", "\"plain\""},
        {"a: |\n  x\n   y\n\nb: >-\n  x\n  y\nc: |2\n   x\n",
         "{\"a\":\"x\\n y\\n\",\"b\":\"x y\",\"c\":\" x\\n\"}"},
        {"? a\n: b\n", "{\"a\":\"b\"}"},
        {"? a\n", "{\"a\":null}"},
        {"{b, c: }", "{\"b\":null,\"c\":null}"},
        {"[b: c]", "[{\"b\":\"c\"}]"},
        {"a: x # y\nb: x#y\n", "{\"a\":\"x\",\"b\":\"x#y\"}"},
        {"a: \"\\x00\\u0085\\U0001F600\"", "{\"a\":\"\\u0000\xc2\x85\U0001F600\"}"},
        {"\"a\\0b\": 1\n\"a\\0c\": 2\n", "{\"a\\u0000b\":1,\"a\\u0000c\":2}"},
        {"a: [1,\n\t2]\n", "{\"a\":[1,2]}"},
        {"\xef\xbb\xbf"
         "a: 1\r\nb: 2\r\n",
         "{\"a\":1,\"b\":2}"},
        {"%YAML 1.1\n---\na: 1\n...\n", "{\"a\":1}"},
        {"\u00e4: \u20ac\n", "{\"\u00e4\":\"\u20ac\"}"},
        {"{}", "{}"},
        {"[]", "[]"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        expect_row(&rows[i]);
}

static void anchors_and_aliases(void)
{
    static const struct row rows[] = {
        {"a: &x {b: [1]}\nc: *x\n", "{\"a\":{\"b\":[1]},\"c\":{\"b\":[1]}}"},
        {"a: &x 1\nb: *x\nc: &x two\nd: *x\n", "{\"a\":1,\"b\":1,\"c\":\"two\",\"d\":\"two\"}"},
        {"a: &x\nb: *x\n", "{\"a\":null,\"b\":null}"},
        {"- &x [&y 1, *y]\n- *x\n- *y\n", "[[1,1],[1,1],1]"},
        /* The name is taken by who declared it last, though another ends later. */
        {"- &x [&x 1, *x]\n- *x\n", "[[1,1],1]"},
        {"&k key: *k\n", "{\"key\":\"key\"}"},
        {"k: &k 0x10\nb: {*k : 1}\n", "{\"k\":16,\"b\":{\"16\":1}}"},
        {"k: &k yes\nb: {*k : 1}\n", "{\"k\":true,\"b\":{\"true\":1}}"},
        {"a: *a\n", "line 1, column 4: the anchor &a is not known here"},
        {"a: 1\nb: &a {b: *a}\n", "line 2, column 11: the alias *a is inside its own anchor"},
        {"&a [[*a]]\n", "line 1, column 6: the alias *a is inside its own anchor"},
        {"k: &k [1]\nb: {*k : 1}\n", "line 2, column 5: a key must be a scalar, and *k is not one"},
        {"k: &k ~\nb: {*k : 1}\n", "line 2, column 5: a key is null; quote it if it is a name"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        expect_row(&rows[i]);
}

static void merge_keys(void)
{
    static const struct row rows[] = {
        {"b: &b {p: 1, q: 2}\nc: {<<: *b, p: 3}\n",
         "{\"b\":{\"p\":1,\"q\":2},\"c\":{\"p\":3,\"q\":2}}"},
        {"b: &b {p: 1, q: 2}\nc: {p: 3, <<: *b}\n",
         "{\"b\":{\"p\":1,\"q\":2},\"c\":{\"p\":3,\"q\":2}}"},
        {"- &b {p: 1, q: 2}\n- &d {p: 5, r: 2}\n- {<<: [*b, *d], q: 3}\n",
         "[{\"p\":1,\"q\":2},{\"p\":5,\"r\":2},{\"q\":3,\"p\":1,\"r\":2}]"},
        {"- &b {p: 1}\n- &d {<<: *b, q: 2}\n- {<<: *d}\n",
         "[{\"p\":1},{\"q\":2,\"p\":1},{\"q\":2,\"p\":1}]"},
        {"<<: {p: 1}\nq: 2\n", "{\"q\":2,\"p\":1}"},
        {"<<: [{p: 1}, {p: 2, r: [3]}]\nq: 2\n", "{\"q\":2,\"p\":1,\"r\":[3]}"},
        {"<<: &m {p: 1}\nq: *m\n", "{\"q\":{\"p\":1},\"p\":1}"},
        {"<<: []\n", "{}"},
        {"\"<<\": {p: 1}\n", "{\"<<\":{\"p\":1}}"},
        {"!!str <<: {p: 1}\n", "{\"<<\":{\"p\":1}}"},
        {"<<: 1\n", "line 1, column 5: << takes a mapping, or a sequence of mappings"},
        {"<<:\n", "line 1, column 4: << takes a mapping, or a sequence of mappings"},
        {"a: &a 1\nb: {<<: *a}\n",
         "line 2, column 9: << takes a mapping, or a sequence of mappings"},
        {"<<: {p: 1}\n<<: {q: 1}\n", "line 2, column 1: the key << occurs twice"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        expect_row(&rows[i]);
    EXPECT_INT(yaml_read("<<: [[{a: 1}]]", 14, &(const struct value *){NULL}, NULL), ERR_INVALID,
               "a sequence of sequences");
}

static void refuses_keys_that_collide_or_are_not_scalars(void)
{
    static const struct row rows[] = {
        {"a: 1\nb: 2\na: 3\n", "line 3, column 1: the key \"a\" occurs twice, first on line 1"},
        {"x:\n  1: a\n  \"1\": b\n",
         "line 3, column 3: the key \"1\" occurs twice, first on line 2"},
        {"n: 1\n\"false\": 2\n",
         "line 2, column 1: the key \"false\" occurs twice, first on line 1"},
        {"{y: 1, yes: 2}", "line 1, column 8: the key \"true\" occurs twice, first on line 1"},
        {"{1: 1, 01: 2}", "line 1, column 8: the key \"1\" occurs twice, first on line 1"},
        {"{1: 1, 1.0: 2}", "line 1, column 8: the key \"1\" occurs twice, first on line 1"},
        {"- &a {p: 1}\n- {<<: *a, q: 1, q: 2}\n",
         "line 2, column 18: the key \"q\" occurs twice, first on line 2"},
        {"? [a]\n: b\n", "line 1, column 3: a key must be a scalar, not a sequence"},
        {"{{a: b}: c}", "line 1, column 2: a key must be a scalar, not a mapping"},
        {"~: a\n", "line 1, column 1: a key is null; quote it if it is a name"},
        {"? # nothing\n: a\n", "line 1, column 2: a key is null; quote it if it is a name"},
        {".nan: a\n",
         "line 1, column 1: .nan is not a number that JSON has; quote it if it is a text"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        expect_row(&rows[i]);
}

static void refuses_what_is_not_yaml(void)
{
    static const struct row rows[] = {
        {"a:\n\t- b\n", "line 2, column 1: while scanning for the next token: found character "
                        "that cannot start any token"},
        {"a: @x\n", "line 1, column 4: while scanning for the next token: found character that "
                    "cannot start any token"},
        {"a: [1,\n", "line 2, column 1: while parsing a flow node: did not find expected node "
                     "content"},
        {"a: \"x\n", "line 2, column 1: while scanning a quoted scalar: found unexpected end of "
                     "stream"},
        {"a: \"\\ud800\"\n", "line 1, column 7: while parsing a quoted scalar: found invalid "
                             "Unicode character escape code"},
        {"a: b: c\n", "line 1, column 5: mapping values are not allowed in this context"},
        {"a: \xff\n", "line 1, column 4: the text is not UTF-8"},
        {"\u00e4: 1\n\u20acx\xe2\x82", "line 2, column 3: the text is not UTF-8"},
        {"a: \xed\xa0\x80\n", "line 1, column 4: the text is not UTF-8"},
        {"a: \xc0\x80\n", "line 1, column 4: the text is not UTF-8"},
        {"\xff\xfe"
         "a",
         "line 1, column 1: the text is not UTF-8"},
        {"a: x\n b: \001\n", "line 2, column 5: a control character, which YAML does not allow"},
        {"a: \xc2\x80\n", "line 1, column 4: a control character, which YAML does not allow"},
        {"a: \x7f\n", "line 1, column 4: a control character, which YAML does not allow"},
        {"", "0 YAML documents instead of one"},
        {"a: 1\n---\nb: 1\n", "2 YAML documents instead of one"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        expect_row(&rows[i]);
    EXPECT_INT(yaml_read("a: \0", 4, &(const struct value *){NULL}, NULL), ERR_INVALID, "NUL");
    EXPECT_INT(yaml_read("\0a\0:", 4, &(const struct value *){NULL}, NULL), ERR_INVALID, "UTF-16");
}

static void every_truncation_is_read_or_refused(void)
{
    static const char text[] = "%YAML 1.1\n--- # c\na: &x {b: [1, 'y', \"\\u20ac\"]}\n"
                               "c: *x\nd: |\n  \u20ac\n<<: *x\n---\n? e\n: !!str f\n...\n";

    for (size_t length = 0; length < sizeof(text); length++) {
        const struct value **values = NULL;
        size_t count = 0;
        struct error error = {0};
        int code = yaml_read_all(text, length, &values, &count, &error);

        EXPECT((code == 0) == (error.code == 0), error.message);
        EXPECT(code == 0 || (code == ERR_INVALID && values == NULL), error.message);
        yaml_free_all(values, count);
    }
}

static void reads_all_documents_but_empty_ones(void)
{
    static const char text[] = "# nothing\n---\na: 1\n---\n# nothing\n--- ~\n---\n...\n---\n&x 2\n";
    const struct value **values = NULL;
    size_t count = 0;
    struct error error = {0};

    EXPECT_INT(yaml_read_all(text, strlen(text), &values, &count, &error), 0, error.message);
    EXPECT_INT(count, 2, "documents");
    EXPECT_INT(value_int(value_get(values[0], "a"), 0), 1, "first");
    EXPECT_INT(value_int(values[1], 0), 2, "second");
    yaml_free_all(values, count);
    EXPECT_INT(yaml_read_all("", 0, &values, &count, &error), 0, "no text");
    EXPECT_INT(count, 0, "no text");
    yaml_free_all(values, count);
    EXPECT_INT(yaml_read_all("a: &x 1\n---\nb: *x\n", 18, &values, &count, NULL), ERR_INVALID,
               "anchors end with their document");
}

/* ---- Bounds ---- */

/* Reads count times `unit`, and says how it ended. */
static int read_repeated(const char *before, const char *unit, size_t count, const char *after,
                         struct error *error)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    const struct value **values = NULL;
    size_t n_values = 0;
    int code;

    buf_add_str(&text, before);
    for (size_t i = 0; i < count; i++)
        buf_add_str(&text, unit);
    buf_add_str(&text, after);
    code = yaml_read_all(text.data, text.length, &values, &n_values, error);
    yaml_free_all(values, n_values);
    return code;
}

static void nesting_is_bounded(void)
{
    static const struct {
        const char *unit;
        int code;
    } rows[] = {
        {"[", ERR_TOO_LARGE},     {"{a: ", ERR_TOO_LARGE}, {"- ", ERR_TOO_LARGE},
        {"[{a: ", ERR_TOO_LARGE}, {"&a [", ERR_TOO_LARGE}, {"? ", ERR_INVALID},
        {"{", ERR_INVALID},
    };
    clock_t start = clock();

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        EXPECT_INT(read_repeated("", rows[i].unit, 100000, "", NULL), rows[i].code, rows[i].unit);
    EXPECT((clock() - start) / CLOCKS_PER_SEC < 5, "refused at once");
}

static void nesting_up_to_the_bound_is_read(void)
{
    for (size_t depth = LIMIT_DEPTH - 1; depth <= LIMIT_DEPTH + 1; depth++) {
        _cleanup_buf_ struct buf text = BUF_INIT;
        struct error error = {0};
        const struct value *value = NULL;

        for (size_t i = 0; i < depth; i++)
            buf_add_char(&text, '[');
        for (size_t i = 0; i < depth; i++)
            buf_add_char(&text, ']');
        EXPECT_INT(yaml_read(text.data, text.length, &value, &error),
                   depth <= LIMIT_DEPTH ? 0 : ERR_TOO_LARGE, error.message);
        value_unref(value);
    }
}

/* A tower that aliases build: each level is one deeper than the alias in it. */
static void nesting_counts_through_aliases(void)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    struct error error = {0};
    const struct value *value = NULL;

    buf_add_str(&text, "- &a0 []\n");
    for (int i = 1; i <= LIMIT_DEPTH; i++)
        buf_printf(&text, "- &a%d [*a%d]\n", i, i - 1);
    EXPECT_INT(yaml_read(text.data, text.length, &value, &error), ERR_TOO_LARGE, error.message);
    EXPECT_STR(error.message, "line 256, column 15: nested more than 256 levels", NULL);
}

static void a_billion_laughs_are_refused_at_once(void)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    struct error error = {0};
    const struct value *value = NULL;
    clock_t start = clock();

    buf_add_str(&text, "a0: &a0 [lol,lol,lol,lol,lol,lol,lol,lol,lol]\n");
    for (int i = 1; i < 30; i++) {
        buf_printf(&text, "a%d: &a%d [", i, i);
        for (int k = 0; k < 9; k++)
            buf_printf(&text, "*a%d%s", i - 1, k < 8 ? "," : "]\n");
    }
    EXPECT_INT(yaml_read(text.data, text.length, &value, &error), ERR_TOO_LARGE, error.message);
    EXPECT_STR(error.message, "line 6, column 10: aliases expand to more than 131072 values", NULL);
    EXPECT((clock() - start) / CLOCKS_PER_SEC < 2, "at once");

    buf_reset(&text);
    buf_add_str(&text, "- &a0 {x: [lol,lol,lol,lol,lol,lol,lol,lol,lol]}\n");
    for (int i = 1; i < 30; i++)
        buf_printf(&text, "- &a%d {<<: *a%d, k%d: *a%d, l%d: *a%d}\n", i, i - 1, i, i - 1, i,
                   i - 1);
    EXPECT_INT(yaml_read(text.data, text.length, &value, &error), ERR_TOO_LARGE, "by merge keys");
}

static void aliases_up_to_the_bound_are_read(void)
{
    struct error error = {0};

    EXPECT_INT(read_repeated("- &a x\n", "- *a\n", LIMIT_YAML_ALIAS_VALUES, "", &error), 0,
               error.message);
    EXPECT_INT(read_repeated("- &a x\n", "- *a\n", LIMIT_YAML_ALIAS_VALUES + 1, "", &error),
               ERR_TOO_LARGE, error.message);
}

static void anchors_are_bounded(void)
{
    struct error error = {0};

    EXPECT_INT(read_repeated("", "- &a x\n", LIMIT_YAML_ANCHORS, "", &error), 0, error.message);
    EXPECT_INT(read_repeated("", "- &a x\n", LIMIT_YAML_ANCHORS + 1, "", &error), ERR_TOO_LARGE,
               NULL);
    EXPECT_STR(error.message, "line 10001, column 3: more than 10000 anchors", NULL);
    EXPECT_INT(read_repeated("", "- &a []\n", LIMIT_YAML_ANCHORS + 1, "", &error), ERR_TOO_LARGE,
               "of lists");
    EXPECT_INT(read_repeated("", "---\n- &a x\n", LIMIT_YAML_ANCHORS / 2 + 1, "", &error), 0,
               "of each document");
}

static void documents_and_directives_are_bounded(void)
{
    struct error error = {0};

    EXPECT_INT(read_repeated("", "---\n", LIMIT_YAML_DOCUMENTS, "", &error), 0, error.message);
    EXPECT_INT(read_repeated("", "---\n", LIMIT_YAML_DOCUMENTS + 1, "", &error), ERR_TOO_LARGE,
               NULL);
    EXPECT_STR(error.message, "line 10001, column 1: more than 10000 documents", NULL);
    EXPECT_INT(read_repeated("", "%FOO\n", 101, "---\na\n", &error), ERR_TOO_LARGE, NULL);
    EXPECT_INT(read_repeated("", "a", LIMIT_STRING_BYTES + 1, "", &error), ERR_TOO_LARGE, NULL);
    /* Refused by its length, before any of it is looked at. */
    EXPECT_INT(yaml_read("", LIMIT_DOCUMENT_BYTES + 1, &(const struct value *){NULL}, NULL),
               ERR_TOO_LARGE, NULL);
}

static void a_large_document_takes_linear_time(void)
{
    clock_t start = clock();

    EXPECT_INT(read_repeated("[", "a, ", 200000, "b]", NULL), 0, "one long line");
    EXPECT_INT(read_repeated("[", "{a: 1}, ", 100000, "b]", NULL), 0, "mappings in a line");
    EXPECT_INT(read_repeated("", "- a: 1\n", 100000, "", NULL), 0, "block");
    EXPECT((clock() - start) / CLOCKS_PER_SEC < 20, "not quadratic");
}

SUITE(yaml, TEST(reads_the_usual), TEST(anchors_and_aliases), TEST(merge_keys),
      TEST(refuses_keys_that_collide_or_are_not_scalars), TEST(refuses_what_is_not_yaml),
      TEST(every_truncation_is_read_or_refused), TEST(reads_all_documents_but_empty_ones),
      TEST(nesting_is_bounded), TEST(nesting_up_to_the_bound_is_read),
      TEST(nesting_counts_through_aliases), TEST(a_billion_laughs_are_refused_at_once),
      TEST(aliases_up_to_the_bound_are_read), TEST(anchors_are_bounded),
      TEST(documents_and_directives_are_bounded), TEST(a_large_document_takes_linear_time))
