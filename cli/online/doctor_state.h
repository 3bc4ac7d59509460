/*
 * Whether the State of Specs is there, as far as the API server shows it.
 */
#pragma once

#include "cli/online/objects.h"
#include "engine/base/strmap.h"

struct state_heads {
    struct objects objects; /* ConfigMaps, their metadata alone */
    struct strmap names;    /* of these, as a set; kube_document_name() has what a Spec's is */
};
void state_heads_done(struct state_heads *heads); /* also of one that is zero */

/* Adds those of an operator that has its Lease in this namespace. ERR_NOT_FOUND: it has no record
 * of its store (ConfigMap kusion-store). ERR_UNSUPPORTED: its State is not in ConfigMaps. */
int state_heads_add(struct session *session, const char *namespace_name, struct state_heads *heads,
                    struct error *error);

/* The Spec has made objects, and has no State. */
bool state_is_lost(const struct state_heads *heads, const struct value *spec);
