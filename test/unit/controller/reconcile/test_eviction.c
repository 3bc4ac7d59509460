/* Operations that are parked, and the memory that they hold: which of them go, when they are begun
 * again, and what their State makes them reserve. */
#include <unistd.h>

#include "controller/reconcile/attempt.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "runtimes/io/clock.h"
#include "test/unit/engine/memory_store.h"
#include "test/unit/suite.h"

#define PATIENCE 20000 /* ms */

/* ---- A runtime whose resources never get ready ---- */

struct slow_step {
    struct runtime_step base;
};

static int open_slow(struct runtime *runtime, const struct runtime_scope *scope,
                     const struct runtime_call *call, struct runtime_session **ret,
                     struct error *error)
{
    (void)scope, (void)call, (void)error;
    *ret = (struct runtime_session *)runtime;
    return 0;
}

static void close_slow(struct runtime_session *session)
{
    (void)session;
}

static void see(struct runtime_outcome *ret)
{
    ret->certainty = OUTCOME_KNOWN;
    ret->now = (struct observation){.presence = PRESENCE_PRESENT, .result = value_pack("{}")};
}

static int read_slow(struct runtime_session *session, const struct runtime_target *target,
                     const struct runtime_call *call, struct runtime_outcome *ret,
                     struct error *error)
{
    (void)session, (void)target, (void)call, (void)error;
    see(ret);
    return 0;
}

static int apply_slow(struct runtime_step *step, const struct runtime_call *call,
                      struct runtime_outcome *ret, struct error *error)
{
    (void)step, (void)call, (void)error;
    see(ret);
    return 0;
}

static int health_slow(struct runtime_session *session, const struct runtime_target *target,
                       const struct observation *seen, const struct runtime_call *call,
                       struct health *ret, struct error *error)
{
    (void)session, (void)target, (void)seen, (void)call, (void)error;
    *ret = (struct health){.status = HEALTH_PROGRESSING, .message = "starting"};
    return 0;
}

static void free_slow(struct runtime_step *step)
{
    value_unref(step->attributes);
    free(step);
}

static int plan_slow(struct runtime_session *session, const struct runtime_target *target,
                     const struct observation *hint, const struct runtime_call *call,
                     struct runtime_step **ret, struct error *error);

static const struct runtime_ops slow_ops = {.type = "Slow",
                                            .open = open_slow,
                                            .close = close_slow,
                                            .read = read_slow,
                                            .plan = plan_slow,
                                            .step_free = free_slow,
                                            .apply = apply_slow,
                                            .health = health_slow};

static int plan_slow(struct runtime_session *session, const struct runtime_target *target,
                     const struct observation *hint, const struct runtime_call *call,
                     struct runtime_step **ret, struct error *error)
{
    struct slow_step *step = NEW(struct slow_step);

    (void)session, (void)hint, (void)call, (void)error;
    step->base = (struct runtime_step){.ops = &slow_ops,
                                       .action = target->prior ? PLAN_UNCHANGED : PLAN_CREATE,
                                       .attributes = value_ref(target->attributes)};
    *ret = &step->base;
    return 0;
}

/* ---- Fixture ---- */

struct fixture {
    struct runtime slow;
    struct memory_medium *medium;
    struct store *store;
    struct ledgers *ledgers;
    struct executor *executor;
    struct desk *desk;
    pthread_mutex_t lock;
    struct buf queue;
};

static void enqueue(void *arg, enum desk_kind kind, const char *key)
{
    struct fixture *fixture = arg;

    pthread_mutex_lock(&fixture->lock);
    (void)kind;
    buf_printf(&fixture->queue, "%s ", key);
    pthread_mutex_unlock(&fixture->lock);
}

static void fixture_start(struct fixture *fixture, size_t memory)
{
    *fixture =
        (struct fixture){.slow = {&slow_ops}, .lock = PTHREAD_MUTEX_INITIALIZER, .queue = BUF_INIT};
    fixture->medium = memory_medium_new(NULL);
    fixture->store = memory_store_new(fixture->medium);
    fixture->ledgers =
        ledgers_new(&(struct ledgers_config){.store = fixture->store, .clock = &system_clock});
    fixture->executor = executor_new(&(struct executor_config){.clock = &system_clock});
    fixture->desk = desk_new(&(struct desk_config){
        .enqueue = enqueue, .arg = fixture, .clock = &system_clock, .memory = memory});
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

static bool was_enqueued(struct fixture *fixture, const char *key)
{
    bool result;

    pthread_mutex_lock(&fixture->lock);
    result = fixture->queue.length && strstr(fixture->queue.data, key);
    buf_reset(&fixture->queue);
    pthread_mutex_unlock(&fixture->lock);
    return result;
}

/* With so many resources. */
static struct spec *spec_of(int resources)
{
    const struct spec_type type = {.name = "Slow"};
    const struct spec_options options = {.types = &type, .n_types = 1};
    struct buf text = BUF_INIT;
    _cleanup_value_ const struct value *object = NULL;
    struct problems problems = PROBLEMS_INIT;
    struct spec *spec = NULL;
    struct error error = {0};

    buf_add_str(&text, "{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Spec\",\"metadata\":{"
                       "\"namespace\":\"ns\",\"name\":\"a\",\"uid\":\"u\",\"generation\":3},"
                       "\"spec\":{\"resources\":[");
    for (int i = 0; i < resources; i++)
        buf_printf(&text, "%s{\"id\":\"r%d\",\"type\":\"Slow\",\"attributes\":{\"n\":%d}}",
                   i ? "," : "", i, i);
    buf_add_str(&text, "]}}");
    EXPECT_INT(json_read(text.data, text.length, &object, &error), 0, error.message);
    EXPECT_INT(spec_parse(object, &options, &spec, &problems, &error), 0, error.message);
    problems_done(&problems);
    buf_done(&text);
    return spec;
}

/* Bytes that it holds while it is parked; 0: it is not. */
static size_t parked(struct attempt *attempt)
{
    struct budget *budget = desk_budget_of(attempt->entry);
    size_t bytes;

    pthread_mutex_lock(&budget->lock);
    bytes = attempt->reservation.state == RESERVATION_PARKED ? attempt->reservation.parked : 0;
    pthread_mutex_unlock(&budget->lock);
    return bytes;
}

/* Until it is parked. */
static void await_parked(struct attempt *attempt)
{
    for (int ms = 0; ms < PATIENCE && !parked(attempt); ms++)
        usleep(1000);
    EXPECT(parked(attempt), "parked");
}

/* A reconcile that begins it, up to its end. timeout: of the Spec, ms. */
static struct attempt *begin(struct fixture *fixture, const char *key, int resources,
                             int64_t timeout)
{
    struct attempt *attempt = attempt_enter(fixture->desk, DESK_SPEC, key);
    _cleanup_value_ const struct value *metadata =
        value_pack("{s:s, s:i}", "uid", "u", "generation", 3);
    struct runtime *const runtimes[] = {&fixture->slow};
    struct operation_config config = {.clock = &system_clock,
                                      .executor = fixture->executor,
                                      .ledgers = fixture->ledgers,
                                      .runtimes = runtimes,
                                      .n_runtimes = 1,
                                      .scope = {.key = attempt->object, .spec_uid = "u"},
                                      .parallelism = 4,
                                      .timeout = timeout};
    struct spec *spec = spec_of(resources);
    struct error error = {0};

    desk_note_read(attempt->entry, metadata);
    attempt->run.policy.timeout = timeout;
    EXPECT_INT(attempt_open(attempt, &config, spec, &error), 0, error.message);
    operation_plan(attempt->operation, spec);
    EXPECT_INT(operation_wait(attempt->operation), OPERATION_PLANNED, "planned");
    operation_apply(attempt->operation, &(struct operation_apply){.revision = 1, .verify = true});
    await_parked(attempt);
    attempt_leave(attempt);
    return attempt;
}

/* ---- */

static void the_largest_goes(void)
{
    size_t small, large;
    struct fixture fixture;
    struct attempt *a, *b, *c;

    fixture_start(&fixture, 0);
    small = parked(begin(&fixture, "ns/a", 2, 600000));
    large = parked(begin(&fixture, "ns/b", 40, 600000));
    EXPECT(small && large > small, "it tells how much they hold");
    EXPECT(!attempt_is_chosen(attempt_enter(fixture.desk, DESK_SPEC, "ns/b")), "without a bound");
    fixture_stop(&fixture);

    fixture_start(&fixture, large + 2 * small - 1);
    a = begin(&fixture, "ns/a", 2, 600000);
    b = begin(&fixture, "ns/b", 40, 600000);
    EXPECT(!attempt_is_chosen(a) && !attempt_is_chosen(b), "there is room for both");
    was_enqueued(&fixture, "");
    c = begin(&fixture, "ns/c", 2, 600000);
    EXPECT(was_enqueued(&fixture, "ns/b "), "not for three");
    EXPECT(attempt_is_chosen(b) && !attempt_is_chosen(a) && !attempt_is_chosen(c), "the largest");
    attempt_leave(attempt_enter(fixture.desk, DESK_SPEC, "ns/a"));
    EXPECT(!attempt_is_chosen(a), "one is enough");
    attempt_evict(b);
    EXPECT(!b->operation && !parked(b), "it holds nothing any more");
    attempt_leave(b);
    EXPECT(attempt_enter(fixture.desk, DESK_SPEC, "ns/b") == b, "and is not forgotten");
    fixture_stop(&fixture);
}

/* What goes on is left alone; what is chosen, and goes on before it is evicted, too. */
static void only_what_is_parked_goes(void)
{
    struct fixture fixture;
    struct attempt *attempt, *planned;
    struct budget_stats stats;

    fixture_start(&fixture, 1);
    planned = attempt_enter(fixture.desk, DESK_SPEC, "ns/p");
    attempt = begin(&fixture, "ns/a", 2, 600000);
    EXPECT(attempt_is_chosen(attempt), "parked");
    budget_stats(desk_budget(fixture.desk, DESK_SPEC), &stats);
    EXPECT_INT(stats.n_parked, 1, "counted");
    EXPECT_INT(stats.parked, parked(attempt), "with what it holds");
    EXPECT(!attempt_is_chosen(planned), "it has no operation");
    operation_cancel(attempt->operation, "Superseded");
    EXPECT(!parked(attempt) && !attempt_is_chosen(attempt), "not any more");
    budget_stats(desk_budget(fixture.desk, DESK_SPEC), &stats);
    EXPECT_INT(stats.n_parked, 0, "nor counted");
    attempt_leave(planned);
    fixture_stop(&fixture);
}

static void it_rests_longer_each_time(void)
{
    static const int64_t rests[] = {30000, 60000, 120000, 240000, 300000, 300000};
    struct fixture fixture;

    fixture_start(&fixture, 1);
    for (size_t i = 0; i < ARRAY_SIZE(rests); i++) {
        struct attempt *attempt = begin(&fixture, "ns/a", 2, 600000);
        int64_t left;

        attempt_evict(attempt);
        left = attempt_rests(attempt);
        EXPECT(left > rests[i] - 20000 && left <= rests[i], "about so long");
        attempt_leave(attempt);
    }
    attempt_end(attempt_enter(fixture.desk, DESK_SPEC, "ns/a"));
    fixture_stop(&fixture);
}

static void it_does_not_rest_beyond_its_time(void)
{
    struct fixture fixture;
    struct attempt *attempt;
    int64_t left;

    fixture_start(&fixture, 1);
    attempt = begin(&fixture, "ns/a", 2, 25000);
    attempt_evict(attempt);
    left = attempt_rests(attempt);
    EXPECT(left > 0 && left <= 25000, "its own time is shorter");
    attempt_leave(attempt);
    fixture_stop(&fixture);
}

static void it_rests_no_more_when_something_changes(void)
{
    static const struct {
        const char *note;
        struct object_version now;
        bool is_asked_for, rests;
    } rows[] = {
        {"nothing new", {.uid = "u", .generation = 3}, false, true},
        {"it is asked for", {.uid = "u", .generation = 3}, true, false},
        {"a newer generation", {.uid = "u", .generation = 4}, false, false},
        {"it is being deleted", {.uid = "u", .generation = 3, .is_deleting = true}, false, false},
        {"it is gone", {0}, false, false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct fixture fixture;
        struct attempt *attempt;

        fixture_start(&fixture, 1);
        attempt = begin(&fixture, "ns/a", 2, 600000);
        attempt_evict(attempt);
        desk_observe(fixture.desk, DESK_SPEC, "ns/a", &rows[i].now, rows[i].is_asked_for);
        EXPECT(!!attempt_rests(attempt) == rows[i].rests, rows[i].note);
        attempt_leave(attempt);
        fixture_stop(&fixture);
    }
}

/* ---- Reservations ---- */

/* By the Spec first, and by State when it was opened: there may be memory for the one only. */
static void an_operation_reserves_for_its_state(void)
{
    static const struct {
        const char *note;
        size_t beside; /* bytes that another has reserved */
        bool has_memory;
    } rows[] = {
        {"for State, too", 20 << 10, true},
        {"for the Spec only", 70 << 10, false},
        {"not for the Spec", 100 << 10, false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct fixture fixture;
        struct attempt *attempt, *other;
        int64_t after;
        struct operation_config config = {.clock = &system_clock, .parallelism = 1};
        struct error error = {0};

        fixture_start(&fixture, 100 << 10);
        attempt = begin(&fixture, "ns/a", 40, 600000);
        config.executor = fixture.executor;
        config.ledgers = fixture.ledgers;
        config.scope = (struct runtime_scope){.key = attempt->object, .spec_uid = "u"};
        attempt_end(attempt);
        other = attempt_enter(fixture.desk, DESK_SPEC, "other/b");
        EXPECT(attempt_reserve(other, rows[i].beside), "nothing else is");
        EXPECT_INT(attempt_open(attempt, &config, NULL, &error), rows[i].has_memory ? 0 : 1,
                   rows[i].note);
        EXPECT(!attempt->operation == !rows[i].has_memory, rows[i].note);
        if (!attempt->operation) {
            attempt_leave(attempt);
            attempt_end(other);
            EXPECT(was_enqueued(&fixture, "ns/a "), "granted");
            EXPECT(!attempt_waits_for_memory(attempt, &after), rows[i].note);
            EXPECT_INT(attempt_open(attempt, &config, NULL, &error), 0, error.message);
            EXPECT(attempt->operation, "now");
        }
        fixture_stop(&fixture);
    }
}

SUITE(eviction, TEST(the_largest_goes), TEST(only_what_is_parked_goes),
      TEST(it_rests_longer_each_time), TEST(it_does_not_rest_beyond_its_time),
      TEST(it_rests_no_more_when_something_changes), TEST(an_operation_reserves_for_its_state))
