/*
 * Other Specs as a Spec may see them: those of its own namespace, and of others those that its
 * account may read.
 */
#pragma once

#include "controller/reconcile/run/run.h"

/* The user as whom Specs of a namespace are read; free(). NULL: the operator itself. */
char *sight_user(const struct run *run, const char *namespace_name);

/* A Spec as that user reads it. accept: as of kube_request. */
int sight_get(const struct run *run, const struct spec_key *key, const char *user,
              const char *accept, const struct value **ret, struct error *error);
/* It is not there, or may not be read: nobody is told which. */
bool sight_is_denied(int r);

/* A Spec "namespace/name" for messages: "…" if it may not be seen, or if that is not known; free().
 */
char *sight_show(const struct run *run, const char *key);
