/* Answers to PROPFIND (RFC 4918, 14.16): private.h. */
#include <string.h>

#include "engine/base/escape.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/io/xml.h"
#include "runtimes/webdav/private.h"

/* One <response>. */
struct entry {
    char *path; /* of <href>, escaped, without a slash at its end */
    bool is_folder;
    int64_t modified;
};

struct reading {
    struct entry *entries;
    size_t count, capacity;
    bool is_in_response, is_listing;
};

void webdav_listing_done(struct webdav_listing *listing)
{
    for (size_t i = 0; i < listing->count; i++)
        free(listing->folders[i].name);
    free(listing->folders);
    *listing = (struct webdav_listing){0};
}

static int not_expected(struct error *error, const char *what)
{
    return err_set(error, ERR_INTERNAL, "UnexpectedAnswer", "the answer cannot be read: %s", what);
}

static struct entry *last(struct reading *reading)
{
    return reading->is_in_response ? &reading->entries[reading->count - 1] : NULL;
}

static int on_begin(void *arg, const char *name, struct error *error)
{
    struct reading *reading = arg;

    (void)error;
    if (str_equal(name, "multistatus"))
        reading->is_listing = true;
    if (str_equal(name, "response")) {
        reading->entries =
            mem_grow(reading->entries, reading->count, &reading->capacity, sizeof(struct entry));
        reading->entries[reading->count++] = (struct entry){0};
        reading->is_in_response = true;
    }
    return 0;
}

/* The path of an address, which may be a whole one. */
static char *path_of(const char *href)
{
    const char *scheme = strstr(href, "://"), *path = href;
    size_t length;

    if (*href != '/' && scheme)
        path = scheme + 3 + strcspn(scheme + 3, "/");
    length = strcspn(path, "?#");
    while (length && path[length - 1] == '/')
        length--;
    return str_new_n(path, length);
}

static int on_end(void *arg, const char *name, const char *text, struct error *error)
{
    struct reading *reading = arg;
    struct entry *entry = last(reading);

    (void)error;
    if (!entry)
        return 0;
    if (str_equal(name, "response"))
        reading->is_in_response = false;
    else if (str_equal(name, "href") && !entry->path)
        entry->path = path_of(text + strspn(text, " \t\r\n"));
    else if (str_equal(name, "collection"))
        entry->is_folder = true;
    else if (str_equal(name, "getlastmodified") && http_date(text) > 0)
        entry->modified = http_date(text);
    return 0;
}

/* The last segment, unescaped; NULL: it is not escaped as it should be, or leads elsewhere. */
static char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
    _cleanup_free_ char *name = escape_url_read(last, strlen(last));

    return name && !strchr(name, '/') ? TAKE(name) : NULL;
}

/* The folder that was asked about is in its own listing: its path is the shortest. A proxy may have
 * changed all paths, so it is not compared with what was asked. */
static const struct entry *own_entry(const struct reading *reading)
{
    const struct entry *own = NULL;

    for (size_t i = 0; i < reading->count; i++)
        if (!own || strlen(reading->entries[i].path) < strlen(own->path))
            own = &reading->entries[i];
    return own;
}

static int take_folders(const struct reading *reading, struct webdav_listing *ret,
                        struct error *error)
{
    const struct entry *own;

    if (!reading->is_listing)
        return not_expected(error, "it is no listing");
    for (size_t i = 0; i < reading->count; i++)
        if (!reading->entries[i].path)
            return not_expected(error, "an entry has no address");
    own = own_entry(reading);
    for (size_t i = 0; i < reading->count; i++) {
        const struct entry *entry = &reading->entries[i];
        char *name;

        if (entry == own)
            continue;
        if (!entry->is_folder) {
            ret->has_files = true;
            continue;
        }
        name = name_of(entry->path);
        if (!name)
            return not_expected(error, "an address is not escaped as it should be");
        ret->folders = mem_grow(ret->folders, ret->count, &ret->capacity, sizeof(*ret->folders));
        ret->folders[ret->count++] = (struct webdav_folder){name, entry->modified};
    }
    return 0;
}

int webdav_listing_read(const struct buf *body, struct webdav_listing *ret, struct error *error)
{
    static const struct xml_handler handler = {on_begin, on_end};
    struct reading reading = {0};
    struct error problem = {0};
    int r = xml_read(body->data, body->length, &handler, &reading, &problem);

    r = r < 0 ? not_expected(error, problem.message) : take_folders(&reading, ret, error);
    if (r < 0)
        webdav_listing_done(ret);
    for (size_t i = 0; i < reading.count; i++)
        free(reading.entries[i].path);
    free(reading.entries);
    return r;
}
