#include "runtimes/kubernetes/client/resource_version.h"

#include "engine/base/cleanup.h"
#include "test/unit/suite.h"

static void compares_numbers(void)
{
    static const struct {
        const char *a, *b;
        int sign;
    } rows[] = {
        {"", "7", 0},
        {"9", "x10", 0},
        {"7", "7", 0},
        {"7", "8", -1},
        {"8", "7", 1},
        {"9", "10", -1},
        {"10", "9", 1},
        {NULL, "7", 0},
        {"7", NULL, 0},
        {NULL, NULL, 0},
        {"18446744073709551617", "18446744073709551616", 1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        int order = kube_compare_versions(rows[i].a, rows[i].b);

        EXPECT_INT((order > 0) - (order < 0), rows[i].sign, rows[i].a ? rows[i].a : "NULL");
    }
}

SUITE(kube_resource_version, TEST(compares_numbers))
