/* What killed processes left of documents: private.h. */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "runtimes/file/private.h"

/* ---- One document ---- */

static bool is_of(const struct head *head, const char *rest)
{
    const char *suffix;

    if (str_equal(rest, "head"))
        return true;
    if (!str_has_prefix(rest, head->id))
        return false;
    suffix = rest + strlen(head->id);
    return str_equal(suffix, ".open") || str_equal(suffix, ".secret") ||
           (head->has_journal && str_equal(suffix, ".journal"));
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

/* ---- What goes wrong ---- */

/* The first error, and whether it is worth going on: what is damaged must not keep the rest. */
struct outcome {
    struct error *error; /* may be NULL */
    int code;
};

static void note_failure(struct outcome *outcome, const struct error *problem)
{
    if (outcome->code == 0)
        outcome->code = err_copy(outcome->error, problem);
}

static bool is_over(const struct outcome *outcome, const struct store_call *call)
{
    return outcome->code == ERR_FENCED || cancel_fired(call->cancel);
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

static void tidy_spec(char *namespace_folder, char *folder, const struct store_call *call,
                      struct outcome *outcome)
{
    struct strmap documents;
    struct error problem = {0};

    strmap_init(&documents);
    if (read_folder(folder, &documents, &problem) < 0)
        note_failure(outcome, &problem);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&documents, e));) {
        struct files *files = e->value;
        const struct file_paths paths = {namespace_folder, folder, files->stem};

        if ((!files->has_head || files->is_untidy) && !is_over(outcome, call) &&
            tidy_document(&paths, call, &problem) < 0)
            note_failure(outcome, &problem);
        free(files->stem);
        free(files);
    }
    strmap_done(&documents);
}

/* ---- The store ---- */

/* The folders in the store's own are of namespaces; in those are the folders of Specs. */
static void tidy_below(char *path, bool is_namespace, const struct store_call *call,
                       struct outcome *outcome)
{
    DIR *folder = opendir(path);
    struct error problem = {0};

    if (!folder && errno != ENOENT && errno != ENOTDIR) {
        file_error("reading", path, &problem);
        note_failure(outcome, &problem);
    }
    for (const struct dirent *entry;
         folder && !is_over(outcome, call) && (entry = readdir(folder));) {
        _cleanup_free_ char *below = str_printf("%s/%s", path, entry->d_name);

        if (entry->d_name[0] == '.')
            continue;
        if (is_namespace)
            tidy_spec(path, below, call, outcome);
        else
            tidy_below(below, true, call, outcome);
    }
    if (folder)
        closedir(folder);
}

int file_tidy(struct store *base, const struct store_call *call, struct error *error)
{
    struct outcome outcome = {.error = error};

    tidy_below(((struct file_store *)base)->directory, false, call, &outcome);
    return outcome.code ? outcome.code : store_check_cancel(call, error);
}
