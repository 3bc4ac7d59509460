/*
 * A Spec that is being deleted: a Destroy Release, dependents first, from State
 * alone; then the finalizer goes. Where destroying failed it stays, and the
 * status says why.
 */
#ifndef CONTROLLER_RECONCILE_DELETION_H
#define CONTROLLER_RECONCILE_DELETION_H

#include "controller/reconcile/run.h"

int reconcile_deletion(struct run *run, int64_t *after, struct error *error);

#endif
