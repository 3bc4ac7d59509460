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
    struct reconcile_result results[3]; /* of the runs; then DONE */
    bool waits;                         /* the first run, until it is cancelled */
};

static struct reconcile_result reconcile(void *arg, const char *key, struct cancel *cancel)
{
    struct fixture *fixture = arg;
    int run = atomic_fetch_add(&fixture->runs, 1);

    EXPECT_STR(key, "ns/a", "key");
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
    wait_for(&fixture.runs, 1);
    wait_until_idle(&fixture, &stats);
    EXPECT_INT((long long)stats.delayed, 1, "waits");
    EXPECT_INT((long long)stats.retries, 1, "a failure");
    wait_for(&fixture.runs, 2);
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

SUITE(workers, TEST(reconciles_until_it_is_done), TEST(retries_later),
      TEST(is_superseded_and_runs_again_at_once), TEST(stops_what_runs), TEST(hears_its_parent))
