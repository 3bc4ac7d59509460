/* What killed processes left of documents: private.h. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "runtimes/file/private.h"

/* ---- One document ---- */

static bool is_of(const struct head *head, const char *rest)
{
    const char *suffix = rest + strlen(head->id);

    if (str_equal(rest, "head"))
        return true;
    return str_has_prefix(rest, head->id) &&
           (str_equal(suffix, ".open") || str_equal(suffix, ".secret") ||
            (head->has_journal && str_equal(suffix, ".journal")));
}

void file_sweep(const struct file_paths *paths, const struct head *head)
{
    _cleanup_free_ char *prefix = str_printf("%s.", paths->stem);
    DIR *folder = opendir(paths->folder);

    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        const char *rest = entry->d_name + strlen(prefix);
        _cleanup_free_ char *path = NULL;

        if (!str_has_prefix(entry->d_name, prefix) || str_equal(rest, "lock") ||
            (head && is_of(head, rest)))
            continue;
        path = str_printf("%s/%s", paths->folder, entry->d_name);
        unlink(path);
    }
    if (folder)
        closedir(folder);
}

/* Whoever has it open for writing sweeps it with the next write. */
static int tidy_document(const struct file_paths *paths, const struct store_call *call,
                         struct error *error)
{
    _cleanup_free_ char *path = file_path_of(paths, NULL, "head");
    _cleanup_buf_ struct buf text = BUF_INIT;
    struct error problem = {0};
    struct head head;
    int lock, r = file_lock_take(paths, &lock, &problem);

    if (r < 0)
        return r == ERR_CONFLICT ? 0 : err_copy(error, &problem);
    r = file_read(path, &text, &problem);
    if ((r == 0 || r == ERR_NOT_FOUND) && permit_ask(call->permit, call->use, &problem) < 0)
        r = problem.code;
    else if (r == ERR_NOT_FOUND)
        file_sweep(paths, NULL);
    else if (r == 0 && file_head_parse(text.data, text.length, &head)) {
        file_sweep(paths, &head);
        file_head_done(&head);
    }
    file_lock_give(paths, lock);
    return r < 0 && r != ERR_NOT_FOUND ? err_copy(error, &problem) : 0;
}

/* ---- The folder of a Spec ---- */

/* The files of one document, as their names tell. */
struct files {
    char *stem;
    char id[ID_SIZE]; /* of the first that has one */
    bool has_head;
    bool is_untidy; /* some may not be of the write that the head names */
};

static struct files *files_of(struct strmap *documents, const char *stem, size_t length)
{
    struct files *files = strmap_get_n(documents, stem, length);

    if (files)
        return files;
    files = NEW(struct files);
    files->stem = str_new_n(stem, length);
    strmap_put(documents, files->stem, files);
    return files;
}

/* "STEM.head", "STEM.lock" or "STEM.ID.SUFFIX"; others are not ours. */
static void note_file(struct strmap *documents, const char *name)
{
    size_t length = strcspn(name, ".");
    const char *rest = name[length] ? name + length + 1 : "";
    const char *suffix = strchr(rest, '.');
    bool has_id = suffix && suffix - rest == ID_SIZE - 1;
    char id[ID_SIZE] = "";
    struct files *files;

    if (length == 0 || (!has_id && !str_equal(rest, "head") && !str_equal(rest, "lock")))
        return;
    files = files_of(documents, name, length);
    files->has_head |= str_equal(rest, "head");
    if (!has_id)
        return;
    memcpy(id, rest, ID_SIZE - 1);
    files->is_untidy |= str_equal(suffix, ".head") || str_equal(suffix, ".journal") ||
                        (*files->id && !str_equal(files->id, id));
    memcpy(files->id, id, ID_SIZE);
}

static int read_folder(const char *path, struct strmap *documents, struct error *error)
{
    DIR *folder = opendir(path);

    if (!folder)
        return errno == ENOENT || errno == ENOTDIR ? 0 : file_error("reading", path, error);
    for (const struct dirent *entry; (entry = readdir(folder));)
        note_file(documents, entry->d_name);
    closedir(folder);
    return 0;
}

static int tidy_spec(char *namespace_folder, char *folder, const struct store_call *call,
                     struct error *error)
{
    struct strmap documents;
    int r;

    strmap_init(&documents);
    r = read_folder(folder, &documents, error);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&documents, e));) {
        struct files *files = e->value;
        const struct file_paths paths = {namespace_folder, folder, files->stem};

        if (r == 0 && (!files->has_head || files->is_untidy))
            r = tidy_document(&paths, call, error);
        free(files->stem);
        free(files);
    }
    strmap_done(&documents);
    return r;
}

/* ---- The store ---- */

/* The folders in the store's own are of namespaces; in those are the folders of Specs. */
static int tidy_below(char *path, bool is_namespace, const struct store_call *call,
                      struct error *error)
{
    DIR *folder = opendir(path);
    int r = 0;

    if (!folder)
        return errno == ENOENT || errno == ENOTDIR ? 0 : file_error("reading", path, error);
    for (const struct dirent *entry; r == 0 && (entry = readdir(folder));) {
        _cleanup_free_ char *below = str_printf("%s/%s", path, entry->d_name);

        if (cancel_fired(call->cancel))
            r = err_set(error, ERR_CANCELLED, "Cancelled", "%s", cancel_reason(call->cancel));
        else if (entry->d_name[0] != '.')
            r = is_namespace ? tidy_spec(path, below, call, error)
                             : tidy_below(below, true, call, error);
    }
    closedir(folder);
    return r;
}

int file_tidy(struct store *base, const struct store_call *call, struct error *error)
{
    return tidy_below(((struct file_store *)base)->directory, false, call, error);
}
