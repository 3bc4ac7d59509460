/*
 * The operator's claim on its store (engine/store/identity.h), in the ConfigMap kusion-store of its
 * own namespace.
 */
#ifndef CONTROLLER_STORE_CLAIM_H
#define CONTROLLER_STORE_CLAIM_H

#include "engine/store/identity.h"
#include "runtimes/kubernetes/client/client.h"

#define CLAIM_NAME "kusion-store"

struct claim_object {
    struct store_claim claim;
    char *version; /* of the ConfigMap; NULL: there is none */
};
void claim_object_done(struct claim_object *object);

/* None there: *ret has no term. */
int claim_read(struct kube_client *client, const char *namespace_name, struct claim_object *ret,
               struct error *error);

/* A compare-and-swap. store: where it is, for people who look at the ConfigMap. ERR_CONFLICT:
 * somebody else has changed it, or this very write, sent twice, came through: read it again. */
int claim_write(struct kube_client *client, const char *namespace_name, const char *store,
                struct claim_object *object, struct error *error);

#endif
