#include "runtimes/terraform/plugin/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/io/random.h"

#define PREFIX    "kusion-tf-"
#define LOCK      "lock"
#define LOCK_MODE 0600
/* Levels that are removed. */
#define MOST_LEVELS 64

static int cannot_be_made(const char *parent, struct error *error)
{
    return err_set(error, ERR_UNAVAILABLE, NULL,
                   "a temporary folder for providers cannot be made in %s: %s", parent,
                   strerrordesc_np(errno));
}

int folder_make(const char *parent, char **ret, struct error *error)
{
    _cleanup_free_ char *path =
        str_printf("%s/%010llx%010llx", parent, (unsigned long long)random_below(UINT64_C(1) << 40),
                   (unsigned long long)random_below(UINT64_C(1) << 40));

    if (mkdir(path, 0700) < 0)
        return cannot_be_made(parent, error);
    *ret = TAKE(path);
    return 0;
}

static void remove_inside(int fd, int levels)
{
    DIR *folder = fdopendir(fd);
    struct dirent *entry;

    if (!folder) {
        close(fd);
        return;
    }
    while ((entry = readdir(folder))) {
        int inside;

        if (str_equal(entry->d_name, ".") || str_equal(entry->d_name, ".."))
            continue;
        if (unlinkat(fd, entry->d_name, 0) == 0 || !levels)
            continue;
        inside = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (inside >= 0)
            remove_inside(inside, levels - 1);
        unlinkat(fd, entry->d_name, AT_REMOVEDIR);
    }
    closedir(folder);
}

void folder_remove(char *path)
{
    int fd;

    if (!path)
        return;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        remove_inside(fd, MOST_LEVELS);
    rmdir(path);
    free(path);
}

/* ---- The operator's ---- */

/* -1: it is another one's, or there is none. */
static int take_lock(const char *folder, int flags)
{
    _cleanup_free_ char *path = str_printf("%s/" LOCK, folder);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, LOCK_MODE);

    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    close(fd);
    return -1;
}

static void remove_left(const char *parent)
{
    DIR *folder = opendir(parent);
    struct dirent *entry;

    while (folder && (entry = readdir(folder))) {
        _cleanup_free_ char *path = NULL;
        int lock;

        if (!str_has_prefix(entry->d_name, PREFIX))
            continue;
        path = str_printf("%s/%s", parent, entry->d_name);
        lock = take_lock(path, 0);
        if (lock < 0)
            continue;
        folder_remove(TAKE(path));
        close(lock);
    }
    if (folder)
        closedir(folder);
}

int folder_claim(const char *parent, char **ret, int *ret_lock, struct error *error)
{
    char *path;

    remove_left(parent);
    path = str_printf("%s/" PREFIX "XXXXXX", parent);
    if (!mkdtemp(path)) {
        free(path);
        return cannot_be_made(parent, error);
    }
    *ret_lock = take_lock(path, O_CREAT);
    if (*ret_lock < 0) {
        folder_remove(path);
        return err_set(error, ERR_UNAVAILABLE, NULL, "%s cannot be locked", parent);
    }
    *ret = path;
    return 0;
}
