#include "controller/core/workqueue.h"

#include <stdatomic.h>
#include <unistd.h>

#include "engine/base/cleanup.h"
#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

struct fixture {
    struct fake_clock clock;
    struct workqueue *queue;
    int observed[4];  /* by enum workqueue_event */
    int64_t total[4]; /* ms */
};

static void observe(void *arg, enum workqueue_event event, int64_t ms)
{
    struct fixture *fixture = arg;

    fixture->observed[event]++;
    fixture->total[event] += ms;
}

static void never_wait(const struct clock_source *clock, pthread_cond_t *condition,
                       pthread_mutex_t *lock, int64_t until)
{
    (void)clock, (void)condition, (void)lock, (void)until;
    fprintf(stderr, "a key that should be ready is not\n");
    abort();
}

static void fixture_start(struct fixture *fixture)
{
    *fixture = (struct fixture){0};
    fake_clock_init(&fixture->clock);
    fixture->clock.source.wait = never_wait;
    fixture->queue = workqueue_new(&fixture->clock.source, observe, fixture);
}

static void pass(struct fixture *fixture, int64_t ms)
{
    atomic_fetch_add(&fixture->clock.monotonic, ms);
}

/* The next key is this and no other; "": there is none. What is due is collected by a get, so one
 * more key is put in to get, and nothing may be left behind it. */
static void expect_next(struct fixture *fixture, const char *expected, const char *note)
{
    _cleanup_free_ char *key = NULL, *end = NULL;
    struct workqueue_stats stats;

    if (*expected) {
        key = workqueue_get(fixture->queue);
        EXPECT_STR(key, expected, note);
    }
    workqueue_add(fixture->queue, "end", WORKQUEUE_CHANGE);
    end = workqueue_get(fixture->queue);
    EXPECT_STR(end, "end", note);
    workqueue_done(fixture->queue, "end");
    workqueue_stats(fixture->queue, &stats);
    EXPECT_INT((long long)stats.depth, 0, note);
}

static void expect_stats(struct fixture *fixture, size_t depth, size_t in_flight, size_t delayed,
                         const char *note)
{
    struct workqueue_stats stats;

    workqueue_stats(fixture->queue, &stats);
    EXPECT_INT((long long)stats.depth, (long long)depth, note);
    EXPECT_INT((long long)stats.in_flight, (long long)in_flight, note);
    EXPECT_INT((long long)stats.delayed, (long long)delayed, note);
}

static void gives_each_key_once(void)
{
    struct fixture fixture;
    _cleanup_free_ char *first = NULL, *second = NULL;

    fixture_start(&fixture);
    workqueue_add(fixture.queue, "a", WORKQUEUE_CHANGE);
    workqueue_add(fixture.queue, "b", WORKQUEUE_CHANGE);
    workqueue_add(fixture.queue, "a", WORKQUEUE_CHANGE);
    expect_stats(&fixture, 2, 0, 0, "two keys");
    first = workqueue_get(fixture.queue);
    second = workqueue_get(fixture.queue);
    EXPECT_STR(first, "a", "in order");
    EXPECT_STR(second, "b", "in order");
    expect_stats(&fixture, 0, 2, 0, "both out");
    workqueue_free(fixture.queue);
}

static void gives_a_key_again_only_when_it_is_done(void)
{
    struct fixture fixture;
    _cleanup_free_ char *key = NULL;

    fixture_start(&fixture);
    workqueue_add(fixture.queue, "a", WORKQUEUE_CHANGE);
    key = workqueue_get(fixture.queue);
    workqueue_add(fixture.queue, "a", WORKQUEUE_CHANGE);
    workqueue_add(fixture.queue, "a", WORKQUEUE_CHANGE);
    expect_next(&fixture, "", "it is out");
    workqueue_done(fixture.queue, "a");
    expect_next(&fixture, "a", "added while it was out");
    workqueue_done(fixture.queue, "a");
    expect_next(&fixture, "", "once");
    EXPECT_INT(fixture.observed[WORKQUEUE_ADDED], 2 + 3, "two of a, three of end");
    workqueue_free(fixture.queue);
}

static const struct delay {
    const char *note;
    int64_t delays[3]; /* -1: none */
    int64_t due;
} delays[] = {
    {"one", {100, -1, -1}, 100},
    {"a later one is ignored", {100, 200, -1}, 100},
    {"an earlier one wins", {200, 100, -1}, 100},
    {"at once wins", {200, 0, -1}, 0},
    {"at once, and not again later", {0, 200, -1}, 0},
    {"the earliest of three", {300, 100, 200}, 100},
};

static void waits_for_the_earliest_time(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(delays); i++) {
        const struct delay *row = &delays[i];
        struct fixture fixture;

        fixture_start(&fixture);
        for (size_t n = 0; n < ARRAY_SIZE(row->delays) && row->delays[n] >= 0; n++)
            workqueue_add_after(fixture.queue, "a", row->delays[n], WORKQUEUE_CHANGE);
        if (row->due > 0) {
            pass(&fixture, row->due - 1);
            expect_next(&fixture, "", row->note);
            pass(&fixture, 1);
        }
        expect_next(&fixture, "a", row->note);
        workqueue_done(fixture.queue, "a");
        pass(&fixture, 1000);
        expect_next(&fixture, "", row->note);
        expect_stats(&fixture, 0, 0, 0, row->note);
        workqueue_free(fixture.queue);
    }
}

/* Fails once, and says how long the key was kept back at most and at least. */
static void expect_backoff(struct fixture *fixture, int64_t least, int64_t most, const char *note)
{
    workqueue_add_rate_limited(fixture->queue, "a", 1000);
    pass(fixture, least - 1);
    expect_next(fixture, "", note);
    pass(fixture, most - least + 1);
    expect_next(fixture, "a", note);
    workqueue_done(fixture->queue, "a");
}

static void backs_off_until_it_is_forgotten(void)
{
    struct fixture fixture;

    fixture_start(&fixture);
    expect_backoff(&fixture, 1000, 1000, "first");
    expect_backoff(&fixture, 1000, 2000, "second");
    expect_backoff(&fixture, 2000, 4000, "third");
    for (unsigned i = 0; i < 40; i++) {
        workqueue_add_rate_limited(fixture.queue, "a", 1000);
        workqueue_add(fixture.queue, "a", WORKQUEUE_CHANGE);
        expect_next(&fixture, "a", "at once");
        workqueue_done(fixture.queue, "a");
    }
    expect_backoff(&fixture, 150000, 300000, "the longest");
    workqueue_forget(fixture.queue, "a");
    expect_backoff(&fixture, 1000, 1000, "as the first");
    EXPECT_INT(fixture.observed[WORKQUEUE_RETRIED], 45, "retries");
    workqueue_forget(fixture.queue, "never seen");
    workqueue_free(fixture.queue);
}

static void does_nothing_after_a_shut_down(void)
{
    struct fixture fixture;

    fixture_start(&fixture);
    workqueue_add(fixture.queue, "a", WORKQUEUE_CHANGE);
    workqueue_shut_down(fixture.queue);
    EXPECT_STR(workqueue_get(fixture.queue), NULL, "though one is ready");
    workqueue_add(fixture.queue, "b", WORKQUEUE_CHANGE);
    workqueue_add_after(fixture.queue, "c", 1, WORKQUEUE_CHANGE);
    workqueue_add_rate_limited(fixture.queue, "d", 1000);
    workqueue_done(fixture.queue, "b");
    expect_stats(&fixture, 1, 0, 0, "what was there before");
    workqueue_free(fixture.queue);
}

/* ---- Threads, on the real clock ---- */

struct crowd {
    struct workqueue *queue;
    _Atomic int out[4], twice, handled;
};

static void *drain(void *arg)
{
    struct crowd *crowd = arg;

    for (char *key; (key = workqueue_get(crowd->queue)); free(key)) {
        int n = key[0] - 'a';

        if (atomic_fetch_add(&crowd->out[n], 1) != 0)
            atomic_fetch_add(&crowd->twice, 1);
        usleep(100);
        atomic_fetch_add(&crowd->handled, 1);
        atomic_fetch_sub(&crowd->out[n], 1);
        workqueue_done(crowd->queue, key);
    }
    return NULL;
}

static void never_gives_a_key_to_two(void)
{
    struct crowd crowd = {.queue = workqueue_new(&system_clock, NULL, NULL)};
    struct workqueue_stats stats;
    pthread_t threads[4];

    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        pthread_create(&threads[i], NULL, drain, &crowd);
    for (int i = 0; i < 2000; i++) {
        char key[2] = {(char)('a' + i % 4), '\0'};

        workqueue_add_after(crowd.queue, key, i % 3, WORKQUEUE_CHANGE);
        if (i % 16 == 0)
            usleep(50);
    }
    do {
        usleep(1000);
        workqueue_stats(crowd.queue, &stats);
    } while (stats.depth || stats.in_flight || stats.delayed);
    workqueue_shut_down(crowd.queue);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        pthread_join(threads[i], NULL);
    EXPECT_INT(crowd.twice, 0, "out twice");
    EXPECT(crowd.handled >= 4, "all were handled");
    workqueue_free(crowd.queue);
}

static void *hold(void *arg)
{
    struct crowd *crowd = arg;

    for (char *key; (key = workqueue_get(crowd->queue)); free(key)) {
        atomic_fetch_add(&crowd->out[key[0] - 'a'], 1);
        while (key[0] == 'b' && !atomic_load(&crowd->out[0]))
            usleep(1000);
        workqueue_done(crowd->queue, key);
    }
    return NULL;
}

/* Two wait; the one that knew of the delayed key goes off with another and needs it to end. */
static void wakes_for_a_delayed_key_while_another_is_handled(void)
{
    struct crowd crowd = {.queue = workqueue_new(&system_clock, NULL, NULL)};
    pthread_t threads[2];
    int64_t start = system_clock.monotonic(&system_clock);

    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        pthread_create(&threads[i], NULL, hold, &crowd);
    usleep(20000);
    workqueue_add_after(crowd.queue, "a", 100, WORKQUEUE_CHANGE);
    usleep(20000);
    workqueue_add(crowd.queue, "b", WORKQUEUE_CHANGE);
    while (!atomic_load(&crowd.out[0]) && system_clock.monotonic(&system_clock) - start < 60000)
        usleep(1000);
    EXPECT(system_clock.monotonic(&system_clock) - start < 30000, "the delayed key came in time");
    atomic_store(&crowd.out[0], 1);
    workqueue_shut_down(crowd.queue);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        pthread_join(threads[i], NULL);
    workqueue_free(crowd.queue);
}

static void expect_order(struct fixture *fixture, const char *const *keys, size_t n,
                         const char *note)
{
    for (size_t i = 0; i < n; i++) {
        _cleanup_free_ char *key = workqueue_get(fixture->queue);

        EXPECT_STR(key, keys[i], note);
        workqueue_done(fixture->queue, key);
    }
    expect_next(fixture, "", note);
}

static void gives_what_goes_on_before_what_is_new(void)
{
    struct fixture fixture;
    _cleanup_free_ char *out = NULL;

    fixture_start(&fixture);
    workqueue_add(fixture.queue, "a/new 1", WORKQUEUE_CHANGE);
    workqueue_add(fixture.queue, "a/on 2", WORKQUEUE_CHANGE);
    workqueue_add(fixture.queue, "a/new 2", WORKQUEUE_CHANGE);
    workqueue_add(fixture.queue, "a/on 1", WORKQUEUE_BEGUN);
    workqueue_add(fixture.queue, "a/on 2", WORKQUEUE_BEGUN);
    workqueue_add(fixture.queue, "a/on 1", WORKQUEUE_BEGUN);
    workqueue_add(fixture.queue, "a/on 2", WORKQUEUE_CHANGE);
    expect_stats(&fixture, 4, 0, 0, "each once");
    expect_order(&fixture, (const char *const[]){"a/on 1", "a/on 2", "a/new 1", "a/new 2"}, 4,
                 "first those that go on, each kind in its order");

    workqueue_add(fixture.queue, "n/a", WORKQUEUE_CHANGE);
    out = workqueue_get(fixture.queue);
    workqueue_add(fixture.queue, "n/b", WORKQUEUE_CHANGE);
    workqueue_add(fixture.queue, "n/a", WORKQUEUE_CHANGE);
    workqueue_add(fixture.queue, "n/a", WORKQUEUE_BEGUN);
    workqueue_done(fixture.queue, "n/a");
    expect_order(&fixture, (const char *const[]){"n/a", "n/b"}, 2, "while it was out");

    workqueue_add(fixture.queue, "n/b", WORKQUEUE_CHANGE);
    workqueue_add(fixture.queue, "n/a", WORKQUEUE_CHANGE);
    expect_order(&fixture, (const char *const[]){"n/b", "n/a"}, 2, "and not for ever");
    workqueue_free(fixture.queue);
}

/* ---- The order ---- */

static const struct order {
    const char *note;
    struct {
        const char *key;
        enum workqueue_priority priority;
    } added[16];
    const char *order[16];
} orders[] = {
    {"by priority",
     {{"a/resync", WORKQUEUE_RESYNC},
      {"a/retry", WORKQUEUE_RETRY},
      {"a/change", WORKQUEUE_CHANGE},
      {"a/begun", WORKQUEUE_BEGUN}},
     {"a/begun", "a/change", "a/retry", "a/resync"}},
    {"namespaces take turns",
     {{"a/1", WORKQUEUE_CHANGE},
      {"a/2", WORKQUEUE_CHANGE},
      {"a/3", WORKQUEUE_CHANGE},
      {"b/1", WORKQUEUE_CHANGE},
      {"b/2", WORKQUEUE_CHANGE},
      {"c/1", WORKQUEUE_CHANGE}},
     {"a/1", "b/1", "c/1", "a/2", "b/2", "a/3"}},
    {"priority before namespaces",
     {{"a/1", WORKQUEUE_RETRY}, {"b/1", WORKQUEUE_RETRY}, {"b/2", WORKQUEUE_CHANGE}},
     {"b/2", "a/1", "b/1"}},
    {"what goes on, within a namespace: that of one does not keep what is new in another waiting",
     {{"a/new", WORKQUEUE_CHANGE},
      {"a/1", WORKQUEUE_BEGUN},
      {"a/2", WORKQUEUE_BEGUN},
      {"a/3", WORKQUEUE_BEGUN},
      {"b/new", WORKQUEUE_CHANGE},
      {"c/new", WORKQUEUE_CHANGE},
      {"c/1", WORKQUEUE_BEGUN}},
     {"a/1", "b/new", "c/1", "a/2", "c/new", "a/3", "a/new"}},
    {"the highest of several counts",
     {{"a/1", WORKQUEUE_CHANGE},
      {"a/2", WORKQUEUE_RESYNC},
      {"a/3", WORKQUEUE_RETRY},
      {"a/2", WORKQUEUE_BEGUN},
      {"a/1", WORKQUEUE_RESYNC}},
     {"a/2", "a/1", "a/3"}},
    {"every eighth turn goes to the oldest",
     {{"z/old", WORKQUEUE_RESYNC},
      {"a/1", WORKQUEUE_BEGUN},
      {"a/2", WORKQUEUE_BEGUN},
      {"a/3", WORKQUEUE_BEGUN},
      {"a/4", WORKQUEUE_BEGUN},
      {"a/5", WORKQUEUE_BEGUN},
      {"a/6", WORKQUEUE_BEGUN},
      {"a/7", WORKQUEUE_BEGUN},
      {"a/8", WORKQUEUE_BEGUN},
      {"a/9", WORKQUEUE_BEGUN}},
     {"a/1", "a/2", "a/3", "a/4", "a/5", "a/6", "a/7", "z/old", "a/8", "a/9"}},
};

static void gives_keys_in_order(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
        const struct order *row = &orders[i];
        struct fixture fixture;

        fixture_start(&fixture);
        for (size_t n = 0; row->added[n].key; n++)
            workqueue_add(fixture.queue, row->added[n].key, row->added[n].priority);
        for (size_t n = 0; row->order[n]; n++) {
            _cleanup_free_ char *key = workqueue_get(fixture.queue);

            EXPECT_STR(key, row->order[n], row->note);
            workqueue_done(fixture.queue, key);
        }
        expect_stats(&fixture, 0, 0, 0, row->note);
        workqueue_free(fixture.queue);
    }
}

static void keeps_a_delayed_keys_priority(void)
{
    struct fixture fixture;

    fixture_start(&fixture);
    workqueue_add_after(fixture.queue, "a/resync", 100, WORKQUEUE_RESYNC);
    workqueue_add_after(fixture.queue, "a/retry", 100, WORKQUEUE_RETRY);
    workqueue_add_after(fixture.queue, "a/raised", 100, WORKQUEUE_RESYNC);
    workqueue_add_after(fixture.queue, "a/raised", 200, WORKQUEUE_CHANGE);
    pass(&fixture, 100);
    expect_order(&fixture, (const char *const[]){"a/raised", "a/retry", "a/resync"}, 3, "due");
    workqueue_free(fixture.queue);
}

/* A thousand keys of one namespace, and one of another. */
static void does_not_let_one_namespace_delay_another(void)
{
    struct fixture fixture;
    size_t turns = 0;

    fixture_start(&fixture);
    for (int i = 0; i < 1000; i++) {
        _cleanup_free_ char *key = str_printf("noisy/%d", i);

        workqueue_add(fixture.queue, key, WORKQUEUE_CHANGE);
    }
    workqueue_add(fixture.queue, "quiet/1", WORKQUEUE_CHANGE);
    for (bool is_quiet = false; !is_quiet && turns < 1001; turns++) {
        _cleanup_free_ char *key = workqueue_get(fixture.queue);

        is_quiet = str_equal(key, "quiet/1");
        workqueue_done(fixture.queue, key);
    }
    EXPECT(turns <= 2, "the second turn at the latest");
    workqueue_free(fixture.queue);
}

static void expect_ages(struct fixture *fixture, int64_t oldest, int64_t stuck, const char *note)
{
    struct workqueue_stats stats;

    workqueue_stats(fixture->queue, &stats);
    EXPECT_INT(stats.oldest, oldest, note);
    EXPECT_INT(stats.stuck, stuck, note);
}

static void tells_how_long_keys_have_waited(void)
{
    struct fixture fixture;
    _cleanup_free_ char *key = NULL;

    fixture_start(&fixture);
    pass(&fixture, 5000);
    expect_ages(&fixture, 0, 0, "empty");
    workqueue_add(fixture.queue, "a/1", WORKQUEUE_RESYNC);
    pass(&fixture, 30);
    workqueue_add(fixture.queue, "a/2", WORKQUEUE_BEGUN);
    pass(&fixture, 10);
    expect_ages(&fixture, 40, 40, "none was taken");
    key = workqueue_get(fixture.queue);
    EXPECT_STR(key, "a/2", "the higher one");
    pass(&fixture, 10);
    expect_ages(&fixture, 50, 10, "one was taken");
    free(key);
    key = workqueue_get(fixture.queue);
    pass(&fixture, 10);
    expect_ages(&fixture, 0, 0, "both out");
    workqueue_free(fixture.queue);
}

/* A key does not wait while it is out, though it was added meanwhile. */
static void measures_how_long_keys_wait_and_are_out(void)
{
    struct fixture fixture;

    fixture_start(&fixture);
    workqueue_add(fixture.queue, "a", WORKQUEUE_CHANGE);
    for (int i = 0; i < 2; i++) {
        _cleanup_free_ char *key = NULL;

        pass(&fixture, 10 + i);
        key = workqueue_get(fixture.queue);
        pass(&fixture, 300);
        if (i == 0)
            workqueue_add(fixture.queue, "a", WORKQUEUE_CHANGE);
        pass(&fixture, 40);
        workqueue_done(fixture.queue, key);
    }
    EXPECT_INT(fixture.observed[WORKQUEUE_ADDED], 2, "added");
    EXPECT_INT(fixture.observed[WORKQUEUE_TAKEN], 2, "taken");
    EXPECT_INT(fixture.total[WORKQUEUE_TAKEN], 10 + 11, "ready");
    EXPECT_INT(fixture.observed[WORKQUEUE_DONE], 2, "done");
    EXPECT_INT(fixture.total[WORKQUEUE_DONE], 2 * 340, "out");
    workqueue_free(fixture.queue);
}

SUITE(workqueue, TEST(gives_keys_in_order), TEST(keeps_a_delayed_keys_priority),
      TEST(does_not_let_one_namespace_delay_another), TEST(tells_how_long_keys_have_waited),
      TEST(measures_how_long_keys_wait_and_are_out), TEST(gives_each_key_once),
      TEST(gives_what_goes_on_before_what_is_new), TEST(gives_a_key_again_only_when_it_is_done),
      TEST(waits_for_the_earliest_time), TEST(backs_off_until_it_is_forgotten),
      TEST(does_nothing_after_a_shut_down), TEST(never_gives_a_key_to_two),
      TEST(wakes_for_a_delayed_key_while_another_is_handled))
