#include "runtimes/http/resource/compare.h"

#include "engine/value/json.h"
#include "runtimes/http/resource/select.h"
#include "test/unit/suite.h"

static const struct value *json(const char *text)
{
    const struct value *value = NULL;
    struct error error = {0};

    if (text)
        EXPECT_INT(json_read_str(text, &value, &error), 0, error.message);
    return value;
}

static void what_is_wanted_is_compared(void)
{
    static const struct {
        const char *wanted, *recorded, *thing, *projected;
        bool is_equal;
    } table[] = {
        {"{\"a\":1}", NULL, "{\"a\":1,\"b\":2}", "{\"a\":1}", true},
        {"{\"a\":1}", NULL, "{\"a\":2}", "{\"a\":2}", false},
        {"{\"a\":1}", NULL, "{}", "{}", false},
        {"{\"a\":null}", NULL, "{}", "{\"a\":null}", true},
        {"{\"a\":null}", NULL, "{\"a\":1}", "{\"a\":1}", false},
        {"{\"a\":{\"b\":1}}", NULL, "{\"a\":{\"b\":1,\"c\":2}}", "{\"a\":{\"b\":1}}", true},
        {"{\"a\":{\"b\":1}}", NULL, "{\"a\":[]}", "{\"a\":[]}", false},
        {"{\"a\":[{\"b\":1}]}", NULL, "{\"a\":[{\"b\":1,\"c\":2}]}", "{\"a\":[{\"b\":1}]}", true},
        {"{\"a\":[1,2]}", NULL, "{\"a\":[2,1]}", "{\"a\":[2,1]}", false},
        {"{\"a\":[1,2]}", NULL, "{\"a\":[1]}", "{\"a\":[1]}", false},
        {"{\"a\":[1]}", NULL, "{\"a\":[1,2]}", "{\"a\":[1,2]}", false},
        {"{\"s\":[1,2]}", NULL, "{\"s\":[2,1]}", "{\"s\":[1,2]}", true},
        {"{\"s\":[1,2,2]}", NULL, "{\"s\":[2,1,1]}", "{\"s\":[1,2,1]}", false},
        {"{\"s\":[{\"k\":1},{\"k\":2}]}", NULL, "{\"s\":[{\"k\":2,\"x\":0},{\"k\":1,\"x\":0}]}",
         "{\"s\":[{\"k\":1},{\"k\":2}]}", true},
        {"{\"w\":\"x\"}", "{\"w\":\"x\"}", "{}", "{\"w\":\"x\"}", true},
        {"{\"w\":\"y\"}", "{\"w\":\"x\"}", "{}", "{\"w\":\"x\"}", false},
        {"{\"w\":\"y\"}", NULL, "{\"w\":\"***\"}", "{}", false},
        {"{\"w\":\"y\"}", "{\"w\":\"y\"}", "{\"w\":\"***\"}", "{\"w\":\"y\"}", true},
        {"{\"a\":1}", "{\"a\":1,\"b\":2}", "{\"a\":1,\"b\":2}", "{\"a\":1,\"b\":2}", false},
        {"{\"a\":1}", "{\"a\":1,\"b\":2}", "{\"a\":1,\"b\":null}", "{\"a\":1}", true},
        {"{\"a\":1}", "{\"a\":1,\"b\":2}", "{\"a\":1}", "{\"a\":1}", true},
        {"{\"d\":{}}", "{\"d\":{\"x\":1}}", "{\"d\":{\"x\":3,\"y\":4}}", "{\"d\":{\"x\":3}}",
         false},
        {"{\"a\":1.0}", NULL, "{\"a\":1}", "{\"a\":1}", true},
    };
    _cleanup_value_ const struct value *unordered = json("[\"/s\"]"),
                                       *write_only = json("[\"/w\"]");

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_value_ const struct value *wanted = json(table[i].wanted);
        _cleanup_value_ const struct value *recorded = json(table[i].recorded);
        _cleanup_value_ const struct value *thing = json(table[i].thing);
        const struct comparison comparison = {wanted, recorded, unordered, write_only};
        _cleanup_value_ const struct value *projected = compare_project(&comparison, thing);
        _cleanup_free_ char *text = json_to_str(projected);

        EXPECT_STR(text, table[i].projected, table[i].wanted);
        EXPECT_INT(value_equal(projected, wanted), table[i].is_equal, table[i].thing);
    }
}

static void the_first_pointer_that_differs(void)
{
    _cleanup_value_ const struct value *pointers = json("[\"/a\",\"/b/c\"]");
    _cleanup_value_ const struct value *a = json("{\"a\":1,\"b\":{\"c\":1},\"d\":1}");
    _cleanup_value_ const struct value *b = json("{\"a\":1,\"b\":{\"c\":2},\"d\":2}");
    _cleanup_value_ const struct value *c = json("{\"a\":1,\"b\":{\"c\":1},\"d\":2}");

    EXPECT_STR(compare_first(pointers, a, b), "/b/c", "differs");
    EXPECT_STR(compare_first(pointers, a, c), NULL, "does not");
}

static void things_are_selected(void)
{
    static const struct {
        const char *read, *answer, *thing;
        int code;
    } table[] = {
        {"{}", "{\"a\":1}", "{\"a\":1}", 0},
        {"{}", "null", NULL, 0},
        {"{}", "[]", NULL, ERR_INTERNAL},
        {"{}", "\"x\"", NULL, ERR_INTERNAL},
        {"{\"select\":\"/data\"}", "{\"data\":{\"a\":1}}", "{\"a\":1}", 0},
        {"{\"select\":\"/data\"}", "{\"data\":null}", NULL, 0},
        {"{\"select\":\"/data\"}", "{\"error\":1}", NULL, ERR_INTERNAL},
        {"{\"select\":\"/l\",\"where\":{\"/n\":\"/name\"}}",
         "{\"l\":[{\"n\":\"x\"},{\"n\":\"web\"}]}", "{\"n\":\"web\"}", 0},
        {"{\"select\":\"/l\",\"where\":{\"/n\":\"/name\"}}", "{\"l\":[]}", NULL, 0},
        {"{\"select\":\"/l\",\"where\":{\"/n\":\"/name\"}}", "{\"l\":{}}", NULL, ERR_INTERNAL},
        {"{\"select\":\"/l\",\"where\":{\"/n\":\"/name\"}}", "{}", NULL, ERR_INTERNAL},
        {"{\"where\":{\"/n\":\"/name\",\"/t\":\"/type\"}}",
         "[{\"n\":\"web\",\"t\":\"B\"},{\"n\":\"web\",\"t\":\"A\"}]", "{\"n\":\"web\",\"t\":\"A\"}",
         0},
        {"{\"where\":{\"/n\":\"/name\"}}", "[{\"n\":\"web\"},{\"n\":\"web\"}]", NULL, ERR_INTERNAL},
        {"{\"where\":{\"/n\":\"/nothing\"}}", "[{\"n\":\"web\"},{}]", NULL, 0},
    };
    _cleanup_value_ const struct value *attributes = json("{\"name\":\"web\",\"type\":\"A\"}");

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_value_ const struct value *read = json(table[i].read),
                                           *answer = json(table[i].answer);
        const struct value *thing = NULL;
        _cleanup_free_ char *text = NULL;
        bool is_known;
        int r = select_thing(read, answer, attributes, &thing, &is_known, NULL);

        EXPECT_INT(r, table[i].code, table[i].answer);
        text = r >= 0 && thing ? json_to_str(thing) : NULL;
        EXPECT_STR(text, table[i].thing, table[i].answer);
    }
}

SUITE(http_compare, TEST(what_is_wanted_is_compared), TEST(the_first_pointer_that_differs),
      TEST(things_are_selected))
