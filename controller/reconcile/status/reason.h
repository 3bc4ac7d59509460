/*
 * Reasons of conditions (reason.def): as labels of metrics, and what they say beside the code of
 * their error. Most are words of ours or of the API server's, but an admission webhook or an
 * aggregated API may answer with any.
 */
#pragma once

#include <stdbool.h>

enum reason_trait {
    REASON_HEALS = 1 << 0,   /* by itself, whatever the code of its error says */
    REASON_STAYS = 1 << 1,   /* until somebody does something, likewise */
    REASON_SOON = 1 << 2,    /* takes little to look at again, so that is not put off for long */
    REASON_OF_SPEC = 1 << 4, /* nothing but a change of the Spec helps, and that is seen at once */
    REASON_BLOCKS_DELETION = 1 << 3, /* what a deletion needs may be gone for good */
};

/* False: it has not, or is unknown. */
bool reason_has(const char *reason, enum reason_trait trait);

/* The reason itself, if it is one of those that are known; else "Other". */
const char *reason_label(const char *reason);
