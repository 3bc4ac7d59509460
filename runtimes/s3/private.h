/* Declarations that the files of the store share: store.h. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "runtimes/chain/objects.h"
#include "runtimes/chain/remote.h"
#include "runtimes/s3/store.h"

/* ---- credentials.c ---- */

/* Text of a key; s3_key_done() wipes it. */
struct s3_key {
    char *access_key, *secret_key, *session_token; /* session_token: NULL: none */
};
void s3_key_done(struct s3_key *key);

struct s3_credentials {
    char *folder;                 /* NULL: web identity */
    char *role, *token_file;      /* of web identity */
    struct remote sts;            /* the same */
    pthread_mutex_t lock;         /* of what follows */
    struct s3_key key;            /* of web identity, until then: */
    int64_t renew_at, expires_at; /* ms since 1970 */
};
/* sts, ca_file: for web identity. ERR_INVALID InvalidFlag: there is neither a folder nor a role. */
int s3_credentials_init(struct s3_credentials *credentials, const char *folder, const char *sts,
                        const char *ca_file, struct error *error);
void s3_credentials_done(struct s3_credentials *credentials);
/* A copy of what signs the next request. ERR_FORBIDDEN StoreRefused; the errors of objects.h. */
int s3_credentials_get(struct s3_credentials *credentials, const struct store_call *call,
                       struct s3_key *ret, struct error *error);

/* ---- answer.c: XML of answers ---- */

struct s3_error {
    char code[64], message[256]; /* "NoSuchBucket"; "" where the answer has none */
};
void s3_error_read(const struct buf *body, struct s3_error *ret);
/* The error of an answer that is none of those that its request expects. region: of
 * x-amz-bucket-region, or NULL. */
int s3_refused(int status, const char *what, const struct s3_error *said, const char *region,
               struct error *error);

/* Reads one page of a list. prefix: of each key; fn does not get its first `strip` bytes. *next:
 * the token of this page, or NULL; then that of the next one (free()), or NULL. ERR_INTERNAL
 * UnexpectedAnswer. */
int s3_list_read(const struct buf *body, const char *prefix, size_t strip, objects_on_key *fn,
                 void *arg, char **next, struct error *error);

/* Reads the answer of AssumeRoleWithWebIdentity. *ret_expires: ms since 1970. ERR_INTERNAL. */
int s3_identity_read(const struct buf *body, struct s3_key *ret, int64_t *ret_expires,
                     struct error *error);

/* ---- objects.c ---- */

/* Parses the place. */
int s3_objects_new(const char *place, struct objects **ret, struct error *error);
