/*
 * Our own kinds on the API server: references, reads, status writes.
 */
#pragma once

#include "controller/reconcile/records/context.h"

/* They borrow from the key. */
struct kube_ref api_spec_ref(const struct spec_key *key, const char *subresource);
struct kube_ref api_release_ref(const struct spec_key *key, const char *subresource);

/* A GET that asks for metadata alone. */
int api_get_metadata(const struct reconcile_context *context, struct kube_ref ref,
                     struct cancel *cancel, const struct value **ret, struct error *error);

struct api_status {
    struct kube_ref ref; /* the status subresource: the API server ignores all other fields */
    const struct value *status;
    /* Asked of the object as it is now, after a conflict: whether it may not be written any more.
     * NULL: it may be always. */
    bool (*is_final)(void *arg, const struct value *object);
    void *arg;
};

#define API_IS_FINAL 1

/*
 * Replaces an object's status. *metadata: as last read, a reference that is replaced by the
 * metadata after the write. What came between is no conflict, since nobody else writes statuses.
 * API_IS_FINAL: nothing was written. ERR_NOT_FOUND: it is gone.
 */
int api_put_status(const struct reconcile_context *context, const struct api_status *write,
                   const struct value **metadata, struct error *error);

bool api_is_deleting(const struct value *object);

/* True if the object itself cannot be read, because it is nested too deep or too large for the
 * limits of this program (limits.h). Its metadata can still be read, and its status written. A 413
 * of a server or proxy is another error, and may go away. */
bool api_is_unreadable(const struct error *why);
/* ERR_INVALID InvalidSpec, with the reason why a "Spec" or "Release" cannot be read. */
int api_refuse_unreadable(const char *kind, const struct error *why, struct error *error);
/* ERR_INVALID InvalidSpec: its fields leave no room for a status (LIMIT_SPEC_BYTES). */
int api_check_size(const char *kind, const struct value *object, struct error *error);

/* True where the Namespace of a Spec is being deleted. One that is absent is not: while the Spec
 * exists, its objects may, too (somebody removed the Namespace's own finalizer; or the answer is
 * false), and they are deleted one by one. */
int api_namespace_terminating(const struct reconcile_context *context, const char *namespace_name,
                              struct cancel *cancel, bool *ret, struct error *error);

/* The key of plan digests: in a Secret of the controller's namespace, made on first use. */
int api_plan_key(struct kube_client *client, const char *namespace_name,
                 unsigned char ret_key[HASH_SIZE], struct error *error);
