/* Holds: what State keeps of one, and when it is in force. */
#include "controller/reconcile/run/hold.h"

#include "engine/threads/clock.h"
#include "test/unit/engine/faulty_store.h"
#include "test/unit/engine/memory_store.h"
#include "test/unit/suite.h"

/* ---- A process with the State of one Spec ---- */

/* It jumps to what is waited for: a save is tried again for some seconds. */
static _Atomic int64_t now = 1000000;

static int64_t get_now(const struct clock_source *source)
{
    (void)source;
    return now;
}

static void jump(const struct clock_source *source, pthread_cond_t *condition,
                 pthread_mutex_t *mutex, int64_t until)
{
    (void)source, (void)condition, (void)mutex;
    now = until;
}

static const struct clock_source jumping_clock = {
    .now = get_now, .monotonic = get_now, .wait = jump};

struct process {
    struct store *store;
    struct ledgers *ledgers;
    struct ledger *ledger;
};

static void process_init(struct process *process, struct memory_medium *medium,
                         struct store_faults *faults)
{
    const struct ledger_opening opening = {
        .key = {"team", "web"}, .spec_uid = "uid-1", .epoch = 1, .deadline = CLOCK_FOREVER};
    struct error error = {0};

    process->store = faulty_store_new(faults, memory_store_new(medium));
    process->ledgers =
        ledgers_new(&(struct ledgers_config){.store = process->store, .clock = &jumping_clock});
    EXPECT_INT(ledger_open(process->ledgers, &opening, &process->ledger, &error), 0, error.message);
}

static void process_done(struct process *process)
{
    ledger_unref(process->ledger);
    ledgers_free(process->ledgers);
    process->store->ops->free(process->store);
}

struct fixture {
    struct memory_medium *medium;
    struct store_faults *faults;
    struct process us;
};

static void set_up(struct fixture *fixture)
{
    fixture->medium = memory_medium_new(NULL);
    fixture->faults = store_faults_new();
    process_init(&fixture->us, fixture->medium, fixture->faults);
}

static void tear_down(struct fixture *fixture)
{
    process_done(&fixture->us);
    memory_medium_free(fixture->medium);
    store_faults_free(fixture->faults);
}

/* The process is killed; the next one finds what is durable. */
static void restart(struct fixture *fixture)
{
    faulty_store_kill(fixture->us.store);
    process_done(&fixture->us);
    process_init(&fixture->us, fixture->medium, fixture->faults);
}

/* ---- Written and read again ---- */

static const struct {
    const char *note;
    struct hold hold;
} holds[] = {
    {"asked for: Rollback",
     {.operation = RELEASE_ROLLBACK,
      .spec_uid = (char[]){"uid-1"},
      .generation = 7,
      .revision = 9,
      .to_revision = 3,
      .spec_digest = (char[]){"sha256:abc"},
      .request = (char[]){"request-1"},
      .requested_at = (char[]){"2026-01-02T03:04:05Z"},
      .request_name = (char[]){"web-undo"},
      .shown = 9,
      .request_version = (char[]){"812"}}},
    {"asked for: Destroy",
     {.operation = RELEASE_DESTROY,
      .spec_uid = (char[]){"uid-1"},
      .generation = 7,
      .revision = 9,
      .request = (char[]){"request-1"},
      .requested_at = (char[]){"2026-01-02T03:04:05Z"},
      .request_version = (char[]){"812"}}},
    {"remediation",
     {.operation = RELEASE_ROLLBACK,
      .spec_uid = (char[]){"uid-1"},
      .generation = 7,
      .revision = 9,
      .to_revision = 3,
      .spec_digest = (char[]){"sha256:abc"},
      .cause = (char[]){"ConfigMap \"a\": refused"}}},
    {"large numbers",
     {.operation = RELEASE_ROLLBACK,
      .spec_uid = (char[]){"uid-1"},
      .generation = INT64_MAX,
      .revision = INT64_MAX - 1,
      .to_revision = INT64_MAX - 2,
      .spec_digest = (char[]){"sha256:abc"}}},
};

static void expect_read(struct ledger *ledger, const struct hold *expected, const char *note)
{
    _cleanup_(hold_done) struct hold hold = {0};
    struct error error = {0};

    EXPECT_INT(hold_read(ledger, &hold, &error), 0, error.message);
    EXPECT_INT(hold.operation, expected->operation, note);
    EXPECT_STR(hold.spec_uid, expected->spec_uid, note);
    EXPECT_INT(hold.generation, expected->generation, note);
    EXPECT_INT(hold.revision, expected->revision, note);
    EXPECT_INT(hold.to_revision, expected->to_revision, note);
    EXPECT_STR(hold.spec_digest, expected->spec_digest, note);
    EXPECT_STR(hold.request, expected->request, note);
    EXPECT_STR(hold.requested_at, expected->requested_at, note);
    EXPECT_STR(hold.request_version, expected->request_version, note);
    EXPECT_STR(hold.cause, expected->cause, note);
    EXPECT_STR(hold.request_name, expected->request_name, note);
    EXPECT_INT(hold.shown, expected->shown, note);
}

/* A hold that waits for approval comes after one that was carried out, or that waits, too. */
static void what_was_before_is_in_force_again(void)
{
    static const struct {
        const char *note;
        int64_t applied; /* the first hold has revision 9 */
        bool is_in_force_again;
    } rows[] = {
        {"it was carried out", 9, true}, {"so was a correction", 12, true}, {"it waits", 8, false}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct hold next = {.operation = RELEASE_DESTROY, .generation = 7, .revision = 13};
        struct fixture fixture;

        set_up(&fixture);
        next.before = hold_before(&holds[0].hold, rows[i].applied);
        EXPECT_INT(hold_write(fixture.us.ledger, &next, NULL), 0, rows[i].note);
        hold_done(&next);
        restart(&fixture);
        EXPECT_INT(hold_read(fixture.us.ledger, &next, NULL), 0, rows[i].note);
        EXPECT_INT(hold_withdraw(fixture.us.ledger, &next, NULL), 0, rows[i].note);
        hold_done(&next);
        restart(&fixture);
        expect_read(fixture.us.ledger,
                    rows[i].is_in_force_again ? &holds[0].hold : &(struct hold){0}, rows[i].note);
        tear_down(&fixture);
    }
}

static void what_is_written_is_read_again(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(holds); i++) {
        struct fixture fixture;
        struct error error = {0};

        set_up(&fixture);
        expect_read(fixture.us.ledger, &(struct hold){0}, "at first there is none");
        EXPECT_INT(hold_write(fixture.us.ledger, &holds[i].hold, &error), 0, error.message);
        expect_read(fixture.us.ledger, &holds[i].hold, holds[i].note);
        restart(&fixture);
        expect_read(fixture.us.ledger, &holds[i].hold, holds[i].note);
        tear_down(&fixture);
    }
}

static void a_later_one_replaces_all_of_it(void)
{
    struct fixture fixture;

    set_up(&fixture);
    for (size_t i = 0; i < ARRAY_SIZE(holds); i++)
        EXPECT_INT(hold_write(fixture.us.ledger, &holds[i].hold, NULL), 0, holds[i].note);
    restart(&fixture);
    expect_read(fixture.us.ledger, &holds[ARRAY_SIZE(holds) - 1].hold, "the last");
    tear_down(&fixture);
}

static void the_rest_of_the_head_stays(void)
{
    struct fixture fixture;
    struct arena arena = ARENA_INIT;
    struct state_head head;

    set_up(&fixture);
    ledger_head(fixture.us.ledger, &arena, &head);
    head.revision = 5;
    ledger_set_head(fixture.us.ledger, &head);
    EXPECT_INT(hold_write(fixture.us.ledger, &holds[0].hold, NULL), 0, "written");
    restart(&fixture);
    ledger_head(fixture.us.ledger, &arena, &head);
    EXPECT_INT(head.revision, 5, "the revision");
    EXPECT_STR(head.spec_uid, "uid-1", "the uid");
    arena_done(&arena);
    tear_down(&fixture);
}

/* The caller does nothing then. */
static void one_that_was_not_stored_is_told(void)
{
    struct fixture fixture;
    struct error error = {0};

    set_up(&fixture);
    faulty_store_kill(fixture.us.store);
    EXPECT_INT(hold_write(fixture.us.ledger, &holds[0].hold, &error), ERR_UNAVAILABLE,
               error.message);
    restart(&fixture);
    expect_read(fixture.us.ledger, &(struct hold){0}, "none is stored");
    tear_down(&fixture);
}

/* ---- What no version of the operator wrote ---- */

static void what_is_not_known_is_no_hold(void)
{
    static const struct {
        const char *note, *operation; /* NULL: the member is missing */
    } rows[] = {
        {"of a later version", "Freeze"},
        {"an operation that holds nothing", "Apply"},
        {"neither does this", "Preview"},
        {"in lower case", "rollback"},
        {"empty", ""},
        {"missing", NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *value =
            value_pack("{s:s?, s:s, s:i}", "operation", rows[i].operation, "specUid", "uid-1",
                       "generation", 7);
        struct hold hold = {.generation = 42};
        struct arena arena = ARENA_INIT;
        struct fixture fixture;
        struct state_head head;
        struct error error = {0};

        set_up(&fixture);
        ledger_head(fixture.us.ledger, &arena, &head);
        head.hold = value;
        ledger_set_head(fixture.us.ledger, &head);
        EXPECT_INT(hold_read(fixture.us.ledger, &hold, &error), ERR_CORRUPT, rows[i].note);
        EXPECT_STR(error.reason, "StateCorrupt", rows[i].note);
        EXPECT_INT(hold.generation, 42, "left alone");
        arena_done(&arena);
        tear_down(&fixture);
    }
}

/* ---- In force ---- */

static void it_holds_one_generation_of_one_spec(void)
{
    static const struct {
        const char *note;
        enum release_operation operation;
        const char *spec_uid;
        int64_t generation;
        bool is_in_force;
    } rows[] = {
        {"a Rollback", RELEASE_ROLLBACK, "uid-1", 7, true},
        {"a Destroy", RELEASE_DESTROY, "uid-1", 7, true},
        {"none", RELEASE_APPLY, "uid-1", 7, false},
        {"a later generation", RELEASE_ROLLBACK, "uid-1", 8, false},
        {"an earlier one, of a Spec that was restored", RELEASE_ROLLBACK, "uid-1", 6, false},
        {"a Spec that was made anew", RELEASE_DESTROY, "uid-2", 7, false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct hold hold = {
            .operation = rows[i].operation, .spec_uid = (char[]){"uid-1"}, .generation = 7};

        EXPECT_INT(hold_is_in_force(&hold, rows[i].spec_uid, rows[i].generation, ""),
                   rows[i].is_in_force, rows[i].note);
    }
    EXPECT(!hold_is_in_force(&(struct hold){0}, "uid-1", 0, ""), "nothing was read");
}

static void the_reason_says_what_was_done(void)
{
    EXPECT_STR(hold_reason(&holds[0].hold), "RolledBack", holds[0].note);
    EXPECT_STR(hold_reason(&holds[1].hold), "Destroyed", holds[1].note);
}

SUITE(hold, TEST(what_is_written_is_read_again), TEST(what_was_before_is_in_force_again),
      TEST(a_later_one_replaces_all_of_it), TEST(the_rest_of_the_head_stays),
      TEST(one_that_was_not_stored_is_told), TEST(what_is_not_known_is_no_hold),
      TEST(it_holds_one_generation_of_one_spec), TEST(the_reason_says_what_was_done))
