#include "engine/base/json.h"
#include "engine/base/mem.h"
#include "engine/plan/diff.h"
#include "test/unit/suite.h"

static const struct value *parse(const char *text)
{
    const struct value *value = NULL;

    if (text)
        EXPECT_INT(json_read_str(text, &value, NULL), 0, text);
    return value;
}

/* Whatever becomes of its parents, a secret is never shown. */
static void never_shows_a_secret(void)
{
    static const struct {
        const char *from, *to, *sensitive;
        const char *path, *shown_from, *shown_to; /* of the first difference */
    } rows[] = {
        {"{\"data\":{\"p\":\"hunter2\"}}", "{\"data\":null}", "[\"/data/p\"]", "data",
         "{\"p\":\"(sensitive)\"}", "null"},
        {"{\"data\":\"x\"}", "{\"data\":{\"p\":\"hunter2\"}}", "[\"/data/p\"]", "data", "\"x\"",
         "{\"p\":\"(sensitive)\"}"},
        {"{\"data\":{\"p\":\"hunter2\"}}", "{\"data\":{}}", "[\"/data/p\"]", "data.p",
         "(sensitive)", NULL},
        {"{\"data\":{}}", "{\"data\":{\"p\":\"hunter2\"}}", "[\"/data/p\"]", "data.p", NULL,
         "(sensitive)"},
        {"{\"l\":[{\"p\":\"hunter2\"}]}", "{\"l\":[]}", "[\"/l/0/p\"]", "l[0].p", "(sensitive)",
         NULL},
        {"{\"l\":[{\"p\":\"hunter2\"}]}", "{\"l\":{\"k\":1}}", "[\"/l/0/p\"]", "l",
         "[{\"p\":\"(sensitive)\"}]", "{\"k\":1}"},
        {"{\"a\":{\"b\":{\"c\":\"hunter2\"}}}", "{\"a\":1}", "[\"/a/b\"]", "a",
         "{\"b\":\"(sensitive)\"}", "1"},
        {"{\"a/b\":{\"p\":\"hunter2\"}}", "{\"a/b\":1}", "[\"/a~1b/p\"]", "a/b",
         "{\"p\":\"(sensitive)\"}", "1"},
        {"{\"a\":1,\"ab\":\"y\"}", "{\"a\":1,\"ab\":\"z\"}", "[\"/a\"]", "ab", "\"y\"", "\"z\""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *from = parse(rows[i].from), *to = parse(rows[i].to);
        _cleanup_value_ const struct value *sensitive = parse(rows[i].sensitive);
        struct diff diff;

        diff_values(from, to, sensitive, &diff);
        EXPECT_INT((long long)diff.total, 1, rows[i].to);
        if (diff.n_fields) {
            EXPECT_STR(diff.fields[0].path, rows[i].path, rows[i].to);
            EXPECT_STR(diff.fields[0].from, rows[i].shown_from, rows[i].to);
            EXPECT_STR(diff.fields[0].to, rows[i].shown_to, rows[i].to);
        }
        diff_done(&diff);
    }
}

SUITE(diff_sensitive, TEST(never_shows_a_secret))
