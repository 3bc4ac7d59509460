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

SUITE(action, TEST(decides_as_the_table_says))
