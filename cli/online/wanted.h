/*
 * The Specs that -f and -k name. Manifests and a Kusion spec become one Spec, as `convert` makes
 * it.
 */
#pragma once

#include "cli/online/objects.h"

/* Specs with apiVersion, kind, metadata and spec. Warnings and mistakes go to standard error.
 * ERR_INVALID; ERR_NOT_FOUND. */
int wanted_read(struct session *session, struct objects *ret, struct error *error);

/* What its name is, in the namespace of its own or else of the session. */
void wanted_target(const struct session *session, const struct value *spec, struct target *ret);
