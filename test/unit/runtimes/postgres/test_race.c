/*
 * Processes that change one document at once: each reads a number, and writes the next one. No
 * acknowledged write is lost, and no number is acknowledged twice.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "test/unit/runtimes/postgres/desk.h"
#include "test/unit/runtimes/postgres/server.h"
#include "test/unit/suite.h"

#define NUMBERS 1000 /* of each race */

struct shared {
    atomic_uint written[NUMBERS]; /* how often each number was acknowledged */
    atomic_uint conflicts, failed;
};

/* A write of the next number; or, now and then, that and an entry, or a removal and a new one, so
 * that all changes race. */
static int next(struct desk *desk, unsigned long number)
{
    char text[32];
    int r = 0;

    snprintf(text, sizeof(text), "%lu", number);
    if (number % 7 == 6)
        r = desk_append(desk, "entry");
    return r < 0 ? r : desk_write(desk, text);
}

static void race(enum server_way way, struct shared *shared, unsigned rounds)
{
    struct desk desk;

    desk_init(&desk, server_attach(&way));
    while (rounds && !atomic_load(&shared->failed)) {
        _cleanup_free_ char *text = NULL;
        unsigned long number = 0;
        int r = desk_read(&desk, &text);

        if (r == 0)
            number = strtoul(text, NULL, 10) + 1;
        if (r == 0 || r == ERR_NOT_FOUND)
            r = next(&desk, number);
        if (r == 0) {
            atomic_fetch_add(&shared->written[number], 1);
            rounds--;
        } else if (r == ERR_CONFLICT) {
            atomic_fetch_add(&shared->conflicts, 1);
        } else {
            fprintf(stderr, "race: %d %s\n", r, desk.error.message);
            atomic_store(&shared->failed, 1);
        }
    }
    desk_done(&desk);
}

static void check_race(enum server_way way, unsigned processes, unsigned rounds)
{
    struct shared *shared;
    enum server_way directly = SERVER_DIRECTLY;
    _cleanup_free_ char *text = NULL, *entries = NULL;
    unsigned last = processes * rounds - 1;

    if (!server_begin(way))
        return;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (unsigned i = 0; i < processes; i++)
        if (fork() == 0) {
            race(way, shared, rounds);
            _exit(0);
        }
    for (unsigned i = 0; i < processes; i++)
        wait(NULL);
    EXPECT_INT(atomic_load(&shared->failed), 0, "nothing but conflicts");
    EXPECT(atomic_load(&shared->conflicts) > processes, "they met");
    for (unsigned i = 0; i <= last; i++)
        EXPECT_INT(atomic_load(&shared->written[i]), 1, "each number once");
    EXPECT_INT(desk_read_by(server_attach(&directly), &text, NULL), 0, "the last");
    EXPECT_INT(text ? strtoul(text, NULL, 10) : 0, last, "no write was lost");
    entries = server_sql("SELECT count(*) FROM kusion.entry");
    EXPECT_STR(entries, "0", "no entry of a write before is left");
    munmap(shared, sizeof(*shared));
}

static void two_processes_lose_nothing(void)
{
    check_race(SERVER_DIRECTLY, 2, 500);
}

static void two_processes_lose_nothing_by_pgbouncer(void)
{
    check_race(SERVER_BY_PGBOUNCER, 2, 500);
}

static void eight_processes_lose_nothing(void)
{
    check_race(SERVER_DIRECTLY, 8, 125);
}

static void eight_processes_lose_nothing_by_pgbouncer(void)
{
    check_race(SERVER_BY_PGBOUNCER, 8, 125);
}

SUITE(postgres_race, TEST(two_processes_lose_nothing),
      TEST(two_processes_lose_nothing_by_pgbouncer), TEST(eight_processes_lose_nothing),
      TEST(eight_processes_lose_nothing_by_pgbouncer))
