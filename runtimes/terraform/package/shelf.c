#include "runtimes/terraform/package/shelf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/io/close.h"
#include "runtimes/terraform/package/writer.h"
#include "runtimes/terraform/plugin/folder.h"

static bool is_dots(const char *name)
{
    return str_equal(name, ".") || str_equal(name, "..");
}

int shelf_failed(const char *shelf, const char *why, struct error *error)
{
    return err_set(error, ERR_UNAVAILABLE, "ProviderCacheFailed",
                   "the operator's folder for providers, %s, cannot be used: %s", shelf, why);
}

/* ---- The folder ---- */

/* Who may write in it decides what runs. */
static int check_owner(const char *shelf, struct error *error)
{
    struct stat status;

    if (lstat(shelf, &status) < 0)
        return shelf_failed(shelf, strerrordesc_np(errno), error);
    if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid() || status.st_mode & 077)
        return shelf_failed(shelf, "it is not a folder that the operator's user alone may use",
                            error);
    return 0;
}

int shelf_make(const char *shelf, struct error *error)
{
    _cleanup_free_ char *parent = str_new_n(shelf, (size_t)(strrchr(shelf, '/') - shelf));

    if ((mkdir(parent, 0700) < 0 && errno != EEXIST) || (mkdir(shelf, 0700) < 0 && errno != EEXIST))
        return shelf_failed(shelf, strerrordesc_np(errno), error);
    return check_owner(shelf, error);
}

/* ---- What is there ---- */

static uint64_t measure(int parent, const char *name, int levels)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    _cleanup_(close_folder_p) DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;
    struct stat status;
    uint64_t sum = 0;

    if (fd >= 0 && !folder)
        close(fd);
    while (folder && (entry = readdir(folder)))
        if (is_dots(entry->d_name) || fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        else if (S_ISDIR(status.st_mode) && levels)
            sum += measure(fd, entry->d_name, levels - 1);
        else
            sum += (uint64_t)status.st_size;
    return sum;
}

/* What nobody has locked was left by an operator that is gone. */
static void remove_left(const char *shelf, const char *name)
{
    _cleanup_free_ char *path = str_printf("%s/%s", shelf, name);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        folder_remove(TAKE(path));
    close(fd);
}

int shelf_read(const char *shelf,
               void (*on_copy)(void *arg, const char *name, uint64_t bytes, struct timespec used),
               void *arg, struct error *error)
{
    _cleanup_(close_folder_p) DIR *folder = opendir(shelf);
    struct dirent *entry;
    struct stat status;

    if (!folder)
        return shelf_failed(shelf, strerrordesc_np(errno), error);
    while ((entry = readdir(folder))) {
        const char *name = entry->d_name;

        if (str_has_prefix(name, SHELF_UNDER_WAY))
            remove_left(shelf, name);
        else if (!is_dots(name) &&
                 fstatat(dirfd(folder), name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                 S_ISDIR(status.st_mode))
            on_copy(arg, name, measure(dirfd(folder), name, PACKAGE_LEVELS), status.st_mtim);
    }
    return 0;
}

/* ---- What is to go ---- */

char *shelf_template(const char *shelf)
{
    return str_printf("%s/" SHELF_UNDER_WAY "XXXXXX", shelf);
}

char *shelf_put_aside(const char *shelf, const char *name)
{
    _cleanup_free_ char *from = str_printf("%s/%s", shelf, name);
    _cleanup_free_ char *to = shelf_template(shelf);

    if (!mkdtemp(to))
        return NULL;
    if (rename(from, to) == 0)
        return TAKE(to);
    rmdir(to);
    return NULL;
}
