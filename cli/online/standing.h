/*
 * How a Spec stands, in one word: from its conditions, and from whether the operator has seen it. A
 * pure function.
 */
#pragma once

#include "cli/frame/output.h"
#include "engine/value/value.h"

/* Worst first: the order of `status`. */
enum standing_rank {
    STANDING_FAILED,
    STANDING_UNSEEN, /* changed, and the operator has not seen that for a while */
    STANDING_WAITS,  /* for approval */
    STANDING_BUSY,
    STANDING_HELD, /* rolled back, destroyed or suspended */
    STANDING_READY,
};

struct standing {
    enum standing_rank rank;
    enum style style;
    const char *mark;    /* ✓ ✗ ◐ ‖ ? */
    const char *ready;   /* the status of Ready: "True", "False", "Unknown" */
    const char *reason;  /* borrowed from the Spec, or static; never NULL */
    const char *summary; /* likewise */
    const char *message; /* likewise */
};

/* now: ms since 1970. */
struct standing standing_of(const struct value *spec, int64_t now);
