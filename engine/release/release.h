/*
 * Releases: the phases that an operation goes through, and its revisions.
 *
 *   generating -> previewing -> [awaitingApproval] -> applying | destroying | rollingBack
 *   -> succeeded | failed | cancelled
 *
 * A phase need not be written where it lasts too short to be seen; one that was
 * is not gone back to, and a terminal one is never left.
 * Revisions of a Spec count from 1, each is used once: the next is one more
 * than the highest that State or any Release knows.
 */
#ifndef ENGINE_RELEASE_RELEASE_H
#define ENGINE_RELEASE_RELEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"

enum release_operation {
    RELEASE_APPLY,
    RELEASE_PREVIEW,
    RELEASE_DESTROY,
    RELEASE_ROLLBACK,
};

enum release_phase {
    PHASE_NONE, /* not begun: the status is empty */
    PHASE_GENERATING,
    PHASE_PREVIEWING,
    PHASE_AWAITING_APPROVAL,
    PHASE_APPLYING,
    PHASE_DESTROYING,
    PHASE_ROLLING_BACK,
    PHASE_SUCCEEDED,
    PHASE_FAILED,
    PHASE_CANCELLED,
};

const char *release_operation_name(enum release_operation operation); /* "Apply" */
bool release_operation_parse(const char *name, enum release_operation *ret);
const char *release_phase_name(enum release_phase phase); /* "awaitingApproval"; "" for NONE */
bool release_phase_parse(const char *name, enum release_phase *ret);
bool release_phase_is_terminal(enum release_phase phase);
bool release_phase_may_follow(enum release_operation operation, enum release_phase from,
                              enum release_phase to);

/* Larger ones are not exact in JSON as most programs read it. */
#define RELEASE_REVISION_MAX (INT64_C(1) << 53)

int64_t release_next_revision(int64_t highest_in_state, int64_t highest_release);
bool release_revision_is_valid(int64_t revision);
/* A revision as text: digits alone, as they are written. False: it is none. */
bool release_revision_parse(const char *text, int64_t *ret);

/* "<spec>-<revision>", at most 253 bytes: a long Spec name is cut, and a hash of the whole
 * stands in for what was cut. In the arena. */
const char *release_name(struct arena *arena, const char *spec_name, int64_t revision);

#endif
