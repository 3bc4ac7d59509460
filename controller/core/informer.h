/*
 * What is known of one collection without asking: of each object its name,
 * UID, generation, whether it is being deleted, whether the operator made it,
 * the trigger that a person or a tool sets, and, before it has our finalizer,
 * its resourceVersion. Nothing else is kept, so that a thousand objects take some
 * hundred kB.
 *
 * A reconciler reads the object itself when it gets to it; this tells it that
 * there is something to do. Status writes and labels change nothing here.
 */
#ifndef CONTROLLER_CORE_INFORMER_H
#define CONTROLLER_CORE_INFORMER_H

#include "engine/base/buf.h"
#include "runtimes/kubernetes/client/client.h"

#define INFORMER_TRIGGER "api.kusion.io/reconcile-requested-at"
#define INFORMER_TRIGGER_FLUX "reconcile.fluxcd.io/requestedAt"

struct informer_object {
    char *namespace_name; /* NULL: of the cluster */
    char *name;
    char *uid;
    int64_t generation; /* 0: of a kind that has none */
    bool deleting;      /* has a deletionTimestamp */
    bool is_generated;  /* has the label of what the operator made itself */
    char *trigger;      /* the annotation's value, ours before Flux's; or NULL */
    char *new_version;  /* its resourceVersion, before it has our finalizer; NULL: it had it */
};

struct informer_config {
    struct kube_client *client;
    struct kube_ref ref; /* the collection; its strings are borrowed until informer_new() returns */
    struct kube_selector selector; /* so are these */
    /*
     * Something of the above differs, or the object came (old: NULL) or went (now: NULL). Another
     * object under the same name goes and comes. key: "namespace/name", or "name" in the cluster.
     * On a thread of the client's, one at a time: quick, no requests. All is borrowed.
     */
    void (*on_change)(void *arg, const char *key, const struct informer_object *old,
                      const struct informer_object *now);
    void *arg;
    /* What to say where the API server does not serve such a collection; NULL: what it says. */
    const char *absent;
};

struct informer;

/* NULL: error says why. on_change may run before this returns. */
struct informer *informer_new(const struct informer_config *config, struct error *error);
void informer_free(struct informer *informer); /* on_change does not run after it */
DEFINE_CLEANUP(struct informer *, informer_free)

/* The first list is complete, and on_change was called for all of it. Thread-safe. */
bool informer_synced(const struct informer *informer);
/* ms for which the collection cannot be followed; 0: it can, or was not tried yet. Thread-safe. */
int64_t informer_fails_for(struct informer *informer);
/* The API server itself refuses it, as it would refuse any other process of ours. Thread-safe. */
bool informer_is_refused(const struct informer *informer);
/* Appends what stands in the way of either. Thread-safe. */
void informer_tell_outage(struct informer *informer, struct buf *to);

#endif
