/* Reads and writes one file durably: private.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "engine/store/store_error.h"
#include "runtimes/file/private.h"
#include "runtimes/io/close.h"
#include "runtimes/io/random.h"
#include "runtimes/io/write.h"

#define READ_BYTES (64u << 10)

int file_error(const char *what, const char *path, struct error *error)
{
    int number = errno;
    char text[128];
    const char *why = strerror_r(number, text, sizeof(text));

    if (number == EACCES || number == EPERM || number == EROFS)
        return err_set(error, ERR_FORBIDDEN, NULL, "%s %s: %s", what, path, why);
    return err_set(error, ERR_UNAVAILABLE,
                   number == ENOSPC || number == EDQUOT ? STORE_NO_SPACE : NULL, "%s %s: %s", what,
                   path, why);
}

int file_corrupt(const char *path, const char *how, struct error *error)
{
    return err_set(error, ERR_CORRUPT, STORE_CORRUPT, "%s %s", path, how);
}

int file_read(const char *path, struct buf *to, struct error *error)
{
    _cleanup_(close_fd_p) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    char bytes[READ_BYTES];
    ssize_t n;

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return err_set(error, ERR_NOT_FOUND, NULL, "%s is missing", path);
    if (fd < 0)
        return file_error("opening", path, error);
    while ((n = read(fd, bytes, sizeof(bytes))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return file_error("reading", path, error);
        buf_add(to, bytes, (size_t)n);
        if (buf_overflowed(to))
            return file_corrupt(path, "is damaged: it is too large", error);
    }
    return 0;
}

int file_write(const char *path, mode_t mode, const struct buf *bytes, struct error *error)
{
    _cleanup_(close_fd_p) int fd =
        open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);

    if (fd < 0)
        return file_error("making", path, error);
    if (write_all(fd, bytes->data, bytes->length) < 0 || fdatasync(fd) < 0)
        return file_error("writing", path, error);
    return 0;
}

int file_extend(const char *path, off_t at, const struct buf *bytes, struct error *error)
{
    _cleanup_(close_fd_p) int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    int r;

    if (fd < 0)
        return file_error("opening", path, error);
    if (ftruncate(fd, at) < 0 || lseek(fd, at, SEEK_SET) < 0)
        return file_error("writing", path, error);
    if (write_all(fd, bytes->data, bytes->length) == 0 && fdatasync(fd) == 0)
        return 0;
    r = file_error("writing", path, error);
    if (ftruncate(fd, at) < 0)
        return r; /* a read detects the torn end and drops it */
    return r;
}

int file_sync_folder(const char *path, struct error *error)
{
    _cleanup_(close_fd_p) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || fsync(fd) < 0)
        return file_error("syncing", path, error);
    return 0;
}

int file_make_folders(const char *path, unsigned levels, struct error *error)
{
    const char *slash = strrchr(path, '/');
    _cleanup_free_ char *above = slash && slash > path ? str_new_n(path, (size_t)(slash - path))
                                                       : str_new(slash ? "/" : ".");

    int r;

    if (mkdir(path, 0700) == 0)
        return file_sync_folder(above, error);
    if (errno == EEXIST)
        return 0;
    if (errno != ENOENT || levels == 1)
        return file_error("making", path, error);
    r = file_make_folders(above, levels - 1, error);
    if (r < 0)
        return r;
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return file_error("making", path, error);
    return file_sync_folder(above, error);
}

void file_draw_id(char ret[ID_SIZE])
{
    uint64_t number;

    random_fill(&number, sizeof(number));
    snprintf(ret, ID_SIZE, "%016" PRIx64, number);
}
