/*
 * Follows a collection: lists it, then watches it from the list's
 * resourceVersion on, until the watch is freed.
 *
 * A watch runs on the watch loop, without a thread of its own. It asks for
 * bookmarks and resumes from the last resourceVersion. Each request ends after
 * a random 200 to 300 s, because the API server checks the right to watch only
 * when a request begins. After a 410 the collection is listed again; objects
 * that the new list does not contain are reported as deleted. Failures are
 * retried with backoff and jitter: after half a second at first, later after
 * 30 s. An account of a tenant (for_tenant) may never get the right to list
 * and watch: each refusal in a row doubles the wait, up to ten minutes, so
 * that refusals do not fill the audit log.
 *
 * A watch that shows neither event nor bookmark for two to three minutes is
 * ended, and the collection is listed again. The API server promises no
 * bookmarks, but sends one a minute to each watch of its watch cache, also
 * where nothing happens (k8s.io/apiserver, storage/cacher,
 * defaultBookmarkFrequency). A server that has none, as an extension API
 * server may, is listed as often as that. The same follows a watch for which
 * there was no connection. It is the only way to find out that etcd was set
 * back: a watch from a version that is not there yet is granted, and says
 * nothing until the version is reached again.
 *
 * Callbacks run one at a time, on threads of the client: they must be quick
 * and must not wait for the API server.
 */
#pragma once

#include "runtimes/kubernetes/client/client.h"

enum kube_watch_event {
    KUBE_WATCH_UPSERT,  /* added or modified; the object */
    KUBE_WATCH_DELETED, /* the last that was seen of the object: its metadata at least */
    KUBE_WATCH_SYNCED,  /* the first list is complete (object: NULL); once */
    KUBE_WATCH_ERROR,   /* failed, and will be tried again (object: NULL, error set) */
    KUBE_WATCH_WORKS,   /* after errors: the server lists or watches again (object: NULL) */
    /* Only with is_forgetful, object NULL: a list begins (perhaps for the second time, where the
     * first failed), and is complete. What it did not show is gone. */
    KUBE_WATCH_LISTING,
    KUBE_WATCH_LISTED,
};

struct kube_watch_config {
    struct kube_ref ref;           /* the collection; copied, but for its kind */
    struct kube_selector selector; /* copied */
    bool metadata_only;
    bool is_forgetful; /* it keeps nothing of the objects: what a list does not show any more is for
                          the receiver to find, and is not given as deleted */
    int64_t silence;   /* ms without an event or bookmark, up to half of it more; 0: two minutes */
    const char *impersonate; /* copied; or NULL */
    bool for_tenant;         /* as of kube_request */
    void (*on_event)(void *arg, enum kube_watch_event event, const struct value *object,
                     const struct error *error);
    void *arg;
};

struct kube_watch;

int kube_watch_new(struct kube_client *client, const struct kube_watch_config *config,
                   struct kube_watch **ret, struct error *error);
/* No callback runs after it returns. Not to be called from a callback. */
void kube_watch_free(struct kube_watch *watch);
/* ms, monotonic, of the last event, bookmark or complete list; 0: none yet. Any thread. */
int64_t kube_watch_heard_at(const struct kube_watch *watch);
DEFINE_CLEANUP(struct kube_watch *, kube_watch_free)
