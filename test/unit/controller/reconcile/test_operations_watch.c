/* Answers that are older than what the watch has shown. */
#include "controller/reconcile/operations.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

static void enqueue(void *arg, const char *key)
{
    (void)arg, (void)key;
}

struct desk {
    struct fake_clock clock;
    struct operations *operations;
};

static void begin(struct desk *desk)
{
    fake_clock_init(&desk->clock);
    desk->operations = operations_new(
        &(struct operations_config){.enqueue = enqueue, .clock = &desk->clock.source});
}

static void end(struct desk *desk)
{
    operations_free(desk->operations);
}

static void show(struct desk *desk, const char *version)
{
    operations_observe(desk->operations, "ns/a",
                       &(struct object_version){.uid = "u", .version = version}, false);
}

/* version NULL: there is no such object; "": it has none. */
static int check(struct attempt *attempt, const char *version, struct error *error)
{
    _cleanup_value_ const struct value *object =
        !version   ? NULL
        : *version ? value_pack("{s:{s:s}}", "metadata", "resourceVersion", version)
                   : value_pack("{s:{s:s}}", "metadata", "name", "a");

    return attempt_check_answer(attempt, object, error);
}

/* Of one reconcile. */
static int answer(struct desk *desk, const char *version)
{
    struct attempt *attempt = operations_enter(desk->operations, "ns/a");
    struct error error = {0};
    int r = check(attempt, version, &error);

    EXPECT_STR(error.reason, r < 0 ? "StaleAnswer" : "", "the reason");
    operations_leave(attempt);
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
        struct desk desk;

        begin(&desk);
        show(&desk, rows[i].shown);
        EXPECT_INT(answer(&desk, rows[i].read), rows[i].result, rows[i].note);
        EXPECT_INT(answer(&desk, rows[i].read), rows[i].result, "again");
        end(&desk);
    }
}

static void what_the_watch_does_not_show_may_be_gone(void)
{
    struct desk desk;

    begin(&desk);
    EXPECT_INT(answer(&desk, NULL), 0, "never shown");
    show(&desk, "70");
    operations_observe(desk.operations, "ns/a", &(struct object_version){0}, false);
    EXPECT_INT(answer(&desk, NULL), 0, "gone");
    EXPECT_INT(answer(&desk, "60"), 0, "there, and not in the watch");
    end(&desk);
}

/* The request was sent before that. */
static void what_the_watch_shows_meanwhile_does_not_count(void)
{
    struct attempt *attempt;
    struct desk desk;

    begin(&desk);
    show(&desk, "70");
    attempt = operations_enter(desk.operations, "ns/a");
    show(&desk, "75");
    EXPECT_INT(check(attempt, "70", NULL), 0, "the answer that was under way");
    operations_leave(attempt);
    EXPECT_INT(answer(&desk, "70"), ERR_UNAVAILABLE, "the next");
    end(&desk);
}

/* After a backup of etcd was restored, a watch may go on without a word. */
static void what_stays_older_counts_in_the_end(void)
{
    struct desk desk;

    begin(&desk);
    show(&desk, "70");
    EXPECT_INT(answer(&desk, "60"), ERR_UNAVAILABLE, "at first");
    desk.clock.monotonic += 29999;
    EXPECT_INT(answer(&desk, "60"), ERR_UNAVAILABLE, "a cache may be as slow");
    desk.clock.monotonic += 1;
    EXPECT_INT(answer(&desk, "60"), 0, "so it is");
    EXPECT_INT(answer(&desk, "60"), 0, "and stays");
    EXPECT_INT(answer(&desk, "59"), ERR_UNAVAILABLE, "that is what counts");
    EXPECT_INT(answer(&desk, "60"), 0, "in between");
    desk.clock.monotonic += 30000;
    EXPECT_INT(answer(&desk, "59"), ERR_UNAVAILABLE, "the time begins anew");
    desk.clock.monotonic += 30000;
    EXPECT_INT(answer(&desk, NULL), 0, "it is not there");
    end(&desk);
}

SUITE(operations_watch, TEST(what_is_older_is_refused),
      TEST(what_the_watch_does_not_show_may_be_gone),
      TEST(what_the_watch_shows_meanwhile_does_not_count), TEST(what_stays_older_counts_in_the_end))
