#include "runtimes/http/server.h"

#include <string.h>

#include "engine/base/base64.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/secrets.h"
#include "engine/value/redaction.h"
#include "runtimes/io/clock.h"

/* A server that has ended a connection meanwhile leaves a request without an answer, and nobody
 * knows then if a create happened: connections that were idle for longer are not used again. */
#define IDLE_TIME 4000

#define SECRET_TIME 20000 /* ms for a value of a secret store */

/* A server in the making. */
struct making {
    const struct rest_server_owner *owner;
    const struct runtime_call *call;
    const struct value *data; /* of the object that was read last; a reference */
    const char *data_name;    /* NULL: of a secret store */
    bool is_data_of_config_map;
    struct buf ca;
    char *headers[16];
    size_t n_headers;
    struct value_builder *secrets;
};

/* ---- Secrets ---- */

static int say_why(const char *field, const struct http_secret_query *query,
                   const struct error *problem, struct error *error)
{
    const char *kind = query->is_config_map ? "ConfigMap" : "Secret";

    if (problem->code == ERR_NOT_FOUND)
        return err_set(error, ERR_INVALID, "SecretNotFound",
                       "extensions.connection.%s: there is no %s \"%s\" in namespace \"%s\"", field,
                       kind, query->name, query->namespace_name);
    if (problem->code == ERR_FORBIDDEN)
        return err_set(error, ERR_FORBIDDEN, "AccessDenied", "extensions.connection.%s: %s", field,
                       problem->message);
    err_copy(error, problem);
    err_wrap(error, "extensions.connection.%s: %s \"%s\"", field, kind, query->name);
    return problem->code;
}

static int load(struct making *making, const char *field, bool is_config_map, const char *name,
                struct error *error)
{
    const struct rest_server_owner *owner = making->owner;
    const struct http_secret_query query = {owner->namespace_name, owner->account, is_config_map,
                                            name};
    struct error problem = {0};
    int r;

    if (making->data && making->is_data_of_config_map == is_config_map &&
        str_equal(making->data_name, name))
        return 0;
    if (owner->is_foreign && !is_config_map)
        return err_set(error, ERR_UNSUPPORTED, "Unsupported",
                       "extensions.connection.%s: a Preview with resources of its own gets no "
                       "credentials, since the right to create Releases is not the right to use "
                       "them; suspend the Spec, change it, and preview that",
                       field);
    value_assign(&making->data, NULL);
    r = owner->config->read_secret(owner->config->read_secret_arg, &query, making->call,
                                   &making->data, &problem);
    if (r < 0)
        return say_why(field, &query, &problem, error);
    making->data_name = name;
    making->is_data_of_config_map = is_config_map;
    return 0;
}

/* *ret: borrowed until the next call. */
static int look_up(struct making *making, const char *field, const char *reference,
                   const char **ret, size_t *ret_length, struct error *error)
{
    struct secret_source *source = making->owner->secrets;
    int64_t deadline = system_clock.monotonic(&system_clock) + SECRET_TIME;
    struct secret secret = {0};
    int r;

    if (!source)
        return err_set(error, ERR_UNSUPPORTED, "Unsupported",
                       "extensions.connection.%s: no secret store is asked: a Preview looks up "
                       "nothing in one, and a Spec must have `secretStore`",
                       field);
    if (making->call->deadline < deadline)
        deadline = making->call->deadline;
    r = source->ops->get(source, reference, deadline, making->call->cancel, &secret, error);
    if (r < 0) {
        err_wrap(error, "extensions.connection.%s", field);
        return r;
    }
    free(secret.version);
    value_unref(making->data);
    making->data = secret.value;
    making->data_name = NULL;
    *ret = value_string_n(making->data, ret_length);
    return 0;
}

/* *ret: borrowed until the next call. Line ends at the end are cut off, as files have them. */
static int read_value(struct making *making, const char *field, const struct value *from,
                      const char *key, const char **ret, size_t *ret_length, struct error *error)
{
    const char *secret = value_get_string(from, "secret");
    const char *name = secret ? secret : value_get_string(from, "configMap");
    int r = load(making, field, !secret, name, error);

    if (r < 0)
        return r;
    *ret = value_string_n(value_get(making->data, key), ret_length);
    if (!*ret)
        return err_set(error, ERR_INVALID, "SecretNotFound",
                       "extensions.connection.%s: \"%s\" of namespace \"%s\" has no text under the "
                       "key \"%s\"",
                       field, name, making->owner->namespace_name, key);
    return 0;
}

/* ref: the member with a reference to a secret store, in place of a Secret and a key. */
static int read_line(struct making *making, const char *field, const struct value *from,
                     const char *key, const char *ref, char **ret, struct error *error)
{
    const char *reference = value_get_string(from, ref), *text;
    size_t length;
    int r = reference ? look_up(making, field, reference, &text, &length, error)
                      : read_value(making, field, from, key, &text, &length, error);

    if (r < 0)
        return r;
    while (length && (text[length - 1] == '\n' || text[length - 1] == '\r'))
        length--;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            return err_set(error, ERR_INVALID, "SecretNotFound",
                           "extensions.connection.%s: what is under the key \"%s\" is not one line "
                           "of text",
                           field, reference ? reference : key);
    *ret = str_new_n(text, length);
    return 0;
}

/* ---- Headers ---- */

static void hide(struct making *making, const char *secret)
{
    _cleanup_value_ const struct value *text = value_pack("s", secret);

    value_add_sensitive(making->secrets, text);
}

static void add_header(struct making *making, char *header)
{
    making->headers[making->n_headers++] = header;
}

static int add_bearer(struct making *making, const struct value *from, struct error *error)
{
    const char *key = value_get_string(from, "key");
    _cleanup_(str_free_secret_p) char *token = NULL;
    int r = read_line(making, "bearerFrom", from, key ? key : "token", "ref", &token, error);

    if (r < 0)
        return r;
    hide(making, token);
    add_header(making, str_printf("Authorization: Bearer %s", token));
    return 0;
}

static int add_basic(struct making *making, const struct value *from, struct error *error)
{
    const char *username_key = value_get_string(from, "usernameKey");
    const char *password_key = value_get_string(from, "passwordKey");
    _cleanup_(str_free_secret_p) char *username = NULL, *password = NULL, *both = NULL;
    _cleanup_buf_ struct buf text = BUF_INIT;
    int r = read_line(making, "basicFrom", from, username_key ? username_key : "username",
                      "usernameRef", &username, error);

    if (r >= 0)
        r = read_line(making, "basicFrom", from, password_key ? password_key : "password",
                      "passwordRef", &password, error);
    if (r < 0)
        return r;
    if (strchr(username, ':'))
        return err_set(error, ERR_INVALID, "SecretNotFound",
                       "extensions.connection.basicFrom: a user's name has no colon");
    hide(making, password);
    both = str_printf("%s:%s", username, password);
    buf_add_str(&text, "Authorization: Basic ");
    base64_encode(&text, both, strlen(both));
    hide(making, text.data + strlen("Authorization: Basic "));
    add_header(making, buf_take(&text));
    return 0;
}

static int add_header_from(struct making *making, const struct value *from, struct error *error)
{
    const char *prefix = value_get_string(from, "prefix");
    _cleanup_(str_free_secret_p) char *text = NULL;
    int r =
        read_line(making, "headersFrom", from, value_get_string(from, "key"), "ref", &text, error);

    if (r < 0)
        return r;
    if (making->n_headers == ARRAY_SIZE(making->headers))
        return err_set(error, ERR_INVALID, "InvalidAttribute",
                       "extensions.connection.headersFrom: there are more than %zu",
                       ARRAY_SIZE(making->headers) - 1);
    hide(making, text);
    add_header(making,
               str_printf("%s: %s%s", value_get_string(from, "name"), prefix ? prefix : "", text));
    return 0;
}

/* By Secret, so that one with several keys is read once. */
static int add_credentials(struct making *making, const struct value *connection,
                           struct error *error)
{
    const struct value *bearer = value_get(connection, "bearerFrom");
    const struct value *basic = value_get(connection, "basicFrom");
    const struct value *headers = value_get(connection, "headersFrom");
    int r = 0;

    if (value_count(bearer))
        r = add_bearer(making, bearer, error);
    if (r >= 0 && value_count(basic))
        r = add_basic(making, basic, error);
    for (size_t i = 0; i < value_count(headers) && r >= 0; i++)
        r = add_header_from(making, value_at(headers, i), error);
    return r;
}

static int read_ca(struct making *making, const struct value *from, struct error *error)
{
    const char *key = value_get_string(from, "key"), *text;
    size_t length;
    int r = value_count(from)
                ? read_value(making, "caFrom", from, key ? key : "ca.crt", &text, &length, error)
                : 1;

    if (r == 0)
        buf_add(&making->ca, text, length);
    return r < 0 ? r : 0;
}

/* ---- The server ---- */

static void making_done(struct making *making)
{
    value_unref(making->data);
    buf_done(&making->ca);
    for (size_t i = 0; i < making->n_headers; i++)
        str_free_secret(making->headers[i]);
    value_builder_free(making->secrets);
}

static int make_client(const struct making *making, const struct http_description *description,
                       const struct address_filter *filter, struct http_client **ret,
                       struct error *error)
{
    const struct http_client_config config = {
        .base_url = description->url,
        .tls = {.ca_pem = making->ca.length ? making->ca.data : NULL},
        .user_agent = "kusion-operator/" KUSION_VERSION,
        .address_filter = filter,
        .idle_time = IDLE_TIME,
    };
    int r = http_client_new(making->owner->loop, &config, ret, error);

    if (r < 0)
        err_wrap(error, "extensions.connection.url");
    return r;
}

static int take_quota(const struct making *making, struct rest_server *server, struct error *error)
{
    const struct rest_server_owner *owner = making->owner;
    int r = rest_quota_take(owner->quota, owner->namespace_name, making->ca.length, error);

    if (r < 0) {
        err_wrap(error, "extensions.connection");
        return r;
    }
    server->quota = owner->quota;
    server->ca_bytes = making->ca.length;
    return 0;
}

static int make(struct making *making, const struct http_description *description,
                struct rest_server *server, struct error *error)
{
    const struct address_filter *filter;
    int r = http_hosts_find(making->owner->config->hosts, making->owner->namespace_name,
                            description->url, &filter, error);

    if (r < 0) {
        err_wrap(error, "extensions.connection.url");
        return r;
    }
    r = add_credentials(making, description->connection, error);
    if (r >= 0)
        r = read_ca(making, value_get(description->connection, "caFrom"), error);
    if (r >= 0)
        r = take_quota(making, server, error);
    if (r >= 0)
        r = make_client(making, description, filter, &server->client, error);
    if (r < 0)
        return r;
    server->headers = NEW_ARRAY(char *, making->n_headers + 1);
    while (server->n_headers < making->n_headers) {
        server->headers[server->n_headers] = TAKE(making->headers[server->n_headers]);
        server->n_headers++;
    }
    value_end_array(making->secrets);
    return value_builder_finish(making->secrets, &server->secrets, error);
}

int rest_server_new(const struct rest_server_owner *owner,
                    const struct http_description *description, const struct runtime_call *call,
                    struct rest_server **ret, struct error *error)
{
    _cleanup_(making_done) struct making making = {
        .owner = owner, .call = call, .ca = BUF_INIT, .secrets = value_builder_new()};
    _cleanup_(rest_server_unref_p) struct rest_server *server = NEW(struct rest_server);
    int r;

    atomic_init(&server->refs, 1);
    server->requests = owner->requests;
    server->namespace_name = str_new(owner->namespace_name);
    value_begin_array(making.secrets);
    r = make(&making, description, server, error);
    if (r < 0)
        return r;
    *ret = TAKE(server);
    return 0;
}

struct rest_server *rest_server_ref(struct rest_server *server)
{
    if (server)
        atomic_fetch_add(&server->refs, 1);
    return server;
}

void rest_server_unref(struct rest_server *server)
{
    if (!server || atomic_fetch_sub(&server->refs, 1) > 1)
        return;
    http_client_free(server->client);
    if (server->quota)
        rest_quota_give_back(server->quota, server->namespace_name, server->ca_bytes);
    free(server->namespace_name);
    for (size_t i = 0; i < server->n_headers; i++)
        str_free_secret(server->headers[i]);
    free(server->headers);
    value_unref(server->secrets);
    free(server);
}

void rest_server_redact(const struct rest_server *server, struct error *error)
{
    const struct value *const secrets[] = {server->secrets};

    redact_error(error, secrets, ARRAY_SIZE(secrets));
}
