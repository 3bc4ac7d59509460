#include "test/unit/engine/spec/parse.h"

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/suite.h"

static const char *or_dash(const char *s)
{
    return s ? s : "-";
}

struct spec *parse_spec(const char *json, char **ret_problems)
{
    _cleanup_value_ const struct value *object = NULL;
    struct problems problems = PROBLEMS_INIT;
    struct error error = {0}, same = {0};
    struct spec *spec = NULL;
    struct buf text = BUF_INIT;
    int r;

    EXPECT_INT(json_read_str(json, &object, &error), 0, json);
    r = spec_parse(object, &parse_options, &spec, &problems, &error);
    EXPECT((r == 0) == (spec != NULL) && r == error.code, json);
    EXPECT_INT(problems_to_error(&problems, &same), r, json);
    EXPECT_STR(same.message, error.message, json);
    for (const struct problem *p = problems.items; p < problems.items + problems.count; p++)
        buf_printf(&text, "%s|%s|%s|%s\n", p->reason, or_dash(p->resource), or_dash(p->field),
                   p->message);
    problems_done(&problems);
    *ret_problems = buf_take(&text);
    return spec;
}

/* Both are lines; an expected line may end before the message. */
static bool fit(const char *found, const char *expected)
{
    while (*expected && *found) {
        size_t length = strcspn(expected, "\n"), line = strcspn(found, "\n");
        bool whole = line == length || (line > length && found[length] == '|');

        if (!whole || strncmp(found, expected, length) != 0)
            return false;
        expected += length + (expected[length] == '\n');
        found += line + 1;
    }
    return !*expected && !*found;
}

void expect_problems(const struct parse_row *rows, size_t n_rows)
{
    for (size_t i = 0; i < n_rows; i++) {
        _cleanup_free_ char *found = NULL;

        spec_free(parse_spec(rows[i].json, &found));
        if (!fit(found, rows[i].problems))
            EXPECT_STR(found, rows[i].problems, rows[i].json);
        else
            EXPECT(true, rows[i].json);
    }
}
