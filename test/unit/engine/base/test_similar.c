#include "engine/base/similar.h"

#include "engine/base/cleanup.h"
#include "test/unit/suite.h"

static void finds_what_was_meant(void)
{
    static const struct {
        const char *text;
        const char *candidates[4]; /* up to a NULL */
        const char *expected;      /* NULL: none */
    } rows[] = {
        {"Deploymnet", {"Deployment", "DaemonSet"}, "Deployment"},
        {"Deploymen", {"DaemonSet", "Deployment"}, "Deployment"},
        {"Deployments", {"Deployment"}, "Deployment"},
        {"kubernetes", {"Kubernetes"}, "Kubernetes"},
        {"KUBERNETES", {"Kubernetes"}, "Kubernetes"},
        {"v1:ConfigMap:default:e1",
         {"v1:ConfigMap:default:e01", "v1:ConfigMap:default:f"},
         "v1:ConfigMap:default:e01"},
        {"abcd", {"abce", "abcx"}, "abce"},
        {"abcdefgh", {"abcdefxx", "abcdefgx"}, "abcdefgx"},
        {"abcd", {"abxx"}, NULL},
        {"abc", {"abd"}, NULL},
        {"abcdefghijklmnopqrst", {"abcdefghijklmnop1234"}, NULL},
        {"abcdefghijklmnopqrst", {"abcdefghijklmnopq123"}, "abcdefghijklmnopq123"},
        {"same", {"same"}, NULL},
        {"", {"", "a"}, NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct similar similar;

        similar_begin(&similar, rows[i].text);
        for (size_t n = 0; n < 4 && rows[i].candidates[n]; n++)
            similar_offer(&similar, rows[i].candidates[n]);
        EXPECT_STR(similar.found, rows[i].expected, rows[i].text);
    }
}

static void compares_nothing_that_is_long(void)
{
    char text[SIMILAR_BYTES + 2], other[SIMILAR_BYTES + 2];
    struct similar similar;

    for (size_t n = SIMILAR_BYTES; n <= SIMILAR_BYTES + 1; n++) {
        memset(text, 'x', n);
        text[n] = '\0';
        memcpy(other, text, n + 1);
        other[0] = 'y';
        similar_begin(&similar, text);
        similar_offer(&similar, other);
        EXPECT_STR(similar.found, n == SIMILAR_BYTES ? other : NULL, "by length");
    }
}

SUITE(similar, TEST(finds_what_was_meant), TEST(compares_nothing_that_is_long))
