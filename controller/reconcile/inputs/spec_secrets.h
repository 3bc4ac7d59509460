/*
 * The secrets of a Spec: its `secretStore`, asked as its ServiceAccount (runtimes/secrets).
 */
#pragma once

#include "controller/reconcile/run/run.h"
#include "engine/secrets.h"

/* A source for one operation, to be given to it; without I/O. NULL: the Spec names no store, or may
 * not use it here: a Preview looks up no secret, since the right to create Releases is not the
 * right to read secrets. A store that cannot be asked is an error of each reference. */
struct secret_source *spec_secrets_new(const struct run *run);

/* Whether a value of the Spec's `context` is a reference. */
bool spec_secrets_are_in_context(const struct run *run);
/* Replaces the references in a context. source: NULL: none may be looked up. *context: a reference,
 * which is replaced; it stays as it is after an error, which is that of secret_source_ops.get(). */
int spec_secrets_resolve(const struct run *run, struct secret_source *source,
                         const struct value **context, struct error *error);
