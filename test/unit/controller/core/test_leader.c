#include "controller/core/leader.h"

#include <stdatomic.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "engine/log/log.h"
#include "runtimes/io/clock.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

#define COLLECTION "/apis/coordination.k8s.io/v1/namespaces/ns/leases"
#define HELD(version, who, transitions)                                                    \
    "{\"kind\":\"Lease\",\"metadata\":{\"name\":\"l\",\"namespace\":\"ns\",\"uid\":\"u\"," \
    "\"resourceVersion\":"                                                                 \
    "\"" version "\"},\"spec\":{" who                                                      \
    "\"leaseDurationSeconds\":15,\"leaseTransitions\":" #transitions "}}"
#define NOT_READ "the Lease is not read yet"
#define ME       "\"holderIdentity\":\"me\","
#define OTHER    "\"holderIdentity\":\"other\","
#define NOBODY   ""
#define FAILED(code, reason) \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"reason\":\"" reason "\",\"code\":" #code "}"
#define STEP(verb, code, text)                                      \
    {                                                               \
        .expect = verb " " COLLECTION, .status = code, .body = text \
    }

struct fixture {
    struct harness harness;
    struct fake_clock clock;
    struct leader *leader;
    _Atomic int started, stopped;
    _Atomic int64_t epoch;
};

static _Atomic int waits; /* of the fixture's clock */

static void on_started(void *arg)
{
    struct fixture *fixture = arg;

    atomic_store(&fixture->epoch, leader_epoch(fixture->leader));
    atomic_fetch_add(&fixture->started, 1);
}

static void on_stopped(void *arg)
{
    struct fixture *fixture = arg;

    EXPECT(!leader_is(fixture->leader), "fenced before it is said");
    atomic_fetch_add(&fixture->stopped, 1);
}

/* Waits are real and short; what is measured is the test's to set. */
static void short_wait(const struct clock_source *clock, pthread_cond_t *condition,
                       pthread_mutex_t *lock, int64_t until)
{
    (void)clock;
    (void)until;
    atomic_fetch_add(&waits, 1);
    system_clock.wait(&system_clock, condition, lock, system_clock.monotonic(&system_clock) + 2);
}

static void fixture_start(struct fixture *fixture, const struct fake_step *steps, size_t n_steps)
{
    struct leader_config config = {.clock = &fixture->clock.source,
                                   .namespace_name = "ns",
                                   .lease_name = "l",
                                   .identity = "me",
                                   .on_started = on_started,
                                   .on_stopped = on_stopped,
                                   .arg = fixture};

    *fixture = (struct fixture){0};
    atomic_store(&waits, 0);
    fake_clock_init(&fixture->clock);
    fixture->clock.source.wait = short_wait;
    fixture->leader = leader_new(&config);
    harness_start(&fixture->harness, steps, n_steps, NULL);
}

static void fixture_stop(struct fixture *fixture)
{
    leader_free(fixture->leader);
    harness_stop(&fixture->harness, true);
}

static void pass(struct fixture *fixture, int64_t ms)
{
    atomic_fetch_add(&fixture->clock.monotonic, ms);
}

static void wait_for(_Atomic int *what)
{
    for (unsigned i = 0; i < 60000 && !atomic_load(what); i++)
        usleep(1000);
    EXPECT(atomic_load(what), "in time");
}

static void permits_nothing_before_it_leads(void)
{
    struct fixture fixture;
    struct error error = {0};

    fixture_start(&fixture, NULL, 0);
    EXPECT_INT(leader_permit(fixture.leader, &error), ERR_FENCED, "no client yet");
    EXPECT_STR(error.reason, "NotLeader", "reason");
    EXPECT_INT(leader_epoch(fixture.leader), -1, "epoch");
    fixture_stop(&fixture);
}

static void leads_and_gives_it_up(void)
{
    static const struct fake_step steps[] = {
        STEP("GET", 200, HELD("1", NOBODY, 4)),
        STEP("PUT", 200, HELD("2", ME, 5)),
        STEP("PUT", 200, HELD("3", NOBODY, 5)),
    };
    struct fixture fixture;
    struct error error = {0};
    _cleanup_free_ char *released = NULL;

    fixture_start(&fixture, steps, ARRAY_SIZE(steps));
    leader_start(fixture.leader, fixture.harness.client);
    wait_for(&fixture.started);
    EXPECT_INT(leader_permit(fixture.leader, &error), 0, error.message);
    EXPECT_INT(atomic_load(&fixture.epoch), 5, "known when it starts");
    leader_free(TAKE(fixture.leader));
    EXPECT_INT(atomic_load(&fixture.stopped), 0, "we were asked to");
    released = fake_server_request(fixture.harness.server, 2);
    EXPECT(released && !strstr(released, "holderIdentity"), "nobody's");
    fixture_stop(&fixture);
}

/* As after SIGSTOP: the permit must not wait for the thread to find out. */
static void is_fenced_by_the_clock_alone(void)
{
    static const struct fake_step steps[] = {
        STEP("GET", 200, HELD("1", NOBODY, 4)),
        STEP("PUT", 200, HELD("2", ME, 5)),
        {.expect = "PUT " COLLECTION, .end = FAKE_HOLD, .status = 200, .body = " ", .repeat = true},
    };
    struct fixture fixture;

    fixture_start(&fixture, steps, ARRAY_SIZE(steps));
    leader_start(fixture.leader, fixture.harness.client);
    wait_for(&fixture.started);
    pass(&fixture, 9999);
    EXPECT(leader_is(fixture.leader), "within the renew deadline");
    pass(&fixture, 1);
    EXPECT(!leader_is(fixture.leader), "past it");
    EXPECT_INT(leader_permit(fixture.leader, NULL), ERR_FENCED, "past it");
    EXPECT_INT(leader_epoch(fixture.leader), -1, "past it");
    fixture_stop(&fixture);
}

static const struct loss {
    const char *note;
    const char *why; /* in the log */
    size_t n_steps;
    struct fake_step steps[5];
    int64_t passes;
} losses[] = {
    {"another took it",
     "it is held by other",
     4,
     {STEP("GET", 200, HELD("1", NOBODY, 4)), STEP("PUT", 200, HELD("2", ME, 5)),
      STEP("PUT", 409, FAILED(409, "Conflict")), STEP("GET", 200, HELD("9", OTHER, 6))},
     2000},
    {"another had it in between, and it is ours again",
     "another held it in between",
     5,
     {STEP("GET", 200, HELD("1", NOBODY, 4)),
      STEP("PUT", 200, HELD("2", ME, 5)),
      STEP("PUT", 409, FAILED(409, "Conflict")),
      STEP("GET", 200, HELD("9", NOBODY, 6)),
      {.expect = "PUT " COLLECTION, .status = 200, .body = HELD("10", ME, 7), .repeat = true}},
     2000},
    {"it was not renewed",
     "it could not be renewed within 10000 ms: lease ns/l: ",
     3,
     {STEP("GET", 200, HELD("1", NOBODY, 4)), STEP("PUT", 200, HELD("2", ME, 5)),
      STEP("PUT", 403, FAILED(403, "Forbidden"))},
     10000},
};

/* Of the leader's thread alone. */
static struct buf errors;

static void keep(const char *line, size_t length)
{
    buf_add(&errors, line, length);
}

static void is_lost_once(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(losses); i++) {
        _cleanup_free_ char *why = str_printf("\"why\":\"%s", losses[i].why);
        struct fixture fixture;

        buf_init(&errors, 0);
        log_open(&(struct log_sink){.write = keep, .level = LOG_ERROR});
        fixture_start(&fixture, losses[i].steps, losses[i].n_steps);
        leader_start(fixture.leader, fixture.harness.client);
        wait_for(&fixture.started);
        pass(&fixture, losses[i].passes);
        wait_for(&fixture.stopped);
        EXPECT_INT(leader_permit(fixture.leader, NULL), ERR_FENCED, losses[i].note);
        usleep(10000);
        EXPECT_INT(fixture.started, 1, losses[i].note);
        EXPECT_INT(fixture.stopped, 1, losses[i].note);
        fixture_stop(&fixture);
        log_open(NULL);
        EXPECT(strstr(errors.data, why), errors.data);
        buf_done(&errors);
    }
}

static void waits_while_another_leads(void)
{
    static const struct fake_step steps[] = {
        STEP("GET", 200, HELD("1", OTHER, 4)),
        STEP("GET", 200, HELD("1", OTHER, 4)),
        STEP("PUT", 200, HELD("2", ME, 5)),
        STEP("PUT", 200, HELD("3", NOBODY, 5)),
    };
    struct fixture fixture;

    fixture_start(&fixture, steps, ARRAY_SIZE(steps));
    leader_start(fixture.leader, fixture.harness.client);
    wait_for(&waits);
    EXPECT(!leader_is(fixture.leader), "another's");
    pass(&fixture, 15000);
    wait_for(&fixture.started);
    EXPECT(leader_is(fixture.leader), "the other is dead");
    fixture_stop(&fixture);
}

static bool is_unread(struct leader *leader)
{
    _cleanup_buf_ struct buf why = BUF_INIT;

    leader_is_in_the_dark(leader, &why);
    return str_equal(why.data, NOT_READ);
}

static void wait_for_first_try(struct leader *leader)
{
    for (unsigned i = 0; i < 60000 && is_unread(leader); i++)
        usleep(1000);
}

static void is_in_the_dark_until_it_has_read_the_lease(void)
{
    static const struct {
        const char *note;
        struct fake_step steps[3];
        size_t n_steps;
        const char *why; /* how it begins; NULL: it is not */
    } rows[] = {
        {"held by another",
         {{.expect = "GET " COLLECTION,
           .status = 200,
           .body = HELD("1", OTHER, 4),
           .repeat = true}},
         1,
         NULL},
        {"no right",
         {{.expect = "GET " COLLECTION,
           .status = 403,
           .body = FAILED(403, "Forbidden"),
           .repeat = true}},
         1,
         "Forbidden ("},
        {"a right to read, but not to write",
         {STEP("GET", 200, HELD("1", NOBODY, 4)),
          {.status = 403, .body = FAILED(403, "Forbidden"), .repeat = true}},
         2,
         "Forbidden ("},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_buf_ struct buf before = BUF_INIT, after = BUF_INIT;
        struct fixture fixture;

        fixture_start(&fixture, rows[i].steps, rows[i].n_steps);
        EXPECT(leader_is_in_the_dark(fixture.leader, &before), rows[i].note);
        EXPECT_STR(before.data, NOT_READ, rows[i].note);
        leader_start(fixture.leader, fixture.harness.client);
        wait_for_first_try(fixture.leader);
        EXPECT_INT(leader_is_in_the_dark(fixture.leader, &after), rows[i].why != NULL,
                   rows[i].note);
        EXPECT(!rows[i].why || str_has_prefix(after.data, rows[i].why), rows[i].note);
        fixture_stop(&fixture);
    }
}

SUITE(leader, TEST(is_in_the_dark_until_it_has_read_the_lease),
      TEST(permits_nothing_before_it_leads), TEST(leads_and_gives_it_up),
      TEST(is_fenced_by_the_clock_alone), TEST(is_lost_once), TEST(waits_while_another_leads))
