/*
 * Fields that other managers have (conflictPolicy: Fail).
 */
#pragma once

#include "runtimes/kubernetes/objects/managers.h"

#define CONFLICT_NAMED 8 /* fields that a message names */

/* causes: of the API server's refusal of an apply (api_error_causes()). ERR_CONFLICT
 * ConflictDetected: names the fields and their managers. 0: all of them are managers whose fields
 * are taken over. */
int kube_judge_conflicts(const struct value *causes, const char *ours,
                         const struct managers_taking *taking, struct error *error);
