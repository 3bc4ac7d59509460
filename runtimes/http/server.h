/*
 * A server as a resource connects to it: its address, the CAs that it is verified by, and the
 * credentials that every request carries.
 *
 * Credentials come from Secrets of the Spec's namespace, which are read with the rights of its
 * ServiceAccount, or from the Spec's secret store. They are here and in requests alone, and are
 * hidden in all errors. A server is immutable and reference-counted: steps keep theirs.
 * Thread-safe.
 */
#pragma once

#include <stdatomic.h>

#include "engine/threads/slots.h"
#include "runtimes/http/config.h"
#include "runtimes/http/quota.h"
#include "runtimes/http/resource/description.h"
#include "runtimes/io/http.h"

/* Whose servers they are. Borrowed. */
struct rest_server_owner {
    const struct http_runtime_config *config;
    struct http_loop *loop;
    struct rest_quota *quota;
    struct slots *requests; /* that are under way at once */
    const char *namespace_name;
    const char *account;           /* or NULL */
    struct secret_source *secrets; /* the store's; NULL: it is not asked */
    bool is_foreign;               /* it gets no credentials */
};

struct rest_server {
    atomic_uint refs;
    struct rest_quota *quota; /* NULL: nothing is taken of it */
    struct slots *requests;
    char *namespace_name;
    size_t ca_bytes;
    struct http_client *client;
    char **headers; /* n_headers; secret */
    size_t n_headers;
    const struct value *secrets; /* an array of sensitive strings */
};

/* ERR_FORBIDDEN HostNotAllowed, AccessDenied; ERR_INVALID InvalidAddress, SecretNotFound;
 * ERR_UNSUPPORTED: an owner that is foreign, or has no store, needs credentials; ERR_UNAVAILABLE
 * TooManyServers; those of secret_source_ops.get(). */
int rest_server_new(const struct rest_server_owner *owner,
                    const struct http_description *description, const struct runtime_call *call,
                    struct rest_server **ret, struct error *error);
struct rest_server *rest_server_ref(struct rest_server *server);
void rest_server_unref(struct rest_server *server);
DEFINE_CLEANUP(struct rest_server *, rest_server_unref)

/* Hides the credentials in an error. */
void rest_server_redact(const struct rest_server *server, struct error *error);
