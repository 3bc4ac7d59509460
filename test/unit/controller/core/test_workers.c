#include "controller/core/workers.h"

#include <stdatomic.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "engine/base/cleanup.h"
#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "test/unit/suite.h"

struct fixture {
    struct workqueue *queue;
    struct workers *workers;
    _Atomic int runs, cancelled, is_waiting;
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
        atomic_fetch_add(&fixture->cancelled, 1);
    }
    return run < 3 ? fixture->results[run] : (struct reconcile_result){.kind = RECONCILE_DONE};
}

static void fixture_start(struct fixture *fixture, struct cancel *cancel)
{
    struct workers_config config = {.name = "spec",
                                    .count = 2,
                                    .cancel = cancel,
                                    .clock = &system_clock,
                                    .reconcile = reconcile,
                                    .arg = fixture};

    config.queue = fixture->queue = workqueue_new(&system_clock);
    fixture->workers = workers_new(&config);
    workqueue_add(fixture->queue, "ns/a");
}

static void fixture_stop(struct fixture *fixture)
{
    workers_stop(fixture->workers);
    workqueue_free(fixture->queue);
}

static void wait_for(_Atomic int *what, int value)
{
    for (unsigned i = 0; i < 10000 && atomic_load(what) < value; i++)
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

    fixture_start(&fixture, NULL);
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

    fixture_start(&fixture, NULL);
    wait_for(&fixture.runs, 2);
    wait_until_idle(&fixture, &stats);
    EXPECT(fixture.gap >= WORKQUEUE_RETRY_BASE / 2, "waits");
    EXPECT_INT((long long)stats.retries, 1, "a failure");
    fixture_stop(&fixture);
}

static void is_superseded_and_runs_again_at_once(void)
{
    /* What the superseded run says does not count. */
    struct fixture fixture = {.waits = true,
                              .results = {{.kind = RECONCILE_AFTER, .after = 1000000}}};
    struct workqueue_stats stats;

    fixture_start(&fixture, NULL);
    wait_for(&fixture.is_waiting, 1);
    workers_cancel_key(fixture.workers, "ns/other", "Superseded");
    usleep(5000);
    EXPECT_INT(fixture.cancelled, 0, "another key");
    workers_cancel_key(fixture.workers, "ns/a", "Superseded");
    wait_for(&fixture.runs, 2);
    EXPECT_STR(fixture.reason, "Superseded", "reason");
    wait_until_idle(&fixture, &stats);
    EXPECT_INT((long long)stats.delayed, 0, "nothing waits");
    workers_cancel_key(fixture.workers, "ns/a", "Superseded"); /* none runs */
    fixture_stop(&fixture);
    EXPECT_INT(fixture.runs, 2, "runs");
}

static void stops_what_runs(void)
{
    struct fixture fixture = {.waits = true};

    fixture_start(&fixture, NULL);
    wait_for(&fixture.is_waiting, 1);
    fixture_stop(&fixture);
    EXPECT_STR(fixture.reason, "Shutdown", "reason");
    EXPECT_INT(fixture.runs, 1, "not again");
    workers_stop(NULL);
}

static void hears_its_parent(void)
{
    struct fixture fixture = {.waits = true};
    struct cancel *parent = cancel_new(NULL);

    fixture_start(&fixture, parent);
    wait_for(&fixture.is_waiting, 1);
    cancel_fire(parent, "Signal");
    wait_for(&fixture.cancelled, 1);
    EXPECT_STR(fixture.reason, "Signal", "reason");
    fixture_stop(&fixture);
    cancel_free(parent);
}

/* ---- Reconciles that wait ---- */

struct crowd {
    struct workqueue *queue;
    struct workers *workers;
    _Atomic int begun, ended, at_work, most_at_work;
    _Atomic bool is_over; /* for those that wait */
};

static void work(struct crowd *crowd)
{
    int now = atomic_fetch_add(&crowd->at_work, 1) + 1, most = atomic_load(&crowd->most_at_work);

    while (now > most && !atomic_compare_exchange_weak(&crowd->most_at_work, &most, now))
        ;
    usleep(2000);
    atomic_fetch_sub(&crowd->at_work, 1);
}

/* Those of the namespace "waits" do. */
static struct reconcile_result wait_or_work(void *arg, const char *key, struct cancel *cancel)
{
    struct crowd *crowd = arg;

    atomic_fetch_add(&crowd->begun, 1);
    if (str_has_prefix(key, "waits/")) {
        workers_wait(crowd->workers, true);
        while (!atomic_load(&crowd->is_over) && !cancel_fired(cancel))
            usleep(500);
        workers_wait(crowd->workers, false);
    } else {
        work(crowd);
    }
    atomic_fetch_add(&crowd->ended, 1);
    return (struct reconcile_result){.kind = RECONCILE_DONE};
}

static void crowd_start(struct crowd *crowd, unsigned count)
{
    *crowd = (struct crowd){.queue = workqueue_new(&system_clock)};
    crowd->workers = workers_new(&(struct workers_config){.name = "spec",
                                                          .count = count,
                                                          .queue = crowd->queue,
                                                          .clock = &system_clock,
                                                          .reconcile = wait_or_work,
                                                          .arg = crowd});
}

static void crowd_stop(struct crowd *crowd)
{
    workers_stop(crowd->workers);
    workqueue_free(crowd->queue);
}

static void add(struct crowd *crowd, const char *prefix, int count)
{
    for (int i = 0; i < count; i++) {
        _cleanup_free_ char *key = str_printf("%s/%d", prefix, i);

        workqueue_add(crowd->queue, key);
    }
}

static void those_that_wait_keep_no_other_waiting(void)
{
    struct crowd crowd;

    crowd_start(&crowd, 2);
    add(&crowd, "waits", 10);
    wait_for(&crowd.begun, 10);
    add(&crowd, "does", 20);
    wait_for(&crowd.ended, 20);
    EXPECT(crowd.most_at_work <= 2, "as many at work as there are to be");
    atomic_store(&crowd.is_over, true);
    wait_for(&crowd.ended, 30);
    add(&crowd, "does", 20);
    wait_for(&crowd.ended, 50);
    EXPECT(crowd.most_at_work <= 2, "nor more when they have waited");
    crowd_stop(&crowd);
}

static void no_more_than_so_many_wait(void)
{
    struct crowd crowd;

    crowd_start(&crowd, 1);
    add(&crowd, "waits", WORKERS_WAITING + 5);
    wait_for(&crowd.begun, WORKERS_WAITING + 1);
    usleep(20000);
    EXPECT_INT(crowd.begun, WORKERS_WAITING + 1, "begun");
    atomic_store(&crowd.is_over, true);
    wait_for(&crowd.ended, WORKERS_WAITING + 5);
    crowd_stop(&crowd);
}

static void those_that_wait_are_stopped(void)
{
    struct crowd crowd;

    crowd_start(&crowd, 1);
    add(&crowd, "waits", 3);
    wait_for(&crowd.begun, 3);
    crowd_stop(&crowd);
    EXPECT_INT(crowd.ended, 3, "ended");
}

SUITE(workers, TEST(reconciles_until_it_is_done), TEST(retries_later),
      TEST(is_superseded_and_runs_again_at_once), TEST(stops_what_runs), TEST(hears_its_parent),
      TEST(those_that_wait_keep_no_other_waiting), TEST(no_more_than_so_many_wait),
      TEST(those_that_wait_are_stopped))
