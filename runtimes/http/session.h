/*
 * The inside of the HTTP runtime: sessions and steps.
 */
#pragma once

#include <pthread.h>

#include "engine/base/strmap.h"
#include "engine/spec/check.h"
#include "runtimes/http/seen.h"
#include "runtimes/http/thing.h"

struct http_runtime {
    struct runtime base; /* first */
    struct http_runtime_config config;
    struct http_loop *loop; /* of tenants' requests alone */
    struct rest_quota *quota;
    struct slots *requests;
};

struct runtime_session {
    struct http_runtime *runtime;
    char *namespace_name;
    char *account;                 /* the ServiceAccount's name, or NULL */
    struct secret_source *secrets; /* or NULL */
    bool is_foreign;
    pthread_mutex_t lock;
    struct seen_things seen;
    struct strmap servers; /* by their `connection` as text -> rest_server; under the lock */
};

/* The server of a resource: the same one for the same connection, as long as the session lives.
 * *ret: a reference. */
int session_server(struct runtime_session *session, const struct http_description *description,
                   const struct runtime_call *call, struct rest_server **ret, struct error *error);
/* It refused its credentials: they are read again for the next request. */
void session_forget(struct runtime_session *session, const struct rest_server *server);

struct http_step {
    struct runtime_step base; /* first */
    struct rest_server *server;
    const struct value *extensions; /* by which it is carried out: of the target, or the record */
    const struct value *attributes; /* likewise */
    const struct value *object;     /* as it was read; or NULL */
    char *id;                       /* or NULL */
    char *path;                     /* that reads it; NULL: not known before it is created */
    char *etag;                     /* or NULL */
    bool is_as_wanted;              /* ADOPT: nothing is to be changed */
};

extern const struct runtime_ops http_runtime_ops;
extern const struct spec_checks http_checks;

int http_plan(struct runtime_session *session, const struct runtime_target *target,
              const struct observation *hint, const struct runtime_call *call,
              struct runtime_step **ret, struct error *error);
void http_step_free(struct runtime_step *step);
int http_apply(struct runtime_step *step, const struct runtime_call *call,
               struct runtime_outcome *ret, struct error *error);
int http_read(struct runtime_session *session, const struct runtime_target *target,
              const struct runtime_call *call, struct runtime_outcome *ret, struct error *error);
int http_health(struct runtime_session *session, const struct runtime_target *target,
                const struct observation *seen, const struct runtime_call *call, struct health *ret,
                struct error *error);
int http_prefetch(struct runtime_session *session, const struct runtime_target *targets, size_t n,
                  const struct runtime_call *call, struct observation *ret, struct error *error);

/* ---- A target ---- */

/* What a target's requests are filled with, and how they are described: those of the target, or (of
 * one that is to be deleted) those of its record. `of` borrows from the target. */
struct subject {
    struct http_description description;
    struct fill fill;
    const char *id; /* of State, or the import id; or NULL */
};
int subject_of(const struct runtime_target *target, struct subject *ret, struct error *error);

/* The record's, by which its thing is known; NULL: none. */
const char *record_place(const struct record *record);
bool record_is_unseen(const struct record *record);

/* A hint of prefetch(). */
struct http_hint {
    struct rest_thing thing;
    char *path;
};
