/*
 * An informer follows one collection of the API server (a list, then a watch) and tells which
 * objects came, changed or went.
 *
 * It keeps a few fields of each object's metadata (struct informer_object), so a thousand objects
 * take a few hundred kB. The reconciler reads the object itself.
 *
 * A change is a change of the generation, of `deleting`, of `is_orphan` or of the trigger. Writes
 * of a status, and changes of other labels and annotations, are none. An older resourceVersion than
 * before is a change, too: the API server's data was restored from a backup.
 */
#pragma once

#include "engine/base/buf.h"
#include "runtimes/kubernetes/client/client.h"
#include "runtimes/kubernetes/runtime.h"

#define INFORMER_TRIGGER      KUBE_RECONCILE_ANNOTATION
#define INFORMER_TRIGGER_FLUX "reconcile.fluxcd.io/requestedAt"

struct informer_object {
    char *namespace_name; /* NULL: the object is in no namespace */
    char *name;
    char *uid;
    int64_t generation; /* 0: the kind has no generations */
    bool deleting;      /* it has a deletionTimestamp */
    bool was_there;     /* it came with the first list */
    bool is_generated;  /* it has KUBE_GENERATED_LABEL: the operator created it */
    bool is_orphan;     /* it is such a Release, and its Spec is not its owner any more */
    char *trigger;      /* value of INFORMER_TRIGGER, else of Flux's annotation; NULL: neither */
    bool is_new;        /* it has not got our finalizer, and the operator did not create it */
    bool is_bypassed;   /* it went though it had our finalizer, and was not being deleted: a
                           deletion had looked at it before the finalizer came, and the API server
                           removes it then. Not told where there is a selector: what leaves that
                           looks the same */
    char *version;      /* its resourceVersion */
};

struct informer_config {
    struct kube_client *client;
    /* The collection, and which objects of it. Their strings are borrowed until informer_new()
     * returns. */
    struct kube_ref ref;
    struct kube_selector selector;
    /*
     * An object came (old: NULL), changed, or went (now: NULL). If an object was replaced by
     * another one of the same name, the old one goes, and then the new one comes.
     *
     * key: "namespace/name", or "name". All arguments are borrowed. Called on a thread of the
     * client, by one thread at a time: it must be quick, and send no requests.
     */
    void (*on_change)(void *arg, const char *key, const struct informer_object *old,
                      const struct informer_object *now);
    void *arg;
    /* Message for the case that the API server does not serve the collection; NULL: its own. */
    const char *absent;
};

struct informer;

/* The value of the annotation that requests a reconcile: INFORMER_TRIGGER, else Flux's. NULL: there
 * is neither. */
const char *informer_trigger(const struct value *metadata);

/* NULL: see error. on_change may be called before this returns. */
struct informer *informer_new(const struct informer_config *config, struct error *error);
/* on_change is not called any more when this returns. */
void informer_free(struct informer *informer);
DEFINE_CLEANUP(struct informer *, informer_free)

/* All functions below are thread-safe. */

/* The first list is complete, and on_change was called for all its objects. */
bool informer_synced(const struct informer *informer);
/* ms since the list or watch began to fail; 0: it works, or was not tried yet. */
int64_t informer_fails_for(struct informer *informer);
/* The API server refuses the list or watch, and would refuse it to every replica. */
bool informer_is_refused(const struct informer *informer);
/* Appends why the informer is not synced, or why its list or watch fails. */
void informer_describe_outage(struct informer *informer, struct buf *to);
