#include "engine/state/action.h"

#include "test/unit/suite.h"

static void names_come_back(void)
{
    for (int i = PLAN_NONE; i <= PLAN_UNKNOWN; i++) {
        const char *name = plan_action_name((enum plan_action)i);
        enum plan_action action = PLAN_UNKNOWN;

        EXPECT(plan_action_parse(name, &action), name);
        EXPECT_INT(action, i, name);
    }
    EXPECT_STR(plan_action_name(PLAN_DEFERRED), "deferred", "a word of status and State");
}

static void refuses_what_is_no_action(void)
{
    static const char *const names[] = {"", "Create", "creates", "nothing", NULL};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        enum plan_action action = PLAN_ADOPT;

        EXPECT(!plan_action_parse(names[i], &action), names[i] ? names[i] : "NULL");
        EXPECT_INT(action, PLAN_ADOPT, "untouched");
    }
}

SUITE(action, TEST(names_come_back), TEST(refuses_what_is_no_action))
