#include "runtimes/terraform/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/str.h"
#include "runtimes/terraform/version.h"

#define MOST_PARTS 4
#define LETTERS    "abcdefghijklmnopqrstuvwxyz0123456789-_"

static int not_a_source(struct error *error, const char *text, char separator)
{
    return err_set(error, ERR_INVALID, "InvalidProvider",
                   "\"%s\" is not a provider, as \"hashicorp/random\" and "
                   "\"registry.terraform.io/hashicorp/random%c3.7.2\" are",
                   text, separator);
}

/* A part becomes a folder's name in a mirror. */
static bool is_name(const char *part)
{
    return *part && strlen(part) < 64 && !part[strspn(part, LETTERS)];
}

/* With a dot, or a port. */
static bool is_host(const char *part)
{
    return strpbrk(part, ".:") && *part != '.' && strlen(part) < 254 &&
           !part[strspn(part, LETTERS ".:")];
}

static size_t cut(char *text, char *parts[MOST_PARTS])
{
    size_t n = 0;

    for (char *at = text; at; n++) {
        char *slash = n < MOST_PARTS - 1 ? strchr(at, '/') : NULL;

        if (slash)
            *slash++ = '\0';
        parts[n] = at;
        at = slash;
    }
    return n;
}

/* The version is after the separator; after a slash, it is the last part, if that begins as a
 * version does. */
static char *take_version(char *text, char separator)
{
    char *last = strrchr(text, separator);

    if (!last || (separator == '/' && !strchr("0123456789~<>=!", last[1])))
        return NULL;
    *last = '\0';
    return last + 1;
}

int source_read(const char *text, char separator, struct source *ret, struct error *error)
{
    _cleanup_free_ char *copy = str_new(text);
    char *version = take_version(copy, separator), *parts[MOST_PARTS], **last;
    size_t n = cut(copy, parts);
    bool has_host = n == 3;
    int r = 0;

    if (n < 2 || n > 3 || !is_name(parts[n - 1]) || !is_name(parts[n - 2]) ||
        (has_host && !is_host(parts[0])))
        return not_a_source(error, text, separator);
    if (version)
        r = version_check_constraint(version, error);
    if (r < 0)
        return r;
    last = parts + n - 2;
    *ret = (struct source){
        .address = str_printf("%s/%s/%s", has_host ? parts[0] : SOURCE_HOST, last[0], last[1]),
        .shown = has_host && !str_equal(parts[0], SOURCE_HOST)
                     ? str_printf("%s/%s/%s", parts[0], last[0], last[1])
                     : str_printf("%s/%s", last[0], last[1]),
        .name = str_new(last[1]),
        .version = str_new(version),
    };
    return 0;
}

static bool is_folder(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int read_folder(const char *folder, struct source *ret, struct error *error)
{
    struct version version;

    if (!ret->version)
        ret->version = str_new(SOURCE_VERSION);
    if (!version_read(ret->version, &version))
        return err_set(error, ERR_INVALID, "InvalidProvider",
                       "%s: what is in a folder has a version, such as 1.2.0, and no constraint",
                       ret->version);
    ret->folder = realpath(folder, NULL);
    if (ret->folder && is_folder(ret->folder))
        return 0;
    return err_set(error, ERR_INVALID, "InvalidProvider", "%s: %s", folder,
                   strerrordesc_np(ret->folder ? ENOTDIR : errno));
}

int source_read_allowed(const char *text, struct source *ret, struct error *error)
{
    const char *folder = strstr(text, "=/"); /* no constraint has a slash */
    _cleanup_free_ char *name = folder ? str_new_n(text, (size_t)(folder - text)) : str_new(text);
    struct source source = {0};
    int r = source_read(name, '@', &source, error);

    if (r >= 0 && folder)
        r = read_folder(folder + 1, &source, error);
    if (r < 0) {
        source_done(&source);
        return r;
    }
    *ret = source;
    return 0;
}

void source_copy(struct source *to, const struct source *from)
{
    *to = (struct source){.address = str_new(from->address),
                          .shown = str_new(from->shown),
                          .name = str_new(from->name),
                          .version = str_new(from->version),
                          .folder = str_new(from->folder)};
}

void source_done(struct source *source)
{
    free(source->address);
    free(source->shown);
    free(source->name);
    free(source->version);
    free(source->folder);
    *source = (struct source){0};
}

void source_list(struct buf *to, const struct source *sources, size_t n)
{
    for (size_t i = 0; i < n && i < SOURCE_LIST; i++)
        buf_printf(to, "%s%s%s%s", i ? ", " : "", sources[i].shown, sources[i].version ? " " : "",
                   sources[i].version ? sources[i].version : "");
    if (n > SOURCE_LIST)
        buf_printf(to, ", and %zu more", n - SOURCE_LIST);
}
