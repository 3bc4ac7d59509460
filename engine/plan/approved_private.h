/*
 * What an approved plan consists of. For approved.c and approved_value.c.
 */
#pragma once

#include <stdatomic.h>

#include "engine/plan/approved.h"
#include "engine/plan/digest.h"

struct approved_step {
    const char *id, *type;   /* in the arena */
    enum plan_action action; /* DEFERRED: it could not be planned, for whatever reason */
    bool leaves;             /* no resource of the Spec: an object that goes, or is forgotten */
    bool create_first;       /* of REPLACE */
    bool has_unknown;        /* plan_change.has_unknown */
    struct digest_halves halves;
    const struct value *unknown; /* of the digest; a reference; NULL: none */
    const struct value *secrets; /* plan_change.secrets; a reference; NULL: none. For messages: the
                                    digests have them */
    struct digest_shown shown;   /* of CREATE; its value is a reference */
};

struct approved_plan {
    atomic_uint references;
    struct arena arena;
    struct digest_key key;       /* owned */
    struct approved_step *steps; /* sorted by id */
    size_t n_steps;
};

/* Empty, with room for so many steps. */
struct approved_plan *approved_plan_make(struct digest_key key, size_t n_steps);
/* All steps are there. */
void approved_plan_sort(struct approved_plan *approved);

/* The digest of what all its creations show, together with that of the plan. False: none shows
 * anything. */
bool approved_plan_seal(const struct approved_plan *approved, char ret_hex[HASH_HEX_SIZE]);
