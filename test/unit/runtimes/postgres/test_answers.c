/* A server that is broken, or means harm, by one of ours: each of its answers is an error, in time,
 * and none is taken for a document that is not there. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "runtimes/postgres/store.h"
#include "test/unit/suite.h"

/* A message: its type, its length without the type, its bytes. */
#define PART(type, length, bytes) type "\0\0\0" length bytes
#define READY                     PART("Z", "\5", "I")
/* Of a statement: it was parsed, bound, and is done. */
#define BOUND PART("1", "\4", "") PART("2", "\4", "")
#define DONE  PART("C", "\x0d", "SELECT 1\0")
/* One column, called "a", of the type int4, in binary. */
#define COLUMN "a\0\0\0\0\0\0\0\0\0\0\x17\0\4\xff\xff\xff\xff\0\1"
#define NUMBER PART("T", "\x1a", "\0\1" COLUMN)
/* A row of it that has 1. */
#define ONE PART("D", "\x0e", "\0\1\0\0\0\4\0\0\0\1")

#define BYTES(text)            \
    {                          \
        text, sizeof(text) - 1 \
    }

struct bytes {
    const char *data;
    size_t length;
};

static const struct bytes hello =
    BYTES(PART("R", "\x08", "\0\0\0\0") PART("S", "\x18", "server_version\00015.0\0")
              PART("S", "\x17", "in_hot_standby\0off\0")
                  PART("S", "\x26", "default_transaction_read_only\0off\0") READY);
/* There are tables, of version 1. */
static const struct bytes schema = BYTES(BOUND NUMBER ONE DONE READY);

struct server {
    int listener, port;
    const struct bytes *answers[4]; /* to the greeting, and to each pipeline after it */
};

static bool is_sync(const char *bytes, ssize_t length)
{
    return length >= 5 && memcmp(bytes + length - 5, "S\0\0\0\4", 5) == 0;
}

/* Each pipeline ends with a Sync. */
static void *serve(void *arg)
{
    struct server *server = arg;
    int fd = accept(server->listener, NULL, NULL);
    size_t next = 0;
    char bytes[8192];
    ssize_t length;

    while ((length = recv(fd, bytes, sizeof(bytes), 0)) > 0) {
        const struct bytes *answer;

        if (next && !is_sync(bytes, length))
            continue;
        answer = next < ARRAY_SIZE(server->answers) ? server->answers[next++] : NULL;
        if (answer && send(fd, answer->data, answer->length, MSG_NOSIGNAL) < 0)
            break;
    }
    close(fd);
    return NULL;
}

static void begin(struct server *server, pthread_t *thread)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);

    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(server->listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(server->listener, 4) < 0 ||
        getsockname(server->listener, (struct sockaddr *)&address, &length) < 0)
        abort();
    server->port = ntohs(address.sin_port);
    pthread_create(thread, NULL, serve, server);
}

static struct store *attach(const struct server *server)
{
    _cleanup_free_ char *address =
        str_printf("postgres://u@127.0.0.1:%d/d?sslmode=disable", server->port);
    struct store *store = NULL;

    EXPECT_INT(postgres_store_open(address, &store, NULL), 0, address);
    return store;
}

static int read_it(struct store *store, const struct store_call *call, struct error *error)
{
    const struct document_name name = {DOCUMENT_STATE, {"team", "web"}, NULL};
    struct document document = DOCUMENT_INIT;
    int r = store_load(store, &name, call, &document, error);

    document_done(&document);
    return r;
}

static int on_name(void *arg, const struct document_name *name, struct error *error)
{
    (void)arg, (void)name, (void)error;
    return 0;
}

static int list_all(struct store *store, const struct store_call *call, struct error *error)
{
    return store->ops->list(store, DOCUMENT_STATE, NULL, on_name, NULL, call, error);
}

static const struct {
    const char *note;
    struct bytes answer;
    int code;
} rows[] = {
    {"another number of columns", BYTES(BOUND NUMBER ONE DONE READY), ERR_INTERNAL},
    {"no columns", BYTES(BOUND DONE READY), ERR_INTERNAL},
    {"no answer but that it is ready", BYTES(READY), ERR_INTERNAL},
    {"ready before the statement is done", BYTES(BOUND READY), ERR_INTERNAL},
    {"COPY to the client", BYTES(BOUND PART("H", "\7", "\0\0\0") READY), ERR_INTERNAL},
    {"COPY to the server", BYTES(BOUND PART("G", "\7", "\0\0\0") READY), ERR_INTERNAL},
    {"COPY both ways", BYTES(BOUND PART("W", "\7", "\0\0\0") READY), ERR_INTERNAL},
    {"a message that never ends", BYTES(BOUND "D\0\xff\xff\xff"), ERR_TIMEOUT},
    {"an error", BYTES(PART("E", "\x0f", "C42P01\0Mx\0\0") READY), ERR_UNAVAILABLE},
};

static void check(size_t row, int (*ask)(struct store *store, const struct store_call *call,
                                         struct error *error))
{
    struct server server = {.answers = {&hello, &schema, &schema, &rows[row].answer}};
    struct store_call call = {.deadline = system_clock.monotonic(&system_clock) + 20000};
    struct error error = {0};
    struct store *store;
    pthread_t thread;

    begin(&server, &thread);
    store = attach(&server);
    if (rows[row].code == ERR_TIMEOUT)
        call.deadline -= 19500;
    EXPECT_INT(ask(store, &call, &error), rows[row].code, rows[row].note);
    EXPECT(strstr(error.message, "127.0.0.1:"), error.message);
    store->ops->free(store);
    pthread_join(thread, NULL);
    close(server.listener);
}

static void takes_nothing_for_an_answer(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        check(i, read_it);
        check(i, list_all);
    }
}

SUITE(postgres_answers, TEST(takes_nothing_for_an_answer))
