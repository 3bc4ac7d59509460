/*
 * Azure Key Vault. The account's token is the assertion of an application with a federated
 * credential.
 *
 * https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-client-creds-grant-flow#third-case-access-token-request-with-a-federated-credential
 * https://learn.microsoft.com/en-us/rest/api/keyvault/secrets/get-secret/get-secret
 */
#include <string.h>

#include "engine/base/escape.h"
#include "engine/base/str.h"
#include "runtimes/secrets/private.h"

#define API_VERSION "7.4"

static const struct cloud {
    const char *name; /* `environmentType`, in Kusion's words */
    const char *login, *scope;
} clouds[] = {
    {"PublicCloud", "https://login.microsoftonline.com", "https://vault.azure.net/.default"},
    {"ChinaCloud", "https://login.chinacloudapi.cn", "https://vault.azure.cn/.default"},
    {"USGovernmentCloud", "https://login.microsoftonline.us",
     "https://vault.usgovcloudapi.net/.default"},
};

static const struct cloud *cloud_of(const struct secret_store *store)
{
    const char *name = secret_field(store, "environmentType");

    for (size_t i = 0; i < ARRAY_SIZE(clouds); i++)
        if (!name || str_equal(name, clouds[i].name))
            return &clouds[i];
    return NULL;
}

static int open_azure(struct secret_store *store, struct error *error)
{
    const struct cloud *cloud = cloud_of(store);
    int r;

    if (!cloud)
        return err_set(error, ERR_INVALID, "InvalidSpec",
                       "secretStore.provider.azure.environmentType is none of PublicCloud, "
                       "ChinaCloud and USGovernmentCloud");
    r = secret_server_init(&store->login_server, store, cloud->login, error);
    return r < 0
               ? r
               : secret_server_init(&store->server, store, secret_field(store, "vaultUrl"), error);
}

/* ---- Login ---- */

static char *login_body(const struct secret_store *store, const char *token)
{
    _cleanup_buf_ struct buf body = BUF_INIT;

    buf_add_str(&body, "grant_type=client_credentials&client_assertion_type="
                       "urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer");
    secret_form_add(&body, "client_id", secret_auth(store, "clientId"));
    secret_form_add(&body, "scope", cloud_of(store)->scope);
    secret_form_add(&body, "client_assertion", token);
    return buf_take(&body);
}

static int log_in_azure(struct secret_store *store, const char *token,
                        const struct secret_call *call, struct secret_login *ret,
                        struct error *error)
{
    static const char what[] = "logging in at Azure";
    _cleanup_(secret_headers_done) struct secret_headers headers = {0};
    _cleanup_(str_free_secret_p) char *body = login_body(store, token);
    _cleanup_value_ const struct value *answer = NULL;
    _cleanup_buf_ struct buf path = BUF_INIT;
    int r;

    buf_add_char(&path, '/');
    escape_url(&path, secret_field(store, "tenantId"), false);
    buf_add_str(&path, "/oauth2/v2.0/token");
    secret_headers_add(&headers, "Content-Type", "application/x-www-form-urlencoded");
    r = secret_ask(&store->login_server,
                   &(struct secret_request){
                       .method = "POST", .path = path.data, .headers = &headers, .body = body},
                   call, what, &answer, NULL, error);
    if (r == ERR_INVALID || r == ERR_NOT_FOUND) /* 400: invalid_client, unauthorized_client … */
        return err_set(error, ERR_FORBIDDEN, SECRET_DENIED,
                       "%s: the application or its federated credential is not known there", what);
    if (r < 0)
        return r;
    ret->token = str_new(value_get_string(answer, "access_token"));
    return ret->token ? 0
                      : err_set(error, ERR_UNAVAILABLE, SECRET_UNAVAILABLE, "%s: %s gives no token",
                                what, store->login_server.host);
}

/* ---- Reading ---- */

/* The last segment of "https://VAULT/secrets/NAME/VERSION". */
static char *version_of(const struct value *answer)
{
    const char *id = value_get_string(answer, "id"), *slash = id ? strrchr(id, '/') : NULL;

    return slash ? str_new(slash + 1) : NULL;
}

/* Kusion writes "secret/NAME" as well as "NAME". */
static int read_azure(struct secret_store *store, const struct secret_login *login,
                      const struct secret_ref *ref, const struct secret_call *call,
                      struct secret_answer *ret, struct error *error)
{
    const char *name =
        str_has_prefix(ref->name, "secret/") ? ref->name + strlen("secret/") : ref->name;
    _cleanup_(secret_headers_done) struct secret_headers headers = {0};
    _cleanup_(str_free_secret_p) char *bearer = str_printf("Bearer %s", login->token);
    _cleanup_free_ char *what = str_printf("reading the secret \"%s\"", ref->name);
    _cleanup_value_ const struct value *answer = NULL;
    _cleanup_buf_ struct buf path = BUF_INIT;
    int r;

    if (!secret_is_word(name))
        return err_set(error, ERR_INVALID, "InvalidReference",
                       "the name of a secret in a Key Vault has letters, digits and - alone");
    buf_printf(&path, "/secrets/%s/", name);
    if (ref->version)
        escape_url(&path, ref->version, false);
    buf_add_str(&path, "?api-version=" API_VERSION);
    secret_headers_add(&headers, "Authorization", bearer);
    r = secret_ask(
        &store->server,
        &(struct secret_request){.method = "GET", .path = path.data, .headers = &headers}, call,
        what, &answer, NULL, error);
    if (r < 0)
        return r;
    ret->data = value_ref(value_get(answer, "value"));
    ret->version = version_of(answer);
    return ret->data ? 0 : err_set(error, ERR_NOT_FOUND, SECRET_NOT_FOUND, "none");
}

/* The list of versions has no order, and no mark of the newest: so it is read. */
const struct secret_provider secret_azure = {.name = "azure",
                                             .audience = "api://AzureADTokenExchange",
                                             .open = open_azure,
                                             .log_in = log_in_azure,
                                             .read = read_azure};
