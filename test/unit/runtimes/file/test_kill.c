/*
 * A process that writes and appends all the time is killed at random moments, 200 times. What is
 * read after is the last write that it was told of with the entries since, or one change more.
 */
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/file/store.h"
#include "test/unit/runtimes/file/folder.h"
#include "test/unit/suite.h"

#define KILLS    200
#define CYCLE    5      /* one write, four appends */
#define LARGEST  200000 /* bytes of a part */
#define PATIENCE 10000  /* ms */

static const struct store_call plain;
static const struct document_name name = {DOCUMENT_STATE, {"team", "web"}, NULL};

/* Shared with the process that is killed: the number of the change that it began, and of the
 * last that was acknowledged. Change n is a write where n % CYCLE is 0. */
struct progress {
    atomic_uint begun, done, failed;
};

static void fill(struct buf *to, unsigned change, unsigned part)
{
    uint32_t state = change * 7 + part;
    size_t length;

    state = state * 1664525 + 1013904223;
    length = (state >> 8) % (change % 3 ? 300 : LARGEST);
    buf_printf(to, "%u.%u ", change, part);
    while (length--) {
        state = state * 1664525 + 1013904223;
        buf_add_char(to, (char)(state >> 24));
    }
}

static int change(struct store_file *file, unsigned n)
{
    struct document document = DOCUMENT_INIT;
    int r;

    fill(&document.open, n, 0);
    fill(&document.secret, n, 1);
    r = n % CYCLE == 0 ? file->store->ops->write(file, &plain, &document, NULL)
                       : file->store->ops->append(file, &plain, document.open.data,
                                                  document.open.length, NULL);
    document_done(&document);
    return r;
}

/* Until it is killed. */
static void live(struct store *store, struct progress *progress, unsigned next)
{
    struct document document = DOCUMENT_INIT; /* not freed: it is killed */
    struct store_file *file = NULL;

    if (store->ops->open(store, &name, STORE_WRITE, &plain, &file, NULL) < 0)
        atomic_store(&progress->failed, 1);
    if (file && store->ops->read(file, &plain, &document, NULL) < 0 && next > 0)
        atomic_store(&progress->failed, 2);
    for (; !atomic_load(&progress->failed); next++) {
        atomic_store(&progress->begun, next);
        if (change(file, next) < 0)
            atomic_store(&progress->failed, 3);
        else
            atomic_store(&progress->done, next);
    }
    for (;;)
        pause();
}

static bool is_filled(const struct buf *buf, unsigned n, unsigned part)
{
    _cleanup_buf_ struct buf expected = BUF_INIT;

    fill(&expected, n, part);
    return buf->length == expected.length && memcmp(buf->data, expected.data, expected.length) == 0;
}

/* Is the document what it is after change n? */
static bool is_after(const struct document *document, unsigned n)
{
    unsigned written = n - n % CYCLE;

    if (document->n_entries != n % CYCLE || !is_filled(&document->open, written, 0) ||
        !is_filled(&document->secret, written, 1))
        return false;
    for (unsigned i = 0; i < document->n_entries; i++)
        if (!is_filled(&document->entries[i], written + i + 1, 0))
            return false;
    return true;
}

/* The number of the change that the document is after; -1: none that it may be after. */
static int64_t look(struct store *store, const struct progress *progress, const char *note)
{
    unsigned begun = atomic_load(&progress->begun), done = atomic_load(&progress->done);
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;
    struct error error = {0};
    int64_t found = -1;
    int r;

    store->ops->open(store, &name, STORE_READ, &plain, &file, NULL);
    r = store->ops->read(file, &plain, &document, &error);
    EXPECT_INT(r, 0, error.message);
    for (unsigned n = done; n <= begun && found < 0; n++)
        if (r == 0 && is_after(&document, n))
            found = n;
    EXPECT(found >= 0, note);
    document_done(&document);
    store->ops->close(file);
    return found;
}

/* One life in four lasts until its first change is acknowledged, on a slow machine, too. */
static void wait_for_change(struct progress *progress, unsigned at)
{
    for (int waited = 0; atomic_load(&progress->done) == at && waited < PATIENCE; waited++)
        usleep(1000);
}

static void is_whole_whenever_it_is_killed(void)
{
    struct progress *progress =
        mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char *folder = folder_new();
    struct store *store = file_store_new(folder);
    struct store_file *file = NULL;
    struct document document = DOCUMENT_INIT;
    uint32_t random = 1;
    int64_t at = 0;

    EXPECT_INT(store->ops->open(store, &name, STORE_WRITE, &plain, &file, NULL), 0, "open");
    EXPECT_INT(change(file, 0), 0, "the first");
    store->ops->close(file);
    for (int i = 0; i < KILLS && at >= 0; i++) {
        _cleanup_free_ char *note = str_printf("kill %d after change %lld", i, (long long)at);
        pid_t child;

        atomic_store(&progress->begun, (unsigned)at);
        atomic_store(&progress->done, (unsigned)at);
        child = fork();
        if (child == 0)
            live(store, progress, (unsigned)at + 1);
        if (i % 4 == 0)
            wait_for_change(progress, (unsigned)at);
        random = random * 1664525 + 1013904223;
        usleep(1000 + (random >> 8) % 12000);
        /* On a busy machine it may not have come far: every other one makes a change at least. */
        for (int n = 0; i % 2 && n < 2000 && atomic_load(&progress->done) == (unsigned)at; n++)
            usleep(1000);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        EXPECT_INT(atomic_load(&progress->failed), 0, note);
        at = look(store, progress, note);
    }
    EXPECT(at > KILLS / 10, "it got somewhere");
    EXPECT_INT(store->ops->open(store, &name, STORE_WRITE, &plain, &file, NULL), 0, "no lock left");
    EXPECT_INT(store->ops->read(file, &plain, &document, NULL), 0, "read");
    document_done(&document);
    EXPECT_INT(store->ops->remove(file, &plain, NULL), 0, "remove");
    store->ops->close(file);
    EXPECT_INT(folder_count(folder), 0, "nothing is left");
    store->ops->free(store);
    folder_free(folder);
    munmap(progress, sizeof(*progress));
}

SUITE(file_store_kill, TEST(is_whole_whenever_it_is_killed))
