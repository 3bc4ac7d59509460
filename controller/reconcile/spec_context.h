/*
 * The values that a Spec gives its runtimes: those of the Secrets and ConfigMaps that its
 * `contextFrom` names, in its namespace, and its `context`. Of two values under one key, the later
 * one of `contextFrom` counts, and `context` more than both.
 */
#ifndef CONTROLLER_RECONCILE_SPEC_CONTEXT_H
#define CONTROLLER_RECONCILE_SPEC_CONTEXT_H

#include "controller/reconcile/run.h"

/*
 * Reads them with the rights of the Spec's ServiceAccount. *ret: an object, in which what comes
 * from Secrets is sensitive; a reference. NULL: there are no values. A rollback has the `context`
 * of the revision and the `contextFrom` of now, since credentials may have moved since.
 *
 * ERR_INVALID ContextNotFound: one is not there. ERR_INVALID InvalidContext: a value is not text.
 * ERR_FORBIDDEN AccessDenied, and errors of the client. All name the place in the Spec.
 */
int spec_context_read(const struct run *run, const struct value **ret, struct error *error);

#endif
