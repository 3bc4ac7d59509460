#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/file/private.h"
#include "test/unit/engine/store_contract.h"
#include "test/unit/runtimes/file/folder.h"
#include "test/unit/suite.h"

static const struct store_call plain;

static struct store *attach(void *arg)
{
    return file_store_new(arg);
}

/* ---- The contract ---- */

static void flip_byte(const char *path, off_t at)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    char byte = 0;

    if (fd < 0 || pread(fd, &byte, 1, at) != 1)
        abort();
    byte ^= 1;
    if (pwrite(fd, &byte, 1, at) != 1)
        abort();
    close(fd);
}

static bool damage(void *arg, const struct document_name *name, enum damage_part part,
                   enum damage_how how, char **ret)
{
    static const char *const suffixes[] = {".head", ".open", ".secret", ".journal"};
    _cleanup_free_ char *path = NULL;
    struct file_paths paths;

    file_paths_init(arg, name, &paths);
    path = folder_find(paths.folder, "state.", suffixes[part]);
    file_paths_done(&paths);
    EXPECT(path, suffixes[part]);
    if (how == DAMAGE_MISSING)
        unlink(path);
    else
        flip_byte(path, 50);
    if (part != DAMAGE_HEAD || how == DAMAGE_CHANGED)
        *ret = TAKE(path);
    return true;
}

static void break_lock(void *arg, const struct document_name *name)
{
    _cleanup_free_ char *path = NULL;
    struct file_paths paths;

    file_paths_init(arg, name, &paths);
    path = file_path_of(&paths, NULL, "lock");
    unlink(path);
    file_paths_done(&paths);
}

static void keeps_the_contract(void)
{
    char *folder = folder_new();

    store_contract_check(&(struct store_fixture){folder, attach, damage, break_lock});
    folder_free(folder);
}

/* ---- One document ---- */

struct desk {
    char *folder;
    struct store *store;
    struct document_name name;
    struct store_file *file;
    struct error error;
};

static void begin(struct desk *desk)
{
    *desk = (struct desk){.folder = folder_new(), .name = {DOCUMENT_STATE, {"team", "web"}, NULL}};
    desk->store = file_store_new(desk->folder);
    EXPECT_INT(desk->store->ops->open(desk->store, &desk->name, STORE_WRITE, &plain, &desk->file,
                                      &desk->error),
               0, desk->error.message);
}

static void end(struct desk *desk)
{
    desk->store->ops->close(desk->file);
    desk->store->ops->free(desk->store);
    folder_free(desk->folder);
}

static int put(struct desk *desk, const char *open, const char *secret)
{
    struct document document = DOCUMENT_INIT;
    int r;

    buf_add_str(&document.open, open);
    buf_add_str(&document.secret, secret);
    err_clear(&desk->error);
    r = desk->store->ops->write(desk->file, &plain, &document, &desk->error);
    document_done(&document);
    return r;
}

static int append(struct desk *desk, const char *text)
{
    err_clear(&desk->error);
    return desk->store->ops->append(desk->file, &plain, text, strlen(text), &desk->error);
}

/* Gives the number of entries, or the code. */
static int count_entries(struct desk *desk)
{
    struct document document = DOCUMENT_INIT;
    int r;

    err_clear(&desk->error);
    r = desk->store->ops->read(desk->file, &plain, &document, &desk->error);
    if (r == 0)
        r = (int)document.n_entries;
    document_done(&document);
    return r;
}

static char *find(struct desk *desk, const char *suffix)
{
    char *path = folder_find(desk->folder, "state.", suffix);

    EXPECT(path, suffix);
    return path;
}

static unsigned mode_of(const char *path)
{
    struct stat status = {0};

    EXPECT_INT(stat(path, &status), 0, path);
    return status.st_mode & 0777;
}

static void secrets_are_for_the_owner_alone(void)
{
    _cleanup_free_ char *head = NULL, *secret = NULL, *journal = NULL, *spec = NULL;
    struct desk desk;

    begin(&desk);
    EXPECT_INT(put(&desk, "open", "secret"), 0, desk.error.message);
    EXPECT_INT(append(&desk, "entry"), 0, desk.error.message);
    head = find(&desk, ".head");
    secret = find(&desk, ".secret");
    journal = find(&desk, ".journal");
    spec = str_printf("%s/team/web", desk.folder);
    EXPECT_INT(mode_of(secret), 0600, "secret");
    EXPECT_INT(mode_of(journal), 0600, "journal");
    EXPECT_INT(mode_of(head), 0600, "checksums of both");
    EXPECT_INT(mode_of(spec), 0700, "folder");
    EXPECT(str_has_prefix(head, spec), "people find it");
    end(&desk);
}

static void nothing_is_left_of_what_was_removed(void)
{
    struct desk desk;

    begin(&desk);
    for (int i = 0; i < 3; i++) {
        EXPECT_INT(put(&desk, "open", "secret"), 0, desk.error.message);
        EXPECT_INT(append(&desk, "entry"), 0, desk.error.message);
        EXPECT_INT(folder_count(desk.folder), 7, "2 folders, lock, head, parts, journal");
    }
    EXPECT_INT(put(&desk, "open", ""), 0, desk.error.message);
    EXPECT_INT(folder_count(desk.folder), 5, "what is not named is gone");
    EXPECT_INT(desk.store->ops->remove(desk.file, &plain, &desk.error), 0, desk.error.message);
    desk.store->ops->close(desk.file);
    desk.file = NULL;
    EXPECT_INT(folder_count(desk.folder), 0, "nothing");
    end(&desk);
}

static void says_who_has_the_lock(void)
{
    _cleanup_free_ char *who = str_printf("process %ld on ", (long)getpid());
    struct store_file *other = NULL;
    struct desk desk;

    begin(&desk);
    EXPECT_INT(
        desk.store->ops->open(desk.store, &desk.name, STORE_WRITE, &plain, &other, &desk.error),
        ERR_CONFLICT, "locked");
    EXPECT_STR(desk.error.reason, "StateLocked", desk.error.message);
    EXPECT(strstr(desk.error.message, who), desk.error.message);
    EXPECT(!other, "not opened");
    end(&desk);
}

static int allow_some(void *arg, enum permit_use use, struct error *error)
{
    unsigned *left = arg;

    (void)use;
    if (*left == 0)
        return err_set(error, ERR_FENCED, NULL, "the Lease is lost");
    --*left;
    return 0;
}

/* The parts are written, and then the Lease is lost: the head is not swapped. */
static void asks_the_permit_right_before_the_swap(void)
{
    const struct document document = DOCUMENT_INIT;
    unsigned left = 1;
    const struct permit permit = {allow_some, &left};
    const struct store_call call = {.permit = &permit, .use = PERMIT_ACT};
    struct desk desk;

    begin(&desk);
    EXPECT_INT(put(&desk, "open", "secret"), 0, desk.error.message);
    EXPECT_INT(append(&desk, "entry"), 0, desk.error.message);
    EXPECT_INT(desk.store->ops->write(desk.file, &call, &document, NULL), ERR_FENCED, "write");
    EXPECT_INT(count_entries(&desk), 1, "as it was");
    end(&desk);
}

static void a_full_journal_says_so(void)
{
    const size_t length = 17u << 20; /* more than half of what a journal may have */
    struct desk desk;
    char *bytes = calloc(1, length);

    begin(&desk);
    EXPECT_INT(put(&desk, "open", ""), 0, desk.error.message);
    EXPECT_INT(desk.store->ops->append(desk.file, &plain, bytes, length, NULL), 0, "the first");
    EXPECT_INT(desk.store->ops->append(desk.file, &plain, bytes, length, NULL), ERR_TOO_LARGE,
               "no room for another");
    EXPECT_INT(count_entries(&desk), 1, "the first");
    EXPECT_INT(put(&desk, "open", ""), 0, "rewritten");
    EXPECT_INT(append(&desk, "entry"), 0, "there is room again");
    free(bytes);
    end(&desk);
}

/* ---- A read while another process writes ---- */

static void *read_open_part(void *arg)
{
    struct desk *desk = arg;
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;
    struct error error = {0};

    desk->store->ops->open(desk->store, &desk->name, STORE_READ, &plain, &file, NULL);
    EXPECT_INT(desk->store->ops->read(file, &plain, &document, &error), 0, error.message);
    EXPECT_STR(document.open.data, "new", "the document that is in force");
    document_done(&document);
    desk->store->ops->close(file);
    return NULL;
}

/* Opens a pipe to write when another has opened it to read. */
static int await_reader(const char *path)
{
    int fd = -1;

    for (int waited = 0; fd < 0 && waited < 10000; waited++) {
        fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
            usleep(1000);
    }
    return fd;
}

/* It has read the head; then the head is swapped, and the parts that it named are removed. */
static void a_read_that_a_write_overtakes_reads_again(void)
{
    _cleanup_free_ char *path = NULL;
    struct desk desk;
    pthread_t thread;
    int fd;

    begin(&desk);
    EXPECT_INT(put(&desk, "old", "secret"), 0, desk.error.message);
    path = find(&desk, ".open");
    unlink(path);
    CU_ASSERT_FATAL(mkfifo(path, 0600) == 0); /* where the reader waits */
    CU_ASSERT_FATAL(pthread_create(&thread, NULL, read_open_part, &desk) == 0);
    fd = await_reader(path);
    EXPECT(fd >= 0, "the head is read");
    EXPECT_INT(put(&desk, "new", ""), 0, desk.error.message);
    close(fd);
    pthread_join(thread, NULL);
    end(&desk);
}

/* ---- The journal's end ---- */

static void cut(const char *path, off_t by)
{
    struct stat status;

    if (stat(path, &status) < 0 || truncate(path, status.st_size - by) < 0)
        abort();
}

static void add_bytes(const char *path, const void *bytes, size_t length)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

    if (fd < 0 || write(fd, bytes, length) != (ssize_t)length)
        abort();
    close(fd);
}

/* Of three entries of 100 bytes the file is changed; each frame is some 90 bytes longer. */
static void a_torn_end_is_no_damage(void)
{
    static const char zeros[5000];
    static const struct {
        const char *note;
        off_t cut;    /* bytes off the end */
        size_t zeros; /* added then */
        int entries;  /* or the code */
    } rows[] = {
        {"whole", 0, 0, 3},
        {"the line's end", 1, 0, 2},
        {"in the entry", 50, 0, 2},
        {"in the line", 150, 0, 2},
        {"zeros after it", 0, 4096, 3},
        {"torn with zeros", 50, 50, 2},
        {"torn with more", 50, 4096, 2},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *path = NULL;
        char entry[101] = {0};
        struct desk desk;

        begin(&desk);
        memset(entry, 'e', sizeof(entry) - 1);
        EXPECT_INT(put(&desk, "open", ""), 0, desk.error.message);
        for (int k = 0; k < 3; k++)
            EXPECT_INT(append(&desk, entry), 0, desk.error.message);
        path = find(&desk, ".journal");
        cut(path, rows[i].cut);
        add_bytes(path, zeros, rows[i].zeros);
        EXPECT_INT(count_entries(&desk), rows[i].entries, rows[i].note);
        EXPECT_INT(append(&desk, "next"), 0, "it goes on after what is whole");
        EXPECT_INT(count_entries(&desk), rows[i].entries + 1, rows[i].note);
        EXPECT_INT(append(&desk, "and next"), 0, desk.error.message);
        EXPECT_INT(count_entries(&desk), rows[i].entries + 2, rows[i].note);
        end(&desk);
    }
}

/* Whichever byte of acknowledged entries is changed, it is damage. */
static void each_byte_of_a_journal_counts(void)
{
    _cleanup_free_ char *path = NULL;
    struct stat status;
    struct desk desk;

    begin(&desk);
    EXPECT_INT(put(&desk, "open", ""), 0, desk.error.message);
    EXPECT_INT(append(&desk, "first"), 0, desk.error.message);
    EXPECT_INT(append(&desk, "second"), 0, desk.error.message);
    path = find(&desk, ".journal");
    EXPECT_INT(stat(path, &status), 0, path);
    for (off_t at = 0; at < status.st_size; at++) {
        flip_byte(path, at);
        EXPECT_INT(count_entries(&desk), ERR_CORRUPT, "changed");
        EXPECT(strstr(desk.error.message, path), desk.error.message);
        flip_byte(path, at);
    }
    EXPECT_INT(count_entries(&desk), 2, "as it was");
    end(&desk);
}

static void each_byte_of_a_head_counts(void)
{
    _cleanup_free_ char *path = NULL;
    struct stat status;
    struct desk desk;

    begin(&desk);
    EXPECT_INT(put(&desk, "open", "secret"), 0, desk.error.message);
    path = find(&desk, ".head");
    EXPECT_INT(stat(path, &status), 0, path);
    for (off_t at = 0; at < status.st_size; at++) {
        flip_byte(path, at);
        EXPECT_INT(count_entries(&desk), ERR_CORRUPT, "changed");
        flip_byte(path, at);
    }
    EXPECT_INT(truncate(path, 0), 0, path);
    EXPECT_INT(count_entries(&desk), ERR_CORRUPT, "empty");
    EXPECT_INT(put(&desk, "again", ""), 0, "what is damaged can be replaced");
    EXPECT_INT(count_entries(&desk), 0, desk.error.message);
    end(&desk);
}

/* A folder that was copied is of another Spec: its documents are not taken for that Spec's. */
static void a_copy_is_of_another_document(void)
{
    _cleanup_free_ char *from = NULL, *to = NULL;
    const struct document_name other = {DOCUMENT_STATE, {"team", "copy"}, NULL};
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;
    struct desk desk;

    begin(&desk);
    EXPECT_INT(put(&desk, "open", ""), 0, desk.error.message);
    from = str_printf("%s/team/web", desk.folder);
    to = str_printf("%s/team/copy", desk.folder);
    EXPECT_INT(rename(from, to), 0, to);
    EXPECT_INT(desk.store->ops->open(desk.store, &other, STORE_READ, &plain, &file, NULL), 0, to);
    EXPECT_INT(desk.store->ops->read(file, &plain, &document, &desk.error), ERR_CORRUPT, to);
    desk.store->ops->close(file);
    document_done(&document);
    end(&desk);
}

static void says_what_the_file_system_refuses(void)
{
    char *folder = folder_new();
    _cleanup_free_ char *path = str_printf("%s/file", folder), *below = NULL;
    const struct document_name name = {DOCUMENT_STATE, {"team", "web"}, NULL};
    struct store_file *file = NULL;
    struct error error = {0};
    struct store *store;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    close(fd);
    below = str_printf("%s/below", path);
    store = file_store_new(below);
    EXPECT_INT(store->ops->open(store, &name, STORE_WRITE, &plain, &file, &error), ERR_UNAVAILABLE,
               "no folder");
    EXPECT(strstr(error.message, path) && !file, error.message);
    store->ops->free(store);
    folder_free(folder);
}

SUITE(file_store, TEST(keeps_the_contract), TEST(secrets_are_for_the_owner_alone),
      TEST(nothing_is_left_of_what_was_removed), TEST(says_who_has_the_lock),
      TEST(asks_the_permit_right_before_the_swap), TEST(a_full_journal_says_so),
      TEST(a_read_that_a_write_overtakes_reads_again), TEST(a_torn_end_is_no_damage),
      TEST(each_byte_of_a_journal_counts), TEST(each_byte_of_a_head_counts),
      TEST(a_copy_is_of_another_document), TEST(says_what_the_file_system_refuses))
