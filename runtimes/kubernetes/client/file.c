#include "runtimes/kubernetes/client/file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/buf.h"
#include "engine/base/str.h"
#include "runtimes/io/close.h"

static int failed(const char *path, int number, struct error *error)
{
    int code = ERR_INVALID;

    if (number == ENOENT || number == ENOTDIR)
        code = ERR_NOT_FOUND;
    else if (number == EACCES || number == EPERM)
        code = ERR_FORBIDDEN;
    return err_set(error, code, "FileUnreadable", "cannot read %s: %s", path, strerror(number));
}

int file_read_text(const char *path, char **ret, struct error *error)
{
    _cleanup_(close_fd_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
    _cleanup_buf_ struct buf text;
    char chunk[16 << 10];
    ssize_t n;

    buf_init(&text, FILE_MAX_BYTES);
    if (fd < 0)
        return failed(path, errno, error);
    while ((n = read(fd, chunk, sizeof(chunk))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return failed(path, errno, error);
        buf_add(&text, chunk, (size_t)n);
        if (buf_overflowed(&text))
            return err_set(error, ERR_TOO_LARGE, "FileTooLarge", "%s is larger than %u bytes", path,
                           FILE_MAX_BYTES);
    }
    if (memchr(text.data, '\0', text.length))
        return err_set(error, ERR_INVALID, "FileUnreadable", "%s is not text: it holds a NUL",
                       path);
    *ret = buf_take(&text);
    return 0;
}

int file_read_word(const char *path, char **ret, struct error *error)
{
    _cleanup_free_ char *text = NULL;
    const char *start, *end;
    int r = file_read_text(path, &text, error);

    if (r < 0)
        return r;
    start = text;
    while (isspace((unsigned char)*start))
        start++;
    end = start + strlen(start);
    while (end > start && isspace((unsigned char)end[-1]))
        end--;
    if (end == start)
        return err_set(error, ERR_INVALID, "FileEmpty", "%s is empty", path);
    *ret = str_new_n(start, (size_t)(end - start));
    return 0;
}
