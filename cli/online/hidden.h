/*
 * The Secrets that a person's preview has in clear: they are put into a Secret of their own, from
 * which the Preview takes them (`resourcesFrom`). More people can read Releases than Secrets.
 */
#pragma once

#include "cli/online/objects.h"

/* References. */
struct hidden {
    const struct value *resources; /* what the Release may have */
    const struct value *sources;   /* those of the Spec, and the Secret; NULL: none */
    const struct value *secret;    /* as it was made; NULL: there was nothing to hide */
};

/* Makes the Secret for a preview of these fields (`spec`) of the Spec that `target` names, if it
 * takes one. ERR_FORBIDDEN, with a hint. */
int hidden_make(struct session *session, const struct target *target, const struct value *fields,
                struct hidden *ret, struct error *error);
/* The Release has been made: the Secret goes with it, if this process does not live to remove it.
 */
void hidden_belongs_to(struct session *session, const struct hidden *hidden,
                       const struct value *release);
/* What all of them are labelled with. One that belongs to no Release was left by a process that was
 * killed before hidden_belongs_to(). */
#define HIDDEN_LABEL "app.kubernetes.io/managed-by"
#define HIDDEN_BY    "kubectl-kusion"

/* Removes it. */
void hidden_drop(struct session *session, struct hidden *hidden);
