/* Lists documents, by their heads: private.h. */
#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "engine/base/str.h"
#include "runtimes/file/private.h"

struct listing {
    struct file_store *store;
    enum document_kind kind;
    store_on_name *fn;
    void *arg;
};

static int list_head(const struct listing *listing, const char *path, struct error *error)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    _cleanup_free_ char *expected = NULL;
    struct error problem = {0};
    struct file_paths paths;
    struct head head;
    int r = file_read(path, &text, &problem);

    if (r == ERR_NOT_FOUND) /* removed meanwhile */
        return 0;
    if (r < 0)
        return err_copy(error, &problem);
    if (!file_head_parse(text.data, text.length, &head))
        return file_corrupt(path, "is damaged: it does not say which document it is", error);
    file_paths_init(listing->store->directory, &head.name.name, &paths);
    expected = file_path_of(&paths, NULL, "head");
    file_paths_done(&paths);
    if (!str_equal(path, expected))
        r = file_corrupt(path, "is damaged: it is of another document", error);
    else if (head.name.name.kind == listing->kind)
        r = listing->fn(listing->arg, &head.name.name, error);
    file_head_done(&head);
    return r;
}

/* "KIND.head" and "KIND-ITEM.head", but not "STEM.ID.head", which is not in place yet. */
static bool is_head(const struct listing *listing, const char *name)
{
    const char *kind = document_kind_name(listing->kind), *dot = strchr(name, '.');

    return str_has_prefix(name, kind) && (name[strlen(kind)] == '.' || name[strlen(kind)] == '-') &&
           str_equal(dot, ".head");
}

/* level 0: the folders of namespaces; 1: those of Specs; 2: files. */
static int list_folder(const struct listing *listing, const char *path, unsigned level,
                       struct error *error)
{
    DIR *folder = opendir(path);
    int r = 0;

    if (!folder)
        return errno == ENOENT || errno == ENOTDIR ? 0 : file_error("reading", path, error);
    for (const struct dirent *entry; r == 0 && (entry = readdir(folder));) {
        _cleanup_free_ char *below = str_printf("%s/%s", path, entry->d_name);

        if (level < 2 && entry->d_name[0] != '.')
            r = list_folder(listing, below, level + 1, error);
        else if (level == 2 && is_head(listing, entry->d_name))
            r = list_head(listing, below, error);
    }
    closedir(folder);
    return r;
}

int file_list(struct store *base, enum document_kind kind, const struct spec_key *spec,
              store_on_name *fn, void *arg, const struct store_call *call, struct error *error)
{
    struct file_store *store = (struct file_store *)base;
    const struct listing listing = {store, kind, fn, arg};
    struct file_paths paths;
    int r = store_check_cancel(call, error);

    if (r < 0)
        return r;
    if (!spec)
        return list_folder(&listing, store->directory, 0, error);
    file_paths_init(store->directory, &(struct document_name){kind, *spec, NULL}, &paths);
    r = list_folder(&listing, paths.folder, 2, error);
    file_paths_done(&paths);
    return r;
}
