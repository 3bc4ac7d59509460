/*
 * What an attempt leaves to the executor, because it waits for requests that a tenant can make
 * slow:
 *
 *   inputs   what a Spec needs besides itself, before it is planned: the values of `contextFrom`,
 *            objects to take over from a state file of Terraform, objects that State has lost
 *   export   what a Spec has written beside its objects, before its end is told: the state file of
 *            Terraform
 *
 * It runs as a task of the attempt's operation, so namespaces and Specs take turns, and its end
 * puts the key into the queue. Meanwhile the reconcile has returned. It works on a copy of the run.
 */
#pragma once

#include "controller/reconcile/attempt.h"
#include "controller/reconcile/run/recall.h"

/* The operation was opened, and attempt->spec (NULL: everything is to be deleted) is to be planned.
 * Where nothing is to be gathered before that, it is planned at once. recall: taken over. */
void errand_plan(struct attempt *attempt, struct recall *recall);

/* The operation is NEW, and its inputs are gathered. 1: that is under way. 0: they are there, and
 * it is planned now. An error is one that may pass. */
int errand_plan_gathered(struct attempt *attempt, struct error *error);

/* The errand is an export. */
bool errand_is_export(const struct attempt *attempt);
/* Whether the Spec has its state file written, and this attempt has not done so. */
bool errand_export_is_wanted(const struct attempt *attempt);
/* Writes it, and notes in attempt->run.written what became of it. is_check: State has not changed
 * since the last time. 1: it is under way. 0: it is done, or not wanted. ERR_TIMEOUT:
 * spec_export()'s, and it is tried again at the next call. error: or NULL. */
int errand_export(struct attempt *attempt, bool is_check, struct error *error);
