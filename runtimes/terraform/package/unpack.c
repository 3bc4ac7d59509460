#include "runtimes/terraform/package/unpack.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"

#define CHUNK     (64u << 10)
#define UNIX_BITS 16 /* where the mode is in the attributes of an entry */

static void discard_p(zip_t **archive)
{
    if (*archive)
        zip_discard(*archive);
}

static void close_p(zip_file_t **file)
{
    if (*file)
        zip_fclose(*file);
}

static int damaged(const char *path, const char *why, struct error *error)
{
    _cleanup_free_ char *shown = utf8_show(path);

    return err_set(error, ERR_INVALID, PACKAGE_INVALID, "\"%s\" cannot be unpacked: %s", shown,
                   why);
}

/* ---- One entry ---- */

static int read_entry(zip_t *archive, const zip_stat_t *entry, const char *path,
                      struct package_writer *writer, struct error *error)
{
    _cleanup_(close_p) zip_file_t *file = zip_fopen_index(archive, entry->index, 0);
    _cleanup_free_ char *chunk = mem_new(CHUNK);
    uint64_t before = writer->bytes;
    zip_int64_t n;

    if (!file)
        return damaged(path, zip_strerror(archive), error);
    while ((n = zip_fread(file, chunk, CHUNK)) > 0) {
        int r = package_writer_add(writer, chunk, (size_t)n, error);

        if (r < 0)
            return r;
    }
    if (n < 0)
        return damaged(path, zip_file_strerror(file), error);
    if (writer->bytes - before != entry->size)
        return damaged(path, "it has another size than the archive says", error);
    return 0;
}

static int check_entry(const zip_stat_t *entry, const char *path, mode_t mode, struct error *error)
{
    if (mode & S_IFMT && !S_ISREG(mode) && !S_ISDIR(mode))
        return damaged(path, S_ISLNK(mode) ? "it is a symbolic link" : "it is no file", error);
    if (!(entry->valid & ZIP_STAT_INDEX) || !(entry->valid & ZIP_STAT_SIZE))
        return damaged(path, "the archive does not say its size", error);
    if (!(entry->valid & ZIP_STAT_ENCRYPTION_METHOD) || entry->encryption_method != ZIP_EM_NONE)
        return damaged(path, "it is encrypted", error);
    if (!(entry->valid & ZIP_STAT_COMP_METHOD) ||
        (entry->comp_method != ZIP_CM_STORE && entry->comp_method != ZIP_CM_DEFLATE))
        return damaged(path, "its method of compression is not deflate", error);
    return 0;
}

/* 0: the archive does not say. */
static mode_t mode_of(zip_t *archive, zip_uint64_t index)
{
    zip_uint8_t origin = 0;
    zip_uint32_t attributes = 0;

    if (zip_file_get_external_attributes(archive, index, 0, &origin, &attributes) < 0 ||
        origin != ZIP_OPSYS_UNIX)
        return 0;
    return attributes >> UNIX_BITS;
}

/* An archive that was not made on Unix knows no modes: then each file may be the program. */
static int unpack_entry(zip_t *archive, zip_uint64_t index, struct package_writer *writer,
                        struct error *error)
{
    mode_t mode = mode_of(archive, index);
    bool is_executable = mode ? mode & 0111 : true;
    _cleanup_free_ char *path = NULL;
    zip_stat_t entry;
    int r;

    if (zip_stat_index(archive, index, ZIP_FL_ENC_RAW, &entry) < 0 ||
        !(entry.valid & ZIP_STAT_NAME))
        return damaged("", zip_strerror(archive), error);
    path = str_new(entry.name);
    r = check_entry(&entry, path, mode, error);
    if (r < 0)
        return r;
    if (str_has_suffix(path, "/")) {
        path[strlen(path) - 1] = '\0';
        return package_writer_folder(writer, path, error);
    }
    r = package_writer_begin(writer, path, is_executable, error);
    if (r >= 0)
        r = read_entry(archive, &entry, path, writer, error);
    return r < 0 ? r : package_writer_end(writer, error);
}

/* ---- All ---- */

static int open_archive(int fd, zip_t **ret, struct error *error)
{
    int copy = dup(fd), code = 0;
    zip_error_t why;

    if (copy < 0)
        return err_set(error, ERR_UNAVAILABLE, NULL, "too many open files");
    *ret = zip_fdopen(copy, ZIP_CHECKCONS, &code);
    if (*ret)
        return 0;
    close(copy);
    zip_error_init_with_code(&why, code);
    err_set(error, ERR_INVALID, PACKAGE_INVALID, "it is no zip archive, or damaged: %s",
            zip_error_strerror(&why));
    zip_error_fini(&why);
    return ERR_INVALID;
}

int package_unpack(int fd, struct package_writer *writer, struct error *error)
{
    _cleanup_(discard_p) zip_t *archive = NULL;
    zip_int64_t count;
    int r = open_archive(fd, &archive, error);

    if (r < 0)
        return r;
    count = zip_get_num_entries(archive, 0);
    if (count > PACKAGE_FILES)
        return err_set(error, ERR_INVALID, PACKAGE_INVALID, "it has more than %d files",
                       PACKAGE_FILES);
    for (zip_int64_t i = 0; i < count && r >= 0; i++)
        r = unpack_entry(archive, (zip_uint64_t)i, writer, error);
    return r;
}
