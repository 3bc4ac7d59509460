/*
 * A proxy cuts the connection at each step of each change, and loses, holds back or delays what is
 * sent. A change that was acknowledged is there; one that failed is not, unless it is in doubt; and
 * what is in doubt is either, and is known after the next read.
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "test/unit/runtimes/postgres/desk.h"
#include "test/unit/runtimes/postgres/proxy.h"
#include "test/unit/runtimes/postgres/server.h"
#include "test/unit/suite.h"

#define MAX_STEPS 40
#define COMMIT    2 /* the chunk, of a connection that is up */

static enum server_way directly = SERVER_DIRECTLY;
static struct store *direct; /* a store without a proxy, as long as a test runs */

static bool begin(enum server_way way)
{
    if (!server_begin(way))
        return false;
    direct = server_attach(&directly);
    return true;
}

static void end(void)
{
    direct->ops->free(direct);
}

/* ---- Changes ---- */

static int create_it(struct desk *desk)
{
    return desk_write(desk, "new");
}

static int append_it(struct desk *desk)
{
    return desk_append(desk, "entry");
}

static const struct change {
    const char *note, *before, *after; /* NULL: no document */
    int (*make)(struct desk *desk);
} changes[] = {
    {"create", NULL, "new", create_it},
    {"replace", "old", "new", create_it},
    {"append", "old", "old entry", append_it},
    {"remove", "old", NULL, desk_remove},
};

static char *read_directly(void)
{
    struct error error = {0};
    char *text = NULL;
    int r = desk_read_in(direct, &text, &error);

    EXPECT(r == 0 || r == ERR_NOT_FOUND, error.message);
    return text;
}

static void set_up(const struct change *change)
{
    _cleanup_free_ char *text = NULL;
    struct desk desk;

    desk_init(&desk, direct);
    desk_read(&desk, &text);
    EXPECT_INT(desk_remove(&desk), 0, desk.error.message);
    if (change->before)
        EXPECT_INT(desk_write(&desk, change->before), 0, desk.error.message);
    desk_close(&desk);
}

/* What a change came to: is it there? */
static bool check_outcome(const struct change *change, const struct desk *desk, int r,
                          const char *note)
{
    _cleanup_free_ char *text = read_directly();
    bool is_there = str_equal(text, change->after);

    EXPECT(is_there || str_equal(text, change->before), text ? text : note);
    if (r == 0)
        EXPECT(is_there, note);
    else if (!str_equal(desk->error.reason, "StoreInDoubt"))
        EXPECT(!is_there, desk->error.message);
    return is_there;
}

/* The same handle goes on, after a read, where the change is in doubt. */
static void go_on(struct desk *desk, const char *note)
{
    _cleanup_free_ char *now = read_directly(), *seen = NULL;
    int r = desk_read(desk, &seen);

    EXPECT(r == 0 || r == ERR_NOT_FOUND, desk->error.message);
    EXPECT_STR(seen, now, note);
    EXPECT_INT(desk_write(desk, "next"), 0, desk->error.message);
}

/* ---- Cut at each step ---- */

struct tally {
    unsigned done, failed, doubt_done, doubt_failed;
};

/* Makes the change on a connection that is up, or that has to be made. False: the fault came too
 * late. */
static bool cut_at(struct proxy *proxy, const struct change *change, enum proxy_fault fault,
                   unsigned step, bool is_up, enum server_way way, struct tally *tally)
{
    _cleanup_free_ char *text = NULL, *note = NULL;
    struct server_change by = {.port = proxy_port(proxy)};
    struct desk desk;
    bool is_there, is_in_doubt, has_failed;
    int r;

    set_up(change);
    note = str_printf("%s, fault %d at step %u", change->note, (int)fault, step);
    desk_init(&desk, server_attach_changed(way, &by));
    desk_read(&desk, &text);
    if (!is_up)
        proxy_cut(proxy);
    proxy_fail(proxy, fault, step);
    r = change->make(&desk);
    has_failed = proxy_has_failed(proxy);
    proxy_fail(proxy, PROXY_PASS, 0);
    is_there = check_outcome(change, &desk, r, note);
    is_in_doubt = r < 0 && str_equal(desk.error.reason, "StoreInDoubt");
    tally->done += r == 0;
    tally->failed += r < 0 && !is_in_doubt;
    tally->doubt_done += is_in_doubt && is_there;
    tally->doubt_failed += is_in_doubt && !is_there;
    go_on(&desk, note);
    desk_done(&desk);
    return has_failed;
}

static void cut_everywhere(enum server_way way)
{
    static const enum proxy_fault faults[] = {PROXY_CUT_BEFORE, PROXY_CUT_AFTER};
    struct tally tally = {0};
    struct proxy *proxy;

    if (!begin(way))
        return;
    proxy = proxy_new(server_port(way));
    for (size_t i = 0; i < ARRAY_SIZE(changes) * ARRAY_SIZE(faults) * 2; i++) {
        const struct change *change = &changes[i / 4];
        unsigned step = 1;

        while (cut_at(proxy, change, faults[i % 2], step, i & 2, way, &tally) && step < MAX_STEPS)
            step++;
        EXPECT(step > 2 && step < MAX_STEPS, change->note);
    }
    EXPECT(tally.done && tally.failed, "each came");
    EXPECT(tally.doubt_done >= ARRAY_SIZE(changes), "the answer to COMMIT was lost");
    EXPECT(tally.doubt_failed >= ARRAY_SIZE(changes), "COMMIT was lost");
    proxy_free(proxy);
    end();
}

static void a_cut_at_any_step_loses_nothing(void)
{
    cut_everywhere(SERVER_DIRECTLY);
}

static void a_cut_at_any_step_loses_nothing_by_pgbouncer(void)
{
    cut_everywhere(SERVER_BY_PGBOUNCER);
}

/* ---- What comes late ---- */

struct other {
    struct desk desk;
    int (*make)(struct desk *desk);
    int code;
};

static void *run_other(void *arg)
{
    struct other *other = arg;

    other->code = other->make(&other->desk);
    return NULL;
}

/* Until another process' statement waits for a lock in this database. */
static void await_lock(void)
{
    for (int i = 0; i < 20000; i++) {
        _cleanup_free_ char *count =
            server_sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                       " AND datname = current_database()");

        if (!str_equal(count, "0"))
            return;
        usleep(1000);
    }
    EXPECT(false, "nobody waits");
}

/* COMMIT is on its way, and its sender has given up. Whoever comes waits for it. */
static void late_commit(const struct change *change, int (*make)(struct desk *desk), bool arrives)
{
    struct proxy *proxy = proxy_new(server_port(directly));
    struct server_change by = {.port = proxy_port(proxy)};
    _cleanup_free_ char *text = NULL, *seen = NULL;
    struct other other = {.make = make};
    struct desk desk;
    pthread_t thread;
    bool is_there;

    set_up(change);
    desk_init(&desk, server_attach_changed(directly, &by));
    desk_read(&desk, &text);
    proxy_fail(proxy, PROXY_HOLD, COMMIT);
    EXPECT_INT(change->make(&desk), ERR_UNAVAILABLE, change->note);
    EXPECT_STR(desk.error.reason, "StoreInDoubt", desk.error.message);
    desk_init(&other.desk, direct);
    desk_read(&other.desk, &seen);
    EXPECT_STR(seen, change->before, "not yet");
    pthread_create(&thread, NULL, run_other, &other);
    await_lock();
    if (arrives)
        proxy_release(proxy);
    else
        proxy_cut(proxy);
    pthread_join(thread, NULL);
    if (arrives) {
        EXPECT_INT(other.code, ERR_CONFLICT, other.desk.error.message);
        is_there = check_outcome(change, &desk, ERR_UNAVAILABLE, change->note);
        EXPECT(is_there, "it came late, and it came");
    } else {
        EXPECT_INT(other.code, 0, other.desk.error.message);
    }
    go_on(&desk, change->note);
    desk_close(&other.desk);
    desk_done(&desk);
    proxy_free(proxy);
}

static int write_other(struct desk *desk)
{
    return desk_write(desk, "other");
}

static void whoever_comes_waits_for_a_late_commit(void)
{
    if (!begin(directly))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++)
        for (int arrives = 0; arrives < 2; arrives++) {
            late_commit(&changes[i], write_other, arrives);
            late_commit(&changes[i], desk_remove, arrives);
        }
    end();
}

static int read_it(struct desk *desk)
{
    _cleanup_free_ char *text = NULL;
    int r = desk_read(desk, &text);

    return r == ERR_NOT_FOUND ? 0 : r;
}

/* The read of the handle itself waits, too: afterwards nothing comes any more. */
static void a_read_decides_what_was_in_doubt(void)
{
    struct proxy *proxy;

    if (!begin(directly))
        return;
    proxy = proxy_new(server_port(directly));
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        struct server_change by = {.port = proxy_port(proxy)};
        struct other other = {.make = read_it};
        pthread_t thread;

        set_up(&changes[i]);
        desk_init(&other.desk, server_attach_changed(directly, &by));
        read_it(&other.desk);
        proxy_fail(proxy, PROXY_HOLD, COMMIT);
        EXPECT_INT(changes[i].make(&other.desk), ERR_UNAVAILABLE, changes[i].note);
        pthread_create(&thread, NULL, run_other, &other);
        await_lock();
        proxy_release(proxy);
        pthread_join(thread, NULL);
        EXPECT_INT(other.code, 0, other.desk.error.message);
        EXPECT_INT(desk_write(&other.desk, "next"), 0, other.desk.error.message);
        desk_done(&other.desk);
    }
    proxy_free(proxy);
    end();
}

SUITE(postgres_cut, TEST(a_cut_at_any_step_loses_nothing),
      TEST(a_cut_at_any_step_loses_nothing_by_pgbouncer),
      TEST(whoever_comes_waits_for_a_late_commit), TEST(a_read_decides_what_was_in_doubt))
