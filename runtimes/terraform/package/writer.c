#include "runtimes/terraform/package/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "engine/base/utf8.h"
#include "runtimes/io/write.h"

#define FOLDER_MODE     0700
#define PROGRAM_MODE    0500
#define OTHER_FILE_MODE 0400

void package_writer_init(struct package_writer *writer, int folder, uint64_t most_bytes)
{
    *writer = (struct package_writer){
        .folder = folder, .most = most_bytes, .all = package_hash_new(), .fd = -1};
}

static void close_file(struct package_writer *writer)
{
    hash_free(writer->one);
    writer->one = NULL;
    if (writer->fd >= 0)
        close(writer->fd);
    writer->fd = -1;
}

void package_writer_done(struct package_writer *writer)
{
    close_file(writer);
    package_hash_free(writer->all);
    writer->all = NULL;
}

/* ---- Paths ---- */

/* Whether a part of a path names something in its folder. */
static bool is_part(const char *part, size_t length)
{
    return length > 0 && length < 256 && !(length == 1 && part[0] == '.') &&
           !(length == 2 && part[0] == '.' && part[1] == '.');
}

static bool is_path(const char *path)
{
    unsigned levels = 0;

    if (strlen(path) >= PACKAGE_PATH || strchr(path, '\\'))
        return false;
    for (const char *c = path; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return false;
    for (const char *part = path;; levels++) {
        size_t length = strcspn(part, "/");

        if (!is_part(part, length) || levels > PACKAGE_LEVELS)
            return false;
        if (!part[length])
            return true;
        part += length + 1;
    }
}

static int refuse_path(const char *path, struct error *error)
{
    _cleanup_free_ char *shown = utf8_show(path);

    return err_set(error, ERR_INVALID, PACKAGE_INVALID,
                   "\"%s\" is not the path of a file in a package", shown);
}

static int disk_failed(const char *path, struct error *error)
{
    return err_set(error, ERR_UNAVAILABLE, NULL, "%s cannot be written: %s", path,
                   strerrordesc_np(errno));
}

static int count_file(struct package_writer *writer, struct error *error)
{
    if (++writer->files > PACKAGE_FILES)
        return err_set(error, ERR_INVALID, PACKAGE_INVALID, "it has more than %d files",
                       PACKAGE_FILES);
    return 0;
}

/* Makes the folders before each slash. */
static int make_folders(struct package_writer *writer, const char *path, struct error *error)
{
    for (const char *slash = strchr(path, '/'); slash && writer->folder >= 0;
         slash = strchr(slash + 1, '/')) {
        _cleanup_free_ char *above = str_new_n(path, (size_t)(slash - path));

        if (mkdirat(writer->folder, above, FOLDER_MODE) < 0 && errno != EEXIST)
            return disk_failed(above, error);
    }
    return 0;
}

/* ---- Files ---- */

int package_writer_folder(struct package_writer *writer, const char *path, struct error *error)
{
    _cleanup_free_ char *inside = str_printf("%s/", path);
    int r = is_path(path) ? count_file(writer, error) : refuse_path(path, error);

    return r < 0 ? r : make_folders(writer, inside, error);
}

static int open_file(struct package_writer *writer, const char *path, bool is_executable,
                     struct error *error)
{
    writer->fd = openat(writer->folder, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                        is_executable ? PROGRAM_MODE : OTHER_FILE_MODE);
    if (writer->fd >= 0)
        return 0;
    if (errno == EEXIST || errno == ENOTDIR)
        return err_set(error, ERR_INVALID, PACKAGE_INVALID, "it has \"%s\" twice", path);
    return disk_failed(path, error);
}

int package_writer_begin(struct package_writer *writer, const char *path, bool is_executable,
                         struct error *error)
{
    int r = is_path(path) ? count_file(writer, error) : refuse_path(path, error);

    if (r >= 0)
        r = make_folders(writer, path, error);
    if (r >= 0 && writer->folder >= 0)
        r = open_file(writer, path, is_executable, error);
    if (r < 0)
        return r;
    str_copy(writer->path, sizeof(writer->path), path);
    writer->one = hash_new();
    return 0;
}

int package_writer_add(struct package_writer *writer, const void *data, size_t length,
                       struct error *error)
{
    if (length > writer->most - writer->bytes)
        return err_set(error, ERR_INVALID, PACKAGE_INVALID, "its files have more than %llu MiB",
                       (unsigned long long)(writer->most >> 20));
    writer->bytes += length;
    hash_add(writer->one, data, length);
    if (writer->fd >= 0 && write_all(writer->fd, data, length) < 0)
        return disk_failed(writer->path, error);
    return 0;
}

int package_writer_end(struct package_writer *writer, struct error *error)
{
    char sha256[HASH_HEX_SIZE];
    int fd = writer->fd;

    hash_finish_hex(writer->one, sha256);
    package_hash_add(writer->all, writer->path, sha256);
    writer->fd = -1;
    close_file(writer);
    return fd >= 0 && close(fd) < 0 ? disk_failed(writer->path, error) : 0;
}

void package_writer_finish(struct package_writer *writer, char ret[PACKAGE_H1_SIZE])
{
    package_hash_finish(writer->all, ret);
}
