/*
 * The Specs that depend on a Spec that is being deleted. Those that are being deleted themselves go
 * first: the Spec waits for them. Others do not keep it; an Event names those of its namespace.
 *
 * Of other namespaces a Spec counts only if its account may read this one, and no longer than for
 * `timeout`: otherwise anybody could keep a Spec for ever by naming it. Four
 * accounts of a namespace are asked for at most: each costs a request.
 */
#pragma once

#include "controller/core/workers.h"
#include "controller/reconcile/attempt.h"

/* 1: it waits, and the status says for what. 0: it does not. */
int dependents_await(struct attempt *attempt, struct reconcile_result *result, struct error *error);
