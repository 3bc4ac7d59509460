/* How long a Spec rests that is followed, and what ends its rest. */
#include "controller/desk/following.h"

#include "controller/desk/desk.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

#define KEY       "team/web"
#define INTERVAL  60000
#define VERIFY_IN 100000

/* Its following is the runtime itself. */
struct fake_runtime {
    struct runtime base;
    enum runtime_whole whole;
    runtime_on_event *on_drift;
    void *arg;
    bool listens, has_ended;
};

static struct runtime_following *begin_following(struct runtime *runtime,
                                                 const struct spec_key *spec,
                                                 runtime_on_event *on_drift, void *arg)
{
    struct fake_runtime *fake = (struct fake_runtime *)runtime;

    EXPECT_STR(spec->name, "web", "the Spec");
    fake->on_drift = on_drift;
    fake->arg = arg;
    fake->has_ended = false;
    return (struct runtime_following *)fake;
}

static void unref(struct runtime_following *following)
{
    EXPECT(((struct fake_runtime *)following)->has_ended, "it ends before it goes");
}

static void end_following(struct runtime_following *following)
{
    ((struct fake_runtime *)following)->has_ended = true;
}

static void listen_for_people(struct runtime_following *following)
{
    ((struct fake_runtime *)following)->listens = true;
}

static enum runtime_whole state(struct runtime_following *following, struct error *why)
{
    enum runtime_whole whole = ((struct fake_runtime *)following)->whole;

    if (whole != FOLLOWING_WHOLE)
        err_set(why, ERR_UNAVAILABLE, "Unavailable", "it is cut");
    return whole;
}

static const struct runtime_follow_ops follow_ops = {.begin = begin_following,
                                                     .unref = unref,
                                                     .end = end_following,
                                                     .listen = listen_for_people,
                                                     .state = state};
static const struct runtime_ops fake_ops = {.follow = &follow_ops}, deaf_ops = {0};

struct fixture {
    struct fake_clock clock;
    struct fake_runtime fake;
    struct runtime deaf, *runtimes[2];
    struct desk *desk;
    bool is_whole;
    unsigned n_queued;
};

static void enqueue(void *arg, enum desk_kind kind, const char *key)
{
    struct fixture *fixture = arg;

    EXPECT_INT(kind, DESK_SPEC, key);
    fixture->n_queued++;
}

static void show(struct fixture *fixture, int64_t generation)
{
    desk_observe(fixture->desk, DESK_SPEC, KEY,
                 &(struct object_version){.uid = "u", .generation = generation}, false);
}

static struct desk_entry *enter(struct fixture *fixture)
{
    static char nobody;
    struct attempt *attempt = (struct attempt *)&nobody;

    return desk_enter(fixture->desk, DESK_SPEC, KEY, &attempt);
}

static struct desk_rest a_rest(struct fixture *fixture)
{
    struct clock_source *clock = &fixture->clock.source;

    return (struct desk_rest){.is_followed = true,
                              .interval = INTERVAL,
                              .verify_at = clock->monotonic(clock) + VERIFY_IN};
}

/* A reconcile with an operation that leaves the Spec Ready. */
static void reconcile(struct fixture *fixture, const struct desk_rest *rest)
{
    struct desk_entry *entry = enter(fixture);

    desk_follow(entry, fixture->runtimes, ARRAY_SIZE(fixture->runtimes));
    desk_set_rest(entry, rest);
    desk_leave(entry);
}

static void begin(struct fixture *fixture)
{
    struct desk_rest rest;

    *fixture =
        (struct fixture){.fake = {.base = {&fake_ops}}, .deaf = {&deaf_ops}, .is_whole = true};
    fixture->runtimes[0] = &fixture->deaf;
    fixture->runtimes[1] = &fixture->fake.base;
    fake_clock_init(&fixture->clock);
    fixture->desk = desk_new(
        &(struct desk_config){.enqueue = enqueue, .arg = fixture, .clock = &fixture->clock.source});
    show(fixture, 1);
    rest = a_rest(fixture);
    reconcile(fixture, &rest);
    fixture->n_queued = 0;
}

static void end(struct fixture *fixture)
{
    desk_free(fixture->desk);
    EXPECT(fixture->fake.has_ended, "nothing is followed any more");
}

/* after: -1: it is to be looked at now. */
static void expect_rest(struct fixture *fixture, int64_t after, const char *note)
{
    int64_t is = -1;

    if (!desk_is_at_rest(fixture->desk, KEY, fixture->is_whole, &is))
        is = -1;
    EXPECT_INT(is, after, note);
}

static void rests_until_its_values_are_verified(void)
{
    struct fixture fixture;

    begin(&fixture);
    expect_rest(&fixture, INTERVAL, "the regular check asks nobody");
    fixture.clock.monotonic += VERIFY_IN - 1;
    expect_rest(&fixture, 1, "just before");
    fixture.clock.monotonic += 1;
    expect_rest(&fixture, -1, "it is time");
    end(&fixture);
}

static void a_request(struct fixture *fixture)
{
    desk_request(fixture->desk, DESK_SPEC, &(struct spec_key){"team", "web"});
}

static void a_change(struct fixture *fixture)
{
    show(fixture, 2);
}

static void a_cut(struct fixture *fixture)
{
    fixture->fake.whole = FOLLOWING_BROKEN;
}

static void a_beginning(struct fixture *fixture)
{
    fixture->fake.whole = FOLLOWING_PENDING;
}

static void an_operation(struct fixture *fixture)
{
    struct desk_entry *entry = enter(fixture);

    desk_follow(entry, fixture->runtimes, ARRAY_SIZE(fixture->runtimes));
    desk_leave(entry);
}

static void what_is_not_followed(struct fixture *fixture)
{
    struct desk_rest rest = a_rest(fixture);

    rest.is_followed = false;
    reconcile(fixture, &rest);
}

static void a_source_that_nobody_watches(struct fixture *fixture)
{
    fixture->is_whole = false;
}

static void a_change_meanwhile(struct fixture *fixture)
{
    const struct desk_rest rest = a_rest(fixture);
    struct desk_entry *entry = enter(fixture);

    desk_follow(entry, fixture->runtimes, ARRAY_SIZE(fixture->runtimes));
    show(fixture, 2);
    desk_set_rest(entry, &rest);
    desk_leave(entry);
}

static void is_ended(void)
{
    static const struct {
        const char *by;
        void (*happens)(struct fixture *fixture);
    } rows[] = {
        {"a request", a_request},
        {"a change", a_change},
        {"a following that broke", a_cut},
        {"a following that is not whole yet", a_beginning},
        {"an operation that did not end well", an_operation},
        {"something that is not followed", what_is_not_followed},
        {"a source that nobody watches", a_source_that_nobody_watches},
        {"a change during the operation", a_change_meanwhile},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct fixture fixture;

        begin(&fixture);
        rows[i].happens(&fixture);
        expect_rest(&fixture, -1, rows[i].by);
        end(&fixture);
    }
}

static void tell_drift(struct fixture *fixture, unsigned n, const char *note)
{
    fixture->fake.on_drift(fixture->fake.arg);
    EXPECT_INT(fixture->n_queued, n, note);
}

/* Each check finds nothing, and the object changes again at once. */
static void drift_that_does_not_end_is_looked_at_each_second(void)
{
    struct fixture fixture;
    struct desk_rest rest;

    begin(&fixture);
    rest = a_rest(&fixture);
    reconcile(&fixture, &rest);
    for (unsigned i = 1; i <= DRIFT_BURST; i++) {
        tell_drift(&fixture, i, "its key is queued");
        expect_rest(&fixture, -1, "at once");
        reconcile(&fixture, &rest);
    }
    tell_drift(&fixture, DRIFT_BURST + 1, "its key is queued");
    expect_rest(&fixture, DRIFT_EACH, "then one each");
    fixture.clock.monotonic += DRIFT_EACH;
    expect_rest(&fixture, -1, "after that");
    end(&fixture);
}

static void drift_may_have_to_wait(void)
{
    struct fixture fixture;
    struct desk_rest rest;

    begin(&fixture);
    rest = a_rest(&fixture);
    rest.drift_wait = 5000;
    reconcile(&fixture, &rest);
    tell_drift(&fixture, 1, "its key is queued");
    expect_rest(&fixture, 5000, "it was fought for");
    end(&fixture);
}

/* A reconcile with an operation that fails. */
static void fail(struct fixture *fixture)
{
    struct desk_entry *entry = enter(fixture);

    desk_follow(entry, fixture->runtimes, ARRAY_SIZE(fixture->runtimes));
    desk_listen(entry);
    desk_leave(entry);
}

static void what_failed_is_tried_when_it_is_due_or_somebody_says_so(void)
{
    struct fixture fixture;
    struct desk_rest rest;

    begin(&fixture);
    rest = a_rest(&fixture);
    reconcile(&fixture, &rest);
    fail(&fixture);
    EXPECT(fixture.fake.listens, "the runtime was told");
    expect_rest(&fixture, -1, "it is due");
    for (unsigned i = 1; i <= DRIFT_BURST; i++) {
        tell_drift(&fixture, i, "its key is queued");
        expect_rest(&fixture, -1, "at once");
        fail(&fixture);
    }
    tell_drift(&fixture, DRIFT_BURST + 1, "its key is queued");
    expect_rest(&fixture, DRIFT_EACH, "then one each");
    show(&fixture, 2);
    expect_rest(&fixture, -1, "its Spec changed");
    end(&fixture);
}

/* What was set as it rested is not in force any more. */
static void what_ignored_drift_and_failed_is_tried_again(void)
{
    struct fixture fixture;
    struct desk_entry *entry;

    begin(&fixture);
    entry = enter(&fixture);
    desk_unfollow(entry);
    desk_set_rest(entry, &(struct desk_rest){.ignores_drift = true, .interval = INTERVAL});
    desk_leave(entry);
    fail(&fixture);
    expect_rest(&fixture, -1, "it is due");
    end(&fixture);
}

static void what_ignores_drift_rests_until_it_changes(void)
{
    struct fixture fixture;
    struct desk_entry *entry;

    begin(&fixture);
    entry = enter(&fixture);
    desk_unfollow(entry);
    desk_set_rest(entry, &(struct desk_rest){.ignores_drift = true, .interval = INTERVAL});
    desk_leave(entry);
    fixture.clock.monotonic += 10 * VERIFY_IN;
    expect_rest(&fixture, INTERVAL, "nothing is verified");
    fixture.is_whole = false;
    expect_rest(&fixture, -1, "its sources are to be read");
    fixture.is_whole = true;
    show(&fixture, 2);
    expect_rest(&fixture, -1, "it changed");
    end(&fixture);
}

static void tells_what_is_not_whole(void)
{
    struct fixture fixture;
    struct desk_entry *entry;
    struct error why = {0};

    begin(&fixture);
    entry = enter(&fixture);
    EXPECT_INT(desk_following_state(entry, NULL), FOLLOWING_WHOLE, "whole");
    fixture.fake.whole = FOLLOWING_BROKEN;
    EXPECT_INT(desk_following_state(entry, &why), FOLLOWING_BROKEN, "broken");
    EXPECT_STR(why.message, "it is cut", "why");
    desk_unfollow(entry);
    EXPECT(fixture.fake.has_ended, "it has ended");
    EXPECT_INT(desk_verify_at(entry), 0, "there was no rest");
    EXPECT_INT(desk_following_state(entry, NULL), FOLLOWING_BROKEN, "nothing is followed");
    desk_leave(entry);
    end(&fixture);
}

SUITE(desk_following, TEST(rests_until_its_values_are_verified), TEST(is_ended),
      TEST(drift_that_does_not_end_is_looked_at_each_second), TEST(drift_may_have_to_wait),
      TEST(what_failed_is_tried_when_it_is_due_or_somebody_says_so),
      TEST(what_ignored_drift_and_failed_is_tried_again),
      TEST(what_ignores_drift_rests_until_it_changes), TEST(tells_what_is_not_whole))
