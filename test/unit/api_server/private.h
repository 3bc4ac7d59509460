/* What the parts of the API server in memory share. Everything here needs its lock, unless said. */
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "engine/base/buf.h"
#include "engine/base/strmap.h"
#include "test/unit/api_server/api_server.h"

/* ---- Kinds (kinds.c) ---- */

struct api_kind {
    char *group, *version, *kind, *plural; /* group: "" for v1 */
    bool is_namespaced, has_status;
    bool is_custom; /* of a CustomResourceDefinition */
    bool has_generation;
    bool is_served; /* false: its definition is gone */
    struct api_kind *next;
};

void api_kinds_init(struct api_server *server);
void api_kinds_done(struct api_server *server);
const struct api_kind *api_kinds_find(const struct api_server *server, const char *group,
                                      const char *version, const char *plural);
const struct api_kind *api_kinds_find_by_name(const struct api_server *server,
                                              const char *api_version, const char *kind);
/* After a definition changed (definition NULL: it is gone). */
void api_kinds_define(struct api_server *server, const char *name, const struct value *definition);
/* /api, /apis, /apis/G, /apis/G/V, /version: the answer, or NULL: it is none of these. */
const struct value *api_kinds_discovery(const struct api_server *server, const char *path,
                                        const char *accept);
char *api_kind_api_version(const struct api_kind *kind);

/* ---- Objects, and how they changed (storage.c) ---- */

struct stored {
    char *key; /* group/plural/namespace/name: sorts as a list is to be */
    const struct api_kind *kind;
    const struct value *object;
};

struct change {
    int64_t version;
    const struct api_kind *kind;
    const struct value *before, *after; /* NULL: not there */
};

char *api_storage_key(const struct api_kind *kind, const char *namespace_name, const char *name);
const struct value *api_storage_find(const struct api_server *server, const struct api_kind *kind,
                                     const char *namespace_name, const char *name);
/* Puts the object (with a new resourceVersion) in place of what was there; NULL: removes it. Gives
 * it as it is stored, borrowed; of one that was removed as it was last, until the next change. */
const struct value *api_storage_commit(struct api_server *server, const struct api_kind *kind,
                                       const char *namespace_name, const char *name,
                                       const struct value *object);
/* All of a kind (and namespace, unless NULL), in order; free(). */
const struct stored **api_storage_all(const struct api_server *server, const struct api_kind *kind,
                                      const char *namespace_name, size_t *ret_count);
void api_storage_save(struct api_server *server);
void api_storage_set_back(struct api_server *server);
void api_storage_done(struct api_server *server);

/* ---- Requests (request.c) ---- */

struct param {
    char *key, *value;
};

struct route {
    const struct api_kind *kind; /* NULL: none is there */
    char *namespace_name, *name, *subresource;
};

/* One request, as it came; then how it is answered. */
struct call {
    struct api_server *server;
    char *method, *target, *path; /* target: with its query; path: without */
    struct param *params;
    size_t n_params;
    char *user, *agent, *accept, *content_type;
    const struct value *body;
    bool expects_continue, is_internal;
    struct route route;
    const char *verb;
    bool is_write, is_dry_run;
    unsigned watch_epoch; /* in which the rules were asked */

    int status;
    const struct value *answer; /* owned */
    const char *text;           /* in place of the answer; or NULL */
    const char *headers;        /* more of them; or NULL */
};

/* False: it is not HTTP. text: a whole request. */
bool api_call_parse(struct call *call, const char *text, size_t length);
void api_call_set_target(struct call *call, const char *target);
/* Finds the kind and the verb. */
void api_call_route(struct call *call);
void api_call_done(struct call *call);
const char *api_call_param(const struct call *call, const char *key);

/* Sets the answer to a Status. Returns false, so that it can end a function. details may be NULL.
 */
bool api_call_refuse(struct call *call, int status, const char *reason, const char *format, ...)
    PRINTF_LIKE(4, 5);
void api_call_answer(struct call *call, int status, const struct value *body); /* takes body */
bool api_call_wants_metadata(const struct call *call);
const struct value *api_as_metadata(
    const struct value *object); /* PartialObjectMetadata; a reference */
const char *api_reason_of_status(int status);

/* ---- Verbs ---- */

/* Answers it (lock held); a watch excepted. */
void api_verbs_do(struct call *call);

/* ---- Reading (read.c) ---- */

bool api_selectors_match(const struct call *call, const struct value *object);
bool api_selectors_check(struct call *call);
void api_read_object(struct call *call);
void api_read_list(struct call *call);

/* ---- Writing (write.c) ---- */

/* What wants to be stored, after all checks: sets what the server sets, stores, and answers.
 * before: NULL: it is new. wanted: taken. */
void api_write_object(struct call *call, const struct value *before, const struct value *wanted,
                      bool is_apply);
void api_write_delete(struct call *call);
void api_write_delete_all(struct call *call);
/* Where a Namespace is being deleted and nothing is left in it, it goes, too. */
void api_write_end_namespace(struct api_server *server, const char *name);
int64_t api_next_uid(struct api_server *server);

/* ---- Server-side apply, owners of fields (apply.c, fields.c) ---- */

/* The object after an apply, with its managedFields; NULL: refused. */
const struct value *api_apply_merge(struct call *call, const struct value *live,
                                    const struct value *config);
/* The object after another write, with its managedFields. */
const struct value *api_apply_track(struct call *call, const struct value *before,
                                    const struct value *after);

struct fields {
    char **paths; /* sorted; "f:metadata\x1f""f:labels\x1f""f:a" */
    size_t count, capacity;
};

void api_fields_done(struct fields *fields);
void api_fields_of_object(struct fields *to, const struct value *object);
void api_fields_of_v1(struct fields *to, const struct value *fields_v1);
const struct value *api_fields_to_v1(const struct fields *fields);
void api_fields_add(struct fields *to, const char *path);
bool api_fields_have(const struct fields *fields, const char *path);
void api_fields_remove(struct fields *from, const char *path);
const struct value *api_fields_value(const struct value *object, const char *path); /* or NULL */
const struct value *api_fields_without(const struct value *object,
                                       const char *path); /* a reference */
char *api_fields_text(const char *path);                  /* ".metadata.labels.a" */

/* ---- Rules, counts (rules.c) ---- */

struct rule {
    struct api_rule rule;
    unsigned matched, hits;
    bool is_released;
};

struct entry {
    char *verb, *path, *user, *what; /* what: "apply configmaps" */
    int status;
    bool is_write;
};

/* The rule for a request, counted; NULL: none. */
struct rule *api_rules_apply(struct call *call);
void api_rules_note(struct call *call);
/* After what was done is known. True: the server is cut off now. */
bool api_rules_count_write(struct call *call);
void api_rules_done(struct api_server *server);

/* ---- The server ---- */

struct connection {
    struct api_server *server;
    pthread_t thread;
    int fd;
    bool is_ended;
    struct connection *next;
};

struct api_server {
    char *url;
    int listener;
    pthread_t thread;

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    bool is_stopping, is_cut;
    struct connection *connections;

    struct api_kind *kinds;
    struct strmap objects; /* of struct stored */
    struct change *changes;
    size_t n_changes, changes_capacity;
    const struct value *removed; /* what was removed last */
    struct stored *saved;        /* api_server_save() */
    size_t n_saved;
    int64_t saved_version;
    int64_t version, compacted, uids;
    unsigned watch_epoch; /* watches of an earlier one end */

    struct rule **rules;
    size_t n_rules, api_rules_capacity;
    struct entry *entries;
    size_t n_entries, entries_capacity;
    unsigned n_writes, writes_left; /* until it is cut; 0: it is not to be */
    void (*on_write)(void *arg, unsigned n);
    void *on_write_arg;
};

/* Sends events until the watch ends; takes and gives back the lock by itself. */
void api_watch_serve(struct call *call, int fd);
bool api_send_all(int fd, const char *data, size_t length);
