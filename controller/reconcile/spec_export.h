/*
 * The state file of Terraform that a Spec's `terraformState.to` asks for: a Secret in the Spec's
 * namespace that has all of State's Terraform resources, in the form of Terraform's back end for
 * Kubernetes, which finds it by its name:
 *
 *   tfstate-WORKSPACE-SUFFIX    data.tfstate: the file, gzipped
 *
 * An annotation of the Secret has its Spec, the number of resources, the file's lineage and serial,
 * and a keyed digest of what was written last. So only a Secret that is this Spec's is written,
 * only if the file has changed, and not if anybody else has written it since: Terraform may have
 * gone on with it. The Secret stays when the Spec goes.
 */
#pragma once

#include "controller/reconcile/run/run.h"

/* The Spec asks for one. In a namespace that is being deleted, none is written. */
bool spec_export_is_wanted(const struct run *run);

/*
 * Brings the Secret up to date with the rights of the Spec's ServiceAccount, if the Spec asks for
 * one. What becomes of it is in run->written, for the status, with an event if it fails anew. It
 * does not fail the operation.
 *
 * is_check: State has not changed since the last time, so if the Secret has not, either, nothing is
 * done.
 *
 * ERR_TIMEOUT: the file is large, and was not made, because others were. Whoever removes State
 * afterwards has to come again: the Secret may be all that says what is left. error: or NULL.
 */
int spec_export(struct run *run, struct ledger *ledger, bool is_check, struct error *error);
