#include <string.h>

#include "engine/base/escape.h"
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "runtimes/io/clock.h"
#include "runtimes/io/http_hosts.h"
#include "runtimes/secrets/private.h"

#define ANSWER_BYTES (1u << 20)
#define CONNECT_TIME 5000 /* ms */

/* ---- Servers ---- */

int secret_server_init(struct secret_server *server, const struct secret_store *store,
                       const char *address, struct error *error)
{
    const struct secret_stores *stores = store->stores;
    const struct address_filter *filter = NULL;
    const char *scheme;
    size_t length;
    struct error problem = {0};
    int r;

    server->address = stores->endpoint ? stores->endpoint(address) : NULL;
    if (!server->address)
        server->address = str_new(address);
    length = strlen(server->address);
    if (length && server->address[length - 1] == '/')
        server->address[length - 1] = '\0';
    r = http_hosts_find(stores->hosts, store->namespace_name, server->address, &filter, &problem);
    if (r == ERR_FORBIDDEN)
        return err_set(error, r, "HostNotAllowed",
                       "the operator asks no secret store at %s for this namespace: the "
                       "flag " SECRET_STORE_FLAG " names those that it asks",
                       server->address);
    if (r < 0)
        return err_set(error, r, problem.reason, "secretStore: \"%s\" %s", server->address,
                       problem.message);
    scheme = strstr(server->address, "://");
    server->host = str_new_n(scheme + 3, strcspn(scheme + 3, "/"));
    return http_client_new(
        stores->loop,
        &(struct http_client_config){.base_url = server->address,
                                     .tls = {.ca_pem = stores->ca_pem},
                                     .user_agent = "kusion-operator/" KUSION_VERSION,
                                     .http1 = true,
                                     .address_filter = filter,
                                     .connect_timeout = CONNECT_TIME},
        &server->client, error);
}

void secret_server_done(struct secret_server *server)
{
    http_client_free(server->client);
    free(server->address);
    free(server->host);
    *server = (struct secret_server){0};
}

/* ---- Headers ---- */

void secret_headers_add(struct secret_headers *headers, const char *name, const char *value)
{
    if (headers->count < ARRAY_SIZE(headers->items))
        headers->items[headers->count++] = str_printf("%s: %s", name, value);
}

void secret_headers_done(struct secret_headers *headers)
{
    for (size_t i = 0; i < headers->count; i++)
        str_free_secret(headers->items[i]);
    headers->count = 0;
}

void secret_form_add(struct buf *form, const char *name, const char *value)
{
    buf_printf(form, "%s%s=", form->length ? "&" : "", name);
    escape_url(form, value, false);
}

/* ---- Errors: what is known beforehand, and nothing of an answer ---- */

static int no_answer(const struct secret_server *server, const char *what, int code,
                     const struct error *problem, struct error *error)
{
    if (code == ERR_CANCELLED)
        return err_copy(error, problem);
    if (code == ERR_FORBIDDEN)
        return err_set(error, ERR_FORBIDDEN, "HostNotAllowed",
                       "%s: the address of %s is not one that may be connected to", what,
                       server->host);
    if (code == ERR_TOO_LARGE)
        return err_set(error, ERR_INVALID, "TooLarge", "%s: the answer has more than %u KiB", what,
                       ANSWER_BYTES >> 10);
    if (code == ERR_INVALID)
        return err_set(error, ERR_UNAVAILABLE, SECRET_UNAVAILABLE,
                       "%s: the certificate of %s is not trusted: its CA is to be in "
                       "--secret-store-ca-file (in the chart: secretStores.caBundle)",
                       what, server->host);
    return err_set(error, ERR_UNAVAILABLE, SECRET_UNAVAILABLE, "%s: %s does not answer", what,
                   server->host);
}

static int refused(const struct secret_server *server, const char *what, int status,
                   struct error *error)
{
    switch (status) {
    case 404:
        return err_set(error, ERR_NOT_FOUND, SECRET_NOT_FOUND, "%s: %s has none", what,
                       server->host);
    case 401:
    case 403:
        return err_set(error, ERR_FORBIDDEN, SECRET_DENIED, "%s: %s refuses it (%d)", what,
                       server->host, status);
    default:
        if (status >= 500 || status == 429 || status == 408)
            return err_set(error, ERR_UNAVAILABLE, SECRET_UNAVAILABLE, "%s: %s answers %d", what,
                           server->host, status);
        return err_set(error, ERR_INVALID, "SecretStoreRefused", "%s: %s answers %d", what,
                       server->host, status);
    }
}

static const struct {
    const char *said;
    int code;
    const char *reason;
} codes[] = {
    {"ResourceNotFoundException", ERR_NOT_FOUND, SECRET_NOT_FOUND},
    {"InvalidRequestException", ERR_NOT_FOUND, SECRET_NOT_FOUND}, /* marked for deletion */
    {"Forbidden.ResourceNotFound", ERR_NOT_FOUND, SECRET_NOT_FOUND},
    {"AccessDeniedException", ERR_FORBIDDEN, SECRET_DENIED},
    {"AccessDenied", ERR_FORBIDDEN, SECRET_DENIED},
    {"InvalidIdentityToken", ERR_FORBIDDEN, SECRET_DENIED},
    {"IDPRejectedClaim", ERR_FORBIDDEN, SECRET_DENIED},
    {"ExpiredTokenException", ERR_FORBIDDEN, SECRET_DENIED},
    {"UnrecognizedClientException", ERR_FORBIDDEN, SECRET_DENIED},
    {"InvalidClientTokenId", ERR_FORBIDDEN, SECRET_DENIED},
    {"SignatureDoesNotMatch", ERR_FORBIDDEN, SECRET_DENIED},
    {"InvalidSignatureException", ERR_FORBIDDEN, SECRET_DENIED},
    {"Forbidden.NoPermission", ERR_FORBIDDEN, SECRET_DENIED},
    {"NoPermission", ERR_FORBIDDEN, SECRET_DENIED},
    {"DecryptionFailure", ERR_FORBIDDEN, SECRET_DENIED},
    {"ThrottlingException", ERR_UNAVAILABLE, SECRET_UNAVAILABLE},
    {"InternalServiceError", ERR_UNAVAILABLE, SECRET_UNAVAILABLE},
};

int secret_said(const char *code, const char *what, const struct error *problem,
                struct error *error)
{
    for (size_t i = 0; code && i < ARRAY_SIZE(codes); i++)
        if (str_equal(code, codes[i].said))
            return err_set(error, codes[i].code, codes[i].reason, "%s: %s", what, code);
    return err_copy(error, problem);
}

/* ---- One request ---- */

int secret_ask(const struct secret_server *server, const struct secret_request *request,
               const struct secret_call *call, const char *what, const struct value **ret_json,
               char **ret_body, struct error *error)
{
    _cleanup_(http_response_done) struct http_response response = HTTP_RESPONSE_INIT;
    struct http_request sent = {.method = request->method,
                                .path = request->path,
                                .body = request->body,
                                .body_length = request->body ? strlen(request->body) : 0,
                                .timeout = call->deadline - system_clock.monotonic(&system_clock),
                                .cancel = call->cancel,
                                .max_response = ANSWER_BYTES};
    struct error problem = {0};
    int r;

    if (request->headers) {
        sent.headers = (const char *const *)request->headers->items;
        sent.n_headers = request->headers->count;
    }
    if (sent.timeout <= 0)
        return err_set(error, ERR_UNAVAILABLE, SECRET_UNAVAILABLE, "%s: %s does not answer", what,
                       server->host);
    r = http_do(server->client, &sent, &response, &problem);
    if (r < 0) {
        r = no_answer(server, what, r, &problem, error);
    } else {
        bool is_good = response.status >= 200 && response.status < 300;

        if (!is_good)
            r = refused(server, what, response.status, error);
        if (ret_json)
            json_read(response.body.data, response.body.length, ret_json, NULL);
        if (ret_json && !*ret_json && is_good)
            r = err_set(error, ERR_UNAVAILABLE, SECRET_UNAVAILABLE,
                        "%s: %s does not answer as a secret store does", what, server->host);
        if (ret_body)
            *ret_body = str_new_n(response.body.data, response.body.length);
    }
    if (response.body.length)
        explicit_bzero(response.body.data, response.body.length);
    return r;
}
