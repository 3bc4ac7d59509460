/*
 * Secret stores: what the `secretStore` of a Spec names, asked as the Spec's own ServiceAccount.
 *
 * A token of the account, with the store's audience, is exchanged at the store for one of its own.
 * So the store's policies part the tenants. The operator has no credentials of its own there.
 *
 * A tenant chooses the server. So no host is asked but those that a flag names (http_hosts.h); the
 * account's token goes to no other; and nothing of an answer is in an error but words that are
 * known beforehand. Redirects are not followed.
 *
 * A store is opened for one operation of one Spec. Its functions block; thread-safe.
 */
#pragma once

#include "engine/secrets.h"
#include "runtimes/io/http.h"

struct http_hosts;   /* runtimes/io/http_hosts.h */
struct secret_cache; /* runtimes/secrets/cache.h */

/* The name of the flag, for messages. */
#define SECRET_STORE_FLAG "--secret-store-host"

/* Requests to one host at once. */
#define SECRET_CONNECTIONS 4

/* What all stores share. Borrowed; outlives them. */
struct secret_stores {
    struct http_loop *loop;         /* of such requests alone */
    const struct http_hosts *hosts; /* that may be asked */
    const char *ca_pem;             /* NULL: the system's */
    struct secret_cache *cache;
    /* Address in place of that of a cloud ("https://sts.eu-west-1.amazonaws.com"), for tests; NULL:
     * none. *ret: free(). */
    char *(*endpoint)(const char *address);
};

/* Makes a token of the Spec's ServiceAccount. *ret: str_free_secret(). */
typedef int secret_token(void *arg, const char *audience, int64_t deadline, struct cancel *cancel,
                         char **ret, struct error *error);

struct secret_store;

/* reader: who asks, for the cache: a Spec and its account. settings: `secretStore`, checked by
 * spec_parse(); a reference is taken. token and arg live longer. No I/O. ERR_UNSUPPORTED;
 * ERR_FORBIDDEN HostNotAllowed; ERR_INVALID InvalidAddress. */
int secret_store_open(const struct secret_stores *stores, const char *namespace_name,
                      const char *reader, const struct value *settings, secret_token *token,
                      void *arg, struct secret_store **ret, struct error *error);
void secret_store_free(struct secret_store *store);
DEFINE_CLEANUP(struct secret_store *, secret_store_free)

/* A value that was read before is not read again, if the store says that its version is still that.
 * The errors are those of secret_source_ops.get(). deadline: ms, monotonic. */
int secret_store_get(struct secret_store *store, const struct secret_ref *ref, int64_t deadline,
                     struct cancel *cancel, struct secret *ret, struct error *error);
