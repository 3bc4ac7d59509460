#include "controller/http.h"

#include <string.h>

#include "controller/hosts.h"
#include "engine/base/base64.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"
#include "runtimes/io/clock.h"
#include "runtimes/io/http_hosts.h"

/* ---- Credentials ---- */

/* The text of a Secret's value; NULL: it is none. A reference. */
static const struct value *decode(const struct value *data)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    const struct value *plain = NULL;
    size_t length;
    const char *string = value_string_n(data, &length);

    if (string && base64_decode(&text, string, length) &&
        utf8_valid(text.data, text.length) == text.length && !memchr(text.data, 0, text.length))
        plain = value_pack("s", text.data);
    if (text.length)
        explicit_bzero(text.data, text.length);
    return plain;
}

static const struct value *decode_all(const struct value *data)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    size_t length;

    value_begin_object(b);
    for (size_t i = 0; i < value_count(data); i++) {
        const char *key = value_member_key(data, i, &length);
        const struct value *text = decode(value_member(data, i));

        if (text) {
            value_key_n(b, key, length);
            value_add_sensitive(b, text);
        }
        value_unref(text);
    }
    value_end_object(b);
    return value_finish(b);
}

static int read_secret(void *arg, const struct http_secret_query *query,
                       const struct runtime_call *call, const struct value **ret,
                       struct error *error)
{
    const struct connection *connection = arg;
    int64_t left = call->deadline - system_clock.monotonic(&system_clock);
    _cleanup_free_ char *user = query->account ? str_printf("system:serviceaccount:%s:%s",
                                                            query->namespace_name, query->account)
                                               : NULL;
    const struct kube_request request = {
        .method = "GET",
        .ref = {query->is_config_map ? &kube_config_maps : &kube_secrets, query->namespace_name,
                query->name, NULL},
        .impersonate = user,
        .for_tenant = true,
        .timeout = call->deadline == CLOCK_FOREVER ? 0
                   : left > 1                      ? left
                                                   : 1,
        .cancel = call->cancel,
    };
    _cleanup_value_ const struct value *object = NULL;
    int r = kube_do(connection->cluster.client, &request, &object, error);

    if (r < 0)
        return r;
    *ret = query->is_config_map ? value_ref(value_get(object, "data"))
                                : decode_all(value_get(object, "data"));
    return 0;
}

/* ---- The whole ---- */

int http_init(struct http_settings *settings, const struct connection *connection,
              struct error *error)
{
    int r = hosts_read("--http-host", &connection->flags->http_hosts, connection, &settings->hosts,
                       error);

    settings->config =
        (struct http_runtime_config){.hosts = settings->hosts,
                                     .read_secret = read_secret,
                                     .read_secret_arg = (void *)(uintptr_t)connection};
    return r;
}

void http_done(struct http_settings *settings)
{
    http_hosts_free(settings->hosts);
}
