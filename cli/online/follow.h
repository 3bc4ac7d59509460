/*
 * Follows a Spec and its Releases, or all Specs of a namespace or of all: watches, whose latest
 * state is taken by the caller's thread.
 */
#pragma once

#include "cli/online/objects.h"

struct follow;

/* What is known. References are those of the snapshot; snapshot_done() gives them back. */
struct snapshot {
    const struct value *spec; /* NULL: there is none (any more) */
    struct objects specs;     /* all of them; spec is the first */
    struct objects releases;  /* of the one Spec, oldest first */
    bool is_connected; /* false: the API server does not answer at the moment; error says why */
    struct error error;
};
void snapshot_done(struct snapshot *snapshot);

/* target without a name: all Specs of its namespace, or of all if that is NULL, too; no Releases.
 * labels: of these Specs, or NULL. Errors of the first list are told by follow_next(). */
int follow_new(struct session *session, const struct target *target, const char *labels,
               struct follow **ret, struct error *error);
void follow_free(struct follow *follow);
DEFINE_CLEANUP(struct follow *, follow_free)

/*
 * Waits until something changed since the last call, or until `deadline` (ms, monotonic). The first
 * call returns when both have been listed. *ret_changed: false: the deadline passed. *ret is
 * replaced.
 *
 * Errors that waiting does not heal (a right is missing) are returned.
 */
int follow_next(struct follow *follow, int64_t deadline, struct snapshot *ret, bool *ret_changed,
                struct error *error);

/* In ms, monotonic. */
int64_t follow_now(void);
