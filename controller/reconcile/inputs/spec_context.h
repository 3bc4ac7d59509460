/*
 * The values that a Spec gives its runtimes: those of the Secrets and ConfigMaps that its
 * `contextFrom` names, in its namespace, and its `context`. Of two values under one key, the later
 * one of `contextFrom` counts, and `context` more than both.
 */
#pragma once

#include "controller/reconcile/run/run.h"

/*
 * Reads them with the rights of the Spec's ServiceAccount, into a scope's `context`, where what
 * comes from Secrets is sensitive, and its `context_error`: only resources whose runtime needs the
 * context fail then. Of `contextFrom` only keys that are written as variables count (str.h), and
 * at most 64 KiB. A rollback has the `context` of the revision and the `contextFrom` of now, since
 * credentials may have moved since.
 *
 * A Preview with resources of its own gets nothing of `contextFrom`: who may only create Releases
 * could have the credentials sent anywhere.
 *
 * context_error: ERR_INVALID ContextNotFound: one is not there. ERR_INVALID InvalidContext: a value
 * is not text, or there are too many. ERR_FORBIDDEN AccessDenied, ERR_UNSUPPORTED. They name the
 * place in the Spec. What may pass, such as an API server that does not answer, is returned.
 *
 * The context is a reference, which the caller drops, also after an error.
 */
int spec_context_read(const struct run *run, struct runtime_scope *scope, struct error *error);
