#include "controller/core/workers.h"

#include <stdatomic.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "engine/base/cleanup.h"
#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

struct fixture {
    struct workqueue *queue;
    struct workers *workers;
    _Atomic int runs, is_waiting, retries;
    const char *_Atomic reason;
    char thread_name[32];
    size_t stack_bytes;
    int64_t last_run, gap;              /* when it was, and between it and the one before; ms */
    struct reconcile_result results[3]; /* of the runs; then DONE */
    bool waits;                         /* the first run, until it is cancelled */
};

static void note_time(struct fixture *fixture)
{
    int64_t now = system_clock.monotonic(&system_clock);

    fixture->gap = now - fixture->last_run;
    fixture->last_run = now;
}

static struct reconcile_result reconcile(void *arg, const char *key, struct cancel *cancel)
{
    struct fixture *fixture = arg;
    int run = atomic_fetch_add(&fixture->runs, 1);

    EXPECT_STR(key, "ns/a", "key");
    note_time(fixture);
    if (run == 0) {
        pthread_attr_t attributes;

        prctl(PR_GET_NAME, fixture->thread_name);
        pthread_getattr_np(pthread_self(), &attributes);
        pthread_attr_getstacksize(&attributes, &fixture->stack_bytes);
        pthread_attr_destroy(&attributes);
    }
    if (run == 0 && fixture->waits) {
        atomic_store(&fixture->is_waiting, 1);
        while (!cancel_fired(cancel))
            usleep(500);
        atomic_store(&fixture->reason, cancel_reason(cancel));
    }
    return run < 3 ? fixture->results[run] : (struct reconcile_result){.kind = RECONCILE_DONE};
}

static void observe(void *arg, enum workqueue_event event, int64_t ms)
{
    struct fixture *fixture = arg;

    (void)ms;
    if (event == WORKQUEUE_RETRIED)
        atomic_fetch_add(&fixture->retries, 1);
}

static void start_by(struct fixture *fixture, const struct clock_source *clock)
{
    struct workers_config config = {
        .name = "spec", .count = 2, .reconcile = reconcile, .arg = fixture};

    config.queue = fixture->queue = workqueue_new(clock, observe, fixture);
    fixture->workers = workers_new(&config);
    workqueue_add(fixture->queue, "ns/a", WORKQUEUE_CHANGE);
}

static void fixture_start(struct fixture *fixture)
{
    start_by(fixture, &system_clock);
}

static void fixture_stop(struct fixture *fixture)
{
    workers_stop(fixture->workers);
    workqueue_free(fixture->queue);
}

static void wait_for(_Atomic int *what, int value)
{
    for (unsigned i = 0; i < 60000 && atomic_load(what) < value; i++)
        usleep(1000);
    EXPECT(atomic_load(what) >= value, "in time");
}

static void wait_until_idle(struct fixture *fixture, struct workqueue_stats *ret)
{
    do {
        usleep(1000);
        workqueue_stats(fixture->queue, ret);
    } while (ret->depth || ret->in_flight);
}

static void reconciles_until_it_is_done(void)
{
    struct fixture fixture = {.results = {{.kind = RECONCILE_AFTER, .after = 1},
                                          {.kind = RECONCILE_AFTER, .after = 20},
                                          {.kind = RECONCILE_DONE}}};
    struct workqueue_stats stats;

    fixture_start(&fixture);
    wait_for(&fixture.runs, 3);
    wait_until_idle(&fixture, &stats);
    EXPECT_INT((long long)stats.delayed, 0, "nothing waits");
    EXPECT_INT(fixture.runs, 3, "runs");
    EXPECT(str_has_prefix(fixture.thread_name, "spec-"), fixture.thread_name);
    EXPECT(fixture.stack_bytes >= (1u << 20) && fixture.stack_bytes < (2u << 20), "stack");
    fixture_stop(&fixture);
}

static void retries_later(void)
{
    struct fixture fixture = {.results = {{.kind = RECONCILE_RETRY}}};
    struct workqueue_stats stats;

    fixture_start(&fixture);
    wait_for(&fixture.runs, 2);
    wait_until_idle(&fixture, &stats);
    EXPECT(fixture.gap >= RETRY_AFTER, "waits");
    EXPECT_INT(atomic_load(&fixture.retries), 1, "a failure");
    fixture_stop(&fixture);
}

static void poll(const struct clock_source *clock, pthread_cond_t *condition, pthread_mutex_t *lock,
                 int64_t until)
{
    (void)clock, (void)condition, (void)until;
    pthread_mutex_unlock(lock);
    usleep(500);
    pthread_mutex_lock(lock);
}

/* Of the last two results: ms after which the next run comes for certain. */
static const struct retry {
    const char *note;
    struct reconcile_result result;
    int64_t due;
} retries[] = {
    {"the same failure", {.kind = RECONCILE_RETRY, .after = 100}, 400},
    {"another failure", {.kind = RECONCILE_RETRY, .after = 100, .is_new_failure = true}, 100},
};

static void waits_longer_for_the_same_failure(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(retries); i++) {
        const struct retry *row = &retries[i];
        struct fixture fixture = {.results = {{.kind = RECONCILE_RETRY, .after = 100},
                                              {.kind = RECONCILE_RETRY, .after = 100},
                                              row->result}};
        struct fake_clock clock;
        struct workqueue_stats stats;

        fake_clock_init(&clock);
        clock.source.wait = poll;
        start_by(&fixture, &clock.source);
        wait_for(&fixture.runs, 1);
        for (int run = 1; run < 3; run++) {
            wait_until_idle(&fixture, &stats);
            atomic_fetch_add(&clock.monotonic, 200);
            wait_for(&fixture.runs, run + 1);
        }
        wait_until_idle(&fixture, &stats);
        atomic_fetch_add(&clock.monotonic, row->due / 2 - 1);
        usleep(5000);
        EXPECT_INT(fixture.runs, 3, row->note);
        atomic_fetch_add(&clock.monotonic, row->due / 2 + 1);
        wait_for(&fixture.runs, 4);
        fixture_stop(&fixture);
    }
}

static void stops_what_runs(void)
{
    struct fixture fixture = {.waits = true};

    fixture_start(&fixture);
    wait_for(&fixture.is_waiting, 1);
    fixture_stop(&fixture);
    EXPECT_STR(fixture.reason, "Shutdown", "reason");
    EXPECT_INT(fixture.runs, 1, "not again");
    workers_stop(NULL);
}

/* What ends soon, for it is under way, is neither a failure nor the end of those before it. */
static void waiting_is_no_failure_and_forgets_none(void)
{
    struct fixture fixture = {.results = {{.kind = RECONCILE_RETRY},
                                          {.kind = RECONCILE_WAITING, .after = 1},
                                          {.kind = RECONCILE_RETRY}}};
    struct workqueue_stats stats;

    fixture_start(&fixture);
    wait_for(&fixture.runs, 4);
    wait_until_idle(&fixture, &stats);
    EXPECT(fixture.gap >= RETRY_AFTER, "the second failure in a row waits twice as long");
    EXPECT_INT(atomic_load(&fixture.retries), 2, "failures");
    fixture_stop(&fixture);
}

static void what_tells_of_itself_is_not_looked_at_before(void)
{
    struct fixture fixture = {.results = {{.kind = RECONCILE_WAITING}}};
    struct workqueue_stats stats;

    fixture_start(&fixture);
    wait_for(&fixture.runs, 1);
    wait_until_idle(&fixture, &stats);
    EXPECT_INT((long long)stats.delayed, 0, "nothing waits");
    workqueue_add(fixture.queue, "ns/a", WORKQUEUE_CHANGE);
    wait_for(&fixture.runs, 2);
    fixture_stop(&fixture);
}

/* ---- Several ---- */

struct crowd {
    _Atomic int ended, at_work, most_at_work;
};

static struct reconcile_result work(void *arg, const char *key, struct cancel *cancel)
{
    struct crowd *crowd = arg;
    int now = atomic_fetch_add(&crowd->at_work, 1) + 1, most = atomic_load(&crowd->most_at_work);

    (void)key;
    (void)cancel;
    while (now > most && !atomic_compare_exchange_weak(&crowd->most_at_work, &most, now))
        ;
    usleep(20000);
    atomic_fetch_sub(&crowd->at_work, 1);
    atomic_fetch_add(&crowd->ended, 1);
    return (struct reconcile_result){.kind = RECONCILE_DONE};
}

static void as_many_are_at_work_as_there_are_to_be(void)
{
    struct crowd crowd = {0};
    struct workqueue *queue = workqueue_new(&system_clock, NULL, NULL);
    struct workers *workers = workers_new(&(struct workers_config){
        .name = "spec", .count = 3, .queue = queue, .reconcile = work, .arg = &crowd});

    for (int i = 0; i < 12; i++) {
        _cleanup_free_ char *key = str_printf("ns/%d", i);

        workqueue_add(queue, key, WORKQUEUE_CHANGE);
    }
    wait_for(&crowd.ended, 12);
    EXPECT_INT(crowd.most_at_work, 3, "at once");
    workers_stop(workers);
    workqueue_free(queue);
}

SUITE(workers, TEST(reconciles_until_it_is_done), TEST(retries_later),
      TEST(waits_longer_for_the_same_failure), TEST(waiting_is_no_failure_and_forgets_none),
      TEST(what_tells_of_itself_is_not_looked_at_before), TEST(stops_what_runs),
      TEST(as_many_are_at_work_as_there_are_to_be))
