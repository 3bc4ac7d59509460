#include "test/unit/runtimes/chain/chain_races.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/chain/store.h"
#include "runtimes/io/clock.h"
#include "test/unit/runtimes/chain/faulty_objects.h"
#include "test/unit/runtimes/chain/server_process.h"
#include "test/unit/runtimes/io/tcp_proxy.h"
#include "test/unit/suite.h"

#define WRITERS     2
#define NUMBERS     65536 /* that may be tried */
#define ATTEMPT_MS  10000
#define LONGEST_RUN 240 /* s */

static const struct document_name name = {DOCUMENT_STATE, {"team", "races"}, NULL};

enum outcome { OUTCOME_NONE, OUTCOME_DOUBT, OUTCOME_DONE, OUTCOME_REFUSED };

/* In memory of all processes. */
struct score {
    atomic_uint next, done, failed;
    _Atomic(unsigned char) outcomes[NUMBERS];
    char problem[512];
};

static struct score *score_new(void)
{
    struct score *score =
        mmap(NULL, sizeof(*score), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (score == MAP_FAILED)
        abort();
    return score;
}

static struct store_call call_now(void)
{
    return (struct store_call){.deadline = system_clock.monotonic(&system_clock) + ATTEMPT_MS};
}

static void fail(struct score *score, const char *what, const struct error *error)
{
    _cleanup_free_ char *text = str_printf("%s: %s: %s", what, error->reason, error->message);

    if (atomic_fetch_add(&score->failed, 1) == 0)
        str_copy(score->problem, sizeof(score->problem), text);
}

static bool is_passing(int code)
{
    return code == ERR_UNAVAILABLE || code == ERR_TIMEOUT;
}

/* ---- A writer ---- */

static void write_once(struct store *store, struct score *score)
{
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;
    struct store_call call = call_now();
    struct error error = {0};
    unsigned number;
    int r = store->ops->open(store, &name, STORE_WRITE, &call, &file, &error);

    if (r == 0)
        r = store->ops->read(file, &call, &document, &error);
    if (r == 0 || r == ERR_NOT_FOUND) {
        number = atomic_fetch_add(&score->next, 1);
        if (number >= NUMBERS)
            abort();
        atomic_store(&score->outcomes[number], OUTCOME_DOUBT);
        buf_printf(&document.open, "%u,", number);
        buf_reset(&document.secret);
        buf_printf(&document.secret, "%u", number);
        call = call_now();
        err_clear(&error);
        r = store->ops->write(file, &call, &document, &error);
        if (r == 0) {
            atomic_store(&score->outcomes[number], OUTCOME_DONE);
            atomic_fetch_add(&score->done, 1);
        } else if (r == ERR_CONFLICT) {
            atomic_store(&score->outcomes[number], OUTCOME_REFUSED);
        } else if (!is_passing(r)) {
            fail(score, "write", &error);
        }
    } else if (!is_passing(r)) {
        fail(score, "read", &error);
    }
    store->ops->close(file);
    document_done(&document);
    if (is_passing(r))
        usleep(20000);
}

static struct store *open_faulty(struct chain_server *server, unsigned seed)
{
    struct objects *objects = chain_server_attach(server);

    return chain_store_new(faulty_objects_new(objects, seed), &system_clock, false);
}

/* seed: of the faults that it meets; 0: it meets none. */
static pid_t start_faulty_writer(struct chain_server *server, struct score *score, unsigned writes,
                                 unsigned seed)
{
    pid_t pid = fork();

    if (pid < 0)
        abort();
    if (pid == 0) {
        struct store *store = seed ? open_faulty(server, seed) : chain_server_store(server);

        while (atomic_load(&score->done) < writes && !atomic_load(&score->failed))
            write_once(store, score);
        store->ops->free(store); /* what is late comes now */
        _exit(0);
    }
    return pid;
}

static pid_t start_writer(struct chain_server *server, struct score *score, unsigned writes)
{
    return start_faulty_writer(server, score, writes, 0);
}

/* ---- What came of it ---- */

static void check_document(struct chain_server *server, struct score *score)
{
    struct store *store = chain_server_store(server);
    struct document document = DOCUMENT_INIT;
    struct error error = {0};
    unsigned char *found = mem_new(NUMBERS);
    const struct store_call call = {0};
    unsigned lost = 0, twice = 0, refused = 0;
    char *end;

    EXPECT_INT(store_load(store, &name, &call, &document, &error), 0, error.message);
    for (const char *at = document.open.data; *at; at = end + 1) {
        unsigned long number = strtoul(at, &end, 10);

        if (number >= NUMBERS || *end != ',')
            break;
        twice += found[number];
        found[number] = 1;
    }
    for (unsigned i = 0; i < NUMBERS; i++) {
        lost += atomic_load(&score->outcomes[i]) == OUTCOME_DONE && !found[i];
        refused += atomic_load(&score->outcomes[i]) == OUTCOME_REFUSED && found[i];
    }
    EXPECT_INT(lost, 0, "acknowledged writes that are not there");
    EXPECT_INT(twice, 0, "numbers that are there twice");
    EXPECT_INT(refused, 0, "refused writes that are there");
    EXPECT_INT(atomic_load(&score->failed), 0, score->problem);
    document_done(&document);
    free(found);
    store->ops->free(store);
}

void chain_races_run(struct chain_server *server, unsigned writes)
{
    struct score *score = score_new();
    pid_t pids[WRITERS];

    for (unsigned i = 0; i < WRITERS; i++)
        pids[i] = start_writer(server, score, writes);
    for (unsigned i = 0; i < WRITERS; i++)
        waitpid(pids[i], NULL, 0);
    EXPECT(atomic_load(&score->done) >= writes, "all are written");
    check_document(server, score);
    munmap(score, sizeof(*score));
}

/* ---- Kills ---- */

static unsigned draw(unsigned bound)
{
    static uint32_t state = 12345;

    state = state * 1664525 + 1013904223;
    return (state >> 8) % bound;
}

/* Until the next blow. Rarer while nothing is written: a write on a busy machine takes long.
 * idle: blows since the last write. */
static void pause_before_blow(unsigned longest, unsigned idle)
{
    usleep(20000 + draw(longest) * (1 + (idle < 80 ? idle / 4 : 20)));
}

/* Whether something was written since the last time. */
static unsigned count_idle(struct score *score, unsigned *done, unsigned idle)
{
    unsigned before = *done;

    *done = atomic_load(&score->done);
    return *done > before ? 0 : idle + 1;
}

void chain_races_run_killed(struct chain_server *server, const char *folder, unsigned writes)
{
    struct score *score = score_new();
    struct server_process process;
    pid_t pids[WRITERS];
    time_t until = time(NULL) + LONGEST_RUN;
    unsigned kills = 0, restarts = 0, done = 0, idle = 0;

    server_process_find(getenv(folder), &process);
    for (unsigned i = 0; i < WRITERS; i++)
        pids[i] = start_writer(server, score, writes);
    for (; done < writes && !atomic_load(&score->failed) && time(NULL) < until;
         idle = count_idle(score, &done, idle)) {
        unsigned victim = draw(WRITERS + 1);

        pause_before_blow(300000, idle);
        if (victim == WRITERS) {
            server_process_restart(&process);
            restarts++;
            usleep(200000);
            continue;
        }
        kill(pids[victim], SIGKILL);
        waitpid(pids[victim], NULL, 0);
        pids[victim] = start_writer(server, score, writes);
        kills++;
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        if (time(NULL) >= until)
            kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
    EXPECT(atomic_load(&score->done) >= writes, "all are written");
    printf("%s: %u writes, %u clients and %u times the server killed\n", folder,
           atomic_load(&score->done), kills, restarts);
    check_document(server, score);
    munmap(score, sizeof(*score));
}

/* ---- Cut connections ---- */

/* The place with another port of localhost. */
static char *with_port(const char *place, int port, int *ret_port)
{
    const char *at = strstr(place, "localhost:");
    char *end;

    if (!at)
        abort();
    at += strlen("localhost:");
    *ret_port = (int)strtol(at, &end, 10);
    return str_printf("%.*s%d%s", (int)(at - place), place, port, end);
}

void chain_races_run_cut(struct chain_server *server, unsigned writes)
{
    struct score *score = score_new();
    struct chain_server by_proxy = {.open = server->open};
    struct tcp_proxy *proxy;
    time_t until = time(NULL) + LONGEST_RUN;
    pid_t pids[WRITERS];
    unsigned cuts = 0, done = 0, idle = 0;
    int port;

    free(with_port(server->place, 0, &port));
    proxy = tcp_proxy_new(port);
    by_proxy.place = with_port(server->place, tcp_proxy_port(proxy), &port);
    for (unsigned i = 0; i < WRITERS; i++)
        pids[i] = start_writer(&by_proxy, score, writes);
    for (; done < writes && !atomic_load(&score->failed) && time(NULL) < until; cuts++) {
        pause_before_blow(400000, idle);
        tcp_proxy_break(proxy);
        idle = count_idle(score, &done, idle);
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        if (time(NULL) >= until)
            kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
    EXPECT(atomic_load(&score->done) >= writes, "all are written");
    printf("%u writes, all connections cut %u times\n", atomic_load(&score->done), cuts);
    check_document(server, score);
    chain_server_done(&by_proxy);
    tcp_proxy_free(proxy);
    munmap(score, sizeof(*score));
}

/* ---- Answers ---- */

void chain_races_run_faulty(struct chain_server *server, unsigned writes)
{
    struct score *score = score_new();
    pid_t pids[WRITERS];

    for (unsigned i = 0; i < WRITERS; i++)
        pids[i] = start_faulty_writer(server, score, writes, i + 1);
    for (unsigned i = 0; i < WRITERS; i++)
        waitpid(pids[i], NULL, 0);
    EXPECT(atomic_load(&score->done) >= writes, "all are written");
    check_document(server, score);
    munmap(score, sizeof(*score));
}
