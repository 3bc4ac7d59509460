/*
 * Objects of a Spec that another tool has managed so far: those of the state file of Terraform that
 * its `terraformState.from` names, a Secret in its namespace.
 */
#pragma once

#include "controller/reconcile/run/run.h"

/* The Spec names a file. */
bool spec_takeover_is_wanted(const struct run *run);

/*
 * Reads the file with the rights of the Spec's ServiceAccount, if the Spec has a resource of which
 * State has no record, and tells the operation, which is NEW, what of it is to be taken over
 * (operation_take_over()). What is wrong with the Secret or the file fails only the resources that
 * have no record: ERR_INVALID TakeoverFailed, ERR_FORBIDDEN AccessDenied. What may pass, such as an
 * API server that does not answer, is returned.
 *
 * A Preview with resources of its own gets nothing of the file: who may only create Releases could
 * have it shown.
 *
 * The file is plain, or gzipped as Terraform's back end for Kubernetes does. It may have 16 MiB.
 */
int spec_takeover_read(const struct run *run, struct operation *operation, const struct spec *spec,
                       struct error *error);
