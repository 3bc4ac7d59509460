/* Declarations that the files of the history share: history.h. */
#pragma once

#include "engine/base/arena.h"
#include "runtimes/kubernetes/history/history.h"

#define HISTORY_REVISION   "api.kusion.io/revision" /* annotations */
#define HISTORY_GENERATION "api.kusion.io/spec-generation"
#define HISTORY_OPERATION  "api.kusion.io/operation"
/* The digest of the recorded Spec: if it is a document, and if the Release has its resources. */
#define HISTORY_SPEC      "api.kusion.io/spec-digest"
#define HISTORY_RESOURCES "api.kusion.io/resources-digest"

struct kube_history {
    struct release_history base;
    struct kube_client *client;
};

/* ---- history_object.c: a call, and one Release ---- */

/* One call of the history, with the data that all its requests need. */
struct history_task {
    struct kube_client *client;
    const struct store_call *call;
    int64_t deadline; /* ms, monotonic */
    const char *namespace_name, *spec;
    int64_t revision;
    const char *name; /* name of the Release; NULL: the revision is not valid */
    struct arena arena;
};
void kube_history_begin(struct history_task *task, struct release_history *history,
                        const struct spec_key *spec, int64_t revision,
                        const struct store_call *call);
void kube_history_end(struct history_task *task);

/* Copies the problem and adds the name of the Release. */
int kube_history_about(const struct history_task *task, const struct error *problem,
                       struct error *error);

/* ms */
int64_t kube_history_time_left(const struct history_task *task);
/* One request for the task's Release (a POST: for the collection), with the call's permit. timeout:
 * ms. */
int kube_history_send(const struct history_task *task, struct kube_request request, int64_t timeout,
                      const struct value **ret, struct error *error);
/* Reads the object that has the name of the task's Release, whether it is a record or not. */
int kube_history_get(const struct history_task *task, struct cancel *cancel,
                     const struct value **ret, struct error *error);

/* A change whose outcome a read of the object tells. */
struct history_change {
    const char *method, *subresource;
    const struct value *body;
    /* Judges the object that was read (NULL: it does not exist). *ret_happened: this change was
     * made; else it may still be made. Errors: it cannot be made any more. */
    int (*judge)(const struct history_task *task, const struct history_change *change,
                 const struct value *object, bool in_doubt, bool *ret_happened,
                 struct error *error);
};
/* Retries the change until its outcome is known. *ret: the object afterwards, or its metadata. */
int kube_history_carry_out(const struct history_task *task, const struct history_change *change,
                           const struct value **ret, struct error *error);

/* ---- What an object says ---- */

/* A string of the metadata, or an annotation; NULL: missing. */
const char *kube_history_metadata(const struct value *object, const char *key);
const char *kube_history_annotation(const struct value *object, const char *key);
/* Is it the record of the task's revision? */
bool kube_history_is_record(const struct history_task *task, const struct value *object);
/* The Spec's generation; 0: missing. */
int64_t kube_history_generation(const struct value *object);
enum release_phase kube_history_phase(const struct value *object);
/* A digest of the recorded Spec, HISTORY_SPEC or HISTORY_RESOURCES; NULL: it is missing, or no
 * digest. */
const char *kube_history_digest(const struct value *object, const char *annotation);
/* The uid of the Spec; NULL: it has no owner. */
const char *kube_history_spec_uid(const struct value *object);

/* ---- history_list.c ---- */

/* Newest first. The digests of the items are owned. */
struct history_heads {
    const struct spec_key *spec;
    struct release_head *items;
    size_t count, capacity;
};
int kube_history_find(struct release_history *history, const struct spec_key *spec,
                      const struct store_call *call, struct history_heads *ret,
                      struct error *error);
void kube_history_heads_done(struct history_heads *heads);
