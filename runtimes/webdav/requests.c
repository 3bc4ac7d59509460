/* Requests to a WebDAV server: private.h. */
#include <string.h>

#include "engine/base/base64.h"
#include "engine/base/escape.h"
#include "engine/base/str.h"
#include "runtimes/webdav/private.h"

#define LISTING_BYTES (64u << 20)
#define ANSWER_BYTES  (1u << 20)

char *webdav_describe(struct objects *objects, const char *key)
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

char *webdav_path(const struct webdav_objects *webdav, const char *key, const char *suffix)
{
    _cleanup_buf_ struct buf path = BUF_INIT;

    buf_printf(&path, "%s/", webdav->root);
    escape_url(&path, key, true);
    buf_add_str(&path, suffix);
    return buf_take(&path);
}

int webdav_send(struct webdav_objects *webdav, struct webdav_exchange *exchange,
                const struct store_call *call, struct http_response *response, struct error *error)
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
                                                                          : ANSWER_BYTES,
                                   .fields = &exchange->field,
                                   .n_fields = exchange->field ? 1 : 0};
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

int webdav_status(struct webdav_objects *webdav, struct webdav_exchange exchange,
                  const struct store_call *call, struct error *error)
{
    _cleanup_(http_response_done) struct http_response response = HTTP_RESPONSE_INIT;
    int r = webdav_send(webdav, &exchange, call, &response, error);

    if (r == 0)
        r = response.status;
    return r;
}

bool webdav_is_success(int status)
{
    return status >= 200 && status < 300 && status != 207;
}

int webdav_refused(struct webdav_objects *webdav, const char *method, const char *key, int status,
                   struct error *error)
{
    _cleanup_free_ char *place = webdav_describe(&webdav->base, key);
    _cleanup_free_ char *what = str_printf("%s %s", method, place);

    return remote_refused(status, what, NULL, error);
}

int webdav_make_folder(struct webdav_objects *webdav, const char *key,
                       const struct store_call *call, struct error *error)
{
    return webdav_status(webdav,
                         (struct webdav_exchange){.method = "MKCOL",
                                                  .path = webdav_path(webdav, key, "/"),
                                                  .is_change = true},
                         call, error);
}

int webdav_delete_folder(struct webdav_objects *webdav, const char *key,
                         const struct store_call *call, struct error *error)
{
    return webdav_status(webdav,
                         (struct webdav_exchange){.method = "DELETE",
                                                  .path = webdav_path(webdav, key, "/"),
                                                  .is_change = true},
                         call, error);
}

int webdav_move_folder(struct webdav_objects *webdav, const char *from, const char *to,
                       const struct store_call *call, struct error *error)
{
    _cleanup_free_ char *path = webdav_path(webdav, to, "/");

    return webdav_status(
        webdav,
        (struct webdav_exchange){.method = "MOVE",
                                 .path = webdav_path(webdav, from, "/"),
                                 .destination =
                                     str_printf("Destination: %s%s", webdav->remote.address, path),
                                 .headers = {"Overwrite: F", "Depth: infinity"},
                                 .is_change = true},
        call, error);
}

static const char wanted[] =
    "<?xml version=\"1.0\" encoding=\"utf-8\"?>"
    "<propfind xmlns=\"DAV:\"><prop><resourcetype/><getlastmodified/></prop></propfind>";

struct webdav_exchange webdav_find(char *path, const char *depth, size_t max_response)
{
    return (struct webdav_exchange){.method = "PROPFIND",
                                    .path = path,
                                    .headers = {depth, "Content-Type: application/xml"},
                                    .body = wanted,
                                    .body_length = sizeof(wanted) - 1,
                                    .max_response = max_response};
}

int webdav_check_root(struct webdav_objects *webdav, const struct store_call *call,
                      struct error *error)
{
    int status = webdav_status(webdav, webdav_find(str_printf("%s/", webdav->root), "Depth: 0", 0),
                               call, error);

    if (status < 0 || status == 207)
        return status < 0 ? status : 0;
    if (status == 404)
        return err_set(error, ERR_UNAVAILABLE, "StoreNotFound", "%s%s: there is no such folder",
                       webdav->remote.address, webdav->root);
    return webdav_refused(webdav, "PROPFIND", "", status, error);
}

int webdav_confirm_absent(struct webdav_objects *webdav, const char *folder,
                          const struct store_call *call, struct error *error)
{
    int r = webdav_check_root(webdav, call, error);

    if (r == 0)
        r = webdav_status(
            webdav,
            (struct webdav_exchange){.method = "GET", .path = webdav_path(webdav, folder, "~")},
            call, error);
    if (r <= 0 || r == 404)
        return r < 0 ? r : 0;
    return webdav_refused(webdav, "GET", folder, r, error);
}

int webdav_read_folder(struct webdav_objects *webdav, const char *folder,
                       const struct store_call *call, struct webdav_listing *ret,
                       struct error *error)
{
    struct webdav_exchange exchange =
        webdav_find(webdav_path(webdav, folder, ""), "Depth: 1", LISTING_BYTES);
    _cleanup_(http_response_done) struct http_response response = HTTP_RESPONSE_INIT;
    int r = webdav_send(webdav, &exchange, call, &response, error);

    if (r == 0 && response.status == 207)
        r = webdav_listing_read(&response.body, ret, error);
    else if (r == 0 && response.status == 404)
        r = webdav_confirm_absent(webdav, folder, call, error); /* then nothing is in it */
    else if (r == 0)
        r = webdav_refused(webdav, "PROPFIND", folder, response.status, error);
    return r;
}
