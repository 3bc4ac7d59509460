#include "runtimes/terraform/version.h"

#include "engine/base/cleanup.h"
#include "test/unit/suite.h"

static void versions_are_compared(void)
{
    static const char *const ascending[] = {"0.9",         "1.0.0-alpha", "1.0.0-beta", "1.0.0",
                                            "1.0.1",       "1.2",         "1.10.0",     "2",
                                            "10.0.0-rc.1", "10.0.0"};
    struct version a, b;

    for (size_t i = 0; i < ARRAY_SIZE(ascending); i++)
        for (size_t j = 0; j < ARRAY_SIZE(ascending); j++) {
            CU_ASSERT_FATAL(version_read(ascending[i], &a) && version_read(ascending[j], &b));
            EXPECT((version_compare(&a, &b) < 0) == (i < j), ascending[i]);
            EXPECT((version_compare(&a, &b) == 0) == (i == j), ascending[i]);
        }
}

static void what_is_no_version_is_refused(void)
{
    static const char *const bad[] = {"",        "v1.0",        "1.",       ".1",   "1.2.3.4",
                                      "1.2.3-",  "1.x",         "-1",       "1.2 ", " 1.2",
                                      "1.2.3_a", "12345678901", "1.2.3-a/b"};
    struct version version;

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        EXPECT(!version_read(bad[i], &version), bad[i]);
}

static void constraints_are_met(void)
{
    static const struct {
        const char *constraint, *yes[4], *no[4];
    } table[] = {
        {NULL, {"1.0.0", "1.0.0-beta"}, {NULL}},
        {"1.2.3", {"1.2.3"}, {"1.2.4", "1.2.3-beta"}},
        {"= 1.2", {"1.2.0"}, {"1.2.1"}},
        {"1.2.3-beta", {"1.2.3-beta"}, {"1.2.3", "1.2.3-alpha"}},
        {"!= 1.2.3", {"1.2.4"}, {"1.2.3"}},
        {"> 1.2", {"1.2.1", "2.0.0"}, {"1.2.0", "1.1.9", "1.3.0-beta"}},
        {">=1.2", {"1.2.0", "3.0.0"}, {"1.1.9"}},
        {"< 1.2", {"1.1.9"}, {"1.2.0"}},
        {"<= 1.2", {"1.2.0"}, {"1.2.1"}},
        {"~> 3.6", {"3.6.0", "3.9.1"}, {"3.5.9", "4.0.0"}},
        {"~> 3.6.1", {"3.6.1", "3.6.9"}, {"3.6.0", "3.7.0"}},
        {"~> 3", {"3.0.0", "4.1.0"}, {"2.9.9"}},
        {">= 3.0, < 4.0, != 3.1.0", {"3.0.0", "3.9.9"}, {"2.9.9", "4.0.0", "3.1.0"}},
    };
    struct version version;

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        const char *constraint = table[i].constraint;

        if (constraint)
            EXPECT_INT(version_check_constraint(constraint, NULL), 0, constraint);
        for (size_t j = 0; j < ARRAY_SIZE(table[i].yes) && table[i].yes[j]; j++)
            EXPECT(version_read(table[i].yes[j], &version) && version_matches(&version, constraint),
                   table[i].yes[j]);
        for (size_t j = 0; j < ARRAY_SIZE(table[i].no) && table[i].no[j]; j++)
            EXPECT(version_read(table[i].no[j], &version) && !version_matches(&version, constraint),
                   table[i].no[j]);
    }
}

static void what_is_no_constraint_is_refused(void)
{
    static const char *const bad[] = {"", ">", "~> x", "=> 1", "1.2 3", "latest"};
    struct error error = {0};

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        EXPECT_INT(version_check_constraint(bad[i], &error), ERR_INVALID, bad[i]);
}

SUITE(terraform_version, TEST(versions_are_compared), TEST(what_is_no_version_is_refused),
      TEST(constraints_are_met), TEST(what_is_no_constraint_is_refused))
