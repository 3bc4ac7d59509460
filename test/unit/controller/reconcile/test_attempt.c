#include "controller/reconcile/attempt.h"
#include "controller/serve/metrics.h"

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "runtimes/io/clock.h"
#include "test/unit/controller/reconcile/records/scene.h"
#include "test/unit/engine/memory_store.h"
#include "test/unit/suite.h"

/* Specs of which there is nothing: their operations are planned as soon as they are begun. */
struct fixture {
    struct memory_medium *medium;
    struct store *store;
    struct ledgers *ledgers;
    struct executor *executor;
    struct desk *desk;
    pthread_mutex_t lock;
    struct buf queue; /* keys that were put there since the last look */
};

static void enqueue(void *arg, enum desk_kind kind, const char *key)
{
    struct fixture *fixture = arg;

    pthread_mutex_lock(&fixture->lock);
    (void)kind;
    buf_printf(&fixture->queue, "%s ", key);
    pthread_mutex_unlock(&fixture->lock);
}

/* memory: bytes that operations may hold; 0: without a bound. */
static void fixture_start_with(struct fixture *fixture, size_t memory)
{
    *fixture = (struct fixture){.lock = PTHREAD_MUTEX_INITIALIZER, .queue = BUF_INIT};
    fixture->medium = memory_medium_new(NULL);
    fixture->store = memory_store_new(fixture->medium);
    fixture->ledgers =
        ledgers_new(&(struct ledgers_config){.store = fixture->store, .clock = &system_clock});
    fixture->executor = executor_new(&(struct executor_config){.clock = &system_clock});
    fixture->desk = desk_new(&(struct desk_config){
        .enqueue = enqueue, .arg = fixture, .clock = &system_clock, .memory = memory});
}

static void fixture_start(struct fixture *fixture)
{
    fixture_start_with(fixture, 0);
}

static void fixture_stop(struct fixture *fixture)
{
    attempts_abandon(fixture->desk);
    executor_free(fixture->executor);
    attempts_abandon(fixture->desk);
    desk_free(fixture->desk);
    ledgers_free(fixture->ledgers);
    fixture->store->ops->free(fixture->store);
    memory_medium_free(fixture->medium);
    buf_done(&fixture->queue);
}

static void expect_queue(struct fixture *fixture, const char *expected, const char *note)
{
    pthread_mutex_lock(&fixture->lock);
    EXPECT_STR(fixture->queue.length ? fixture->queue.data : "", expected, note);
    buf_reset(&fixture->queue);
    pthread_mutex_unlock(&fixture->lock);
}

/* "u" in generation 3. */
static void read_it(struct attempt *attempt)
{
    _cleanup_value_ const struct value *metadata =
        value_pack("{s:s, s:i}", "uid", "u", "generation", 3);

    desk_note_read(attempt->entry, metadata);
}

static int open(struct fixture *fixture, struct attempt *attempt)
{
    struct operation_config config = {.clock = &system_clock,
                                      .executor = fixture->executor,
                                      .ledgers = fixture->ledgers,
                                      .scope = {.key = attempt->object, .spec_uid = "u"},
                                      .parallelism = 1,
                                      .timeout = 10000};
    struct error error = {0};
    int r = attempt_open(attempt, &config, NULL, &error);

    EXPECT_INT(r, 0, error.message);
    return r;
}

/* Read, and its operation opened. */
static struct attempt *begin(struct fixture *fixture, const char *key)
{
    struct attempt *attempt = attempt_enter(fixture->desk, DESK_SPEC, key);

    read_it(attempt);
    open(fixture, attempt);
    return attempt;
}

/* ---- */

static void an_attempt_lives_with_its_operation(void)
{
    struct fixture fixture;
    struct attempt *attempt;

    fixture_start(&fixture);
    EXPECT(!attempt_enter(fixture.desk, DESK_SPEC, "nonsense"), "no key");
    attempt = attempt_enter(fixture.desk, DESK_SPEC, "ns/a");
    EXPECT_STR(attempt->object.namespace_name, "ns", "namespace");
    EXPECT_STR(attempt->object.name, "a", "name");
    attempt->revision = 7;
    attempt_leave(attempt);
    attempt = attempt_enter(fixture.desk, DESK_SPEC, "ns/a");
    EXPECT_INT(attempt->revision, 0, "without an operation nothing stays");
    attempt->revision = 7;
    read_it(attempt);
    open(&fixture, attempt);
    attempt_leave(attempt);
    EXPECT(attempt_enter(fixture.desk, DESK_SPEC, "ns/a") == attempt, "with one it does");
    EXPECT_INT(attempt->revision, 7, "with what is known");
    attempt_end(attempt);
    EXPECT(!attempt->operation, "ended");
    attempt_leave(attempt);
    expect_queue(&fixture, "", "who ends it knows");
    fixture_stop(&fixture);
}

static void what_is_planned_is_looked_at(void)
{
    struct fixture fixture;
    struct attempt *attempt;

    fixture_start(&fixture);
    attempt = begin(&fixture, "ns/a");
    operation_plan(attempt->operation, NULL);
    EXPECT_INT(operation_wait(attempt->operation), OPERATION_PLANNED, "planned");
    expect_queue(&fixture, "ns/a ", "planned");
    operation_apply(attempt->operation, &(struct operation_apply){.revision = 1});
    EXPECT_INT(operation_wait(attempt->operation), OPERATION_ENDED, "ended");
    expect_queue(&fixture, "ns/a ", "ended");
    attempt_leave(attempt);
    fixture_stop(&fixture);
}

/* A Spec of uid "u" was read in generation 3. */
static const struct {
    const char *note;
    struct object_version now;
    bool is_outdated;
} tellings[] = {
    {"as it was read", {.uid = "u", .generation = 3}, false},
    {"as it was before that", {.uid = "u", .generation = 2}, false},
    {"a newer generation", {.uid = "u", .generation = 4}, true},
    {"it is being deleted", {.uid = "u", .generation = 3, .is_deleting = true}, true},
    {"it is gone", {0}, true},
    {"another of its name", {.uid = "v", .generation = 1}, true},
};

static void what_is_superseded_is_cancelled_at_once(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(tellings); i++) {
        enum operation_phase expected = tellings[i].is_outdated ? OPERATION_ENDED : OPERATION_NEW;
        struct fixture fixture;
        struct attempt *attempt, *other;
        struct error error = {0};

        fixture_start(&fixture);
        attempt = begin(&fixture, "ns/a");
        other = begin(&fixture, "ns/b");
        desk_observe(fixture.desk, DESK_SPEC, "ns/a", &tellings[i].now, false);
        EXPECT_INT(attempt_is_outdated(attempt), tellings[i].is_outdated, tellings[i].note);
        EXPECT_INT(operation_phase(attempt->operation), expected, tellings[i].note);
        operation_error(attempt->operation, &error);
        EXPECT_STR(error.message, tellings[i].is_outdated ? "Superseded" : "", tellings[i].note);
        EXPECT_INT(operation_phase(other->operation), OPERATION_NEW, "another key");
        expect_queue(&fixture, tellings[i].is_outdated ? "ns/a " : "", tellings[i].note);
        fixture_stop(&fixture);
    }
}

/* The reconcile reads generation 3, is slow, and begins what is not wanted any more: the next one,
 * for which the change has put the key into the queue, finds it. */
static void what_comes_while_it_is_begun_is_not_lost(void)
{
    struct object_version newer = {.uid = "u", .generation = 4};
    struct fixture fixture;
    struct attempt *attempt;

    fixture_start(&fixture);
    attempt = attempt_enter(fixture.desk, DESK_SPEC, "ns/a");
    desk_observe(fixture.desk, DESK_SPEC, "ns/a", &newer, false);
    read_it(attempt);
    EXPECT_INT(open(&fixture, attempt), 0, "begun");
    attempt_leave(attempt);
    attempt = attempt_enter(fixture.desk, DESK_SPEC, "ns/a");
    EXPECT(attempt_is_outdated(attempt), "found");
    attempt_end(attempt);
    read_it(attempt);
    EXPECT(!attempt_is_outdated(attempt), "what was told before it was read anew counts no more");
    attempt_leave(attempt);
    fixture_stop(&fixture);
}

static void remembers_that_it_was_asked_for(void)
{
    struct object_version same = {.uid = "u", .generation = 3};
    struct fixture fixture;
    struct attempt *attempt;

    fixture_start(&fixture);
    desk_observe(fixture.desk, DESK_SPEC, "ns/a", &same, true); /* nobody there: the queue knows */
    attempt = begin(&fixture, "ns/a");
    EXPECT(!desk_is_asked_for(attempt->entry), "not yet");
    desk_observe(fixture.desk, DESK_SPEC, "ns/a", &same, true);
    desk_observe(fixture.desk, DESK_SPEC, "ns/a", &same, false);
    EXPECT(desk_is_asked_for(attempt->entry), "once is enough");
    EXPECT(!attempt_is_outdated(attempt), "and it goes on");
    attempt_end(attempt);
    EXPECT(!desk_is_asked_for(attempt->entry), "until it ends");
    attempt_leave(attempt);
    fixture_stop(&fixture);
}

static void at_the_end_nothing_begins_any_more(void)
{
    struct fixture fixture;
    struct attempt *one, *late;

    fixture_start(&fixture);
    one = begin(&fixture, "ns/a");
    desk_cancel(fixture.desk, "Shutdown");
    EXPECT_INT(operation_phase(one->operation), OPERATION_ENDED, "what lives");
    late = begin(&fixture, "ns/b");
    EXPECT_INT(operation_phase(late->operation), OPERATION_ENDED, "what comes");
    operation_plan(late->operation, NULL);
    EXPECT_INT(operation_phase(late->operation), OPERATION_ENDED, "and stays");
    fixture_stop(&fixture);
}

static void previews_are_bounded(void)
{
    static const struct {
        const char *key, *spec, *note;
        bool is_free;
    } rows[] = {
        {"a/r0", "x", "the first of x", true},
        {"a/r1", "x", "the second", true},
        {"a/r2", "x", "a third", false},
        {"a/r1", "x", "the second again", true},
        {"b/r0", "x", "of the same name elsewhere", true},
        {"a/r3", "y", "of another Spec", true},
        {"a/r4", "y", "", true},
        {"a/r5", "z", "", true},
        {"a/r6", "z", "", true},
        {"a/r7", "v", "", true},
        {"a/r8", "v", "the eighth of the namespace", true},
        {"a/r9", "w", "a ninth", false},
        {"b/r1", "w", "another namespace has room", true},
    };
    struct attempt *ended;
    struct fixture fixture;

    fixture_start(&fixture);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        EXPECT_INT(attempt_reserve_preview(attempt_enter(fixture.desk, DESK_RELEASE, rows[i].key),
                                           rows[i].spec),
                   rows[i].is_free, rows[i].note);
    ended = attempt_enter(fixture.desk, DESK_RELEASE, "a/r0");
    attempt_end(ended);
    attempt_leave(ended);
    EXPECT(attempt_reserve_preview(attempt_enter(fixture.desk, DESK_RELEASE, "a/r9"), "w"),
           "one ended, so there is room");
    EXPECT(!attempt_reserve_preview(attempt_enter(fixture.desk, DESK_RELEASE, "a/r2"), "x"),
           "for one");
    fixture_stop(&fixture);
}

/* It is not read again before there is a place: a tenant can create any number, of 1 MiB each. */
static void a_preview_that_waits_keeps_what_it_waits_for(void)
{
    static const char *const keys[] = {"a/r0", "a/r1", "a/r2"};
    const struct object_version here = {.uid = "u", .generation = 1}, none = {0};
    struct fixture fixture;
    struct attempt *attempt = NULL;

    fixture_start(&fixture);
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        attempt = attempt_enter(fixture.desk, DESK_RELEASE, keys[i]);
        desk_observe(fixture.desk, DESK_RELEASE, keys[i], &here, false);
        EXPECT(!attempt_waits_for_place(attempt), "it has not asked yet");
        attempt_reserve_preview(attempt, "x");
    }
    attempt_leave(attempt);
    attempt = attempt_enter(fixture.desk, DESK_RELEASE, keys[2]);
    EXPECT(attempt_waits_for_place(attempt), "the third");
    EXPECT(attempt_waits_for_place(attempt), "still");
    attempt_leave(attempt_enter(fixture.desk, DESK_RELEASE, keys[0]));
    EXPECT(!attempt_waits_for_place(attempt), "one ended");
    EXPECT(!attempt->to_preview, "it has the place");
    attempt = attempt_enter(fixture.desk, DESK_RELEASE, keys[0]);
    EXPECT(!attempt_reserve_preview(attempt, "x"), "no more places");
    desk_observe(fixture.desk, DESK_RELEASE, keys[0], &none, false);
    EXPECT(!attempt_waits_for_place(attempt), "its Release is gone: it does not wait");
    attempt_leave(attempt);
    fixture_stop(&fixture);
}

/* However short it was away: its operation was cancelled then. */
static void what_left_for_a_moment_is_outdated(void)
{
    struct fixture fixture;
    struct attempt *attempt;
    const struct object_version here = {.uid = "u", .generation = 3},
                                other = {.uid = "v", .generation = 1}, gone = {0};

    fixture_start(&fixture);
    desk_observe(fixture.desk, DESK_SPEC, "ns/a", &here, false);
    attempt = begin(&fixture, "ns/a");
    EXPECT(desk_is_listed(attempt->entry) && !desk_has_left(attempt->entry), "listed");
    desk_observe(fixture.desk, DESK_SPEC, "ns/a", &gone, false);
    EXPECT(!desk_is_listed(attempt->entry) && desk_has_left(attempt->entry), "left");
    EXPECT_INT(operation_wait(attempt->operation), OPERATION_ENDED, "cancelled");
    desk_observe(fixture.desk, DESK_SPEC, "ns/a", &here, false);
    EXPECT(desk_is_listed(attempt->entry) && desk_has_left(attempt->entry), "back");
    EXPECT(attempt_is_outdated(attempt), "and begun anew");
    desk_observe(fixture.desk, DESK_SPEC, "ns/a", &gone, false);
    desk_observe(fixture.desk, DESK_SPEC, "ns/a", &other, false);
    EXPECT(!desk_has_left(attempt->entry) && attempt_is_outdated(attempt),
           "deleted, and another came");
    attempt_end(attempt);
    read_it(attempt);
    EXPECT(!attempt_is_outdated(attempt), "read anew");
    attempt_leave(attempt);
    fixture_stop(&fixture);
}

/* ---- Waiting for memory ---- */

/* A reconcile of the key that asks for memory, up to its end. */
static struct attempt *reserve(struct fixture *fixture, const char *key, size_t bytes,
                               bool expected)
{
    struct attempt *attempt = attempt_enter(fixture->desk, DESK_SPEC, key);

    EXPECT_INT(attempt_reserve(attempt, bytes), expected, key);
    if (!expected)
        attempt_leave(attempt);
    return attempt;
}

static void expect_waiting(struct attempt *attempt, bool expected, const char *note)
{
    int64_t after = -1;

    EXPECT_INT(attempt_waits_for_memory(attempt, &after), expected, note);
    EXPECT_INT(after, expected ? 0 : -1, note);
}

/* Its key is put into the queue when it may begin, and not before that. */
static void what_waits_is_woken_with_its_memory(void)
{
    struct fixture fixture;
    struct attempt *first, *large, *small;

    fixture_start_with(&fixture, 100);
    first = reserve(&fixture, "ns/first", 60, true);
    large = reserve(&fixture, "ns/large", 200, false);
    small = reserve(&fixture, "ns/small", 10, false);
    expect_queue(&fixture, "", "there is none yet");
    EXPECT(attempt_enter(fixture.desk, DESK_SPEC, "ns/large") == large, "it is not forgotten");
    expect_waiting(large, true, "nothing got free");
    attempt_leave(large);
    attempt_end(first);
    attempt_leave(first);
    expect_queue(&fixture, "ns/large ", "it is larger than the budget: it runs alone");
    expect_waiting(small, true, "another is older");
    expect_waiting(large, false, "it was granted");
    EXPECT(attempt_reserve(large, 200), "what it asked for");
    attempt_end(large);
    attempt_leave(large);
    expect_queue(&fixture, "ns/small ", "its turn");
    fixture_stop(&fixture);
}

/* The grant comes while the reconcile that asked in vain has not come to its end. */
static void what_is_granted_meanwhile_stays(void)
{
    struct fixture fixture;
    struct attempt *first, *attempt;

    fixture_start_with(&fixture, 100);
    first = reserve(&fixture, "ns/first", 60, true);
    attempt = attempt_enter(fixture.desk, DESK_SPEC, "ns/a");
    EXPECT(!attempt_reserve(attempt, 60), "no memory");
    attempt_end(first);
    attempt_leave(first);
    expect_queue(&fixture, "ns/a ", "granted");
    attempt_empty(attempt);
    attempt_leave(attempt);
    reserve(&fixture, "other/b", 60, false);
    expect_waiting(attempt, false, "it has it");
    EXPECT(attempt_reserve(attempt, 60), "and begins");
    fixture_stop(&fixture);
}

/* What it was granted goes to the next, if the reconcile has no use for it. */
static void what_is_not_used_is_given_back(void)
{
    static const struct {
        const char *note;
        bool failed, keeps_its_turn;
    } rows[] = {{"nothing to do any more", false, false}, {"an error", true, true}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct fixture fixture;
        struct attempt *first, *attempt;

        fixture_start_with(&fixture, 100);
        first = reserve(&fixture, "ns/first", 60, true);
        attempt = reserve(&fixture, "a/a", 60, false);
        reserve(&fixture, "b/b", 60, false);
        attempt_end(first);
        attempt_leave(first);
        expect_queue(&fixture, "a/a ", rows[i].note);
        attempt = attempt_enter(fixture.desk, DESK_SPEC, "a/a");
        expect_waiting(attempt, false, rows[i].note);
        if (!rows[i].failed)
            attempt_give_up_ticket(attempt);
        attempt_leave(attempt);
        expect_queue(&fixture, "b/b ", rows[i].note);
        reserve(&fixture, "c/c", 60, false);
        reserve(&fixture, "a/a", 60, false);
        attempt = attempt_enter(fixture.desk, DESK_SPEC, "b/b");
        attempt_end(attempt);
        attempt_leave(attempt);
        expect_queue(&fixture, rows[i].keeps_its_turn ? "a/a " : "c/c ", rows[i].note);
        fixture_stop(&fixture);
    }
}

/* The object is another: it is read again, and says anew what it needs. */
static void what_changes_does_not_wait(void)
{
    struct fixture fixture;
    struct attempt *attempt;

    fixture_start_with(&fixture, 100);
    reserve(&fixture, "other/first", 60, true);
    attempt = attempt_enter(fixture.desk, DESK_SPEC, "ns/a");
    read_it(attempt);
    EXPECT(!attempt_reserve(attempt, 60), "no memory");
    attempt_leave(attempt);
    desk_observe(fixture.desk, DESK_SPEC, "ns/a",
                 &(struct object_version){.uid = "u", .generation = 4}, false);
    expect_waiting(attempt, false, "a newer generation");
    EXPECT(attempt_reserve(attempt, 40), "which needs less");
    fixture_stop(&fixture);
}

/* What an operation holds is reserved while it grows. One that is ended waits for what it needed,
 * and does not begin again with its estimate, to be ended again. */
static void what_was_ended_for_memory_waits_for_it(void)
{
    struct fixture fixture;
    struct attempt *other, *attempt;
    struct budget_stats stats;
    struct error error = {0};

    fixture_start_with(&fixture, 1000);
    other = reserve(&fixture, "ns/other", 150, true);
    attempt = reserve(&fixture, "ns/a", 50, true);
    EXPECT_INT(attempt_grow(attempt, 80, &error), 0, "less than twice its estimate");
    budget_stats(desk_budget(fixture.desk, DESK_SPEC), &stats);
    EXPECT_INT((long long)stats.reserved, 230, "which is reserved");
    EXPECT_INT(attempt_grow(attempt, 120, &error), ERR_UNAVAILABLE, "more than there is");
    EXPECT_STR(error.reason, "MemoryExceeded", error.message);
    attempt_leave(attempt);
    EXPECT(attempt_enter(fixture.desk, DESK_SPEC, "ns/a") == attempt, "it is not forgotten");
    EXPECT(!attempt_reserve(attempt, 50), "it waits for 120");
    attempt_leave(attempt);
    expect_queue(&fixture, "", "there is no more");
    attempt_end(other);
    attempt_leave(other);
    expect_queue(&fixture, "ns/a ", "now there is");
    attempt = attempt_enter(fixture.desk, DESK_SPEC, "ns/a");
    EXPECT(attempt_reserve(attempt, 50), "it begins");
    budget_stats(desk_budget(fixture.desk, DESK_SPEC), &stats);
    EXPECT_INT((long long)stats.reserved, 120, "with what it needs");
    EXPECT_INT(attempt_grow(attempt, 251, &error), ERR_TOO_LARGE, "more than there ever is");
    EXPECT_INT((long long)attempt->needed, 120, "which is not waited for");
    attempt_end(attempt);
    EXPECT_INT((long long)attempt->needed, 0, "no attempt follows");
    attempt_leave(attempt);
    fixture_stop(&fixture);
}

static void no_state_is_read_without_memory(void)
{
    struct fixture fixture;
    struct attempt *attempt;
    struct operation_config config = {.clock = &system_clock, .parallelism = 1};
    struct error error = {0};
    size_t reads;

    fixture_start_with(&fixture, 100);
    reserve(&fixture, "other/a", 100, true);
    attempt = attempt_enter(fixture.desk, DESK_SPEC, "ns/a");
    config.executor = fixture.executor;
    config.ledgers = fixture.ledgers;
    config.scope = (struct runtime_scope){.key = attempt->object, .spec_uid = "u"};
    reads = memory_count(fixture.medium, MEMORY_READ);
    EXPECT_INT(attempt_open(attempt, &config, NULL, &error), 1, "it waits");
    EXPECT_INT(memory_count(fixture.medium, MEMORY_READ), reads, "none is read");
    fixture_stop(&fixture);
}

/* ---- The next try ---- */

static void a_retry_is_later_for_the_same_failure(void)
{
    static const struct reconcile_context context;
    struct fixture fixture;
    struct attempt *attempt;
    struct reconcile_result result;
    struct error failure = {0};
    struct release_subject subject = {.generation = 3};
    struct object_version same = {.uid = "u", .generation = 3};
    struct operation_config config = {0};

    fixture_start(&fixture);
    attempt = begin(&fixture, "ns/a");
    err_set(&failure, ERR_INVALID, "InvalidSpec", "it is not valid");
    attempt->run = (struct run){
        .context = &context,
        .subject = subject,
        .policy = {.interval = 9000, .retry_interval = 7000},
        .object = scene_value("{\"status\":{\"observedGeneration\":3,\"conditions\":[{"
                              "\"type\":\"Ready\",\"status\":\"False\",\"reason\":\"InvalidSpec\","
                              "\"message\":\"it is not valid\"}]}}")};
    attempt_check_later(attempt, &result);
    EXPECT_INT(result.kind, RECONCILE_AFTER, "a success");
    EXPECT_INT(result.after, 9000, "interval");
    attempt_retry(attempt, &failure, &result);
    EXPECT_INT(result.kind, RECONCILE_RETRY, "the same");
    EXPECT_INT(result.after, 7000, "retryInterval");
    EXPECT(!result.is_new_failure, "the status has it already");
    EXPECT_INT(result.most, 0, "the delay may grow");
    err_set(&failure, ERR_INVALID, "ServiceAccountNotFound", "it is not there");
    attempt_retry(attempt, &failure, &result);
    EXPECT_INT(result.most, 30000, "it may not");
    attempt->run.policy.timeout = 20000;
    attempt_retry(attempt, &failure, &result);
    EXPECT_INT(result.most, 20000, "when the Spec becomes Stalled");
    attempt->run.policy.timeout = 0;
    err_set(&failure, ERR_INVALID, "InvalidSpec", "it is not valid");
    attempt->run.subject.generation = 4;
    attempt_retry(attempt, &failure, &result);
    EXPECT(result.is_new_failure, "of another generation");
    desk_expect_landing(attempt->entry, &config);
    config.on_landed(config.landed_arg, &attempt->object);
    attempt_retry(attempt, &failure, &result);
    EXPECT_INT(result.kind, RECONCILE_AFTER, "a call has landed");
    EXPECT_INT(result.after, 0, "at once");
    EXPECT_INT(result.priority, WORKQUEUE_RETRY, "as a retry");
    desk_observe(fixture.desk, DESK_SPEC, "ns/a", &same, true);
    attempt_retry(attempt, &failure, &result);
    EXPECT_INT(result.kind, RECONCILE_AFTER, "somebody asked for it");
    EXPECT_INT(result.after, 0, "at once");
    EXPECT_INT(result.priority, WORKQUEUE_CHANGE, "as a change");
    attempt_check_later(attempt, &result);
    EXPECT_INT(result.after, 0, "after a success, too");
    attempt_leave(attempt);
    fixture_stop(&fixture);
}

static void expect_count(struct metrics *metrics, const char *labels, const char *count)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    _cleanup_free_ char *line = str_printf("\nkusion_specs{%s} %s\n", labels, count);

    metrics_write(metrics, &text);
    EXPECT(strstr(text.data, line), line);
}

static void note(struct desk *desk, const char *name, const char *ready, const char *reason)
{
    desk_note_ready(desk, &(struct spec_key){"a", name}, ready, reason);
}

static void counts_listed_objects_by_what_ready_says(void)
{
    static const char good[] = "ready=\"True\",reason=\"ReconciliationSucceeded\"";
    static const char bad[] = "ready=\"False\",reason=\"InvalidSpec\"";
    static const char other[] = "ready=\"Unknown\",reason=\"Other\"";
    _cleanup_(metrics_free_p) struct metrics *metrics = metrics_new();
    struct object_version there = {.uid = "u", .generation = 1}, gone = {0};
    struct desk *desk = desk_new(&(struct desk_config){
        .enqueue = enqueue,
        .clock = &system_clock,
        .specs = metrics_gauge(metrics, "kusion_specs", "Specs.", "ready", "reason", NULL)});

    note(desk, "nobody", "True", "ReconciliationSucceeded"); /* not listed */
    desk_observe(desk, DESK_SPEC, "a/one", &there, false);
    desk_observe(desk, DESK_SPEC, "a/two", &there, false);
    note(desk, "one", NULL, NULL);
    note(desk, "one", "True", "ReconciliationSucceeded");
    note(desk, "one", "True", "ReconciliationSucceeded");
    note(desk, "two", "False", "InvalidSpec");
    expect_count(metrics, good, "1");
    expect_count(metrics, bad, "1");
    note(desk, "two", "True", "ReconciliationSucceeded");
    expect_count(metrics, good, "2");
    expect_count(metrics, bad, "0");
    note(desk, "two", "perhaps", "Other");
    expect_count(metrics, other, "1");
    desk_observe(desk, DESK_SPEC, "a/two", &gone, false);
    desk_observe(desk, DESK_SPEC, "a/two", &gone, false);
    expect_count(metrics, good, "1");
    expect_count(metrics, other, "0");
    attempts_abandon(desk);
    desk_free(desk);
}

static void what_is_approved_is_reserved(void)
{
    struct operation_config config = {.clock = &system_clock, .parallelism = 1, .timeout = 10000};
    struct plan *plan = plan_new(0, 1000);
    struct fixture fixture;
    struct attempt *attempt;
    size_t before;

    for (size_t i = 0; i < plan->n_changes; i++) {
        plan->changes[i].id = "a resource";
        plan->changes[i].type = "Test";
        plan->changes[i].action = PLAN_DEFERRED;
    }
    fixture_start_with(&fixture, 1 << 20);
    config.executor = fixture.executor;
    config.ledgers = fixture.ledgers;
    attempt = attempt_enter(fixture.desk, DESK_SPEC, "ns/a");
    config.scope = (struct runtime_scope){.key = attempt->object, .spec_uid = "u"};
    EXPECT_INT(attempt_open(attempt, &config, NULL, NULL), 0, "without an approved plan");
    before = attempt->reservation.bytes;
    attempt_end(attempt);
    config.approved = attempt->apply.approved = approved_plan_new(plan, "k", 1);
    EXPECT_INT(attempt_open(attempt, &config, NULL, NULL), 0, "with one");
    EXPECT(attempt->reservation.bytes >= before + 1000 * sizeof(struct digest_halves),
           "its steps count");
    plan_free(plan);
    fixture_stop(&fixture);
}

SUITE(attempt, TEST(counts_listed_objects_by_what_ready_says),
      TEST(a_retry_is_later_for_the_same_failure), TEST(an_attempt_lives_with_its_operation),
      TEST(what_is_planned_is_looked_at), TEST(what_is_superseded_is_cancelled_at_once),
      TEST(what_comes_while_it_is_begun_is_not_lost), TEST(remembers_that_it_was_asked_for),
      TEST(previews_are_bounded), TEST(a_preview_that_waits_keeps_what_it_waits_for),
      TEST(at_the_end_nothing_begins_any_more), TEST(what_left_for_a_moment_is_outdated),
      TEST(what_waits_is_woken_with_its_memory), TEST(what_is_granted_meanwhile_stays),
      TEST(what_is_not_used_is_given_back), TEST(what_changes_does_not_wait),
      TEST(what_was_ended_for_memory_waits_for_it), TEST(no_state_is_read_without_memory),
      TEST(what_is_approved_is_reserved))
