#include "engine/plan/plan.h"
#include "test/unit/suite.h"

/* kusion.md's table, written once more: prior, planned, live. */
static void decides_as_the_table_says(void)
{
    static const struct {
        const char *note;
        bool prior, planned;
        enum presence live;
        enum plan_action action;
    } rows[] = {
        {"111", true, true, PRESENCE_PRESENT, PLAN_UPDATE},
        {"110", true, true, PRESENCE_ABSENT, PLAN_CREATE},
        {"101", true, false, PRESENCE_PRESENT, PLAN_DELETE},
        {"100", true, false, PRESENCE_ABSENT, PLAN_FORGET},
        {"011", false, true, PRESENCE_PRESENT, PLAN_ADOPT},
        {"010", false, true, PRESENCE_ABSENT, PLAN_CREATE},
        {"001", false, false, PRESENCE_PRESENT, PLAN_NONE},
        {"11?", true, true, PRESENCE_UNKNOWN, PLAN_UNKNOWN},
        {"10?", true, false, PRESENCE_UNKNOWN, PLAN_UNKNOWN},
        {"01?", false, true, PRESENCE_UNKNOWN, PLAN_UNKNOWN},
        {"00?", false, false, PRESENCE_UNKNOWN, PLAN_NONE},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        EXPECT_INT(plan_decide(rows[i].prior, rows[i].planned, rows[i].live), rows[i].action,
                   rows[i].note);
}

static void digest_tells_plans_apart(void)
{
    struct plan *plan = plan_new(1);
    char first[HASH_HEX_SIZE], again[HASH_HEX_SIZE], other[HASH_HEX_SIZE], keyed[HASH_HEX_SIZE];

    plan->changes[0].id = "a";
    plan->changes[0].action = PLAN_CREATE;
    plan->changes[0].to = value_pack("{s:i, s:i}", "x", 1, "y", 2);
    plan_digest(plan, "key", 3, first);
    plan_digest(plan, "yek", 3, keyed);
    value_unref(plan->changes[0].to);
    plan->changes[0].to = value_pack("{s:i, s:i}", "y", 2, "x", 1);
    plan_digest(plan, "key", 3, again);
    value_unref(plan->changes[0].to);
    plan->changes[0].to = value_pack("{s:i, s:i}", "x", 1, "y", 3);
    plan_digest(plan, "key", 3, other);
    EXPECT_STR(first, again, "order of keys");
    EXPECT(strcmp(first, other) != 0, "another value");
    EXPECT(strcmp(first, keyed) != 0, "another key");
    value_unref(plan->changes[0].to);
    plan->changes[0].to = value_pack("{s:u}", "x");
    plan_digest(plan, "key", 3, first);
    value_unref(plan->changes[0].to);
    plan->changes[0].to = value_pack("{s:u}", "x");
    plan_digest(plan, "key", 3, again);
    value_unref(plan->changes[0].to);
    plan->changes[0].to = value_pack("{s:s}", "x", VALUE_UNKNOWN_TEXT);
    plan_digest(plan, "key", 3, other);
    EXPECT_STR(first, again, "an unknown value");
    EXPECT(strcmp(first, other) != 0, "and its text");
    plan_free(plan);
}

SUITE(action, TEST(decides_as_the_table_says), TEST(digest_tells_plans_apart))
