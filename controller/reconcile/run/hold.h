/*
 * A hold: not the Spec is in force, but something else, until the Spec's generation changes, or the
 * contents of its sources (sources.h) do.
 *
 *   Rollback   the Spec of an earlier revision, as it was recorded (recorded.h)
 *   Destroy    nothing: all of the Spec's resources are deleted
 *
 * A person asks for it with a Release (desk/requests.h), or remediation rolls back after failures.
 * The hold is kept in State, where it is written before anything is done: a lost status does not
 * end it. Under approval, a request that is rejected, or whose Release is deleted before it was
 * carried out, ends it (rejection.h). hold_begin.h says how one begins.
 */
#pragma once

#include "engine/release/release.h"
#include "engine/state/ledger.h"

struct hold {
    enum release_operation operation; /* RELEASE_APPLY: there is no hold; nothing else is set */
    char *spec_uid;                   /* of the Spec */
    int64_t generation;               /* of the Spec, which it holds */
    char *sources; /* the digest of its sources then; NULL: it has none, or they were not known */
    int64_t revision;    /* that carries it out. Later ones are corrections of drift under it */
    int64_t to_revision; /* Rollback: whose Spec is in force */
    char *spec_digest;   /* Rollback: the recorded Spec; Destroy: NULL */
    char *request;       /* uid of the Release by which a person asked for it; NULL: remediation */
    char *requested_at;  /* creationTimestamp of that Release; NULL: remediation */
    char *request_name;  /* of that Release; NULL: remediation, or State of an earlier version */
    int64_t shown;       /* the revision that showed its plan for approval; 0: none yet */
    const struct value *before; /* the hold in State that this one takes the place of, which is in
                                   force again when the request is withdrawn; NULL: none */
    bool has_ended; /* by a change of the sources, which may have been taken back since */
    char *request_version;      /* resourceVersion of that Release when it was read first; NULL */
    char *cause;                /* remediation: what failed, for messages; NULL */
};
/* All strings are owned. */
void hold_done(struct hold *hold);

/* RolledBack, Destroyed: the reason of Ready when it is carried out. */
const char *hold_reason(const struct hold *hold);

/* Reads what State has, in force or not. ERR_CORRUPT. */
int hold_read(struct ledger *ledger, struct hold *ret, struct error *error);
/* sources: the digest as it is now; "": not known, and then they count as the same. */
bool hold_is_in_force(const struct hold *hold, const char *spec_uid, int64_t generation,
                      const char *sources);
/* Ends the hold for good, if the Spec's sources have changed since it began, and its generation has
 * not. It is durable when this returns 0. */
int hold_end_if_changed(struct ledger *ledger, struct hold *hold, const char *spec_uid,
                        int64_t generation, const char *sources, struct error *error);
/* True: it held this generation of the Spec, until hold_end_if_changed() ended it. */
bool hold_has_ended(const struct hold *hold, const char *spec_uid, int64_t generation);
/* It is durable when this returns 0. */
int hold_write(struct ledger *ledger, const struct hold *hold, struct error *error);

/* What is in force again when a hold that takes the place of this one is withdrawn. applied: the
 * last revision that succeeded. A reference, or NULL. */
const struct value *hold_before(const struct hold *hold, int64_t applied);
/* The hold was not carried out: what was before it is in force again. Durable as above. */
int hold_withdraw(struct ledger *ledger, const struct hold *hold, struct error *error);
