/*
 * An entry of a plan: what is done to one resource, or to one record that leaves.
 */
#pragma once

#include "engine/runtime.h"
#include "engine/spec/resource.h"

struct change_digest;
struct diff;

struct plan_change {
    const char *id, *type, *deposed;  /* in the plan's arena, or the runtime's own */
    enum plan_action action;
    bool create_first;                /* of REPLACE, as it is carried out */
    bool cannot_create_first;         /* of REPLACE: runtime.h */
    bool has_unknown;                 /* of its attributes, or it is to be READ: it is planned again
                                         when it is due */
    bool is_only_read;                /* runtime.h: its object, or that of the record that leaves,
                                         is not ours */
    const struct resource *resource;  /* borrowed from the Spec; NULL: it leaves */
    const struct record *record;      /* what State had when it was planned; a reference, or NULL */
    const char *moved_from;           /* the id under which State has the record, which becomes the
                                         resource's; in the arena. NULL: its own */
    bool stays;                       /* of FORGET: the object exists, and is left in place; else it
                                         is gone already */
    bool is_settled;                  /* UNCHANGED, the object exists, and State has it as it is */
    struct runtime_step *step;        /* owned; NULL: there is none (UNKNOWN, an error, DEFERRED by
                                         the engine), or it was freed because the change is settled
                                       */
    struct runtime_step *removal;     /* owned; of REPLACE: of the object that goes */
    struct change_digest *digest;     /* owned; NULL: the steps still have what they compared */
    struct diff *diff;                /* owned: fields, redacted; NULL: none to show */
    struct error *error;              /* owned: why it cannot be done, as planned; or NULL */
    const struct value *warnings;     /* a reference: array of strings, redacted; or NULL */
    const struct value *secrets;      /* a reference: array of strings, which secrets it refers to,
                                         in which versions (secret_ref.h); NULL: none */
    const char *reason;               /* the step's, or why it is DEFERRED, or stays; in the
                                         arena, or NULL */
};
