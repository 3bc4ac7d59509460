#include "runtimes/terraform/quota.h"

#include "engine/base/cleanup.h"
#include "test/unit/suite.h"

#define MIB (INT64_C(1) << 20)

static void asks_for_one_more(void)
{
    static const struct {
        const char *note;
        struct quota_use use;
        enum quota_answer answer;
    } rows[] = {
        {"the first", {0}, QUOTA_FREE},
        {"the last of a namespace", {10, 7, 0, 0, 0, 0, 0}, QUOTA_FREE},
        {"one more than it may have", {10, 8, 0, 0, 0, 0, 0}, QUOTA_OWN_FULL},
        {"its second, before the reserved", {23, 1, 0, 0, 0, 0, 0}, QUOTA_FREE},
        {"its second, of the reserved", {24, 1, 0, 0, 0, 0, 0}, QUOTA_FULL},
        {"its first, of the reserved", {31, 0, 0, 0, 0, 0, 0}, QUOTA_FREE},
        {"its first, of none", {32, 0, 0, 0, 0, 0, 0}, QUOTA_FIRST_FULL},
        {"as much memory as there is", {1, 0, 100, 50, 100, 0, 0}, QUOTA_FREE},
        {"more, but the only one", {0, 0, 101, 101, 100, 0, 0}, QUOTA_FREE},
        {"half of the memory", {2, 1, 60, 50, 100, 0, 0}, QUOTA_FREE},
        {"more, of one namespace", {2, 1, 60, 51, 100, 0, 0}, QUOTA_OWN_FULL},
        {"its second, before the last quarter", {2, 1, 75, 50, 100, 0, 0}, QUOTA_FREE},
        {"its second, of the last quarter", {2, 1, 76, 50, 100, 0, 0}, QUOTA_FULL},
        {"its first, of the last quarter", {2, 0, 90, 60, 100, 0, 0}, QUOTA_FREE},
        {"its first, beside one that has all", {1, 0, 1000, 50, 100, 0, 0}, QUOTA_BEYOND},
        {"one was begun beyond, of one", {2, 0, 1000, 50, 100, 1, 0}, QUOTA_FIRST_FULL},
        {"two, of three", {3, 0, 769 * MIB, 64 * MIB, 768 * MIB, 2, 0}, QUOTA_BEYOND},
        {"three, of three", {4, 0, 769 * MIB, 64 * MIB, 768 * MIB, 3, 0}, QUOTA_FIRST_FULL},
        {"eight are the most", {9, 0, 9999 * MIB, 64 * MIB, 8192 * MIB, 8, 0}, QUOTA_FIRST_FULL},
        {"they do not count when there is room", {9, 0, 100, 50, 100, 8, 0}, QUOTA_FREE},
        {"its one is retired: of the reserved", {31, 1, 0, 0, 0, 0, 1}, QUOTA_FREE},
        {"its one is retired: of none", {32, 1, 0, 0, 0, 0, 1}, QUOTA_FULL},
        {"its one is retired: of the last quarter", {2, 1, 100, 50, 100, 0, 1}, QUOTA_FREE},
        {"its one is retired: not beyond", {2, 1, 101, 50, 100, 0, 1}, QUOTA_FULL},
        {"its one is retired, and has half", {2, 1, 60, 51, 100, 0, 1}, QUOTA_OWN_FULL},
        {"one of its two is retired", {31, 2, 0, 0, 0, 0, 1}, QUOTA_FULL},
        {"both are, no third of the reserved", {31, 2, 0, 0, 0, 0, 2}, QUOTA_FULL},
        {"all that it may have are", {10, 8, 0, 0, 0, 0, 8}, QUOTA_OWN_FULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        EXPECT_INT(quota_ask(&rows[i].use), rows[i].answer, rows[i].note);
}

static void a_quarter_beyond_the_limit_is_the_most(void)
{
    EXPECT_INT(quota_most_memory(0), 0, "no limit");
    EXPECT_INT(quota_most_memory(1 << 20), 128 << 20, "what two usual ones have");
    EXPECT_INT(quota_most_memory(INT64_C(1) << 30), (INT64_C(1) << 30) + (1 << 28), "a quarter");
}

SUITE(terraform_quota, TEST(a_quarter_beyond_the_limit_is_the_most), TEST(asks_for_one_more))
