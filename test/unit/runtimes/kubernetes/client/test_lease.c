#include "runtimes/kubernetes/client/lease.h"

#include <stdatomic.h>

#include "engine/base/str.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

#define COLLECTION "/apis/coordination.k8s.io/v1/namespaces/ns/leases"
#define DURATION   15000

#define LEASE(version, spec)                                                               \
    "{\"kind\":\"Lease\",\"metadata\":{\"name\":\"l\",\"namespace\":\"ns\",\"uid\":\"u\"," \
    "\"resourceVersion\":"                                                                 \
    "\"" version "\"},\"spec\":{" spec "}}"
#define HELD(version, who, renewed, transitions)                                                \
    LEASE(version,                                                                              \
          "\"holderIdentity\":\"" who "\",\"leaseDurationSeconds\":15,\"renewTime\":\"" renewed \
          "\",\"acquireTime\":\"2026-01-01T00:00:00.000000Z\","                                 \
          "\"leaseTransitions\":" #transitions)
#define ABSENT                                                                                     \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"reason\":\"NotFound\",\"code\":404,\"details\":" \
    "{\"name\":\"l\",\"kind\":\"leases\"}}"
#define FAILED(code, reason) \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"reason\":\"" reason "\",\"code\":" #code "}"

#define GET(answer)                                                      \
    {                                                                    \
        .expect = "GET " COLLECTION "/l ", .status = 200, .body = answer \
    }
#define GET_ABSENT                                                       \
    {                                                                    \
        .expect = "GET " COLLECTION "/l ", .status = 404, .body = ABSENT \
    }
#define PUT(answer)                                                      \
    {                                                                    \
        .expect = "PUT " COLLECTION "/l ", .status = 200, .body = answer \
    }
#define POST(answer)                                                    \
    {                                                                   \
        .expect = "POST " COLLECTION " ", .status = 201, .body = answer \
    }
#define PUT_CONFLICT                                                                      \
    {                                                                                     \
        .expect = "PUT " COLLECTION "/l ", .status = 409, .body = FAILED(409, "Conflict") \
    }

struct fixture {
    struct harness harness;
    struct fake_clock clock;
    struct lease *lease;
    struct error error;
};

static int never(void *arg, struct error *error)
{
    (void)arg;
    return err_set(error, ERR_FENCED, "NotLeader", "a Lease is not asked of its own guard");
}

static void fixture_start(struct fixture *fixture, const struct fake_step *steps, size_t n_steps)
{
    struct kube_client_config config = {.guard = never};
    struct lease_config lease = {
        .namespace_name = "ns", .name = "l", .identity = "me", .duration = DURATION};

    *fixture = (struct fixture){0};
    harness_start(&fixture->harness, steps, n_steps, &config);
    fake_clock_init(&fixture->clock);
    fixture->lease = lease_new(fixture->harness.client, &fixture->clock.source, &lease);
}

static void fixture_stop(struct fixture *fixture)
{
    lease_free(fixture->lease);
    harness_stop(&fixture->harness, true);
}

static int acquire(struct fixture *fixture)
{
    fixture->error = (struct error){0};
    return lease_acquire(fixture->lease, NULL, &fixture->error);
}

static void pass(struct fixture *fixture, int64_t ms)
{
    atomic_fetch_add(&fixture->clock.monotonic, ms);
}

static bool was_sent(struct fixture *fixture, size_t n, const char *text)
{
    _cleanup_free_ char *request = fake_server_request(fixture->harness.server, n);

    return request && strstr(request, text);
}

static void creates_and_renews(void)
{
    static const struct fake_step steps[] = {
        GET_ABSENT,
        POST(HELD("1", "me", "2026-01-02T03:04:05.678000Z", 1)),
        PUT(HELD("2", "me", "2026-01-02T03:04:15.678000Z", 1)),
    };
    struct fixture fixture;
    char *holder;

    fixture_start(&fixture, steps, ARRAY_SIZE(steps));
    EXPECT(!lease_is_held(fixture.lease, 0), "before");
    EXPECT_INT(acquire(&fixture), 0, fixture.error.message);
    EXPECT(was_sent(&fixture, 1, "\"holderIdentity\":\"me\""), "who");
    EXPECT(was_sent(&fixture, 1, "\"leaseDurationSeconds\":15"), "how long");
    EXPECT(was_sent(&fixture, 1, "\"renewTime\":\"2026-01-02T03:04:05.678000Z\""), "when");
    EXPECT(was_sent(&fixture, 1, "\"leaseTransitions\":63255846"), "the first");
    EXPECT(lease_is_held(fixture.lease, 0), "ours");
    EXPECT(lease_is_held(fixture.lease, DURATION - 1), "with nearly all of it as margin");
    EXPECT(!lease_is_held(fixture.lease, DURATION), "the margin is taken from it");
    EXPECT_INT(lease_epoch(fixture.lease), 1, "epoch");
    holder = lease_holder(fixture.lease);
    EXPECT_STR(holder, "me", "holder");
    free(holder);

    pass(&fixture, 10000);
    EXPECT_INT(acquire(&fixture), 0, fixture.error.message);
    EXPECT(was_sent(&fixture, 2, "\"resourceVersion\":\"1\""), "compare and swap, without a read");
    EXPECT(was_sent(&fixture, 2, "\"acquireTime\":\"2026-01-01T00:00:00.000000Z\""), "kept");
    EXPECT_INT(lease_epoch(fixture.lease), 1, "no change of holder");
    pass(&fixture, DURATION - 1);
    EXPECT(lease_is_held(fixture.lease, 0), "renewed");
    pass(&fixture, 1); /* frozen, and thawed: known without a request */
    EXPECT(!lease_is_held(fixture.lease, 0), "over");
    fixture_stop(&fixture);
}

static void waits_until_the_record_stood_still(void)
{
    static const struct fake_step steps[] = {
        /* By its time it has long been over: clocks differ, and it is not compared. */
        GET(HELD("1", "other", "1970-01-01T00:00:00.000000Z", 4)),
        GET(HELD("1", "other", "1970-01-01T00:00:00.000000Z", 4)),
        GET(HELD("2", "other", "1970-01-01T00:00:10.000000Z", 4)),
        GET(HELD("2", "other", "1970-01-01T00:00:10.000000Z", 4)),
        GET(HELD("2", "other", "1970-01-01T00:00:10.000000Z", 4)),
        PUT(HELD("3", "me", "2026-01-02T03:04:05.678000Z", 5)),
    };
    struct fixture fixture;
    char *holder;

    fixture_start(&fixture, steps, ARRAY_SIZE(steps));
    EXPECT_INT(acquire(&fixture), ERR_CONFLICT, "just seen");
    EXPECT_STR(fixture.error.reason, "LeaseHeld", fixture.error.message);
    EXPECT(strstr(fixture.error.message, "other") != NULL, fixture.error.message);
    holder = lease_holder(fixture.lease);
    EXPECT_STR(holder, "other", "holder");
    free(holder);
    pass(&fixture, DURATION - 1);
    EXPECT_INT(acquire(&fixture), ERR_CONFLICT, "one ms early");
    pass(&fixture, 1);
    EXPECT_INT(acquire(&fixture), ERR_CONFLICT, "it has changed: alive again");
    pass(&fixture, DURATION - 1);
    EXPECT_INT(acquire(&fixture), ERR_CONFLICT, "one ms early");
    pass(&fixture, 1);
    EXPECT_INT(acquire(&fixture), 0, fixture.error.message);
    EXPECT(was_sent(&fixture, 5, "\"leaseTransitions\":63255"), "a change of holder");
    EXPECT(was_sent(&fixture, 5, "\"acquireTime\":\"2026-01-02T03:04:05.678000Z\""), "anew");
    EXPECT_INT(lease_epoch(fixture.lease), 5, "epoch");
    EXPECT(lease_is_held(fixture.lease, 0), "ours");
    fixture_stop(&fixture);
}

/* It may be one of an etcd that was set back: later holders have written their epochs elsewhere. */
static void takes_what_nobody_holds(void)
{
    static const struct fake_step steps[] = {
        GET(LEASE("1", "\"leaseTransitions\":7")),
        PUT(HELD("2", "me", "x", 63255846)),
    };
    struct fixture fixture;

    fixture_start(&fixture, steps, ARRAY_SIZE(steps));
    EXPECT_INT(acquire(&fixture), 0, fixture.error.message);
    EXPECT(was_sent(&fixture, 1, "\"leaseTransitions\":63255846"), "more than any before");
    EXPECT_INT(lease_epoch(fixture.lease), 63255846, "epoch");
    fixture_stop(&fixture);
}

/* The clock was ahead when the Lease was made, and is right when it is made again. */
static void counts_on_from_a_lease_that_is_gone(void)
{
    static const struct fake_step steps[] = {
        GET(LEASE("1", "\"leaseTransitions\":1999999998")),
        PUT(HELD("2", "me", "x", 1999999999)),
        {.expect = "PUT " COLLECTION "/l ", .status = 404, .body = ABSENT},
        GET_ABSENT,
        POST(HELD("1", "me", "x", 2000000000)),
    };
    struct fixture fixture;

    fixture_start(&fixture, steps, ARRAY_SIZE(steps));
    EXPECT_INT(acquire(&fixture), 0, fixture.error.message);
    EXPECT_INT(acquire(&fixture), 0, fixture.error.message);
    EXPECT(was_sent(&fixture, 4, "\"leaseTransitions\":2000000000"), "not by the clock");
    fixture_stop(&fixture);
}

static void loses_to_who_was_faster(void)
{
    static const struct fake_step steps[] = {
        GET_ABSENT,
        {.expect = "POST", .status = 409, .body = FAILED(409, "AlreadyExists")},
        GET(HELD("1", "other", "x", 1)),
    };
    struct fixture fixture;

    fixture_start(&fixture, steps, ARRAY_SIZE(steps));
    EXPECT_INT(acquire(&fixture), ERR_CONFLICT, fixture.error.message);
    EXPECT_STR(fixture.error.reason, "LeaseHeld", "by whom");
    EXPECT(!lease_is_held(fixture.lease, 0), "not ours");
    fixture_stop(&fixture);
}

static void knows_when_it_was_taken_over(void)
{
    static const struct fake_step steps[] = {
        GET_ABSENT,
        POST(HELD("1", "me", "x", 1)),
        PUT_CONFLICT,
        GET(HELD("9", "other", "y", 2)),
    };
    struct fixture fixture;

    fixture_start(&fixture, steps, ARRAY_SIZE(steps));
    EXPECT_INT(acquire(&fixture), 0, fixture.error.message);
    EXPECT_INT(acquire(&fixture), ERR_CONFLICT, "taken");
    EXPECT(!lease_is_held(fixture.lease, 0), "at once, not when it would have ended");
    EXPECT_INT(lease_epoch(fixture.lease), 2, "the other's");
    fixture_stop(&fixture);
}

/* A renewal that was done, but whose answer was lost, is not taken for another's. */
static void survives_a_lost_answer(void)
{
    static const struct fake_step steps[] = {
        GET_ABSENT,   POST(HELD("1", "me", "x", 1)), {.expect = "PUT", .end = FAKE_DROP},
        PUT_CONFLICT, GET(HELD("2", "me", "y", 1)),  PUT(HELD("3", "me", "z", 1)),
    };
    struct fixture fixture;

    fixture_start(&fixture, steps, ARRAY_SIZE(steps));
    EXPECT_INT(acquire(&fixture), 0, fixture.error.message);
    EXPECT_INT(acquire(&fixture), 0, fixture.error.message);
    EXPECT(was_sent(&fixture, 5, "\"resourceVersion\":\"2\""), "from what was read");
    EXPECT_INT(lease_epoch(fixture.lease), 1, "still the same");
    fixture_stop(&fixture);
}

static void keeps_what_it_holds_while_the_server_is_away(void)
{
    static const struct fake_step steps[] = {
        GET_ABSENT,
        POST(HELD("1", "me", "x", 1)),
        {.expect = "PUT", .status = 403, .body = FAILED(403, "Forbidden")},
        GET(HELD("1", "me", "x", 1)),
        PUT(HELD("2", "me", "y", 1)),
    };
    struct fixture fixture;

    fixture_start(&fixture, steps, ARRAY_SIZE(steps));
    EXPECT_INT(acquire(&fixture), 0, fixture.error.message);
    EXPECT_INT(acquire(&fixture), ERR_FORBIDDEN, "unknown");
    EXPECT(lease_is_held(fixture.lease, 0), "until its end");
    EXPECT_INT(acquire(&fixture), 0, "read again, then renewed");
    fixture_stop(&fixture);
}

static void counts_from_before_its_request(void)
{
    static const struct fake_step steps[] = {
        GET(LEASE("1", "")),
        PUT(HELD("2", "me", "x", 1)),
    };
    struct fixture fixture;
    int64_t before_write;

    fixture_start(&fixture, steps, ARRAY_SIZE(steps));
    fixture.clock.step = 1000; /* each look at the clock takes a second */
    EXPECT_INT(acquire(&fixture), 0, fixture.error.message);
    fixture.clock.step = 0;
    /* Looks: the read that shows it changed, the one before the write, and the one after. */
    before_write = 1000000 + 1000;
    atomic_store(&fixture.clock.monotonic, before_write + DURATION - 1);
    EXPECT(lease_is_held(fixture.lease, 0), "to its last ms");
    pass(&fixture, 1);
    EXPECT(!lease_is_held(fixture.lease, 0), "and no longer");
    fixture_stop(&fixture);
}

static void gives_it_up(void)
{
    static const struct fake_step steps[] = {
        GET_ABSENT,
        POST(HELD("1", "me", "x", 1)),
        PUT(LEASE("2", "\"leaseTransitions\":1")),
    };
    struct fixture fixture;

    fixture_start(&fixture, steps, ARRAY_SIZE(steps));
    lease_release(fixture.lease); /* nothing to give: no request */
    EXPECT_INT(acquire(&fixture), 0, fixture.error.message);
    lease_release(fixture.lease);
    EXPECT(!lease_is_held(fixture.lease, 0), "at once");
    EXPECT(!was_sent(&fixture, 2, "holderIdentity"), "nobody's");
    EXPECT(was_sent(&fixture, 2, "\"leaseTransitions\":1"), "the count goes on");
    EXPECT(was_sent(&fixture, 2, "\"resourceVersion\":\"1\""), "only if it is still ours");
    fixture_stop(&fixture);
}

static int look(struct fixture *fixture, bool *ret_was_renewed)
{
    fixture->error = (struct error){0};
    *ret_was_renewed = false;
    return lease_look(fixture->lease, NULL, ret_was_renewed, &fixture->error);
}

static void sees_that_nobody_has_it(void)
{
    static const struct fake_step steps[] = {GET_ABSENT, GET(LEASE("1", "\"leaseTransitions\":7"))};
    struct fixture fixture;
    bool was_renewed;

    fixture_start(&fixture, steps, ARRAY_SIZE(steps));
    EXPECT_INT(look(&fixture, &was_renewed), 0, "there is none");
    EXPECT_INT(look(&fixture, &was_renewed), 0, "it was given up");
    EXPECT(!lease_is_held(fixture.lease, 0), "it is not taken");
    fixture_stop(&fixture);
}

static void tells_a_living_holder_from_a_dead_one(void)
{
    static const struct fake_step steps[] = {
        GET(HELD("1", "other", "1970-01-01T00:00:00.000000Z", 4)),
        GET(HELD("1", "other", "1970-01-01T00:00:00.000000Z", 4)),
        GET(HELD("2", "other", "1970-01-01T00:00:10.000000Z", 4)),
        GET(HELD("2", "other", "1970-01-01T00:00:10.000000Z", 4)),
        {.expect = "GET " COLLECTION "/l ", .status = 403, .body = FAILED(403, "Forbidden")},
    };
    struct fixture fixture;
    bool was_renewed;

    fixture_start(&fixture, steps, ARRAY_SIZE(steps));
    EXPECT_INT(look(&fixture, &was_renewed), ERR_CONFLICT, "just seen");
    EXPECT(!was_renewed, "it may be dead");
    EXPECT(strstr(fixture.error.message, "is held by other"), fixture.error.message);
    pass(&fixture, DURATION - 1);
    EXPECT_INT(look(&fixture, &was_renewed), ERR_CONFLICT, "one ms early");
    EXPECT(!was_renewed, "it may still be dead");
    pass(&fixture, 1);
    EXPECT_INT(look(&fixture, &was_renewed), ERR_CONFLICT, "it has changed");
    EXPECT(was_renewed, "alive");
    pass(&fixture, DURATION);
    EXPECT_INT(look(&fixture, &was_renewed), 0, "dead at last");
    EXPECT_INT(look(&fixture, &was_renewed), ERR_FORBIDDEN, "not known");
    fixture_stop(&fixture);
}

/* More than the API has room for, in an object that it should not have taken. */
static void reads_numbers_that_are_too_large(void)
{
    static const struct fake_step steps[] = {
        GET(LEASE("1", "\"holderIdentity\":\"x\",\"leaseDurationSeconds\":9223372036854775807,"
                       "\"leaseTransitions\":9223372036854775807")),
        GET(LEASE("2", "\"holderIdentity\":\"\",\"leaseDurationSeconds\":-1,"
                       "\"leaseTransitions\":9223372036854775807")),
        PUT(HELD("3", "me", "2026-01-02T03:04:05.678000Z", 2147483648)),
    };
    struct fixture fixture;

    fixture_start(&fixture, steps, ARRAY_SIZE(steps));
    EXPECT_INT(acquire(&fixture), ERR_CONFLICT, "held for very long");
    EXPECT_INT(lease_epoch(fixture.lease), INT32_MAX, "");
    EXPECT_INT(acquire(&fixture), 0, fixture.error.message);
    EXPECT(was_sent(&fixture, 2, "\"leaseTransitions\":2147483648"), "the next");
    fixture_stop(&fixture);
}

SUITE(lease, TEST(reads_numbers_that_are_too_large), TEST(sees_that_nobody_has_it),
      TEST(tells_a_living_holder_from_a_dead_one), TEST(creates_and_renews),
      TEST(waits_until_the_record_stood_still), TEST(takes_what_nobody_holds),
      TEST(counts_on_from_a_lease_that_is_gone), TEST(loses_to_who_was_faster),
      TEST(knows_when_it_was_taken_over), TEST(survives_a_lost_answer),
      TEST(keeps_what_it_holds_while_the_server_is_away), TEST(counts_from_before_its_request),
      TEST(gives_it_up))
