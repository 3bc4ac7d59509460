#include "runtimes/chain/place.h"

#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/escape.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"

#define LONGEST_PATH 200 /* so that a whole key is no longer than 1024 bytes, which S3 takes */

void place_done(struct place *place)
{
    free(place->scheme);
    free(place->authority);
    free(place->path);
    for (size_t i = 0; i < place->n_values; i++)
        free(place->values[i]);
    free(place->values);
    *place = (struct place){0};
}

static int refuse(const char *text, const char *why, struct error *error)
{
    return err_set(error, ERR_INVALID, "InvalidFlag", "\"%.*s\": %s", (int)strcspn(text, "?"), text,
                   why);
}

static bool is_path_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("._-~", c));
}

static bool is_path(const char *path)
{
    while (*path == '/') {
        size_t length = 0;

        path++;
        while (is_path_char(path[length]))
            length++;
        if (!length || strspn(path, ".") >= length)
            return false;
        path += length;
    }
    return !*path;
}

static int unknown_option(const char *text, const char *name, size_t length,
                          const char *const *options, size_t n_options, struct error *error)
{
    _cleanup_buf_ struct buf known = BUF_INIT;
    _cleanup_free_ char *why = NULL;

    for (size_t i = 0; i < n_options; i++)
        buf_printf(&known, "%s%s", i ? ", " : "", options[i]);
    why = str_printf("there is no option \"%.*s\"; there are %s", (int)length, name, known.data);
    return refuse(text, why, error);
}

static int parse_option(const char *text, const char *at, size_t length, const char *const *options,
                        struct place *ret, struct error *error)
{
    size_t name_length = 0, i = 0;

    while (name_length < length && at[name_length] != '=')
        name_length++;
    while (i < ret->n_values &&
           (strlen(options[i]) != name_length || strncmp(options[i], at, name_length) != 0))
        i++;
    if (i == ret->n_values)
        return unknown_option(text, at, name_length, options, ret->n_values, error);
    if (ret->values[i])
        return refuse(text, "an option is given twice", error);
    if (name_length < length)
        ret->values[i] = escape_url_read(at + name_length + 1, length - name_length - 1);
    if (!ret->values[i] || !*ret->values[i])
        return refuse(text, "an option has no value, or one that is not percent-encoded", error);
    return 0;
}

static int parse(const char *text, const char *const *options, struct place *ret,
                 struct error *error)
{
    const char *colon = strstr(text, "://"), *authority = colon ? colon + 3 : NULL;
    size_t length;

    if (!colon || colon == text)
        return refuse(text, "it is not of the form SCHEME://…", error);
    ret->scheme = str_new_n(text, (size_t)(colon - text));
    length = strcspn(authority, "/?");
    ret->authority = str_new_n(authority, length);
    if (!length || strpbrk(ret->authority, "@#% "))
        return refuse(ret->scheme,
                      "there must be a name after ://, without a user: credentials are read from "
                      "files",
                      error);
    authority += length;
    length = strcspn(authority, "?");
    ret->path = str_new_n(authority, length);
    if (str_has_suffix(ret->path, "/"))
        ret->path[length - 1] = '\0';
    if (!is_path(ret->path) || strlen(ret->path) > LONGEST_PATH)
        return refuse(text,
                      "the path may have letters, digits and ._-~ in segments that are not empty, "
                      "200 bytes in all",
                      error);
    if (!authority[length])
        return 0;
    for (const char *at = authority + length + 1; *at;) {
        size_t option_length = strcspn(at, "&");
        int r = parse_option(text, at, option_length, options, ret, error);

        if (r < 0)
            return r;
        at += option_length + (at[option_length] == '&');
    }
    return 0;
}

int place_parse(const char *text, const char *const *options, size_t n_options, struct place *ret,
                struct error *error)
{
    int r;

    *ret = (struct place){.values = NEW_ARRAY(char *, n_options + 1), .n_values = n_options};
    r = parse(text, options, ret, error);
    if (r < 0)
        place_done(ret);
    return r;
}
