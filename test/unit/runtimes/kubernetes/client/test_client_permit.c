/* Who is asked before a request changes anything. */
#include <stdatomic.h>

#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

static int refuse(void *arg, struct error *error)
{
    atomic_fetch_add((atomic_int *)arg, 1);
    return err_set(error, ERR_FENCED, "NotLeader", "not the leader");
}

static void asks_the_guard_before_it_changes_anything(void)
{
    static const struct {
        const char *method;
        bool dry_run, unguarded;
        int code;
    } rows[] = {
        {"POST", false, false, ERR_FENCED},
        {"PUT", false, false, ERR_FENCED},
        {"PATCH", false, false, ERR_FENCED},
        {"DELETE", false, false, ERR_FENCED},
        {"PATCH", true, false, 0},
        {"PUT", false, true, 0},
        {"GET", false, false, 0},
    };
    static const struct fake_step steps[] = {{.status = 200, .repeat = true}};
    atomic_int asked = 0;
    struct kube_client_config config = {.guard = refuse, .guard_arg = &asked};
    struct kube_client_stats stats;
    struct harness harness;

    harness_start(&harness, steps, 1, &config);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct kube_request request = {.method = rows[i].method,
                                       .path = "/a",
                                       .dry_run = rows[i].dry_run,
                                       .unguarded = rows[i].unguarded};

        EXPECT_INT(kube_do(harness.client, &request, NULL, NULL), rows[i].code, rows[i].method);
    }
    EXPECT_INT(asked, 4, "how often it was asked");
    EXPECT_INT(fake_server_count(harness.server), 3, "what got through");
    kube_client_stats(harness.client, &stats);
    EXPECT_INT(stats.writes, 1, "the unguarded PUT");
    EXPECT_INT(stats.dry_runs, 1, "");
    EXPECT_INT(stats.reads, 1, "");
    harness_stop(&harness, true);
}

struct refusal {
    enum permit_use refused;
    atomic_int asked;
};

static int refuse_use(void *arg, enum permit_use use, struct error *error)
{
    struct refusal *refusal = arg;

    atomic_fetch_add(&refusal->asked, 1);
    return use == refusal->refused ? err_set(error, ERR_FENCED, NULL, "not for this use") : 0;
}

/* A request with a permit is asked of that, for its use, and not of the guard. */
static void asks_the_requests_own_permit(void)
{
    static const struct {
        const char *method;
        enum permit_use use;
        bool has_permit;
        int code;
    } rows[] = {
        {"PUT", PERMIT_ACT, true, ERR_FENCED},
        {"PUT", PERMIT_RECORD, true, 0},
        {"PUT", PERMIT_RECORD, false, ERR_FENCED},
        {"GET", PERMIT_ACT, true, 0},
    };
    static const struct fake_step steps[] = {{.status = 200, .repeat = true}};
    struct refusal refusal = {.refused = PERMIT_ACT};
    const struct permit permit = {refuse_use, &refusal};
    atomic_int asked = 0;
    struct kube_client_config config = {.guard = refuse, .guard_arg = &asked};
    struct harness harness;

    harness_start(&harness, steps, 1, &config);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct kube_request request = {.method = rows[i].method,
                                       .path = "/a",
                                       .permit = rows[i].has_permit ? &permit : NULL,
                                       .use = rows[i].use};

        EXPECT_INT(kube_do(harness.client, &request, NULL, NULL), rows[i].code, rows[i].method);
    }
    EXPECT_INT(asked, 1, "the guard");
    EXPECT_INT(refusal.asked, 2, "the permit");
    harness_stop(&harness, true);
}

SUITE(kube_client_permit, TEST(asks_the_guard_before_it_changes_anything),
      TEST(asks_the_requests_own_permit))
