/*
 * The inside of secret stores. A provider is one file: how it logs in, what it asks, and where the
 * version stands in an answer.
 *
 *   store.c     opens a store, logs in when that is needed, takes the property out of an answer
 *   server.c    one request, and the errors that its status stands for
 *   vault.c, aws.c, alicloud.c, azure.c, fake.c (tests)
 */
#pragma once

#include <pthread.h>

#include "runtimes/secrets/secret_store.h"

#define SECRET_NOT_FOUND   "SecretNotFound"
#define SECRET_DENIED      "SecretDenied"
#define SECRET_UNAVAILABLE "SecretUnavailable"

/* A server of a store. */
struct secret_server {
    char *address; /* "https://vault.example.com:8200" */
    char *host;    /* as the header Host has it */
    struct http_client *client;
};

/* What a login gave. Which ones a provider has is its own affair. */
struct secret_login {
    char *id, *key, *token; /* str_free_secret() */
};

struct secret_call {
    int64_t deadline; /* ms, monotonic */
    struct cancel *cancel;
};

/* What a provider answers. */
struct secret_answer {
    const struct value *data; /* an object with properties, or a string (which may be JSON); a
                                 reference */
    char *version;            /* owned */
};

struct secret_store {
    const struct secret_stores *stores;
    const struct secret_provider *provider;
    char *namespace_name;
    char *reader;                      /* digest of who asks which store */
    const struct value *settings;      /* a reference */
    const struct value *fields, *auth; /* of the provider, in them */
    secret_token *token;
    void *arg;
    struct secret_server login_server, server;
    pthread_mutex_t lock; /* of the login */
    struct secret_login login;
    unsigned login_number;  /* of that login; 0: there is none yet */
    int64_t was_no_help_at; /* ms, monotonic: when a new login was refused as the one before */
    struct error failed;    /* of the last login */
    int64_t failed_at;
};

struct secret_provider {
    const char *name, *audience; /* where `auth` has none; NULL: it needs no login */
    int (*open)(struct secret_store *store, struct error *error);
    /* Exchanges a token of the account. */
    int (*log_in)(struct secret_store *store, const char *token, const struct secret_call *call,
                  struct secret_login *ret, struct error *error);
    int (*read)(struct secret_store *store, const struct secret_login *login,
                const struct secret_ref *ref, const struct secret_call *call,
                struct secret_answer *ret, struct error *error);
    /* The version alone; NULL: it cannot. 1: it cannot tell. */
    int (*look)(struct secret_store *store, const struct secret_login *login,
                const struct secret_ref *ref, const struct secret_call *call, char **ret,
                struct error *error);
};

extern const struct secret_provider secret_vault, secret_aws, secret_alicloud, secret_azure;
#ifdef KUSION_TEST_RUNTIME
extern const struct secret_provider secret_fake;
#endif

/* ---- store.c ---- */

/* A text of the provider's fields or of `auth`; NULL: absent. Borrowed. */
const char *secret_field(const struct secret_store *store, const char *name);
const char *secret_auth(const struct secret_store *store, const char *name);
/* ERR_INVALID SecretNotFound */
int secret_not_found(const struct secret_ref *ref, const char *what, struct error *error);
/* Whether the text may be a part of a host's name. */
bool secret_is_word(const char *text);

/* The text that the Base64 is of, a reference; NULL: it is not of a text, or is NULL. */
const struct value *secret_decode(const char *base64);
/* Whether a version has the stage. */
bool secret_has_stage(const struct value *stages, const char *stage);

/* ---- server.c ---- */

/* Checks that the address may be asked. */
int secret_server_init(struct secret_server *server, const struct secret_store *store,
                       const char *address, struct error *error);
void secret_server_done(struct secret_server *server);

/* Headers, which may have secrets in them: wiped by secret_headers_done(). */
struct secret_headers {
    char *items[12];
    size_t count;
};
void secret_headers_add(struct secret_headers *headers, const char *name, const char *value);
void secret_headers_done(struct secret_headers *headers);

/* Adds "NAME=VALUE" to a query or a form, the value escaped, after "&" if anything is there. */
void secret_form_add(struct buf *form, const char *name, const char *value);

struct secret_request {
    const char *method, *path;            /* escaped */
    const struct secret_headers *headers; /* NULL: none */
    const char *body;                     /* NULL: none */
};

/*
 * *ret_json: the answer of a request that succeeded, a reference; or NULL, where it is not JSON and
 * not asked for. *ret_body, if asked for: its text, str_free_secret().
 *
 * what: "reading ref://db/password", for messages. 404 is ERR_NOT_FOUND.
 */
int secret_ask(const struct secret_server *server, const struct secret_request *request,
               const struct secret_call *call, const char *what, const struct value **ret_json,
               char **ret_body, struct error *error);
/* The provider says so in its answer, of a request that failed. code: "AccessDeniedException": if
 * it is one of those that are known, error gets its meaning. */
int secret_said(const char *code, const char *what, const struct error *problem,
                struct error *error);
