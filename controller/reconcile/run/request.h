/* The Release by which a person asks for a Rollback or a Destroy (desk/requests.h): its status. */
#pragma once

#include "controller/desk/requests.h"
#include "controller/reconcile/run/run.h"

/* Writes how a request ends, or goes on, to its Release: the phase, the verdict and the summary.
 * Ends it on the desk if it has ended then, or had ended before, or is gone. revision: of the
 * operation; 0: none. */
int request_write(const struct run *run, const struct request *request, int64_t revision,
                  const struct outcome *outcome, struct error *error);
