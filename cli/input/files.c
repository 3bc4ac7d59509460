/* Files and folders. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/input/input.h"
#include "engine/base/buf.h"
#include "engine/base/limits.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"

struct names {
    char **items;
    size_t count, capacity;
};

static void names_done(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
}

static int fail(const char *name, int errnum, struct error *error)
{
    if (str_has_prefix(name, "https://") || str_has_prefix(name, "http://")) {
        err_set(error, ERR_INVALID, "FileUnreadable", "%s: only files are read", name);
        err_hint(error, "curl -fsSL URL | kubectl kusion … -f -");
        return ERR_INVALID;
    }
    return err_set(error, errnum == ENOENT ? ERR_NOT_FOUND : ERR_INVALID, "FileUnreadable",
                   "%s: %s", name, strerror(errnum));
}

static int read_stream(struct input *input, const char *name, FILE *file, struct error *error)
{
    _cleanup_buf_ struct buf text;
    char block[65536];
    size_t n;

    buf_init(&text, LIMIT_DOCUMENT_BYTES);
    while (!buf_overflowed(&text) && (n = fread(block, 1, sizeof(block), file)) > 0)
        buf_add(&text, block, n);
    if (ferror(file))
        return fail(name, errno, error);
    if (buf_overflowed(&text))
        return err_set(error, ERR_TOO_LARGE, "FileTooLarge", "%s: more than %u MiB", name,
                       LIMIT_DOCUMENT_BYTES >> 20);
    return input_add_text(input, name, text.data, text.length, error);
}

static int read_file(struct input *input, const char *name, struct error *error)
{
    FILE *file = fopen(name, "re");
    int r;

    if (!file)
        return fail(name, errno, error);
    r = read_stream(input, name, file, error);
    fclose(file);
    return r;
}

static bool is_read(const char *name)
{
    return str_has_suffix(name, ".yaml") || str_has_suffix(name, ".yml") ||
           str_has_suffix(name, ".json");
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Links to folders are not followed: they could lead back. */
static int list_folder(const char *folder, enum input_depth depth, struct names *ret,
                       struct error *error)
{
    DIR *dir = opendir(folder);
    int r = 0;

    if (!dir)
        return fail(folder, errno, error);
    for (const struct dirent *entry; r == 0 && (entry = readdir(dir));) {
        bool ends = str_has_suffix(folder, "/");
        char *name = str_printf("%s%s%s", folder, ends ? "" : "/", entry->d_name);
        struct stat info;

        if (str_equal(entry->d_name, ".") || str_equal(entry->d_name, "..") ||
            lstat(name, &info) < 0) {
            free(name);
        } else if (S_ISDIR(info.st_mode)) {
            r = depth == INPUT_RECURSIVE ? list_folder(name, depth, ret, error) : 0;
            free(name);
        } else if (is_read(name) && stat(name, &info) == 0 && S_ISREG(info.st_mode)) {
            ret->items = mem_grow(ret->items, ret->count, &ret->capacity, sizeof(char *));
            ret->items[ret->count++] = name;
        } else {
            free(name);
        }
    }
    closedir(dir);
    return r;
}

static int add_folder(struct input *input, const char *folder, enum input_depth depth,
                      struct error *error)
{
    _cleanup_(names_done) struct names names = {0};
    int r = list_folder(folder, depth, &names, error);

    if (r == 0 && !names.count)
        return err_set(error, ERR_INVALID, "NoFiles", "%s: has no *.yaml, *.yml or *.json%s",
                       folder,
                       depth == INPUT_FLAT ? "; --recursive reads the folders in it, too" : "");
    qsort(names.items, names.count, sizeof(char *), compare);
    for (size_t i = 0; r == 0 && i < names.count; i++)
        r = read_file(input, names.items[i], error);
    return r;
}

int input_add(struct input *input, const char *name, enum input_depth depth, struct error *error)
{
    struct stat info;

    if (str_equal(name, "-"))
        return read_stream(input, "stdin", stdin, error);
    if (stat(name, &info) < 0)
        return fail(name, errno, error);
    return S_ISDIR(info.st_mode) ? add_folder(input, name, depth, error)
                                 : read_file(input, name, error);
}
