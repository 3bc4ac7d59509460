#include "runtimes/file/store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/file/private.h"

#define MODE_OPEN   0644
#define MODE_SECRET 0600
#define JOURNAL_BYTES                                                        \
    (32u << 20) /* a larger journal is ERR_TOO_LARGE: the document has to be \
                   rewritten */

struct file_document {
    struct store_file base;
    struct own_name name;
    struct file_paths paths;
    enum store_mode mode;
    int lock; /* a file descriptor, -1: none */
    /* The document as this handle last saw it. */
    struct buf text; /* the head's text; empty: there is no document */
    struct head head;
    size_t journal_length, n_entries;
    bool is_damaged;
};

static const char *const suffixes[PARTS] = {"open", "secret"};

/* ---- Reading ---- */

static void forget(struct file_document *file)
{
    buf_reset(&file->text);
    file_head_done(&file->head);
    file->journal_length = 0;
    file->n_entries = 0;
    file->is_damaged = false;
}

/* A missing file of an existing head is damage. */
static int read_file(const char *path, struct buf *to, struct error *error)
{
    struct error problem = {0};
    int r = file_read(path, to, &problem);

    if (r == ERR_NOT_FOUND)
        return file_corrupt(path, "is missing", error);
    return r < 0 ? err_copy(error, &problem) : 0;
}

static int read_part(const struct file_document *file, enum part part, struct buf *to,
                     struct error *error)
{
    _cleanup_free_ char *path = file_path_of(&file->paths, file->head.id, suffixes[part]);
    char checksum[HASH_HEX_SIZE];
    int r;

    if (!file->head.parts[part].exists)
        return 0;
    r = read_file(path, to, error);
    if (r < 0)
        return r;
    hash_hex(to->data, to->length, checksum);
    if (to->length != file->head.parts[part].length ||
        !str_equal(checksum, file->head.parts[part].checksum))
        return file_corrupt(path, "is damaged: it does not match its checksum", error);
    return 0;
}

static int read_journal(struct file_document *file, struct document *to, struct error *error)
{
    _cleanup_free_ char *path = file_path_of(&file->paths, file->head.id, "journal");
    _cleanup_buf_ struct buf journal = BUF_INIT;
    int r;

    if (!file->head.has_journal)
        return 0;
    r = read_file(path, &journal, error);
    if (r < 0)
        return r;
    if (!file_journal_parse(&journal, file->head.id, to, &file->journal_length) ||
        to->n_entries == 0)
        return file_corrupt(path, "is damaged: its entries do not match their checksums", error);
    file->n_entries = to->n_entries;
    return 0;
}

/* Reads the parts that the head in file->text names. */
static int read_all(struct file_document *file, struct document *to, struct error *error)
{
    _cleanup_free_ char *path = file_path_of(&file->paths, NULL, "head");
    int r;

    if (!file_head_parse(file->text.data, file->text.length, &file->head))
        return file_corrupt(path, "is damaged, or of another version's format", error);
    if (!document_name_equal(&file->head.name.name, &file->name.name))
        return file_corrupt(path, "is damaged: it is of another document", error);
    r = read_part(file, PART_OPEN, &to->open, error);
    if (r == 0)
        r = read_part(file, PART_SECRET, &to->secret, error);
    if (r == 0)
        r = read_journal(file, to, error);
    return r;
}

static int read_head(struct file_document *file, struct error *error)
{
    _cleanup_free_ char *path = file_path_of(&file->paths, NULL, "head");

    forget(file);
    return file_read(path, &file->text, error);
}

static bool same_text(const struct buf *a, const struct buf *b)
{
    return a->length == b->length && memcmp(a->data, b->data, a->length) == 0;
}

static int store_read(struct store_file *base, const struct store_call *call, struct document *ret,
                      struct error *error)
{
    struct file_document *file = (struct file_document *)base;
    _cleanup_buf_ struct buf before = BUF_INIT;
    int r = store_check_cancel(call, error);

    if (r < 0)
        return r;
    /* If a file is missing, another write may have removed it since the head was read: reads again.
     * */
    for (;;) {
        struct document document = DOCUMENT_INIT;
        struct error problem = {0};

        r = read_head(file, &problem);
        if (r == 0)
            r = read_all(file, &document, &problem);
        if (r == 0) {
            document_done(ret);
            *ret = document;
            return 0;
        }
        document_done(&document);
        if (r != ERR_CORRUPT) {
            forget(file);
            return err_copy(error, &problem);
        }
        file->is_damaged = true;
        if (before.length && same_text(&before, &file->text))
            return err_copy(error, &problem);
        buf_reset(&before);
        buf_add(&before, file->text.data, file->text.length);
        if (!before.length) /* an empty head */
            return err_copy(error, &problem);
    }
}

/* ---- Is it still as it was seen? ---- */

static int check_journal(const struct file_document *file, struct error *error)
{
    _cleanup_free_ char *path = file_path_of(&file->paths, file->head.id, "journal");
    _cleanup_buf_ struct buf journal = BUF_INIT;
    struct document entries = DOCUMENT_INIT;
    struct stat status;
    size_t length = 0;
    bool is_same;
    int r;

    if (stat(path, &status) == 0 && (uintmax_t)status.st_size == file->journal_length)
        return 0;
    r = read_file(path, &journal, error);
    if (r < 0)
        return r;
    is_same = file_journal_parse(&journal, file->head.id, &entries, &length) &&
              length == file->journal_length;
    document_done(&entries);
    return is_same ? 0 : store_changed(&file->name.name, error);
}

/* The lock alone is not enough: somebody may have deleted its file. */
static int check_seen(const struct file_document *file, struct error *error)
{
    _cleanup_free_ char *path = file_path_of(&file->paths, NULL, "head");
    _cleanup_buf_ struct buf now = BUF_INIT;
    struct error problem = {0};
    int r = file_read(path, &now, &problem);

    if (r == ERR_NOT_FOUND)
        return file->text.length ? store_changed(&file->name.name, error) : 0;
    if (r < 0)
        return err_copy(error, &problem);
    if (!same_text(&now, &file->text))
        return store_changed(&file->name.name, error);
    /* A damaged document may be replaced. */
    return file->head.has_journal && !file->is_damaged ? check_journal(file, error) : 0;
}

static int may_change(const struct file_document *file, const struct store_call *call,
                      struct error *error)
{
    int r = store_check_change(file->mode, call, error);

    return r < 0 ? r : check_seen(file, error);
}

/* ---- Writing ---- */

/* Renames a new head into place. *is_swapped: the rename may have happened, even after an error. */
static int swap_head(struct file_document *file, struct head *head, const struct store_call *call,
                     struct error *error)
{
    _cleanup_free_ char *path = file_path_of(&file->paths, NULL, "head");
    _cleanup_free_ char *fresh = file_path_of(&file->paths, head->id, "head");
    _cleanup_buf_ struct buf text = BUF_INIT;
    int r;

    file_head_write(&text, &file->name.name, head);
    r = file_write(fresh, MODE_SECRET, &text, error); /* with the secret part's checksum */
    if (r == 0)
        r = file_sync_folder(file->paths.folder, error);
    if (r == 0)
        r = permit_ask(call->permit, call->use, error);
    if (r == 0 && rename(fresh, path) < 0)
        r = file_error("renaming", fresh, error);
    if (r < 0)
        return r;
    r = file_sync_folder(file->paths.folder, error);
    if (r < 0)
        return r;
    forget(file);
    buf_add(&file->text, text.data, text.length);
    file->head = *head;
    *head = (struct head){0};
    return 0;
}

static int write_part(const struct file_document *file, enum part part, const struct buf *bytes,
                      struct head *head, struct error *error)
{
    _cleanup_free_ char *path = file_path_of(&file->paths, head->id, suffixes[part]);

    if (part == PART_SECRET && bytes->length == 0)
        return 0;
    head->parts[part].exists = true;
    head->parts[part].length = bytes->length;
    hash_hex(bytes->data, bytes->length, head->parts[part].checksum);
    return file_write(path, part == PART_SECRET ? MODE_SECRET : MODE_OPEN, bytes, error);
}

static int store_write(struct store_file *base, const struct store_call *call,
                       const struct document *document, struct error *error)
{
    struct file_document *file = (struct file_document *)base;
    struct head head = {0};
    int r = may_change(file, call, error);

    if (r < 0)
        return r;
    r = permit_ask(call->permit, call->use, error);
    if (r < 0)
        return r;
    file_draw_id(head.id);
    r = write_part(file, PART_OPEN, &document->open, &head, error);
    if (r == 0)
        r = write_part(file, PART_SECRET, &document->secret, &head, error);
    if (r == 0)
        r = swap_head(file, &head, call, error);
    if (r == 0)
        file_sweep(&file->paths, &file->head);
    return r;
}

/* ---- Appending ---- */

/* Appends the first entry: the head is swapped to say that there is a journal. */
static int append_first(struct file_document *file, const struct store_call *call,
                        const struct buf *frame, struct error *error)
{
    _cleanup_free_ char *path = file_path_of(&file->paths, file->head.id, "journal");
    struct head head = {0};
    int r = file_write(path, MODE_SECRET, frame, error);

    if (r < 0)
        return r;
    str_copy(head.id, ID_SIZE, file->head.id);
    memcpy(head.parts, file->head.parts, sizeof(head.parts));
    head.has_journal = true;
    r = swap_head(file, &head, call, error);
    if (r < 0)
        return r;
    file->journal_length = frame->length;
    file->n_entries = 1;
    return 0;
}

static int store_append(struct store_file *base, const struct store_call *call, const void *bytes,
                        size_t length, struct error *error)
{
    struct file_document *file = (struct file_document *)base;
    _cleanup_free_ char *path = NULL;
    _cleanup_buf_ struct buf frame = BUF_INIT;
    int r = may_change(file, call, error);

    if (r < 0)
        return r;
    if (!file->text.length)
        return err_set(error, ERR_NOT_FOUND, NULL, "there is no document to append to");
    if (file->is_damaged)
        return err_set(error, ERR_CORRUPT, STORE_CORRUPT,
                       "the document is damaged: it can be rewritten, but not appended to");
    if (length > JOURNAL_BYTES || file->journal_length > JOURNAL_BYTES - length)
        return err_set(error, ERR_TOO_LARGE, NULL,
                       "there is no room for another entry until the document is rewritten");
    r = permit_ask(call->permit, call->use, error);
    if (r < 0)
        return r;
    file_journal_frame(&frame, file->head.id, file->n_entries, bytes, length);
    if (!file->head.has_journal)
        return append_first(file, call, &frame, error);
    path = file_path_of(&file->paths, file->head.id, "journal");
    r = file_extend(path, (off_t)file->journal_length, &frame, error);
    if (r < 0)
        return r;
    file->journal_length += frame.length;
    file->n_entries++;
    return 0;
}

/* ---- Removing ---- */

static int store_remove(struct store_file *base, const struct store_call *call, struct error *error)
{
    struct file_document *file = (struct file_document *)base;
    _cleanup_free_ char *path = file_path_of(&file->paths, NULL, "head");
    int r = may_change(file, call, error);

    if (r == 0)
        r = permit_ask(call->permit, call->use, error);
    if (r < 0)
        return r;
    /* The head is deleted first: from then on the document does not exist. What a kill leaves of it
     * is removed by tidy. */
    if (file->text.length && unlink(path) < 0 && errno != ENOENT)
        return file_error("removing", path, error);
    r = file_sync_folder(file->paths.folder, error);
    if (r < 0)
        return r;
    forget(file);
    file_sweep(&file->paths, NULL);
    return 0;
}

/* ---- The rest of the table ---- */

static void store_close(struct store_file *base)
{
    struct file_document *file = (struct file_document *)base;

    if (!file)
        return;
    file_lock_give(&file->paths, file->lock);
    forget(file);
    buf_done(&file->text);
    file_paths_done(&file->paths);
    own_name_done(&file->name);
    free(file);
}

static int store_open(struct store *base, const struct document_name *name, enum store_mode mode,
                      const struct store_call *call, struct store_file **ret, struct error *error)
{
    struct file_store *store = (struct file_store *)base;
    struct file_document *file = NEW(struct file_document);
    int r = 0;

    (void)call;
    file->base.store = base;
    own_name_copy(&file->name, name);
    buf_init(&file->text, 0);
    file->mode = mode;
    file->lock = -1;
    file_paths_init(store->directory, name, &file->paths);
    if (mode == STORE_WRITE)
        r = file_lock_take(&file->paths, &file->lock, error);
    if (r < 0)
        store_close(&file->base);
    else
        *ret = &file->base;
    return r;
}

static char *path_of(struct store *base, const struct document_name *name, const char *suffix)
{
    struct file_paths paths;
    char *path;

    file_paths_init(((struct file_store *)base)->directory, name, &paths);
    path = file_path_of(&paths, NULL, suffix);
    file_paths_done(&paths);
    return path;
}

static char *store_describe(struct store *base, const struct document_name *name)
{
    return path_of(base, name, "head");
}

static char *store_removal(struct store *base, const struct document_name *name)
{
    _cleanup_free_ char *files = path_of(base, name, "*");

    return str_printf("rm %s", files);
}

static void store_free(struct store *base)
{
    struct file_store *store = (struct file_store *)base;

    free(store->directory);
    free(store);
}

static const struct store_ops ops = {
    .type = "file",
    .free = store_free,
    .open = store_open,
    .close = store_close,
    .read = store_read,
    .write = store_write,
    .append = store_append,
    .remove = store_remove,
    .list = file_list,
    .tidy = file_tidy,
    .describe = store_describe,
    .removal = store_removal,
};

struct store *file_store_new(const char *directory)
{
    struct file_store *store = NEW(struct file_store);

    store->base.ops = &ops;
    store->directory = str_new(directory);
    return &store->base;
}
