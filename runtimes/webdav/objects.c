/* Objects in a folder of a WebDAV server: private.h; store.h has the requests. */
#include <inttypes.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/chain/place.h"
#include "runtimes/io/random.h"
#include "runtimes/webdav/private.h"

#define DATA         "data"
#define MOST_FOLDERS 4 /* above an object */

/* ---- Creating ---- */

static char *unfinished_key(void)
{
    return str_printf(OBJECT_UNFINISHED "~%016" PRIx64, random_below(UINT64_MAX));
}

/* The folders above a key. Whether they are there is shown by what comes next. */
static int make_parents(struct webdav_objects *webdav, const char *key,
                        const struct store_call *call, struct error *error)
{
    for (const char *slash = strchr(key, '/'); slash; slash = strchr(slash + 1, '/')) {
        _cleanup_free_ char *folder = str_new_n(key, (size_t)(slash - key));
        int status = webdav_make_folder(webdav, folder, call, error);

        if (status < 0)
            return status;
        if (status == 401 || status == 507 || status == 207 || status == 423 || status == 424)
            return webdav_refused(webdav, "MKCOL", folder, status, error);
    }
    return 0;
}

/* A folder of its own with the bytes in it. */
static int prepare(struct webdav_objects *webdav, const char *key, const struct buf *bytes,
                   const struct store_call *call, struct error *error)
{
    struct webdav_exchange put = {.method = "PUT",
                                  .headers = {"Content-Type: application/octet-stream"},
                                  .body = bytes->data,
                                  .body_length = bytes->length,
                                  .is_change = true};
    int r, status = webdav_make_folder(webdav, key, call, error);

    if (status == 409 || status == 404) {
        r = webdav_check_root(webdav, call, error);
        if (r == 0)
            r = make_parents(webdav, key, call, error);
        if (r < 0)
            return r;
        status = webdav_make_folder(webdav, key, call, error);
    }
    if (status < 0)
        return status;
    if (!webdav_is_success(status))
        return webdav_refused(webdav, "MKCOL", key, status, error);
    put.path = webdav_path(webdav, key, "/" DATA);
    status = webdav_status(webdav, put, call, error);
    if (status < 0)
        return status;
    return webdav_is_success(status) ? 0 : webdav_refused(webdav, "PUT", key, status, error);
}

static int exists(struct webdav_objects *webdav, const char *key, struct error *error)
{
    _cleanup_free_ char *place = webdav_describe(&webdav->base, key);

    return err_set(error, ERR_EXISTS, NULL, "%s is there already", place);
}

/* After a MOVE that was answered, but neither with success nor with "it exists". */
static int look_after_move(struct webdav_objects *webdav, const char *from, const char *to,
                           int moved, const struct store_call *call, struct error *error)
{
    _cleanup_free_ char *source_folder = str_printf("%s/", from);
    int source = webdav_status(webdav, webdav_find(webdav_path(webdav, from, "/"), "Depth: 0", 0),
                               call, error);
    int target;

    if (source < 0)
        return source;
    target = webdav_status(webdav, webdav_find(webdav_path(webdav, to, "/"), "Depth: 0", 0), call,
                           error);
    if (target < 0)
        return target;
    if (source == 207 && target == 207)
        return exists(webdav, to, error);
    if (source == 404 && target == 207) /* moved, in spite of what it said */
        return webdav_confirm_absent(webdav, source_folder, call, error);
    return webdav_refused(webdav, "MOVE", to, moved, error);
}

static int publish(struct webdav_objects *webdav, const char *from, const char *to,
                   const struct store_call *call, struct error *error)
{
    int status = webdav_move_folder(webdav, from, to, call, error), r;

    if (status == 409 || status == 404 || status == 500) {
        /* The folders above are made with the first object in them. */
        r = make_parents(webdav, to, call, error);
        if (r < 0)
            return r;
        status = webdav_move_folder(webdav, from, to, call, error);
    }
    if (status < 0)
        return status;
    if (webdav_is_success(status))
        return 0;
    if (status == 412)
        return exists(webdav, to, error);
    return look_after_move(webdav, from, to, status, call, error);
}

static int webdav_create(struct objects *objects, const char *key, const struct buf *bytes,
                         const struct store_call *call, struct error *error)
{
    struct webdav_objects *webdav = webdav_of(objects);
    _cleanup_free_ char *unfinished = unfinished_key();
    int r = prepare(webdav, unfinished, bytes, call, error);

    if (r == 0)
        r = publish(webdav, unfinished, key, call, error);
    /* So a MOVE that comes later finds nothing. */
    if (r < 0 && r != ERR_FENCED && r != ERR_CANCELLED)
        webdav_delete_folder(webdav, unfinished, call, NULL);
    return r;
}

/* ---- The rest of the table ---- */

static int webdav_get(struct objects *objects, const char *key, struct buf *ret,
                      const struct store_call *call, struct error *error)
{
    struct webdav_objects *webdav = webdav_of(objects);
    struct webdav_exchange get = {
        .method = "GET", .path = webdav_path(webdav, key, "/" DATA), .max_response = OBJECT_BYTES};
    _cleanup_(http_response_done) struct http_response response = HTTP_RESPONSE_INIT;
    _cleanup_free_ char *place = NULL;
    int r = webdav_send(webdav, &get, call, &response, error);

    if (r == 0 && response.status == 200) {
        buf_done(ret);
        *ret = response.body;
        response.body = (struct buf)BUF_INIT;
    } else if (r == 0 && response.status == 404) {
        r = webdav_check_root(webdav, call, error);
        place = webdav_describe(objects, key);
        if (r == 0)
            r = err_set(error, ERR_NOT_FOUND, NULL, "%s is not there", place);
    } else if (r == 0) {
        r = webdav_refused(webdav, "GET", key, response.status, error);
    }
    return r;
}

static int webdav_delete(struct objects *objects, const char *key, const struct store_call *call,
                         struct error *error)
{
    struct webdav_objects *webdav = webdav_of(objects);
    _cleanup_free_ char *unfinished = unfinished_key();
    bool is_moved = str_has_prefix(key, OBJECT_UNFINISHED);
    int status = is_moved ? 201 : webdav_move_folder(webdav, key, unfinished, call, error);

    if (status == 409 || status == 500) {
        int r = make_parents(webdav, unfinished, call, error);

        if (r < 0)
            return r;
        status = webdav_move_folder(webdav, key, unfinished, call, error);
    }
    if (status < 0)
        return status;
    if (status == 404)
        return webdav_check_root(webdav, call, error);
    if (!webdav_is_success(status))
        return webdav_refused(webdav, "MOVE", key, status, error);
    status = webdav_delete_folder(webdav, is_moved ? key : unfinished, call, error);
    if (status < 0 || webdav_is_success(status) || status == 404)
        return status < 0 ? status : 0;
    return webdav_refused(webdav, "DELETE", key, status, error);
}

/* What is in a folder ("v1/state/", with its slash) and begins so. */
static int list_folder(struct webdav_objects *webdav, const char *folder, unsigned depth,
                       const char *beginning, objects_on_key *fn, void *arg,
                       const struct store_call *call, struct error *error)
{
    _cleanup_(webdav_listing_done) struct webdav_listing listing = {0};
    int r = webdav_read_folder(webdav, folder, call, &listing, error);

    for (size_t i = 0; r == 0 && i < listing.count; i++) {
        const struct webdav_folder *found = &listing.folders[i];
        _cleanup_free_ char *key = str_printf("%s%s", folder, found->name);
        _cleanup_free_ char *below = NULL;

        if (!str_has_prefix(found->name, beginning))
            continue;
        if (strchr(found->name, '~')) {
            r = fn(arg, key, found->modified, error);
            continue;
        }
        below = str_printf("%s/", key);
        if (depth == MOST_FOLDERS)
            return err_set(error, ERR_INTERNAL, "UnexpectedAnswer",
                           "%s%s/%s: folders are nested more deeply than any of ours",
                           webdav->remote.address, webdav->root, folder);
        r = list_folder(webdav, below, depth + 1, "", fn, arg, call, error);
    }
    return r;
}

static int webdav_list(struct objects *objects, const char *prefix, objects_on_key *fn, void *arg,
                       const struct store_call *call, struct error *error)
{
    const char *slash = strrchr(prefix, '/');
    unsigned depth = 0;
    _cleanup_free_ char *folder =
        slash ? str_new_n(prefix, (size_t)(slash + 1 - prefix)) : str_new("");

    for (const char *c = folder; *c; c++)
        depth += *c == '/';
    return list_folder(webdav_of(objects), folder, depth, slash ? slash + 1 : prefix, fn, arg, call,
                       error);
}

static void webdav_free(struct objects *objects)
{
    struct webdav_objects *webdav = webdav_of(objects);

    remote_done(&webdav->remote);
    free(webdav->root);
    free(webdav->credentials);
    free(webdav);
}

static const struct object_ops ops = {
    .type = "webdav",
    .free = webdav_free,
    .create = webdav_create,
    .get = webdav_get,
    .delete = webdav_delete,
    .list = webdav_list,
    .prune = webdav_prune,
    .describe = webdav_describe,
};

enum option { CREDENTIALS, CA, OPTIONS };
static const char *const options[OPTIONS] = {"credentials", "ca"};

int webdav_objects_new(const char *text, struct objects **ret, struct error *error)
{
    struct webdav_objects *webdav;
    _cleanup_free_ char *address = NULL;
    struct place place;
    int r = place_parse(text, options, OPTIONS, &place, error);

    if (r < 0)
        return r;
    webdav = NEW(struct webdav_objects);
    webdav->base.ops = &ops;
    webdav->root = str_new(place.path);
    webdav->credentials = str_new(place.values[CREDENTIALS]);
    address = str_printf("%s://%s", place.scheme, place.authority);
    if (str_equal(place.scheme, "https") || str_equal(place.scheme, "http"))
        r = remote_init(&webdav->remote, address, place.values[CA], error);
    else
        r = err_set(error, ERR_INVALID, "InvalidFlag",
                    "webdav: the place does not begin with https:// or http://");
    place_done(&place);
    if (r < 0) {
        webdav_free(&webdav->base);
        return r;
    }
    *ret = &webdav->base;
    return 0;
}
