/* Threads share a store, and its two connections, while the server cuts these. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "test/unit/runtimes/postgres/server.h"
#include "test/unit/suite.h"

#define THREADS 12
#define CHANGES 40

static const struct store_call plain;

struct worker {
    struct store *store;
    unsigned number;
    unsigned doubts, failures;
    atomic_uint *running;
};

/* Writes 1, 2, … to a document of its own; after a failure it reads which one is there. */
static void work(struct worker *worker, struct store_file *file)
{
    const struct store_ops *ops = worker->store->ops;
    unsigned at = 0;

    while (at < CHANGES) {
        struct document document = DOCUMENT_INIT;
        struct error error = {0};
        int r;

        buf_printf(&document.open, "%u", at + 1);
        r = ops->write(file, &plain, &document, &error);
        document_done(&document);
        if (r == 0) {
            at++;
            continue;
        }
        worker->failures++;
        EXPECT(r == ERR_UNAVAILABLE, error.message);
        if (str_equal(error.reason, "StoreInDoubt"))
            worker->doubts++;
        do {
            struct document found = DOCUMENT_INIT;

            r = ops->read(file, &plain, &found, &error);
            if (r == 0)
                at = (unsigned)strtoul(found.open.data, NULL, 10);
            document_done(&found);
        } while (r == ERR_UNAVAILABLE);
    }
}

static void *run(void *arg)
{
    struct worker *worker = arg;
    char item[16];
    const struct document_name name = {DOCUMENT_OUTCOME, {"team", "web"}, item};
    struct store_file *file = NULL;

    snprintf(item, sizeof(item), "%u", worker->number);
    worker->store->ops->open(worker->store, &name, STORE_WRITE, &plain, &file, NULL);
    work(worker, file);
    worker->store->ops->close(file);
    atomic_fetch_sub(worker->running, 1);
    return NULL;
}

static void check_threads(enum server_way way)
{
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    atomic_uint running = THREADS;
    _cleanup_free_ char *sum = NULL, *count = NULL;
    struct store *store;

    if (!server_begin(way))
        return;
    store = server_attach(&way);
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.store = store, .number = i, .running = &running};
        pthread_create(&threads[i], NULL, run, &workers[i]);
    }
    while (atomic_load(&running)) {
        free(server_sql("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                        " WHERE datname = current_database() AND usename = 'kusion'"));
        usleep(150000);
    }
    count = way == SERVER_DIRECTLY ? server_sql("SELECT count(*) <= 2 FROM pg_stat_activity WHERE"
                                                " datname = current_database()"
                                                " AND usename = 'kusion'")
                                   : str_new("t");
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    EXPECT_STR(count, "t", "two connections at most");
    sum = server_sql("SELECT string_agg(DISTINCT convert_from(open, 'UTF8') || ' ' || item, ',')"
                     " FROM kusion.document WHERE convert_from(open, 'UTF8') <> '%u'",
                     CHANGES);
    EXPECT_STR(sum && *sum ? sum : NULL, NULL, "each came to its end");
    store->ops->free(store);
}

static void threads_share_two_connections(void)
{
    check_threads(SERVER_DIRECTLY);
}

static void threads_share_two_connections_by_pgbouncer(void)
{
    check_threads(SERVER_BY_PGBOUNCER);
}

SUITE(postgres_threads, TEST(threads_share_two_connections),
      TEST(threads_share_two_connections_by_pgbouncer))
