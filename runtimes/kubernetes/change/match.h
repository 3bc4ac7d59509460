/*
 * adoptionPolicy: MustMatch: an object is adopted only if nothing of it has to be changed.
 */
#pragma once

#include "runtimes/kubernetes/change/observe.h"
#include "runtimes/kubernetes/objects/projection.h"

/* ours: what the adoption would change of the object that was seen. ERR_CONFLICT ConflictDetected:
 * names the fields. The operator's own marks are no change. */
int kube_check_match(const struct runtime_session *session, const struct observation *seen,
                     const struct projection *ours, struct error *error);
