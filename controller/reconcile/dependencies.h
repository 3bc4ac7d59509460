/*
 * The Specs that a Spec depends on (`dependsOn`): a new generation is applied when each of them is
 * there, is not being deleted, and became ready in the generation that it has. Whether it stays
 * ready does not matter then: a check, and the correction of what others changed, do not wait.
 *
 * A Spec that waits is reconciled again when the desk sees that something changed
 * (controller/desk/dependencies.h). What the process does not watch is looked at from time to time.
 *
 * Another namespace is read with the rights of the Spec's account, and "there is none" and "the
 * account may not read it" read the same.
 */
#pragma once

#include "controller/core/workers.h"
#include "controller/reconcile/attempt.h"

/* The Spec was read: notes on the desk what it depends on. */
void dependencies_note(const struct run *run);

/* The Spec is parsed. 1: it waits, and the status says for what; the attempt has ended. 0: it does
 * not. ERR_INVALID CyclicDependency: it would wait for itself. */
int dependencies_await(struct attempt *attempt, struct reconcile_result *result,
                       struct error *error);
