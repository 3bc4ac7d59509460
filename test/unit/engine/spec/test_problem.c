#include "engine/base/cleanup.h"
#include "engine/base/limits.h"
#include "engine/base/str.h"
#include "engine/spec/problem.h"
#include "test/unit/suite.h"

static void says_all_in_one_error(void)
{
    static const struct {
        struct problem problems[3];
        int code;
        const char *reason, *message;
    } rows[] = {
        {{{0}}, 0, "", ""},
        {{{"InvalidSpec", "a", "resources[0].id", "is bad"}},
         ERR_INVALID,
         "InvalidSpec",
         "resource \"a\" (resources[0].id): is bad"},
        {{{"Unsupported", NULL, "force", "is not supported"}},
         ERR_UNSUPPORTED,
         "Unsupported",
         "force: is not supported"},
        {{{"InvalidSpec", NULL, NULL, "100% bad"}}, ERR_INVALID, "InvalidSpec", "100% bad"},
        {{{"Unsupported", "a", NULL, "x"}, {"CyclicDependency", NULL, "f", "y"}},
         ERR_INVALID,
         "Unsupported",
         "2 problems: resource \"a\": x; f: y"},
        {{{"Unsupported", "a", NULL, "x"}, {"Unsupported", "b", NULL, "y"}},
         ERR_UNSUPPORTED,
         "Unsupported",
         "2 problems: resource \"a\": x; resource \"b\": y"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct problems problems = PROBLEMS_INIT;
        struct error error = {0};

        for (const struct problem *p = rows[i].problems; p < rows[i].problems + 3 && p->reason; p++)
            problems_add(&problems, p->reason, p->resource, p->field, "%s", p->message);
        EXPECT_INT(problems_to_error(&problems, &error), rows[i].code, rows[i].message);
        EXPECT_STR(error.reason, rows[i].reason, rows[i].message);
        EXPECT_STR(error.message, rows[i].message, rows[i].message);
        problems_done(&problems);
    }
}

static void counts_what_it_does_not_keep(void)
{
    struct problems problems = PROBLEMS_INIT;
    struct error error = {0};

    for (int i = 0; i < LIMIT_PROBLEMS + 10; i++)
        problems_add(&problems, "InvalidSpec", NULL, NULL, "number %d is bad", i);
    EXPECT_INT(problems.count, LIMIT_PROBLEMS, "kept");
    EXPECT_INT(problems.total, LIMIT_PROBLEMS + 10, "found");
    EXPECT_STR(problems.items[LIMIT_PROBLEMS - 1].message, "number 63 is bad", "the first ones");
    problems_to_error(&problems, &error);
    EXPECT(str_has_prefix(error.message, "74 problems: number 0 is bad; number 1 is bad; "), "all");
    EXPECT(str_has_suffix(error.message, " more"), "what is left is counted, and not cut");
    problems_done(&problems);
    EXPECT(problems.total == 0 && !problems.items, "as new");
}

static void keeps_the_first_that_is_invalid(void)
{
    struct problems problems = PROBLEMS_INIT;

    for (int i = 0; i < LIMIT_PROBLEMS + 1; i++)
        problems_add(&problems, "Unsupported", NULL, NULL, "not yet");
    EXPECT_INT(problems_to_error(&problems, NULL), ERR_UNSUPPORTED, "none is invalid");
    problems_add(&problems, "InvalidSpec", NULL, NULL, "bad");
    problems_add(&problems, "InvalidSpec", NULL, NULL, "bad, too");
    EXPECT_INT(problems_to_error(&problems, NULL), ERR_INVALID, "one is");
    EXPECT_STR(problems.items[LIMIT_PROBLEMS - 1].message, "bad", "it took the last's place");
    problems_done(&problems);
}

static void bounds_texts(void)
{
    struct problems problems = PROBLEMS_INIT;
    static char text[100000];

    memset(text, 'x', sizeof(text) - 1);
    problems_add(&problems, "InvalidSpec", text, text, "%s", text);
    EXPECT_INT(strlen(problems.items[0].resource), LIMIT_ID_BYTES, "an id's bound");
    EXPECT(str_has_suffix(problems.items[0].resource, "…"), "seen to be cut");
    EXPECT(strlen(problems.items[0].field) < 600, "a field");
    EXPECT(strlen(problems.items[0].message) < ERROR_MESSAGE_SIZE, "a message");
    problems_done(&problems);
}

SUITE(problem, TEST(says_all_in_one_error), TEST(counts_what_it_does_not_keep),
      TEST(keeps_the_first_that_is_invalid), TEST(bounds_texts))
