#include "runtimes/http/resource/fill.h"

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "runtimes/http/resource/select.h"
#include "test/unit/suite.h"

static const struct value *json(const char *text)
{
    const struct value *value = NULL;
    struct error error = {0};

    EXPECT_INT(json_read_str(text, &value, &error), 0, error.message);
    return value;
}

static void paths_are_filled_and_escaped(void)
{
    _cleanup_value_ const struct value *attributes = json(
        "{\"name\":\"a "
        "b/c?d#e%\",\"n\":7,\"yes\":true,\"dots\":\"..\",\"dot\":\".\",\"empty\":\"\","
        "\"deep\":{\"x\":[\"y\"]},\"list\":[1],\"umlaut\":\"\xc3\xbc\",\"line\":\"a\\r\\nb\"}");
    _cleanup_value_ const struct value *parameters =
        json("{\"zone\":\"rack.example.\",\"null\":null}");
    const struct fill from = {.attributes = attributes, .parameters = parameters, .id = "i/d"};
    static const struct {
        const char *path, *filled;
    } table[] = {
        {"/things/{id}", "/things/i%2Fd"},
        {"/zones/{zone}/records", "/zones/rack.example./records"},
        {"/things?name={/name}&n={/n}", "/things?name=a%20b%2Fc%3Fd%23e%25&n=7"},
        {"/{/yes}/{/deep/x/0}", "/true/y"},
        {"/{/umlaut}", "/%C3%BC"},
        {"/{/line}", "/a%0D%0Ab"},
        {"/x", "/x"},
        {"/{/dots}", NULL},
        {"/{/dot}", NULL},
        {"/{/empty}", NULL},
        {"/{/list}", NULL},
        {"/{/nothing}", NULL},
        {"/{null}", NULL},
        {"/{nothing}", NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_free_ char *filled = NULL;
        struct error error = {0};
        int r = fill_path(table[i].path, &from, &filled, &error);

        EXPECT_INT(r, table[i].filled ? 0 : ERR_INVALID, table[i].path);
        EXPECT_STR(filled, table[i].filled, table[i].path);
    }
}

static void a_path_with_something_unknown_is_not_known(void)
{
    _cleanup_value_ const struct value *attributes = value_pack("{s:u}", "name");
    const struct fill from = {.attributes = attributes};
    char *filled = NULL;

    EXPECT_INT(fill_path("/{/name}", &from, &filled, NULL), 0, "unknown");
    EXPECT(!filled, "unknown");
}

#define MARK "secret:0123456789abcdef0123456789abcdef 1 ref://a/b"

static void what_state_does_not_keep_is_not_known(void)
{
    _cleanup_value_ const struct value *attributes = json("{\"a\":{\"key\":\"" MARK "\"}}");
    _cleanup_value_ const struct value *body = json("{\"x\":{\"$attributes\":\"/a\"}}");
    _cleanup_value_ const struct value *read = json("{\"where\":{\"/key\":\"/a/key\"}}");
    _cleanup_value_ const struct value *filled_body = NULL;
    const struct fill from = {.attributes = attributes};
    char *filled = NULL;

    EXPECT_INT(fill_path("/{/a/key}", &from, &filled, NULL), 0, "path");
    EXPECT(!filled, "path");
    EXPECT_INT(fill_body(body, &from, &filled_body, NULL), ERR_UNSUPPORTED, "body");
    EXPECT(!select_is_known(read, attributes), "where");
    EXPECT(!select_key(read, attributes), "where");
}

static void paths_that_are_refused(void)
{
    static const char *const paths[] = {
        "x",           "/a/../b", "/..",     "/.",  "/a/%2e%2e/b", "/%2E",      "/a/.%2e",
        "/%252e%252e", "/a b",    "/a#b",    "/{",  "/}",          "/{a b}",    "/{$x}",
        "/\xc3\xbc",   "/a\\b",   "/a\r\nb", "/{}", "/a/..?b",     "/%252e./x", "/{../x}",
    };
    static const char *const others[] = {"/a/b.c/...", "/a?b=../c", "/a%20b", "/{id}..",
                                         "/.well-known"};

    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        EXPECT_INT(fill_check_path(paths[i], NULL), ERR_INVALID, paths[i]);
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        EXPECT_INT(fill_check_path(others[i], NULL), 0, others[i]);
}

static void bodies_are_filled(void)
{
    _cleanup_value_ const struct value *attributes =
        json("{\"name\":\"web\",\"ttl\":60,\"deep\":{\"a\":1}}");
    _cleanup_value_ const struct value *object = json("{\"version\":7}");
    _cleanup_value_ const struct value *parameters = json("{\"zone\":\"z\"}");
    const struct fill from = {
        .attributes = attributes, .parameters = parameters, .object = object, .id = "4"};
    static const struct {
        const char *body, *filled;
    } table[] = {
        {"{\"$attributes\":\"\"}", "{\"name\":\"web\",\"ttl\":60,\"deep\":{\"a\":1}}"},
        {"{\"rrsets\":[{\"$attributes\":\"\",\"changetype\":\"REPLACE\",\"ttl\":5}]}",
         "{\"rrsets\":[{\"name\":\"web\",\"deep\":{\"a\":1},\"changetype\":\"REPLACE\",\"ttl\":5}]"
         "}"},
        {"{\"a\":{\"$attributes\":\"/deep/a\"},\"v\":{\"$object\":\"/"
         "version\"},\"i\":{\"$id\":true}}",
         "{\"a\":1,\"v\":7,\"i\":\"4\"}"},
        {"{\"z\":{\"$parameter\":\"zone\"},\"no\":{\"$attributes\":\"/no\"}}",
         "{\"z\":\"z\",\"no\":null}"},
        {"[1,null,\"x\",{\"y\":[]}]", "[1,null,\"x\",{\"y\":[]}]"},
        {"{\"$attributes\":\"/name\",\"x\":1}", NULL},
        {"{\"a\":{\"$attributes\":\"/name\",\"x\":1}}", NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_value_ const struct value *body = json(table[i].body), *filled = NULL;
        _cleanup_free_ char *text = NULL;
        struct error error = {0};

        EXPECT_INT(fill_check_body(body, &error), 0, error.message);
        EXPECT_INT(fill_body(body, &from, &filled, &error), table[i].filled ? 0 : ERR_INVALID,
                   table[i].body);
        text = filled ? json_to_str(filled) : NULL;
        EXPECT_STR(text, table[i].filled, table[i].body);
    }
}

static void bodies_that_are_refused(void)
{
    static const char *const bodies[] = {
        "{\"$attribute\":\"\"}", "{\"$attributes\":\"x\"}", "{\"$attributes\":1}",
        "{\"a\":[{\"$x\":1}]}",  "{\"$parameter\":\"\"}",   "{\"$id\":\"yes\"}",
    };

    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        _cleanup_value_ const struct value *body = json(bodies[i]);

        EXPECT_INT(fill_check_body(body, NULL), ERR_INVALID, bodies[i]);
    }
}

SUITE(http_fill, TEST(paths_are_filled_and_escaped),
      TEST(a_path_with_something_unknown_is_not_known), TEST(what_state_does_not_keep_is_not_known),
      TEST(paths_that_are_refused), TEST(bodies_are_filled), TEST(bodies_that_are_refused))
