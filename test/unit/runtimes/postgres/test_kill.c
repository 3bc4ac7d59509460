/* The client, or the server, is killed at each step of a change. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "test/unit/runtimes/postgres/desk.h"
#include "test/unit/runtimes/postgres/proxy.h"
#include "test/unit/runtimes/postgres/server.h"
#include "test/unit/suite.h"

#define KILLS 60

static enum server_way directly = SERVER_DIRECTLY;

/* ---- The client ---- */

/* Shared with the process that is killed: the number that it began to write, and the last that was
 * acknowledged. */
struct progress {
    atomic_uint begun, done;
};

static void live(struct progress *progress, enum server_way way)
{
    struct desk desk;
    char *text = NULL; /* not freed: it is killed */

    desk_init(&desk, server_attach(&way));
    desk_read(&desk, &text);
    for (unsigned number = atomic_load(&progress->done) + 1;; number++) {
        char written[32];

        snprintf(written, sizeof(written), "%u", number);
        atomic_store(&progress->begun, number);
        if (desk_write(&desk, written) == 0)
            atomic_store(&progress->done, number);
    }
}

static void kill_clients(enum server_way way)
{
    struct progress *progress;
    uint32_t random = 1;
    struct desk desk;

    if (!server_begin(way))
        return;
    progress =
        mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    desk_init(&desk, server_attach(&directly));
    EXPECT_INT(desk_write(&desk, "0"), 0, desk.error.message);
    for (int i = 0; i < KILLS; i++) {
        _cleanup_free_ char *text = NULL;
        unsigned found, at = atomic_load(&progress->done);
        pid_t child = fork();

        if (child == 0)
            live(progress, way);
        while (atomic_load(&progress->done) == at)
            usleep(200);
        random = random * 1664525 + 1013904223;
        usleep((random >> 8) % 8000);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        EXPECT_INT(desk_read(&desk, &text), 0, desk.error.message);
        found = text ? (unsigned)strtoul(text, NULL, 10) : 0;
        EXPECT(found == atomic_load(&progress->done) || found == atomic_load(&progress->begun),
               text ? text : "nothing");
        atomic_store(&progress->done, found);
    }
    desk_done(&desk);
    munmap(progress, sizeof(*progress));
}

static void a_killed_client_leaves_a_whole_document(void)
{
    kill_clients(SERVER_DIRECTLY);
}

static void a_killed_client_leaves_a_whole_document_by_pgbouncer(void)
{
    kill_clients(SERVER_BY_PGBOUNCER);
}

static int die(void *arg, enum permit_use use, struct error *error)
{
    (void)arg;
    (void)use;
    (void)error;
    kill(getpid(), SIGKILL);
    return 0;
}

/* Killed when the server has answered all but COMMIT: nothing has happened, and nobody waits. */
static void killed_before_commit_it_did_nothing(void)
{
    _cleanup_free_ char *text = NULL;
    struct desk desk;
    pid_t child;

    if (!server_begin(directly))
        return;
    desk_init(&desk, server_attach(&directly));
    EXPECT_INT(desk_write(&desk, "old"), 0, desk.error.message);
    child = fork();
    if (child == 0) {
        const struct permit permit = {die, NULL};
        struct desk other;

        desk_init(&other, server_attach(&directly));
        desk_read(&other, &text);
        other.call.permit = &permit;
        desk_write(&other, "new");
        _exit(0);
    }
    waitpid(child, NULL, 0);
    EXPECT_INT(desk_read(&desk, &text), 0, desk.error.message);
    EXPECT_STR(text, "old", "nothing has happened");
    EXPECT_INT(desk_write(&desk, "next"), 0, desk.error.message);
    desk_done(&desk);
}

/* ---- The server ---- */

struct writer {
    struct desk desk;
    int code;
};

static void *write_new(void *arg)
{
    struct writer *writer = arg;

    writer->code = desk_write(&writer->desk, "new");
    return NULL;
}

/* All of the server's processes are killed, but for the first, which begins them anew, after a
 * recovery as after a power failure. False: that is not allowed. */
static bool kill_server(void)
{
    _cleanup_free_ char *pid =
        server_sql("SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
                   " AND usename = 'kusion' LIMIT 1");

    return pid && kill((pid_t)strtol(pid, NULL, 10), SIGKILL) == 0;
}

static void read_until_it_answers(struct desk *desk, char **ret)
{
    for (int i = 0; i < 600 && desk_read(desk, ret) != 0; i++)
        usleep(50000);
}

/* Held back by the proxy until the server is killed: the statement, or COMMIT. */
static void kill_server_at(unsigned step)
{
    struct proxy *proxy = proxy_new(server_port(directly));
    struct server_change by = {.port = proxy_port(proxy)};
    _cleanup_free_ char *text = NULL, *seen = NULL;
    struct writer writer;
    pthread_t thread;

    desk_init(&writer.desk, server_attach_changed(directly, &by));
    EXPECT_INT(desk_write(&writer.desk, "old"), 0, writer.desk.error.message);
    proxy_fail(proxy, PROXY_PAUSE, step);
    pthread_create(&thread, NULL, write_new, &writer);
    while (!proxy_has_failed(proxy))
        usleep(200);
    EXPECT(kill_server(), "kill");
    proxy_release(proxy);
    pthread_join(thread, NULL);
    EXPECT(step == 1 || writer.code < 0, "COMMIT was lost");
    read_until_it_answers(&writer.desk, &text);
    EXPECT_STR(text, writer.code == 0 ? "new" : "old", writer.desk.error.message);
    EXPECT_INT(desk_write(&writer.desk, "next"), 0, writer.desk.error.message);
    read_until_it_answers(&writer.desk, &seen);
    EXPECT_STR(seen, "next", "it goes on");
    desk_done(&writer.desk);
    proxy_free(proxy);
}

static void a_killed_server_loses_nothing(void)
{
    struct desk desk;
    char *text = NULL;

    if (!server_begin(directly))
        return;
    if (geteuid() != 0) {
        skip_test("not root, so the server cannot be killed");
        return;
    }
    desk_init(&desk, server_attach(&directly));
    EXPECT_INT(desk_write(&desk, "acknowledged"), 0, desk.error.message);
    EXPECT(kill_server(), "kill");
    read_until_it_answers(&desk, &text);
    EXPECT_STR(text, "acknowledged", desk.error.message);
    free(text);
    desk_remove(&desk);
    desk_done(&desk);
    kill_server_at(1);
    free(server_sql("DELETE FROM kusion.document"));
    kill_server_at(2);
}

SUITE(postgres_kill, TEST(a_killed_client_leaves_a_whole_document),
      TEST(a_killed_client_leaves_a_whole_document_by_pgbouncer),
      TEST(killed_before_commit_it_did_nothing), TEST(a_killed_server_loses_nothing))
