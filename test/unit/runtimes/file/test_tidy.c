/*
 * A process is killed at each of its system calls, while it saves or removes a document. After
 * tidy, no file is there but those of the document that can be read: no value of a Secret stays
 * behind.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/file/store.h"
#include "test/unit/runtimes/file/folder.h"
#include "test/unit/suite.h"

#define MOST_CALLS 500

static const struct store_call plain;
static const struct document_name name = {DOCUMENT_STATE, {"team", "web"}, NULL};

/* ---- Changes ---- */

static int write_value(struct store_file *file, const char *secret)
{
    struct document document = DOCUMENT_INIT;
    int r;

    buf_add_str(&document.open, "open");
    buf_add_str(&document.secret, secret);
    r = file->store->ops->write(file, &plain, &document, NULL);
    document_done(&document);
    return r;
}

static int write_new(struct store_file *file)
{
    return write_value(file, "new");
}

static int append_entry(struct store_file *file)
{
    return file->store->ops->append(file, &plain, "entry", strlen("entry"), NULL);
}

static int take_away(struct store_file *file)
{
    return file->store->ops->remove(file, &plain, NULL);
}

/* What there is before: nothing, a document, a document with an entry. */
static void prepare(struct store *store, unsigned n_changes)
{
    struct store_file *file = NULL;

    EXPECT_INT(store->ops->open(store, &name, STORE_WRITE, &plain, &file, NULL), 0, "open");
    if (n_changes > 0)
        EXPECT_INT(write_value(file, "old"), 0, "write");
    if (n_changes > 1)
        EXPECT_INT(append_entry(file), 0, "append");
    store->ops->close(file);
}

/* ---- Kills ---- */

/* The child: from the signal on, its calls are counted. */
static void run_traced(struct store *store, int (*change)(struct store_file *file))
{
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;

    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 || raise(SIGSTOP) != 0)
        _exit(1);
    if (store->ops->open(store, &name, STORE_WRITE, &plain, &file, NULL) < 0)
        _exit(2);
    store->ops->read(file, &plain, &document, NULL);
    if (change(file) < 0)
        _exit(3);
    store->ops->close(file);
    _exit(0);
}

/* Kills the child when it has entered or left so many calls. False: it ended before. */
static bool kill_at(struct store *store, int (*change)(struct store_file *file), unsigned calls)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0)
        run_traced(store, change);
    waitpid(child, &status, 0);
    for (unsigned i = 0; i < calls && WIFSTOPPED(status); i++) {
        ptrace(PTRACE_SYSCALL, child, NULL, NULL);
        waitpid(child, &status, 0);
    }
    if (!WIFSTOPPED(status)) {
        EXPECT(WIFEXITED(status), "ended");
        EXPECT_INT(WEXITSTATUS(status), 0, "well");
        return false;
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return true;
}

/* How many folders and files there are to be. */
static size_t files_of(struct store *store, const char *note)
{
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;
    struct error error = {0};
    size_t n_entries;
    int r;

    store->ops->open(store, &name, STORE_READ, &plain, &file, NULL);
    r = store->ops->read(file, &plain, &document, &error);
    n_entries = document.n_entries;
    document_done(&document);
    store->ops->close(file);
    if (r == 0)
        return 5 + (n_entries > 0); /* two folders, the head, two parts; the journal */
    EXPECT_INT(r, ERR_NOT_FOUND, note);
    return 0;
}

static void play(const char *what, unsigned n_before, int (*change)(struct store_file *file))
{
    bool was_killed = true;

    for (unsigned n = 1; was_killed && n < MOST_CALLS; n++) {
        _cleanup_free_ char *note = str_printf("%s, killed at %u", what, n);
        _cleanup_free_ char *left = NULL, *lock = NULL;
        char *folder = folder_new();
        struct store *store = file_store_new(folder);
        struct error error = {0};
        size_t n_files;

        prepare(store, n_before);
        was_killed = kill_at(store, change, n);
        EXPECT_INT(store->ops->tidy(store, &plain, &error), 0, error.message);
        n_files = files_of(store, note);
        left = folder_find(folder, "state.", "");
        lock = folder_find(folder, "state.", ".lock"); /* of the killed: the next writer's */
        if (n_files)
            EXPECT_INT(folder_count(folder), n_files + (lock != NULL), note);
        else
            EXPECT_STR(left, NULL, note);
        store->ops->free(store);
        folder_free(folder);
    }
    EXPECT(!was_killed, "to its end");
}

static void leaves_nothing_of_a_killed_process(void)
{
    play("save, the first", 0, write_new);
    play("save", 1, write_new);
    play("save over entries", 2, write_new);
    play("append, the first", 1, append_entry);
    play("append", 2, append_entry);
    play("remove", 1, take_away);
    play("remove with entries", 2, take_away);
}

/* ---- What stays ---- */

static void leaves_others_alone(void)
{
    char *folder = folder_new();
    _cleanup_free_ char *theirs = str_printf("%s/team/web/notes.txt", folder);
    _cleanup_free_ char *garbage = str_printf("%s/team/web/state.0123456789abcdef.secret", folder);
    struct store *store = file_store_new(folder);
    struct store_file *file = NULL;
    size_t n_files;

    EXPECT_INT(store->ops->tidy(store, &plain, NULL), 0, "an empty folder");
    prepare(store, 1);
    EXPECT_INT(symlink("/dev/null", theirs), 0, "a file of another");
    EXPECT_INT(symlink("/dev/null", garbage), 0, "of a write that was killed");
    n_files = folder_count(folder);
    EXPECT_INT(store->ops->open(store, &name, STORE_WRITE, &plain, &file, NULL), 0, "open");
    EXPECT_INT(store->ops->tidy(store, &plain, NULL), 0, "not while it is written");
    EXPECT_INT(folder_count(folder), n_files + 1, "all, and the lock");
    store->ops->close(file);
    EXPECT_INT(store->ops->tidy(store, &plain, NULL), 0, "then");
    EXPECT_INT(folder_count(folder), n_files - 1, "the garbage");
    EXPECT_INT(access(theirs, F_OK), 0, "theirs");
    store->ops->free(store);
    folder_free(folder);
}

/* A head that cannot be read is reported, and keeps nothing else from being tidied. */
static void goes_on_after_what_is_damaged(void)
{
    static const char *const specs[] = {"a", "web", "z"};
    char *folder = folder_new();
    struct store *store = file_store_new(folder);
    struct error error = {0};

    prepare(store, 1);
    for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
        _cleanup_free_ char *of_spec = str_printf("%s/team/%s", folder, specs[i]);
        _cleanup_free_ char *head = str_printf("%s/damaged.head", of_spec);
        _cleanup_free_ char *part = str_printf("%s/damaged.0123456789abcdef.open", of_spec);
        _cleanup_free_ char *other = str_printf("%s/damaged.fedcba9876543210.secret", of_spec);
        _cleanup_free_ char *garbage = str_printf("%s/gone.0123456789abcdef.secret", of_spec);

        mkdir(of_spec, 0700);
        EXPECT_INT(mkdir(head, 0700), 0, "no file"); /* EISDIR */
        EXPECT_INT(symlink("/dev/null", part), 0, part);
        EXPECT_INT(symlink("/dev/null", other), 0, other);
        EXPECT_INT(symlink("/dev/null", garbage), 0, garbage);
    }
    EXPECT(store->ops->tidy(store, &plain, &error) < 0, "is told");
    for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
        _cleanup_free_ char *garbage =
            str_printf("%s/team/%s/gone.0123456789abcdef.secret", folder, specs[i]);

        EXPECT(access(garbage, F_OK) < 0 && faccessat(0, garbage, F_OK, AT_SYMLINK_NOFOLLOW) < 0,
               garbage);
    }
    store->ops->free(store);
    folder_free(folder);
}

SUITE(file_store_tidy, TEST(leaves_nothing_of_a_killed_process), TEST(leaves_others_alone),
      TEST(goes_on_after_what_is_damaged))
