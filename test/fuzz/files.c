/*
 * Documents in files (runtimes/file), damaged at random. A document of three entries is written;
 * then its files are changed as the input says. Reading gives that document, without its last
 * entries at most where the journal was cut off, or ERR_CORRUPT, or, where the head is gone,
 * ERR_NOT_FOUND: never another document. It can be removed then, and nothing is left.
 *
 * Each line is a change of the file with that suffix ("head", "open", "secret", "journal"):
 *   SUFFIX AT BYTE   the byte there becomes another     SUFFIX cut LENGTH   the file ends there
 *   SUFFIX gone      the file is removed                SUFFIX add TEXT     at its end
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/file/store.h"
#include "test/fuzz/fuzz.h"

#define MOST_CHANGES 8

static const struct document_name name = {DOCUMENT_STATE, {"team", "web"}, NULL};
static const struct store_call plain;
static const char *const entries[] = {"first", "second, which is longer", "third"};

static char *directory, *folder;

static void remove_all(void)
{
    _cleanup_free_ char *above = directory ? str_printf("%s/team", directory) : NULL;

    if (!directory)
        return;
    rmdir(folder);
    rmdir(above);
    rmdir(directory);
}

static void begin(void)
{
    if (directory)
        return;
    directory = str_new("/tmp/kusion-fuzz-XXXXXX");
    must(mkdtemp(directory));
    folder = str_printf("%s/team/web", directory);
    atexit(remove_all);
}

/* The path of the document's file with that suffix; free(), or NULL. */
static char *find(const char *suffix)
{
    DIR *files = opendir(folder);
    char *path = NULL;

    must(files);
    for (const struct dirent *entry; !path && (entry = readdir(files));) {
        const char *dot = strrchr(entry->d_name, '.');

        if (dot && dot > entry->d_name && strcmp(dot + 1, suffix) == 0)
            path = str_printf("%s/%s", folder, entry->d_name);
    }
    closedir(files);
    return path;
}

struct damage {
    bool is_any; /* something was changed */
    bool is_cut; /* the journal ends earlier, perhaps */
    bool has_lost_head;
};

static void add_bytes(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

    must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

static void set_byte(const char *path, long at, long byte)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    char c = (char)byte;

    must(fd >= 0 && pwrite(fd, &c, 1, at) == 1);
    close(fd);
}

static void change(const char *line, struct damage *damage)
{
    _cleanup_free_ char *suffix = NULL, *path = NULL, *text = NULL;
    long at, byte;
    struct stat status;

    if (sscanf(line, "%9m[a-z]", &suffix) < 1 || strcmp(suffix, "lock") == 0)
        return;
    path = find(suffix);
    if (!path || stat(path, &status) < 0)
        return;
    line += strlen(suffix);
    damage->is_any = true;
    if (sscanf(line, " cut %6ld", &at) == 1 && at >= 0 && at <= status.st_size) {
        must(truncate(path, at) == 0);
        damage->is_cut |= strcmp(suffix, "journal") == 0;
    } else if (strcmp(line, " gone") == 0) {
        must(unlink(path) == 0);
        damage->has_lost_head |= strcmp(suffix, "head") == 0;
    } else if (sscanf(line, " add %m[^\n]", &text) == 1) {
        add_bytes(path, text);
    } else if (sscanf(line, " %6ld %3ld", &at, &byte) == 2 && at >= 0 && at < status.st_size) {
        set_byte(path, at, byte);
        damage->is_cut |= byte % 256 == 0 && strcmp(suffix, "journal") == 0; /* as if torn */
    }
}

static bool has_text(const struct buf *buf, const char *text)
{
    return buf->length == strlen(text) && memcmp(buf->data, text, buf->length) == 0;
}

static void check_read(struct store_file *file, const struct damage *damage)
{
    struct document document = DOCUMENT_INIT;
    struct error error = {0};
    int r = file->store->ops->read(file, &plain, &document, &error);

    must_agree(r, &error);
    must(r == 0 || r == ERR_CORRUPT || (r == ERR_NOT_FOUND && damage->has_lost_head));
    must(r == 0 || damage->is_any);
    if (r == 0) {
        must(has_text(&document.open, "open") && has_text(&document.secret, "secret"));
        must(document.n_entries <= 3 && (document.n_entries == 3 || damage->is_cut));
        for (size_t i = 0; i < document.n_entries; i++)
            must(has_text(&document.entries[i], entries[i]));
    }
    document_done(&document);
}

static void write_document(struct store_file *file)
{
    struct document document = DOCUMENT_INIT;

    buf_add_str(&document.open, "open");
    buf_add_str(&document.secret, "secret");
    must(file->store->ops->write(file, &plain, &document, NULL) == 0);
    for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
        must(file->store->ops->append(file, &plain, entries[i], strlen(entries[i]), NULL) == 0);
    document_done(&document);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct store_file *file = NULL;
    struct damage damage = {0};
    struct store *store;

    begin();
    store = file_store_new(directory);
    must(store->ops->open(store, &name, STORE_WRITE, &plain, &file, NULL) == 0);
    write_document(file);
    for (size_t i = 0; i < MOST_CHANGES && size; i++) {
        _cleanup_free_ char *line = take_line(&data, &size);

        change(line, &damage);
    }
    check_read(file, &damage);
    must(store->ops->remove(file, &plain, NULL) == 0);
    store->ops->close(file);
    must(access(folder, F_OK) < 0);
    store->ops->free(store);
    return 0;
}
