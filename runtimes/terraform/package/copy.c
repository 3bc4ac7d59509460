#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"
#include "runtimes/io/close.h"
#include "runtimes/terraform/package/unpack.h"

#define CHUNK (256u << 10)

static int unreadable(const char *path, int code, struct error *error)
{
    _cleanup_free_ char *shown = utf8_show(path);

    return err_set(error, ERR_INVALID, PACKAGE_INVALID, "\"%s\" cannot be read: %s", shown,
                   strerrordesc_np(code));
}

/* A folder that is read. */
struct source_folder {
    int fd;
    enum package_links links;
};

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
           a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static int copy_bytes(int fd, const char *path, const struct stat *before,
                      struct package_writer *writer, struct error *error)
{
    _cleanup_free_ char *chunk = mem_new(CHUNK);
    struct stat after;
    ssize_t n;

    while ((n = read(fd, chunk, CHUNK)) != 0) {
        int r = 0;

        if (n < 0 && errno == EINTR)
            continue;
        r = n < 0 ? unreadable(path, errno, error)
                  : package_writer_add(writer, chunk, (size_t)n, error);
        if (r < 0)
            return r;
    }
    if (fstat(fd, &after) < 0 || !is_same(before, &after))
        return err_set(error, ERR_INVALID, PACKAGE_INVALID,
                       "\"%s\" was changed while it was read; it is tried again", path);
    return 0;
}

/* -1: errno; EXDEV: a link leads out. */
static int open_inside(const struct source_folder *source, const char *path)
{
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                           .resolve = source->links == LINKS_INSIDE ? RESOLVE_BENEATH : 0};

    return (int)syscall(SYS_openat2, source->fd, path, &how, sizeof(how));
}

static int copy_folder(const struct source_folder *source, int fd, const char *path,
                       struct package_writer *writer, struct error *error);

static int refuse_entry(const char *path, const struct stat *entry, struct error *error)
{
    _cleanup_free_ char *shown = utf8_show(path);

    return err_set(error, ERR_INVALID, PACKAGE_INVALID,
                   S_ISLNK(entry->st_mode) ? "\"%s\" is a link to what is no file"
                                           : "\"%s\" is no file",
                   shown);
}

static int copy_entry(const struct source_folder *source, const char *path,
                      struct package_writer *writer, struct error *error)
{
    _cleanup_(close_fd_p) int fd = open_inside(source, path);
    struct stat status, entry;
    int r;

    if (fd < 0 && errno == EXDEV)
        return err_set(error, ERR_INVALID, PACKAGE_INVALID,
                       "\"%s\" is a link that leads out of the folder: put the file itself there",
                       path);
    if (fd < 0 || fstat(fd, &status) < 0 ||
        fstatat(source->fd, path, &entry, AT_SYMLINK_NOFOLLOW) < 0)
        return unreadable(path, errno, error);
    if (S_ISDIR(status.st_mode) && !S_ISLNK(entry.st_mode)) {
        r = package_writer_folder(writer, path, error);
        return r < 0 ? r : copy_folder(source, fd, path, writer, error);
    }
    if (!S_ISREG(status.st_mode))
        return refuse_entry(path, &entry, error);
    r = package_writer_begin(writer, path, status.st_mode & 0111, error);
    if (r >= 0)
        r = copy_bytes(fd, path, &status, writer, error);
    return r < 0 ? r : package_writer_end(writer, error);
}

/* The writer's bound on levels bounds the recursion, too. */
static int copy_folder(const struct source_folder *source, int fd, const char *path,
                       struct package_writer *writer, struct error *error)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0), r = 0;
    _cleanup_(close_folder_p) DIR *folder = copy >= 0 ? fdopendir(copy) : NULL;
    struct dirent *entry;

    if (!folder) {
        r = unreadable(path, errno, error);
        if (copy >= 0)
            close(copy);
        return r;
    }
    while (r >= 0 && (entry = readdir(folder))) {
        _cleanup_free_ char *inside =
            *path ? str_printf("%s/%s", path, entry->d_name) : str_new(entry->d_name);

        if (!str_equal(entry->d_name, ".") && !str_equal(entry->d_name, ".."))
            r = copy_entry(source, inside, writer, error);
    }
    return r;
}

int package_copy(const char *folder, enum package_links links, struct package_writer *writer,
                 struct error *error)
{
    _cleanup_(close_fd_p) int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 ? unreadable(folder, errno, error)
                  : copy_folder(&(struct source_folder){.fd = fd, .links = links}, fd, "", writer,
                                error);
}

/* ---- The program ---- */

static bool is_program(const char *file, const char *name)
{
    static const char prefix[] = "terraform-provider-";
    size_t length = strlen(name);

    if (!str_has_prefix(file, prefix) || strncmp(file + strlen(prefix), name, length) != 0)
        return false;
    file += strlen(prefix) + length;
    return !*file || *file == '_' || *file == '.';
}

static bool is_executable_file(int folder, const char *name)
{
    struct stat status;

    return fstatat(folder, name, &status, 0) == 0 && S_ISREG(status.st_mode) &&
           status.st_mode & 0111;
}

int package_program(const char *folder, const char *name, char **ret, struct error *error)
{
    _cleanup_(close_folder_p) DIR *files = opendir(folder);
    _cleanup_free_ char *found = NULL, *other = NULL;
    struct dirent *entry;

    while (files && (entry = readdir(files))) {
        if (!is_program(entry->d_name, name))
            continue;
        if (!is_executable_file(dirfd(files), entry->d_name)) {
            free(other);
            other = str_new(entry->d_name);
            continue;
        }
        if (found)
            return err_set(error, ERR_INVALID, PACKAGE_INVALID, "it has two programs, %s and %s",
                           found, entry->d_name);
        found = str_new(entry->d_name);
    }
    if (!found && other)
        return err_set(error, ERR_INVALID, PACKAGE_INVALID, "its %s is not an executable file",
                       other);
    if (!found)
        return err_set(error, ERR_INVALID, PACKAGE_INVALID,
                       "it has no program terraform-provider-%s", name);
    *ret = str_printf("%s/%s", folder, found);
    return 0;
}
