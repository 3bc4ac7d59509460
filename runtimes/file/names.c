/* Maps names of documents to names of files: private.h. */
#include <string.h>

#include "engine/base/escape.h"
#include "engine/base/str.h"
#include "runtimes/file/private.h"

/* Bytes of a name before its suffixes; a file system's limit is 255. */
#define MAX_NAME    180
#define SHOWN       100 /* bytes that are kept of a longer name */
#define NAME_DIGITS 40  /* hexadecimal digits of its checksum */

static bool is_safe(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

char *file_name_escape(const char *text)
{
    struct buf to = BUF_INIT;

    escape_add(&to, text, strlen(text), '%', is_safe);
    return buf_take(&to);
}

char *file_name_unescape(const char *word)
{
    return escape_read(word, '%', is_safe);
}

/* A file's name: the prefix and the escaped text. A long text is cut and ends in a checksum. */
static char *name_of(const char *prefix, const char *text)
{
    _cleanup_free_ char *escaped = file_name_escape(text);
    char hex[HASH_HEX_SIZE];

    if (strlen(escaped) <= MAX_NAME)
        return str_printf("%s%s", prefix, escaped);
    hash_hex(text, strlen(text), hex);
    return str_printf("%s%.*s~%.*s", prefix, SHOWN, escaped, NAME_DIGITS, hex);
}

void file_paths_init(const char *directory, const struct document_name *name,
                     struct file_paths *ret)
{
    _cleanup_free_ char *namespace_name = name_of("", name->spec.namespace_name);
    _cleanup_free_ char *spec = name_of("", name->spec.name);
    _cleanup_free_ char *prefix = str_printf("%s-", document_kind_name(name->kind));

    ret->namespace_folder = str_printf("%s/%s", directory, namespace_name);
    ret->folder = str_printf("%s/%s", ret->namespace_folder, spec);
    ret->stem = name->item ? name_of(prefix, name->item) : str_new(document_kind_name(name->kind));
}

void file_paths_done(struct file_paths *paths)
{
    free(paths->namespace_folder);
    free(paths->folder);
    free(paths->stem);
    *paths = (struct file_paths){0};
}

char *file_path_of(const struct file_paths *paths, const char *id, const char *suffix)
{
    return str_printf("%s/%s%s%s.%s", paths->folder, paths->stem, id ? "." : "", id ? id : "",
                      suffix);
}
