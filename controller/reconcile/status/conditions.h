/*
 * A verdict about an object, and the conditions that say it.
 *
 * Ready and Finished are always there; Reconciling and Stalled only when True, and never both;
 * SecretsInClear and Drifted only when True; TerraformStateWritten only where a state file is asked
 * for. Finished is "False" as long as Reconciling is "True": clients wait for it to learn of the
 * end, whether it is a success or a failure. A condition's lastTransitionTime changes with its
 * status alone, so that saying the same again is no change.
 */
#pragma once

#include <stdint.h>

#include "engine/base/error.h"
#include "engine/value/value.h"

enum progress { PROGRESS_SETTLED, PROGRESS_RECONCILING, PROGRESS_STALLED };

struct verdict {
    const char *ready; /* "True", "False", "Unknown" */
    const char *reason, *message;
    enum progress progress;
    const char *healthy; /* "True", "False"; NULL: not known, no condition */
};

/* It goes on. */
static inline struct verdict verdict_of_progress(const char *message)
{
    return (struct verdict){"Unknown", "Progressing", message, PROGRESS_RECONCILING, NULL};
}

static inline struct verdict verdict_of_success(const char *message)
{
    return (struct verdict){"True", "ReconciliationSucceeded", message, PROGRESS_SETTLED, NULL};
}

/* It is over without success, and nothing is to be done about it. */
static inline struct verdict verdict_of_end(const char *reason, const char *message)
{
    return (struct verdict){"False", reason, message, PROGRESS_SETTLED, NULL};
}

/* The cause of a failure may go away without a change of the object: the API server comes back, or
 * somebody creates the namespace. */
bool conditions_may_heal(const struct error *error);

/* What a failure means: Reconciling if it may heal, and is_spent is false; else Stalled. is_spent:
 * it has had its time to heal. */
struct verdict verdict_of_error(const struct error *error, bool is_spent);

/* The generations of the object that the conditions are about. */
struct conditions_generation {
    int64_t ready; /* Ready's: an earlier one, if its status is kept from then */
    int64_t observed;
};

/* What the conditions beside Ready say: a clause each, as the message would be there four times. */
struct conditions_clauses {
    const char *brief;   /* of Reconciling, Stalled and Finished */
    const char *healthy; /* of Healthy; NULL: brief */
};

/* old: the conditions that are there, or NULL. clauses: NULL: all say the message. now: Unix ms. */
const struct value *conditions_make(const struct value *old, const struct verdict *verdict,
                                    const struct conditions_clauses *clauses,
                                    struct conditions_generation generation, int64_t now);

/* A condition that is there only while it is True. */
struct warning {
    const char *type, *reason, *message; /* message NULL: it is not True */
};

/* Adds or replaces it, or takes it away. *conditions: a reference that is replaced; made of `old`.
 */
void conditions_set_warning(const struct value **conditions, const struct value *old,
                            const struct warning *warning, int64_t generation, int64_t now);

/* Adds or replaces TerraformStateWritten. verdict: its status is `ready`; NULL: it is
 * as in `old`. The rest as above. */
void conditions_add_written(const struct value **conditions, const struct value *old,
                            const struct verdict *verdict, int64_t generation, int64_t now);
#define CONDITION_WRITTEN "TerraformStateWritten"
/* Takes a condition away. */
void conditions_drop(const struct value **conditions, const char *type);

/* The condition of a type, or NULL. */
const struct value *conditions_find(const struct value *conditions, const char *type);
/* The condition Ready of a status, or NULL. */
const struct value *conditions_ready(const struct value *status);
