/*
 * The Secrets that a Spec's `terraformState` names, in its namespace. They are read and written
 * with the rights of the Spec's ServiceAccount.
 */
#ifndef CONTROLLER_RECONCILE_SPEC_SECRET_H
#define CONTROLLER_RECONCILE_SPEC_SECRET_H

#include "controller/reconcile/run.h"

struct spec_secret {
    const char *name, *key; /* borrowed from the Spec; name NULL: there is none */
};

/* direction: "from" or "to". */
struct spec_secret spec_secret_of(const struct run *run, const char *direction);
/* The runtime whose resources the files have; NULL: this operator has none. */
struct runtime *spec_secret_runtime(const struct run *run);

/* Reads a Secret, or the Lease by which Terraform locks it (kind: kube_secrets, kube_leases).
 * accept: KUBE_METADATA: its metadata alone; NULL: all of it. timeout: ms. */
int spec_secret_get(const struct run *run, const struct kube_kind *kind, const char *name,
                    const char *accept, int64_t timeout, const struct value **ret,
                    struct error *error);
/* Creates the Secret, or replaces it if it has a resourceVersion: ERR_EXISTS, ERR_CONFLICT. *ret:
 * as it is then. */
int spec_secret_put(const struct run *run, const char *name, const struct value *object,
                    int64_t timeout, const struct value **ret, struct error *error);

#endif
