/*
 * What is in force for a Spec: itself, or a hold (hold.h). A hold begins here, because a person
 * asked for it (desk/requests.h), or by remediation.
 *
 * An apply under a hold is as any other, with approval, corrections of drift, and retries. But it
 * applies the recorded Spec, or nothing; its Releases say Rollback or Destroy; and in the end the
 * Spec is not Ready, but RolledBack or Destroyed.
 */
#pragma once

#include "controller/reconcile/attempt.h"

/* Cancels what people asked for before their last request. 1: there is more; reconcile again. */
int hold_cancel_older(struct attempt *attempt, struct error *error);

/* Before an apply: sets run->hold and, for a Rollback, run->source. Accepts what a person asked for
 * last, or says why not in its Release. Keeps State open in attempt->ledger. Errors: State or the
 * recorded Spec cannot be read, or a Release not be written. */
int hold_begin(struct attempt *attempt, struct error *error);

/* The Spec has failed often enough, by `cause`: writes a hold that rolls back to the last revision
 * that succeeded. 1: there is nothing to roll back to, or that is the same Spec. */
int hold_remediate(struct attempt *attempt, const char *cause, struct error *error);

/* The Spec is gone, suspended, held or refused: what people asked for ends with this. 1: there is
 * more; reconcile again. */
int hold_refuse(struct attempt *attempt, const struct error *refusal, struct error *error);
