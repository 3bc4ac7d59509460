#include "engine/base/mem.h"
#include "engine/plan/diff.h"
#include "engine/value/json.h"
#include "engine/value/value_mark.h"
#include "test/unit/suite.h"

/* A value with what is at the pointers sensitive. Both as JSON, or NULL. */
static const struct value *parse(const char *text, const char *pointers)
{
    _cleanup_value_ const struct value *plain = NULL, *list = NULL;

    if (text)
        EXPECT_INT(json_read_str(text, &plain, NULL), 0, text);
    if (pointers)
        EXPECT_INT(json_read_str(pointers, &list, NULL), 0, pointers);
    return value_mark_paths(plain, list);
}

static void add_fields(struct buf *to, const struct diff *diff)
{
    for (size_t i = 0; i < diff->n_fields; i++)
        buf_printf(to, "%s%s: %s -> %s", i ? "; " : "", diff->fields[i].path,
                   diff->fields[i].from ? diff->fields[i].from : "none",
                   diff->fields[i].to ? diff->fields[i].to : "none");
}

#define HIDDEN   "(sensitive)"
#define OBJECT   "{\"data\":{\"p\":\"hunter2\"}}"
#define AROUND   "{\"p\":\"" HIDDEN "\"}"
#define ENV(...) "{\"env\":[" __VA_ARGS__ "]}"

/* Whatever becomes of its parents, a secret is never shown; what is none is. */
static void never_shows_a_secret(void)
{
    static const struct {
        const char *note, *from, *secret_from, *to, *secret_to, *fields;
    } rows[] = {
        {"becomes null", OBJECT, "[\"/data/p\"]", "{\"data\":null}", NULL,
         "data: " AROUND " -> null"},
        {"was a string", "{\"data\":\"x\"}", NULL, OBJECT, "[\"/data/p\"]",
         "data: \"x\" -> " AROUND},
        {"goes", OBJECT, "[\"/data/p\"]", "{\"data\":{}}", NULL, "data.p: " HIDDEN " -> none"},
        {"comes", "{\"data\":{}}", NULL, OBJECT, "[\"/data/p\"]", "data.p: none -> " HIDDEN},
        {"its parent comes", NULL, NULL, OBJECT, "[\"/data\"]", "data: none -> " HIDDEN},
        {"below the parent", NULL, NULL, OBJECT, "[\"/data/p\"]", "data.p: none -> " HIDDEN},
        {"all of it", OBJECT, "[\"\"]", "{}", NULL, ": " HIDDEN " -> " HIDDEN},
        {"equal", OBJECT, "[\"/data\"]", OBJECT, NULL, ""},
        {"changes", OBJECT, "[\"/data\"]", "{\"data\":{\"p\":\"hunter3\"}}", "[\"/data\"]",
         "data: " HIDDEN " -> " HIDDEN},
        {"recorded as one", OBJECT, "[\"/data/p\"]", "{\"data\":{\"p\":\"text\"}}", NULL,
         "data.p: " HIDDEN " -> " HIDDEN},
        {"becomes one", "{\"data\":{\"p\":\"text\"}}", NULL, OBJECT, "[\"/data/p\"]",
         "data.p: " HIDDEN " -> " HIDDEN},
        {"beside one", "{\"data\":{\"p\":\"hunter2\",\"q\":1}}", "[\"/data/p\"]",
         "{\"data\":{\"p\":\"hunter2\",\"q\":2}}", "[\"/data/p\"]", "data.q: 1 -> 2"},
        {"a list's place", "{\"l\":[{\"p\":\"hunter2\"}]}", "[\"/l/0/p\"]", "{\"l\":{\"k\":1}}",
         NULL, "l: [" AROUND "] -> {\"k\":1}"},
        {"further down", "{\"a\":{\"b\":{\"c\":\"hunter2\"}}}", "[\"/a/b\"]", "{\"a\":1}", NULL,
         "a: {\"b\":\"" HIDDEN "\"} -> 1"},
        {"an escaped key", "{\"a/b\":{\"p\":\"hunter2\"}}", "[\"/a~1b/p\"]", "{\"a/b\":1}", NULL,
         "a/b: " AROUND " -> 1"},
        {"a longer key", "{\"a\":1,\"ab\":\"y\"}", "[\"/a\"]", "{\"a\":1,\"ab\":\"z\"}", "[\"/a\"]",
         "ab: \"y\" -> \"z\""},
        /* lists, where positions shift */
        {"an item goes", ENV("{\"v\":\"hunter2\"}"), "[\"/env/0/v\"]", "{\"env\":[]}", NULL,
         "env[0]: " HIDDEN " -> none"},
        {"a list comes", "{}", NULL, ENV("{\"v\":\"hunter2\"}"), "[\"/env/0/v\"]",
         "env[0]: none -> " HIDDEN},
        {"one before it", ENV("{\"v\":\"hunter2\"}"), NULL, ENV("{\"v\":1},{\"v\":\"hunter2\"}"),
         "[\"/env/1/v\"]", "env[0]: " HIDDEN " -> " HIDDEN "; env[1]: none -> " HIDDEN},
        {"one before it goes", ENV("{\"v\":1},{\"v\":\"hunter2\"}"), NULL,
         ENV("{\"v\":\"hunter2\"}"), "[\"/env/0/v\"]",
         "env[0]: " HIDDEN " -> " HIDDEN "; env[1]: " HIDDEN " -> none"},
        {"another's before ours", ENV("1,\"hunter2\""), "[\"/env\"]", ENV("1,\"hunter3\""),
         "[\"/env/0\"]", "env: " HIDDEN " -> " HIDDEN},
        {"the record says so", ENV("1,\"hunter2\""), "[\"/env/1\"]", ENV("\"hunter2\",2"), NULL,
         "env[0]: " HIDDEN " -> " HIDDEN "; env[1]: " HIDDEN " -> " HIDDEN},
        {"a list in it", ENV("[{\"v\":1}]"), NULL, ENV("[{\"v\":\"hunter2\"}]"), "[\"/env/0/0/v\"]",
         "env[0]: " HIDDEN " -> " HIDDEN},
        {"equal items", ENV("1,\"hunter2\""), "[\"/env/1\"]", ENV("1,\"hunter3\""), "[\"/env/1\"]",
         "env[1]: " HIDDEN " -> " HIDDEN},
        {"another list", "{\"l\":[1],\"m\":[\"hunter2\"]}", "[\"/m/0\"]",
         "{\"l\":[2],\"m\":[\"hunter2\"]}", NULL, "l[0]: 1 -> 2"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *from = parse(rows[i].from, rows[i].secret_from);
        _cleanup_value_ const struct value *to = parse(rows[i].to, rows[i].secret_to);
        _cleanup_buf_ struct buf fields = BUF_INIT;
        struct diff diff;

        diff_values(from, to, &diff_brief, &diff);
        add_fields(&fields, &diff);
        EXPECT_STR(fields.data, rows[i].fields, rows[i].note);
        diff_done(&diff);
    }
}

SUITE(diff_sensitive, TEST(never_shows_a_secret))
