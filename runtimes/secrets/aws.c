/*
 * AWS Secrets Manager. The account's token is exchanged at STS for credentials of a role.
 *
 * https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html
 * https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html
 */
#include <string.h>

#include "engine/base/base64.h"
#include "engine/base/escape.h"
#include "engine/base/hash.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"
#include "engine/value/json.h"
#include "runtimes/io/clock.h"
#include "runtimes/io/sigv4.h"
#include "runtimes/io/xml.h"
#include "runtimes/secrets/private.h"

#define CONTENT_TYPE "application/x-amz-json-1.1"
#define CURRENT      "AWSCURRENT"
#define ID_PREFIX    "uuid/" /* in Kusion's words, of a version that is no stage */
#define SESSION      "kusion-operator"

static int open_aws(struct secret_store *store, struct error *error)
{
    const char *region = secret_field(store, "region");
    _cleanup_free_ char *sts = NULL, *manager = NULL;
    const char *domain;
    int r;

    if (!secret_is_word(region))
        return err_set(error, ERR_INVALID, "InvalidSpec",
                       "secretStore.provider.aws.region is no region");
    domain = str_has_prefix(region, "cn-") ? "amazonaws.com.cn" : "amazonaws.com";
    sts = str_printf("https://sts.%s.%s", region, domain);
    manager = str_printf("https://secretsmanager.%s.%s", region, domain);
    r = secret_server_init(&store->login_server, store, sts, error);
    return r < 0 ? r : secret_server_init(&store->server, store, manager, error);
}

/* ---- Login ---- */

/* Copies the text, and leaves the first one. */
static void take_text(char **to, const char *text)
{
    if (!*to)
        *to = str_new(text);
}

static int on_credential(void *arg, const char *name, const char *text, struct error *error)
{
    struct secret_login *login = arg;

    (void)error;
    if (str_equal(name, "AccessKeyId"))
        take_text(&login->id, text);
    if (str_equal(name, "SecretAccessKey"))
        take_text(&login->key, text);
    if (str_equal(name, "SessionToken"))
        take_text(&login->token, text);
    return 0;
}

struct said {
    char code[64];
};

static int on_code(void *arg, const char *name, const char *text, struct error *error)
{
    struct said *said = arg;

    (void)error;
    if (str_equal(name, "Code"))
        str_copy(said->code, sizeof(said->code), text);
    return 0;
}

static char *login_body(const struct secret_store *store, const char *token)
{
    _cleanup_buf_ struct buf body = BUF_INIT;

    buf_add_str(&body,
                "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleSessionName=" SESSION);
    secret_form_add(&body, "RoleArn", secret_auth(store, "role"));
    secret_form_add(&body, "WebIdentityToken", token);
    return buf_take(&body);
}

static int log_in_aws(struct secret_store *store, const char *token, const struct secret_call *call,
                      struct secret_login *ret, struct error *error)
{
    static const struct xml_handler of_errors = {.end = on_code},
                                    of_answers = {.end = on_credential};
    static const char what[] = "taking the role of `auth` at AWS";
    _cleanup_(secret_headers_done) struct secret_headers headers = {0};
    _cleanup_(str_free_secret_p) char *body = login_body(store, token), *text = NULL;
    struct error problem = {0};
    struct said said = {0};
    int r;

    secret_headers_add(&headers, "Content-Type", "application/x-www-form-urlencoded");
    r = secret_ask(
        &store->login_server,
        &(struct secret_request){.method = "POST", .path = "/", .headers = &headers, .body = body},
        call, what, NULL, &text, &problem);
    if (r < 0 && text)
        xml_read(text, strlen(text), &of_errors, &said, NULL);
    if (r < 0)
        return secret_said(said.code, what, &problem, error);
    xml_read(text, strlen(text), &of_answers, ret, NULL);
    if (!ret->id || !ret->key || !ret->token)
        return err_set(error, ERR_UNAVAILABLE, SECRET_UNAVAILABLE, "%s: %s gives no credentials",
                       what, store->login_server.host);
    return 0;
}

/* ---- Requests ---- */

/* The headers of a signed request. target: "secretsmanager.GetSecretValue". */
static void sign(const struct secret_store *store, const struct secret_login *login,
                 const char *target, const char *body, struct secret_headers *ret)
{
    char date[SIGV4_DATE_SIZE], hash[HASH_HEX_SIZE];
    const struct sigv4_header headers[] = {
        {"content-type", CONTENT_TYPE},         {"host", store->server.host}, {"x-amz-date", date},
        {"x-amz-security-token", login->token}, {"x-amz-target", target},
    };
    const struct sigv4_request request = {.method = "POST",
                                          .path = "/",
                                          .query = "",
                                          .headers = headers,
                                          .n_headers = ARRAY_SIZE(headers),
                                          .body_hash = hash};
    const struct sigv4_key key = {login->id, login->key, secret_field(store, "region"),
                                  "secretsmanager"};
    _cleanup_(str_free_secret_p) char *authorization = NULL;

    sigv4_date(system_clock.now(&system_clock), date);
    hash_hex(body, strlen(body), hash);
    authorization = sigv4_authorization(&request, &key, date);
    for (size_t i = 0; i < ARRAY_SIZE(headers); i++)
        if (!str_equal(headers[i].name, "host"))
            secret_headers_add(ret, headers[i].name, headers[i].value);
    secret_headers_add(ret, "Authorization", authorization);
}

/* "ResourceNotFoundException", also where it is "com.amazonaws…#ResourceNotFoundException". */
static const char *code_of(const struct value *answer)
{
    const char *type = value_get_string(answer, "__type"), *hash = type ? strrchr(type, '#') : NULL;

    return hash ? hash + 1 : type;
}

static int ask(struct secret_store *store, const struct secret_login *login,
               const struct secret_ref *ref, const char *target, const struct value *asked,
               const struct secret_call *call, const struct value **ret, struct error *error)
{
    _cleanup_(secret_headers_done) struct secret_headers headers = {0};
    _cleanup_free_ char *body = json_to_str(asked);
    _cleanup_free_ char *what = str_printf("reading the secret \"%s\"", ref->name);
    struct error problem = {0};
    int r;

    sign(store, login, target, body, &headers);
    r = secret_ask(
        &store->server,
        &(struct secret_request){.method = "POST", .path = "/", .headers = &headers, .body = body},
        call, what, ret, NULL, &problem);
    return r < 0 ? secret_said(code_of(*ret), what, &problem, error) : 0;
}

/* ---- Reading ---- */

static bool is_id(const char *version)
{
    return version && str_has_prefix(version, ID_PREFIX);
}

/* A reference; NULL: it is no text. */
static const struct value *text_of(const struct value *answer)
{
    const struct value *string = value_get(answer, "SecretString");

    return string ? value_ref(string) : secret_decode(value_get_string(answer, "SecretBinary"));
}

static int read_aws(struct secret_store *store, const struct secret_login *login,
                    const struct secret_ref *ref, const struct secret_call *call,
                    struct secret_answer *ret, struct error *error)
{
    const char *version = ref->version;
    _cleanup_value_ const struct value *asked =
        value_pack("{s:s,s:s?,s:s?}", "SecretId", ref->name, "VersionId",
                   is_id(version) ? version + strlen(ID_PREFIX) : NULL, "VersionStage",
                   is_id(version) ? NULL
                   : version      ? version
                                  : CURRENT);
    _cleanup_value_ const struct value *answer = NULL;
    int r = ask(store, login, ref, "secretsmanager.GetSecretValue", asked, call, &answer, error);

    if (r < 0)
        return r;
    ret->data = text_of(answer);
    ret->version = str_new(value_get_string(answer, "VersionId"));
    if (!ret->data)
        return secret_not_found(ref, "is no text", error);
    return 0;
}

/* ---- The version alone ---- */

static int look_aws(struct secret_store *store, const struct secret_login *login,
                    const struct secret_ref *ref, const struct secret_call *call, char **ret,
                    struct error *error)
{
    const char *wanted = is_id(ref->version) ? ref->version + strlen(ID_PREFIX) : NULL;
    const char *stage = ref->version ? ref->version : CURRENT;
    _cleanup_value_ const struct value *asked = value_pack("{s:s}", "SecretId", ref->name);
    _cleanup_value_ const struct value *answer = NULL;
    const struct value *versions;
    int r = ask(store, login, ref, "secretsmanager.DescribeSecret", asked, call, &answer, error);

    if (r < 0)
        return r;
    if (value_get(answer, "DeletedDate") && !value_is(value_get(answer, "DeletedDate"), VALUE_NULL))
        return err_set(error, ERR_NOT_FOUND, SECRET_NOT_FOUND, "none");
    versions = value_get(answer, "VersionIdsToStages");
    for (size_t i = 0; i < value_count(versions); i++) {
        size_t length = 0;
        const char *id = value_member_key(versions, i, &length);

        if (wanted ? str_equal(id, wanted) : secret_has_stage(value_member(versions, i), stage)) {
            *ret = str_new(id);
            return 0;
        }
    }
    return 1;
}

const struct secret_provider secret_aws = {.name = "aws",
                                           .audience = "sts.amazonaws.com",
                                           .open = open_aws,
                                           .log_in = log_in_aws,
                                           .read = read_aws,
                                           .look = look_aws};
