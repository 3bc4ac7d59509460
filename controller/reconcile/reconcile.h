/*
 * One reconcile of a key, of a Spec or of a Release: its attempt goes on as far as it can without
 * waiting. What may have ended the process before comes when the others have begun (quarantine.h).
 */
#pragma once

#include "controller/core/workers.h"
#include "controller/reconcile/attempt.h"

/* Begins what is to be done, or goes on with what is under way. A negative code: it is tried again;
 * ERR_CANCELLED: not by this reconcile. */
typedef int reconcile_advance(struct attempt *attempt, const struct reconcile_context *context,
                              struct cancel *cancel, struct reconcile_result *result,
                              struct error *error);

struct reconcile_kind {
    enum desk_kind entries;      /* of the desk */
    const char *label, *failure; /* for the log: "spec", "reconciling a Spec failed" */
    reconcile_advance *advance;
};

struct reconcile_result reconcile_key(const struct reconcile_context *context,
                                      const struct reconcile_kind *kind, const char *key,
                                      struct cancel *cancel);

/* The attempt's key for the quarantine; free(). */
char *reconcile_suspect(enum desk_kind kind, const struct attempt *attempt);
