#include "runtimes/http/quota.h"

#include "test/unit/suite.h"

static int take(struct rest_quota *quota, const char *namespace_name, size_t ca_bytes)
{
    struct error error = {0};
    int r = rest_quota_take(quota, namespace_name, ca_bytes, &error);

    EXPECT_STR(error.reason, r < 0 ? "TooManyServers" : "", error.message);
    return r;
}

static void a_namespace_has_so_many(void)
{
    struct rest_quota *quota = rest_quota_new();

    for (int i = 0; i < QUOTA_SERVERS; i++)
        EXPECT_INT(take(quota, "a", 0), 0, "as many as it may");
    EXPECT_INT(take(quota, "a", 0), ERR_UNAVAILABLE, "one more");
    EXPECT_INT(take(quota, "b", 0), 0, "another namespace has its own");
    rest_quota_give_back(quota, "a", 0);
    EXPECT_INT(take(quota, "a", 0), 0, "in the place of one that went");
    for (int i = 0; i < QUOTA_SERVERS; i++)
        rest_quota_give_back(quota, "a", 0);
    rest_quota_give_back(quota, "b", 0);
    rest_quota_free(quota);
}

static void a_namespace_has_so_much(void)
{
    struct rest_quota *quota = rest_quota_new();

    EXPECT_INT(take(quota, "a", QUOTA_CA_BYTES + 1), ERR_UNAVAILABLE, "too much at once");
    EXPECT_INT(take(quota, "a", QUOTA_CA_BYTES - 1), 0, "nearly all");
    EXPECT_INT(take(quota, "a", 2), ERR_UNAVAILABLE, "too much together");
    EXPECT_INT(take(quota, "a", 1), 0, "the rest");
    EXPECT_INT(take(quota, "b", QUOTA_CA_BYTES), 0, "another namespace has its own");
    rest_quota_give_back(quota, "a", QUOTA_CA_BYTES - 1);
    EXPECT_INT(take(quota, "a", 2), 0, "what was given back");
    rest_quota_give_back(quota, "a", 1);
    rest_quota_give_back(quota, "a", 2);
    rest_quota_give_back(quota, "b", QUOTA_CA_BYTES);
    rest_quota_free(quota);
}

SUITE(http_quota, TEST(a_namespace_has_so_many), TEST(a_namespace_has_so_much))
