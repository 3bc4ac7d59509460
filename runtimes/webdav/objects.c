/* Objects in a folder of a WebDAV server: private.h; store.h has the requests. */
#include <inttypes.h>
#include <string.h>

#include "engine/base/base64.h"
#include "engine/base/escape.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/chain/place.h"
#include "runtimes/io/random.h"
#include "runtimes/webdav/private.h"

#define LISTING_BYTES (64u << 20)
#define ANSWER_BYTES  (1u << 20)
#define DATA          "data"

struct webdav_objects {
    struct objects base;
    struct remote remote;
    char *root;        /* the folder's path: "" or "/a/b" */
    char *credentials; /* a folder; NULL: none */
};

static struct webdav_objects *webdav_of(struct objects *objects)
{
    return (struct webdav_objects *)objects;
}

static char *webdav_describe(struct objects *objects, const char *key)
{
    const struct webdav_objects *webdav = webdav_of(objects);

    return str_printf("%s%s/%s", webdav->remote.address, webdav->root, key);
}

/* ---- One request ---- */

/* The header Authorization, or NULL: none is sent. */
static int authorization(const struct webdav_objects *webdav, char **ret, struct error *error)
{
    _cleanup_(str_free_secret_p) char *token = NULL, *user = NULL, *password = NULL, *both = NULL;
    _cleanup_buf_ struct buf text = BUF_INIT;
    struct error problem = {0};
    int r;

    *ret = NULL;
    if (!webdav->credentials)
        return 0;
    r = remote_read_secret(webdav->credentials, "token", &token, &problem);
    if (r == 0) {
        *ret = str_printf("Authorization: Bearer %s", token);
        return 0;
    }
    if (r != ERR_NOT_FOUND)
        return err_copy(error, &problem);
    r = remote_read_secret(webdav->credentials, "username", &user, &problem);
    if (r == 0)
        r = remote_read_secret(webdav->credentials, "password", &password, &problem);
    if (r < 0)
        return err_set(error, ERR_FORBIDDEN, "StoreRefused", "%s", problem.message);
    both = str_printf("%s:%s", user, password);
    buf_add_str(&text, "Authorization: Basic ");
    base64_encode(&text, both, strlen(both));
    *ret = buf_take(&text);
    return 0;
}

/* A path below the root, escaped. */
static char *path_of(const struct webdav_objects *webdav, const char *key, const char *suffix)
{
    _cleanup_buf_ struct buf path = BUF_INIT;

    buf_printf(&path, "%s/", webdav->root);
    escape_url(&path, key, true);
    buf_add_str(&path, suffix);
    return buf_take(&path);
}

struct exchange {
    const char *method;
    char *path;             /* owned */
    char *destination;      /* of a MOVE: an address, owned; or NULL */
    const char *headers[3]; /* up to the first NULL */
    const void *body;
    size_t body_length;
    bool is_change;
    size_t max_response;
};

/* *ret_status, and the body of a response that is wanted. */
static int send_request(struct webdav_objects *webdav, struct exchange *exchange,
                        const struct store_call *call, struct http_response *response,
                        struct error *error)
{
    _cleanup_(str_free_secret_p) char *authorized = NULL;
    _cleanup_free_ char *path = TAKE(exchange->path), *destination = TAKE(exchange->destination);
    const char *headers[5];
    struct http_request request = {.method = exchange->method,
                                   .path = path,
                                   .headers = headers,
                                   .body = exchange->body,
                                   .body_length = exchange->body_length,
                                   .max_response = exchange->max_response ? exchange->max_response
                                                                          : ANSWER_BYTES};
    int r = authorization(webdav, &authorized, error);

    if (r < 0)
        return r;
    if (authorized)
        headers[request.n_headers++] = authorized;
    if (destination)
        headers[request.n_headers++] = destination;
    for (size_t i = 0; i < ARRAY_SIZE(exchange->headers) && exchange->headers[i]; i++)
        headers[request.n_headers++] = exchange->headers[i];
    return remote_do(&webdav->remote, &request, call, exchange->is_change, response, error);
}

/* The status alone, or an error. */
static int status_of(struct webdav_objects *webdav, struct exchange exchange,
                     const struct store_call *call, struct error *error)
{
    struct http_response response = HTTP_RESPONSE_INIT;
    int r = send_request(webdav, &exchange, call, &response, error);

    if (r == 0)
        r = response.status;
    http_response_done(&response);
    return r;
}

static bool is_success(int status)
{
    return status >= 200 && status < 300;
}

static int refused(struct webdav_objects *webdav, const char *method, const char *key, int status,
                   struct error *error)
{
    _cleanup_free_ char *place = webdav_describe(&webdav->base, key);
    _cleanup_free_ char *what = str_printf("%s %s", method, place);

    return remote_refused(status, what, NULL, error);
}

static int make_folder(struct webdav_objects *webdav, const char *key,
                       const struct store_call *call, struct error *error)
{
    return status_of(
        webdav,
        (struct exchange){.method = "MKCOL", .path = path_of(webdav, key, "/"), .is_change = true},
        call, error);
}

static int delete_folder(struct webdav_objects *webdav, const char *key,
                         const struct store_call *call, struct error *error)
{
    return status_of(
        webdav,
        (struct exchange){.method = "DELETE", .path = path_of(webdav, key, "/"), .is_change = true},
        call, error);
}

static int move_folder(struct webdav_objects *webdav, const char *from, const char *to,
                       const struct store_call *call, struct error *error)
{
    _cleanup_free_ char *path = path_of(webdav, to, "/");

    return status_of(webdav,
                     (struct exchange){.method = "MOVE",
                                       .path = path_of(webdav, from, "/"),
                                       .destination = str_printf("Destination: %s%s",
                                                                 webdav->remote.address, path),
                                       .headers = {"Overwrite: F", "Depth: infinity"},
                                       .is_change = true},
                     call, error);
}

static const char wanted[] =
    "<?xml version=\"1.0\" encoding=\"utf-8\"?>"
    "<propfind xmlns=\"DAV:\"><prop><resourcetype/><getlastmodified/></prop></propfind>";

static struct exchange find(char *path, const char *depth, size_t max_response)
{
    return (struct exchange){.method = "PROPFIND",
                             .path = path,
                             .headers = {depth, "Content-Type: application/xml"},
                             .body = wanted,
                             .body_length = sizeof(wanted) - 1,
                             .max_response = max_response};
}

/* 0: the folder of all is there. Else what is absent may be so because that is missing. */
static int check_root(struct webdav_objects *webdav, const struct store_call *call,
                      struct error *error)
{
    int status =
        status_of(webdav, find(str_printf("%s/", webdav->root), "Depth: 0", 0), call, error);

    if (status < 0 || status == 207)
        return status < 0 ? status : 0;
    if (status == 404)
        return err_set(error, ERR_UNAVAILABLE, "StoreNotFound", "%s%s: there is no such folder",
                       webdav->remote.address, webdav->root);
    return refused(webdav, "PROPFIND", "", status, error);
}

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
        int status = make_folder(webdav, folder, call, error);

        if (status < 0)
            return status;
        if (status == 401 || status == 507)
            return refused(webdav, "MKCOL", folder, status, error);
    }
    return 0;
}

/* A folder of its own with the bytes in it. */
static int prepare(struct webdav_objects *webdav, const char *key, const struct buf *bytes,
                   const struct store_call *call, struct error *error)
{
    struct exchange put = {.method = "PUT",
                           .headers = {"Content-Type: application/octet-stream"},
                           .body = bytes->data,
                           .body_length = bytes->length,
                           .is_change = true};
    int r, status = make_folder(webdav, key, call, error);

    if (status == 409 || status == 404) {
        r = check_root(webdav, call, error);
        if (r == 0)
            r = make_parents(webdav, key, call, error);
        if (r < 0)
            return r;
        status = make_folder(webdav, key, call, error);
    }
    if (status < 0)
        return status;
    if (!is_success(status))
        return refused(webdav, "MKCOL", key, status, error);
    put.path = path_of(webdav, key, "/" DATA);
    status = status_of(webdav, put, call, error);
    if (status < 0)
        return status;
    return is_success(status) ? 0 : refused(webdav, "PUT", key, status, error);
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
    int source = status_of(webdav, find(path_of(webdav, from, "/"), "Depth: 0", 0), call, error);
    int target;

    if (source < 0)
        return source;
    target = status_of(webdav, find(path_of(webdav, to, "/"), "Depth: 0", 0), call, error);
    if (target < 0)
        return target;
    if (source == 207 && target == 207)
        return exists(webdav, to, error);
    if (source == 404 && target == 207)
        return 0; /* moved, in spite of what it said */
    return refused(webdav, "MOVE", to, moved, error);
}

static int publish(struct webdav_objects *webdav, const char *from, const char *to,
                   const struct store_call *call, struct error *error)
{
    int status = move_folder(webdav, from, to, call, error), r;

    if (status == 409 || status == 404 || status == 500) {
        /* The folders above are made with the first object in them. */
        r = make_parents(webdav, to, call, error);
        if (r < 0)
            return r;
        status = move_folder(webdav, from, to, call, error);
    }
    if (status < 0)
        return status;
    if (is_success(status))
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
        delete_folder(webdav, unfinished, call, NULL);
    return r;
}

/* ---- The rest of the table ---- */

static int webdav_get(struct objects *objects, const char *key, struct buf *ret,
                      const struct store_call *call, struct error *error)
{
    struct webdav_objects *webdav = webdav_of(objects);
    struct exchange get = {
        .method = "GET", .path = path_of(webdav, key, "/" DATA), .max_response = OBJECT_BYTES};
    struct http_response response = HTTP_RESPONSE_INIT;
    _cleanup_free_ char *place = NULL;
    int r = send_request(webdav, &get, call, &response, error);

    if (r == 0 && response.status == 200) {
        buf_done(ret);
        *ret = response.body;
        response.body = (struct buf)BUF_INIT;
    } else if (r == 0 && response.status == 404) {
        r = check_root(webdav, call, error);
        place = webdav_describe(objects, key);
        if (r == 0)
            r = err_set(error, ERR_NOT_FOUND, NULL, "%s is not there", place);
    } else if (r == 0) {
        r = refused(webdav, "GET", key, response.status, error);
    }
    http_response_done(&response);
    return r;
}

static int webdav_delete(struct objects *objects, const char *key, const struct store_call *call,
                         struct error *error)
{
    struct webdav_objects *webdav = webdav_of(objects);
    _cleanup_free_ char *unfinished = unfinished_key();
    bool is_moved = str_has_prefix(key, OBJECT_UNFINISHED);
    int status = is_moved ? 201 : move_folder(webdav, key, unfinished, call, error);

    if (status == 409 || status == 500) {
        int r = make_parents(webdav, unfinished, call, error);

        if (r < 0)
            return r;
        status = move_folder(webdav, key, unfinished, call, error);
    }
    if (status < 0)
        return status;
    if (status == 404)
        return check_root(webdav, call, error);
    if (!is_success(status))
        return refused(webdav, "MOVE", key, status, error);
    status = delete_folder(webdav, is_moved ? key : unfinished, call, error);
    if (status < 0 || is_success(status) || status == 404)
        return status < 0 ? status : 0;
    return refused(webdav, "DELETE", key, status, error);
}

static int read_folder(struct webdav_objects *webdav, const char *folder,
                       const struct store_call *call, struct webdav_listing *ret,
                       struct error *error)
{
    struct exchange exchange = find(path_of(webdav, folder, ""), "Depth: 1", LISTING_BYTES);
    struct http_response response = HTTP_RESPONSE_INIT;
    int r = send_request(webdav, &exchange, call, &response, error);

    if (r == 0 && response.status == 207)
        r = webdav_listing_read(&response.body, ret, error);
    else if (r == 0 && response.status == 404)
        r = check_root(webdav, call, error); /* nothing is in a folder that is not there */
    else if (r == 0)
        r = refused(webdav, "PROPFIND", folder, response.status, error);
    http_response_done(&response);
    return r;
}

/* What is in a folder ("v1/state/", with its slash) and begins so. Folders nest four deep. */
static int list_folder(struct webdav_objects *webdav, const char *folder, const char *beginning,
                       objects_on_key *fn, void *arg, const struct store_call *call,
                       struct error *error)
{
    _cleanup_(webdav_listing_done) struct webdav_listing listing = {0};
    int r = read_folder(webdav, folder, call, &listing, error);

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
        if (strlen(below) > OBJECT_KEY_BYTES)
            return err_set(error, ERR_INTERNAL, "UnexpectedAnswer",
                           "%s%s/%s: folders are nested more deeply than any of ours",
                           webdav->remote.address, webdav->root, folder);
        r = list_folder(webdav, below, "", fn, arg, call, error);
    }
    return r;
}

static int webdav_list(struct objects *objects, const char *prefix, objects_on_key *fn, void *arg,
                       const struct store_call *call, struct error *error)
{
    const char *slash = strrchr(prefix, '/');
    _cleanup_free_ char *folder =
        slash ? str_new_n(prefix, (size_t)(slash + 1 - prefix)) : str_new("");

    return list_folder(webdav_of(objects), folder, slash ? slash + 1 : prefix, fn, arg, call,
                       error);
}

static void webdav_free(struct objects *objects)
{
    struct webdav_objects *webdav = webdav_of(objects);

    if (!webdav)
        return;
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
