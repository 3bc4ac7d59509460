/* Answers that are older than what the watch has shown. */
#include "controller/desk/desk.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

static void enqueue(void *arg, enum desk_kind kind, const char *key)
{
    (void)arg, (void)kind, (void)key;
}

struct fixture {
    struct fake_clock clock;
    struct desk *desk;
};

/* A reconcile begins. */
static struct desk_entry *enter(struct fixture *fixture)
{
    static char nobody;
    struct attempt *attempt = (struct attempt *)&nobody;

    return desk_enter(fixture->desk, DESK_SPEC, "ns/a", &attempt);
}

static void begin(struct fixture *fixture)
{
    fake_clock_init(&fixture->clock);
    fixture->desk =
        desk_new(&(struct desk_config){.enqueue = enqueue, .clock = &fixture->clock.source});
}

static void end(struct fixture *fixture)
{
    desk_free(fixture->desk);
}

static void show(struct fixture *fixture, const char *version)
{
    desk_observe(fixture->desk, DESK_SPEC, "ns/a",
                 &(struct object_version){.uid = "u", .version = version}, false);
}

/* version NULL: there is no such object; "": it has none. */
static int check(struct desk_entry *entry, const char *version, struct error *error)
{
    _cleanup_value_ const struct value *object =
        !version   ? NULL
        : *version ? value_pack("{s:{s:s}}", "metadata", "resourceVersion", version)
                   : value_pack("{s:{s:s}}", "metadata", "name", "a");

    return desk_check_answer(entry, object, error);
}

/* Of one reconcile. */
static int answer(struct fixture *fixture, const char *version)
{
    struct desk_entry *entry = enter(fixture);
    struct error error = {0};
    int r = check(entry, version, &error);

    EXPECT_STR(error.reason, r < 0 ? "StaleAnswer" : "", "the reason");
    desk_leave(entry);
    return r;
}

static void what_is_older_is_refused(void)
{
    static const struct {
        const char *note, *shown, *read;
        int result;
    } rows[] = {
        {"the same", "70", "70", 0},
        {"newer", "70", "71", 0},
        {"newer, and longer", "99", "100", 0},
        {"older", "70", "69", ERR_UNAVAILABLE},
        {"older, and shorter", "100", "99", ERR_UNAVAILABLE},
        {"it is not there, and the watch shows it", "70", NULL, ERR_UNAVAILABLE},
        {"the watch shows it without a version", NULL, "69", 0},
        {"without a version", "70", "", 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct fixture fixture;

        begin(&fixture);
        show(&fixture, rows[i].shown);
        EXPECT_INT(answer(&fixture, rows[i].read), rows[i].result, rows[i].note);
        EXPECT_INT(answer(&fixture, rows[i].read), rows[i].result, "again");
        end(&fixture);
    }
}

static void what_the_watch_does_not_show_may_be_gone(void)
{
    struct fixture fixture;

    begin(&fixture);
    EXPECT_INT(answer(&fixture, NULL), 0, "never shown");
    show(&fixture, "70");
    desk_observe(fixture.desk, DESK_SPEC, "ns/a", &(struct object_version){0}, false);
    EXPECT_INT(answer(&fixture, NULL), 0, "gone");
    EXPECT_INT(answer(&fixture, "60"), 0, "there, and not in the watch");
    end(&fixture);
}

/* The request was sent before that. */
static void what_the_watch_shows_meanwhile_does_not_count(void)
{
    struct desk_entry *entry;
    struct fixture fixture;

    begin(&fixture);
    show(&fixture, "70");
    entry = enter(&fixture);
    show(&fixture, "75");
    EXPECT_INT(check(entry, "70", NULL), 0, "the answer that was under way");
    desk_leave(entry);
    EXPECT_INT(answer(&fixture, "70"), ERR_UNAVAILABLE, "the next");
    end(&fixture);
}

/* After a backup of etcd was restored, a watch may go on without a word. */
static void what_stays_older_counts_in_the_end(void)
{
    struct fixture fixture;

    begin(&fixture);
    show(&fixture, "70");
    EXPECT_INT(answer(&fixture, "60"), ERR_UNAVAILABLE, "at first");
    fixture.clock.monotonic += 29999;
    EXPECT_INT(answer(&fixture, "60"), ERR_UNAVAILABLE, "a cache may be as slow");
    fixture.clock.monotonic += 1;
    EXPECT_INT(answer(&fixture, "60"), 0, "so it is");
    EXPECT_INT(answer(&fixture, "60"), 0, "and stays");
    EXPECT_INT(answer(&fixture, "59"), ERR_UNAVAILABLE, "that is what counts");
    EXPECT_INT(answer(&fixture, "60"), 0, "in between");
    fixture.clock.monotonic += 30000;
    EXPECT_INT(answer(&fixture, "59"), ERR_UNAVAILABLE, "the time begins anew");
    fixture.clock.monotonic += 30000;
    EXPECT_INT(answer(&fixture, NULL), 0, "it is not there");
    end(&fixture);
}

static void observe_end(struct fixture *fixture, const char *bypassed)
{
    desk_observe(fixture->desk, DESK_SPEC, "ns/a", &(struct object_version){.bypassed = bypassed},
                 false);
}

static void expect_bypassed(struct fixture *fixture, const char *uid, const char *note)
{
    struct desk_entry *entry = enter(fixture);
    _cleanup_free_ char *bypassed = desk_bypassed(entry);

    EXPECT_STR(bypassed, uid, note);
    desk_leave(entry);
}

static void one_that_was_removed_past_its_finalizer_is_known_until_its_end(void)
{
    struct desk_entry *entry;
    struct fixture fixture;

    begin(&fixture);
    show(&fixture, "70");
    expect_bypassed(&fixture, NULL, "it is there");
    observe_end(&fixture, NULL);
    expect_bypassed(&fixture, NULL, "it went as it should");
    show(&fixture, "71");
    observe_end(&fixture, "u");
    expect_bypassed(&fixture, "u", "past it");
    observe_end(&fixture, NULL);
    expect_bypassed(&fixture, "u", "it stays so");
    entry = enter(&fixture);
    desk_end_bypassed(entry);
    desk_leave(entry);
    expect_bypassed(&fixture, NULL, "its end was carried out");
    show(&fixture, "72");
    observe_end(&fixture, "v");
    show(&fixture, "73");
    expect_bypassed(&fixture, NULL, "another has its name");
    end(&fixture);
}

/* The next Spec of the name has a file of its own. */
static void what_was_exported_is_forgotten_with_its_spec(void)
{
    static const struct spec_key key = {"ns", "a"};
    struct desk_entry *entry;
    struct fixture fixture;
    char *note;

    begin(&fixture);
    show(&fixture, "70");
    entry = enter(&fixture); /* the entry stays meanwhile */
    desk_note_exported(fixture.desk, &key, "a file");
    observe_end(&fixture, NULL);
    show(&fixture, "71");
    note = desk_exported(fixture.desk, &key);
    EXPECT_STR(note, NULL, "of the earlier one");
    free(note);
    desk_leave(entry);
    end(&fixture);
}

SUITE(desk_watch, TEST(one_that_was_removed_past_its_finalizer_is_known_until_its_end),
      TEST(what_was_exported_is_forgotten_with_its_spec), TEST(what_is_older_is_refused),
      TEST(what_the_watch_does_not_show_may_be_gone),
      TEST(what_the_watch_shows_meanwhile_does_not_count), TEST(what_stays_older_counts_in_the_end))
