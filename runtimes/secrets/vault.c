/*
 * HashiCorp Vault and OpenBao: KV version 2, and 1. The account logs in by the auth method
 * `kubernetes`, or `jwt`.
 *
 * https://developer.hashicorp.com/vault/api-docs/secret/kv/kv-v2
 * https://developer.hashicorp.com/vault/api-docs/auth/kubernetes#login
 */
#include <string.h>

#include "engine/base/escape.h"
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "runtimes/secrets/private.h"

#define DEFAULT_MOUNT "kubernetes"

/* A path of a mount, of segments that lead nowhere else. NULL is one. */
static bool is_mount(const char *path)
{
    for (const char *at = path; at; at = *at ? at + 1 : NULL) {
        size_t length = strcspn(at, "/");

        if (!length || (length <= 2 && strspn(at, ".") >= length))
            return false;
        at += length;
        if (!*at)
            break;
    }
    return true;
}

static int open_vault(struct secret_store *store, struct error *error)
{
    const char *version = secret_field(store, "version");

    if (!is_mount(secret_field(store, "path")) || !is_mount(secret_auth(store, "mount")))
        return err_set(error, ERR_INVALID, "InvalidSpec",
                       "secretStore: provider.vault.path and auth.mount are paths as secret and "
                       "team/kv are: without / at an end, empty segments, and dots alone");

    if (version && !str_equal(version, "v1") && !str_equal(version, "v2"))
        return err_set(error, ERR_INVALID, "InvalidSpec",
                       "secretStore.provider.vault.version is neither v1 nor v2");
    return secret_server_init(&store->server, store, secret_field(store, "server"), error);
}

/* ---- Login ---- */

static int log_in_vault(struct secret_store *store, const char *token,
                        const struct secret_call *call, struct secret_login *ret,
                        struct error *error)
{
    const char *mount = secret_auth(store, "mount"), *given;
    _cleanup_value_ const struct value *asked =
        value_pack("{s:s,s:s}", "role", secret_auth(store, "role"), "jwt", token);
    _cleanup_(str_free_secret_p) char *body = json_to_str(asked);
    _cleanup_value_ const struct value *answer = NULL;
    _cleanup_buf_ struct buf path = BUF_INIT;
    struct secret_request request = {.method = "POST", .body = body};
    int r;

    buf_add_str(&path, "/v1/auth/");
    escape_url(&path, mount ? mount : DEFAULT_MOUNT, true);
    buf_add_str(&path, "/login");
    request.path = path.data;
    r = secret_ask(&store->server, &request, call, "logging in", &answer, NULL, error);
    if (r == ERR_NOT_FOUND || r == ERR_INVALID)
        return err_set(error, ERR_FORBIDDEN, SECRET_DENIED,
                       "logging in: %s does not know the role, or the auth mount",
                       store->server.host);
    if (r < 0)
        return r;
    given = value_get_string(value_get(answer, "auth"), "client_token");
    if (!given)
        return err_set(error, ERR_UNAVAILABLE, SECRET_UNAVAILABLE, "logging in: %s gives no token",
                       store->server.host);
    ret->token = str_new(given);
    return 0;
}

/* ---- Reading ---- */

static bool is_v1(const struct secret_store *store)
{
    return str_equal(secret_field(store, "version"), "v1");
}

/* "/v1/secret/data/team/db": the mount is `path`, with which a name may begin as well; without it,
 * the name's first segment. kind: "data", "metadata"; NULL: version 1. free(). */
static char *path_of(const struct secret_store *store, const struct secret_ref *ref,
                     const char *kind)
{
    const char *mount = secret_field(store, "path"), *name = ref->name;
    size_t length = mount ? strlen(mount) : strcspn(name, "/");
    _cleanup_free_ char *own = str_new_n(mount ? mount : name, length);
    _cleanup_buf_ struct buf path = BUF_INIT;

    if (str_has_prefix(name, own) && name[length] == '/')
        name += length + 1;
    buf_add_str(&path, "/v1/");
    escape_url(&path, own, true);
    if (kind)
        buf_printf(&path, "/%s", kind);
    buf_add_char(&path, '/');
    escape_url(&path, name, true);
    return buf_take(&path);
}

/* A new mount of version 2, and one that was of version 1, make themselves ready for versions. That
 * has no status of its own. */
static bool is_upgrading(const struct value *answer)
{
    const char *said = value_string(value_at(value_get(answer, "errors"), 0));

    return said && str_has_prefix(said, "Upgrading from non-versioned to versioned data");
}

static int ask(struct secret_store *store, const struct secret_login *login, const char *path,
               const struct secret_ref *ref, const struct secret_call *call,
               const struct value **ret, struct error *error)
{
    _cleanup_(secret_headers_done) struct secret_headers headers = {0};
    _cleanup_free_ char *what = str_printf("reading the secret \"%s\"", ref->name);
    int r;

    secret_headers_add(&headers, "X-Vault-Token", login->token);
    secret_headers_add(&headers, "X-Vault-Request", "true");
    r = secret_ask(&store->server,
                   &(struct secret_request){.method = "GET", .path = path, .headers = &headers},
                   call, what, ret, NULL, error);
    if (r == ERR_INVALID && is_upgrading(*ret))
        return err_set(error, ERR_UNAVAILABLE, SECRET_UNAVAILABLE,
                       "%s: %s makes this mount ready for versions, and answers soon", what,
                       store->server.host);
    return r;
}

static char *version_text(const struct value *version)
{
    return str_new(value_number(version));
}

static int read_vault(struct secret_store *store, const struct secret_login *login,
                      const struct secret_ref *ref, const struct secret_call *call,
                      struct secret_answer *ret, struct error *error)
{
    _cleanup_value_ const struct value *answer = NULL;
    _cleanup_free_ char *plain = path_of(store, ref, is_v1(store) ? NULL : "data");
    _cleanup_buf_ struct buf path = BUF_INIT;
    const struct value *data;
    int r;

    if (is_v1(store) && ref->version)
        return secret_not_found(ref, "has no versions: the store is of version 1", error);
    buf_add_str(&path, plain);
    if (ref->version) {
        buf_add_str(&path, "?version=");
        escape_url(&path, ref->version, false);
    }
    r = ask(store, login, path.data, ref, call, &answer, error);
    if (r < 0)
        return r;
    data = value_get(answer, "data");
    if (!is_v1(store)) {
        ret->version = version_text(value_path(data, "metadata", "version", NULL));
        data = value_get(data, "data");
    }
    if (!value_is(data, VALUE_OBJECT))
        return err_set(error, ERR_NOT_FOUND, SECRET_NOT_FOUND, "none");
    ret->data = value_ref(data);
    return 0;
}

/* ---- The version alone ---- */

static bool is_gone(const struct value *version)
{
    const char *deleted = value_get_string(version, "deletion_time");

    return !version || value_bool(value_get(version, "destroyed"), false) || (deleted && *deleted);
}

static int look_vault(struct secret_store *store, const struct secret_login *login,
                      const struct secret_ref *ref, const struct secret_call *call, char **ret,
                      struct error *error)
{
    _cleanup_value_ const struct value *answer = NULL;
    _cleanup_free_ char *path = NULL, *current = NULL;
    const struct value *data;
    const char *wanted;
    int r;

    if (is_v1(store))
        return 1;
    path = path_of(store, ref, "metadata");
    r = ask(store, login, path, ref, call, &answer, error);
    if (r < 0)
        return r;
    data = value_get(answer, "data");
    current = version_text(value_get(data, "current_version"));
    wanted = ref->version ? ref->version : current;
    if (!wanted || is_gone(value_get(value_get(data, "versions"), wanted)))
        return err_set(error, ERR_NOT_FOUND, SECRET_NOT_FOUND, "none");
    *ret = str_new(wanted);
    return 0;
}

const struct secret_provider secret_vault = {.name = "vault",
                                             .audience = "vault",
                                             .open = open_vault,
                                             .log_in = log_in_vault,
                                             .read = read_vault,
                                             .look = look_vault};
