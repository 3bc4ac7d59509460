/*
 * Alibaba Cloud's KMS, which keeps secrets. The account's token is exchanged at STS for credentials
 * of a RAM role.
 *
 * https://www.alibabacloud.com/help/en/ram/developer-reference/api-sts-2015-04-01-assumerolewithoidc
 * https://www.alibabacloud.com/help/en/kms/key-management-service/developer-reference/api-kms-2016-01-20-getsecretvalue
 * https://www.alibabacloud.com/help/en/sdk/product-overview/v3-request-structure-and-signature
 */
#include <string.h>

#include "engine/base/base64.h"
#include "engine/base/escape.h"
#include "engine/base/hash.h"
#include "engine/base/str.h"
#include "engine/base/timestamp.h"
#include "engine/base/utf8.h"
#include "engine/value/json.h"
#include "runtimes/io/clock.h"
#include "runtimes/io/random.h"
#include "runtimes/secrets/private.h"

#define ALGORITHM   "ACS3-HMAC-SHA256"
#define KMS_VERSION "2016-01-20"
#define SESSION     "kusion-operator"

static int open_alicloud(struct secret_store *store, struct error *error)
{
    const char *region = secret_field(store, "region");
    _cleanup_free_ char *sts = NULL, *kms = NULL;
    int r;

    if (!secret_is_word(region))
        return err_set(error, ERR_INVALID, "InvalidSpec",
                       "secretStore.provider.alicloud.region is no region");
    sts = str_printf("https://sts.%s.aliyuncs.com", region);
    kms = str_printf("https://kms.%s.aliyuncs.com", region);
    r = secret_server_init(&store->login_server, store, sts, error);
    return r < 0 ? r : secret_server_init(&store->server, store, kms, error);
}

static void new_nonce(char ret[33])
{
    for (size_t i = 0; i < 32; i += 8)
        snprintf(ret + i, 9, "%08x", (unsigned)random_below((uint64_t)1 << 32));
}

/* ---- Login ---- */

static char *login_body(const struct secret_store *store, const char *token)
{
    _cleanup_buf_ struct buf body = BUF_INIT;

    secret_form_add(&body, "RoleArn", secret_auth(store, "role"));
    secret_form_add(&body, "OIDCProviderArn", secret_auth(store, "providerArn"));
    secret_form_add(&body, "RoleSessionName", SESSION);
    secret_form_add(&body, "OIDCToken", token);
    return buf_take(&body);
}

static int log_in_alicloud(struct secret_store *store, const char *token,
                           const struct secret_call *call, struct secret_login *ret,
                           struct error *error)
{
    static const char what[] = "taking the role of `auth` at Alibaba Cloud";
    _cleanup_(secret_headers_done) struct secret_headers headers = {0};
    _cleanup_(str_free_secret_p) char *body = login_body(store, token);
    _cleanup_value_ const struct value *answer = NULL;
    const struct value *given;
    struct error problem = {0};
    char nonce[33], date[TIMESTAMP_SIZE];
    int r;

    timestamp_format(system_clock.now(&system_clock), date);
    new_nonce(nonce);
    secret_headers_add(&headers, "Content-Type", "application/x-www-form-urlencoded");
    secret_headers_add(&headers, "Accept", "application/json");
    secret_headers_add(&headers, "x-acs-action", "AssumeRoleWithOIDC");
    secret_headers_add(&headers, "x-acs-version", "2015-04-01");
    secret_headers_add(&headers, "x-acs-date", date);
    secret_headers_add(&headers, "x-acs-signature-nonce", nonce);
    r = secret_ask(
        &store->login_server,
        &(struct secret_request){.method = "POST", .path = "/", .headers = &headers, .body = body},
        call, what, &answer, NULL, &problem);
    if (r < 0)
        return secret_said(value_get_string(answer, "Code"), what, &problem, error);
    given = value_get(answer, "Credentials");
    ret->id = str_new(value_get_string(given, "AccessKeyId"));
    ret->key = str_new(value_get_string(given, "AccessKeySecret"));
    ret->token = str_new(value_get_string(given, "SecurityToken"));
    if (!ret->id || !ret->key || !ret->token)
        return err_set(error, ERR_UNAVAILABLE, SECRET_UNAVAILABLE, "%s: %s gives no credentials",
                       what, store->login_server.host);
    return 0;
}

/* ---- Requests ---- */

struct header {
    const char *name, *value;
};

/* All headers but Content-Type are signed; they are sorted by name. */
static char *authorization_of(const struct secret_login *login, const char *query,
                              const struct header *headers, size_t n, const char *body_hash)
{
    _cleanup_buf_ struct buf request = BUF_INIT, names = BUF_INIT, result = BUF_INIT;
    _cleanup_free_ char *text = NULL;
    struct hash *hash;
    char hex[HASH_HEX_SIZE];

    buf_printf(&request, "POST\n/\n%s\n", query);
    for (size_t i = 0; i < n; i++) {
        buf_printf(&request, "%s:%s\n", headers[i].name, headers[i].value);
        buf_printf(&names, "%s%s", i ? ";" : "", headers[i].name);
    }
    buf_printf(&request, "\n%s\n%s", names.data, body_hash);
    hash_hex(request.data, request.length, hex);
    text = str_printf(ALGORITHM "\n%s", hex);
    hash = hash_new_keyed(login->key, strlen(login->key));
    hash_add(hash, text, strlen(text));
    hash_finish_hex(hash, hex);
    hash_free(hash);
    buf_printf(&result, ALGORITHM " Credential=%s,SignedHeaders=%s,Signature=%s", login->id,
               names.data, hex);
    return buf_take(&result);
}

/* query: escaped and sorted. */
static int ask(struct secret_store *store, const struct secret_login *login,
               const struct secret_ref *ref, const char *action, const char *query,
               const struct secret_call *call, const struct value **ret, struct error *error)
{
    _cleanup_(secret_headers_done) struct secret_headers sent = {0};
    _cleanup_free_ char *what = str_printf("reading the secret \"%s\"", ref->name);
    _cleanup_free_ char *path = str_printf("/?%s", query);
    _cleanup_(str_free_secret_p) char *authorization = NULL;
    char nonce[33], date[TIMESTAMP_SIZE], empty[HASH_HEX_SIZE];
    const struct header headers[] = {
        {"host", store->server.host},           {"x-acs-action", action},
        {"x-acs-content-sha256", empty},        {"x-acs-date", date},
        {"x-acs-security-token", login->token}, {"x-acs-signature-nonce", nonce},
        {"x-acs-version", KMS_VERSION},
    };
    struct error problem = {0};
    int r;

    hash_hex("", 0, empty);
    timestamp_format(system_clock.now(&system_clock), date);
    new_nonce(nonce);
    authorization = authorization_of(login, query, headers, ARRAY_SIZE(headers), empty);
    for (size_t i = 1; i < ARRAY_SIZE(headers); i++)
        secret_headers_add(&sent, headers[i].name, headers[i].value);
    secret_headers_add(&sent, "Accept", "application/json");
    secret_headers_add(&sent, "Authorization", authorization);
    r = secret_ask(&store->server,
                   &(struct secret_request){.method = "POST", .path = path, .headers = &sent}, call,
                   what, ret, NULL, &problem);
    return r < 0 ? secret_said(value_get_string(*ret, "Code"), what, &problem, error) : 0;
}

/* ---- Reading ---- */

static int read_alicloud(struct secret_store *store, const struct secret_login *login,
                         const struct secret_ref *ref, const struct secret_call *call,
                         struct secret_answer *ret, struct error *error)
{
    _cleanup_value_ const struct value *answer = NULL;
    _cleanup_buf_ struct buf query = BUF_INIT;
    const char *data;
    int r;

    secret_form_add(&query, "SecretName", ref->name);
    if (ref->version)
        secret_form_add(&query, "VersionId", ref->version);
    r = ask(store, login, ref, "GetSecretValue", query.data, call, &answer, error);
    if (r < 0)
        return r;
    ret->version = str_new(value_get_string(answer, "VersionId"));
    data = value_get_string(answer, "SecretData");
    if (str_equal(value_get_string(answer, "SecretDataType"), "binary"))
        ret->data = secret_decode(data);
    if (!ret->data)
        ret->data = value_ref(value_get(answer, "SecretData"));
    return data ? 0 : secret_not_found(ref, "is no text", error);
}

/* The version alone: the current one is on the first page, where the newest ones are. */
static int look_alicloud(struct secret_store *store, const struct secret_login *login,
                         const struct secret_ref *ref, const struct secret_call *call, char **ret,
                         struct error *error)
{
    _cleanup_value_ const struct value *answer = NULL;
    _cleanup_buf_ struct buf query = BUF_INIT;
    const struct value *versions;
    int r;

    secret_form_add(&query, "PageSize", "100");
    secret_form_add(&query, "SecretName", ref->name);
    r = ask(store, login, ref, "ListSecretVersionIds", query.data, call, &answer, error);
    if (r < 0)
        return r;
    versions = value_path(answer, "VersionIds", "VersionId", NULL);
    for (size_t i = 0; i < value_count(versions); i++) {
        const struct value *version = value_at(versions, i);
        const struct value *stages = value_path(version, "VersionStages", "VersionStage", NULL);
        const char *id = value_get_string(version, "VersionId");

        if (ref->version ? str_equal(id, ref->version) : secret_has_stage(stages, "ACSCurrent")) {
            *ret = str_new(id);
            return 0;
        }
    }
    return 1;
}

const struct secret_provider secret_alicloud = {.name = "alicloud",
                                                .audience = "sts.aliyuncs.com",
                                                .open = open_alicloud,
                                                .log_in = log_in_alicloud,
                                                .read = read_alicloud,
                                                .look = look_alicloud};
