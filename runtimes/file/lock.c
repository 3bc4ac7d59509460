/*
 * The lock of a document: private.h. The lock's file is deleted when the lock is released, so a
 * removed document leaves no file behind. A process that locked a file which was deleted meanwhile
 * tries again.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/file/private.h"

#define ATTEMPTS 100 /* attempts, if other processes release the lock meanwhile */

static int locked(const char *path, struct error *error)
{
    _cleanup_buf_ struct buf holder = BUF_INIT;

    if (file_read(path, &holder, NULL) < 0 || holder.length == 0)
        buf_add_str(&holder, "another process");
    while (holder.length && holder.data[holder.length - 1] == '\n')
        holder.data[--holder.length] = '\0';
    return err_set(error, ERR_CONFLICT, "StateLocked", "%s is locked by %s", path, holder.data);
}

/* Writes the holder into the file, for messages alone. */
static void say_who(int fd)
{
    char host[256] = "?";
    _cleanup_free_ char *text = NULL;

    gethostname(host, sizeof(host) - 1);
    text = str_printf("process %ld on %s\n", (long)getpid(), host);
    if (ftruncate(fd, 0) < 0 || write(fd, text, strlen(text)) < 0)
        return;
}

static bool is_same_file(int fd, const char *path)
{
    struct stat opened, named;

    return fstat(fd, &opened) == 0 && stat(path, &named) == 0 && opened.st_ino == named.st_ino &&
           opened.st_dev == named.st_dev;
}

int file_lock_take(const struct file_paths *paths, int *ret_fd, struct error *error)
{
    _cleanup_free_ char *path = file_path_of(paths, NULL, "lock");

    for (unsigned i = 0; i < ATTEMPTS; i++) {
        int fd, r = file_make_folders(paths->folder, 3, error);

        if (r < 0)
            return r;
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0 && errno == ENOENT)
            continue;
        if (fd < 0)
            return file_error("making", path, error);
        if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
            r = errno == EWOULDBLOCK ? locked(path, error) : file_error("locking", path, error);
            close(fd);
            return r;
        }
        if (is_same_file(fd, path)) {
            say_who(fd);
            *ret_fd = fd;
            return 0;
        }
        close(fd);
    }
    return err_set(error, ERR_CONFLICT, "StateLocked", "other processes keep taking the lock %s",
                   path);
}

void file_lock_give(const struct file_paths *paths, int fd)
{
    _cleanup_free_ char *path = file_path_of(paths, NULL, "lock");

    if (fd < 0)
        return;
    if (is_same_file(fd, path))
        unlink(path);
    close(fd);
    if (rmdir(paths->folder) == 0)
        rmdir(paths->namespace_folder);
}
