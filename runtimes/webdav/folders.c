/* Folders that are empty: private.h. */

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/webdav/private.h"

static const char wanted[] =
    "<?xml version=\"1.0\" encoding=\"utf-8\"?>"
    "<lockinfo xmlns=\"DAV:\"><lockscope><exclusive/></lockscope><locktype><write/></locktype>"
    "</lockinfo>";

/* *ret: "<opaquelocktoken:…>"; NULL: the server has no locks, or somebody else has this one. */
static int lock(struct webdav_objects *webdav, const char *folder, const struct store_call *call,
                char **ret, struct error *error)
{
    struct webdav_exchange exchange = {
        .method = "LOCK",
        .path = webdav_path(webdav, folder, ""),
        .headers = {"Depth: infinity", "Timeout: Second-60", "Content-Type: application/xml"},
        .body = wanted,
        .body_length = sizeof(wanted) - 1,
        .field = "Lock-Token",
        .is_change = true};
    _cleanup_(http_response_done) struct http_response response = HTTP_RESPONSE_INIT;
    int r = webdav_send(webdav, &exchange, call, &response, error);

    if (r == 0 && response.status == 200)
        *ret = TAKE(response.fields[0]);
    return r;
}

static void unlock(struct webdav_objects *webdav, const char *folder, const char *token,
                   const struct store_call *call)
{
    _cleanup_free_ char *header = str_printf("Lock-Token: %s", token);

    webdav_status(webdav,
                  (struct webdav_exchange){.method = "UNLOCK",
                                           .path = webdav_path(webdav, folder, ""),
                                           .headers = {header},
                                           .is_change = true},
                  call, NULL);
}

/* With its lock. A lock that has ended, or is another one's, makes it fail. */
static int delete_locked(struct webdav_objects *webdav, const char *folder, const char *token,
                         const struct store_call *call, struct error *error)
{
    _cleanup_free_ char *path = webdav_path(webdav, folder, "");
    _cleanup_free_ char *header =
        str_printf("If: <%s%s> (%s)", webdav->remote.address, path, token);
    int status = webdav_status(
        webdav,
        (struct webdav_exchange){
            .method = "DELETE", .path = TAKE(path), .headers = {header}, .is_change = true},
        call, error);

    if (status < 0 || webdav_is_success(status))
        return status < 0 ? status : 0;
    return webdav_refused(webdav, "DELETE", folder, status, error);
}

static bool is_empty(const struct webdav_listing *listing)
{
    return !listing->count && !listing->has_files;
}

/* DELETE takes what is in a folder with it. So the folder is locked, looked at again, and deleted
 * by its lock. Of a create that was checked before the lock and is carried out after it, at most
 * the beginning of a chain is deleted, without which the write that made it fails (chain/store.h).
 */
static int remove_empty(struct webdav_objects *webdav, const char *folder,
                        const struct store_call *call, bool *ret_is_gone, struct error *error)
{
    _cleanup_(webdav_listing_done) struct webdav_listing listing = {0};
    _cleanup_free_ char *token = NULL;
    int r = lock(webdav, folder, call, &token, error);

    if (r < 0 || !token)
        return r;
    r = webdav_read_folder(webdav, folder, call, &listing, error);
    if (r == 0 && is_empty(&listing)) {
        r = delete_locked(webdav, folder, token, call, error);
        *ret_is_gone = r == 0;
    }
    if (!*ret_is_gone)
        unlock(webdav, folder, token, call);
    return r;
}

/* depth: 0 of a kind, which stays; 1 of a namespace; 2 of a Spec, in which are objects. */
static int prune(struct webdav_objects *webdav, const char *folder, unsigned depth,
                 const struct store_call *call, bool *ret_is_gone, struct error *error)
{
    _cleanup_(webdav_listing_done) struct webdav_listing listing = {0};
    int r = webdav_read_folder(webdav, folder, call, &listing, error);
    size_t left = listing.count;

    for (size_t i = 0; r == 0 && i < listing.count && depth < 2; i++) {
        _cleanup_free_ char *below = str_printf("%s%s/", folder, listing.folders[i].name);
        bool is_gone = false;

        r = prune(webdav, below, depth + 1, call, &is_gone, error);
        left -= is_gone;
    }
    if (r == 0 && !left && !listing.has_files && depth > 0)
        r = remove_empty(webdav, folder, call, ret_is_gone, error);
    return r;
}

int webdav_prune(struct objects *objects, const char *folder, const struct store_call *call,
                 struct error *error)
{
    bool is_gone = false;

    return prune(webdav_of(objects), folder, 0, call, &is_gone, error);
}
