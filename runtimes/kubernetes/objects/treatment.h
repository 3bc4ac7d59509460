/*
 * How one object asks to be treated, by annotations in the Spec or on the live object. Those of
 * other tools mean what they mean there, so that manifests that come from one lose nothing.
 *
 *   api.kusion.io/ssa                        Merge, IfNotPresent, Ignore; Override is the default
 *   api.kusion.io/reconcile: disabled        it is neither applied nor deleted
 *   api.kusion.io/prune: disabled            it is not deleted
 *   kustomize.toolkit.fluxcd.io/ssa, /reconcile, /prune     as these
 *   helm.sh/resource-policy: keep, kapp.k14s.io/delete-strategy: orphan,
 *   client.lifecycle.config.k8s.io/deletion: detach, cli-utils.sigs.k8s.io/on-remove: keep,
 *   argocd.argoproj.io/sync-options: Prune=false, Prune=confirm, Delete=false or Delete=confirm
 *                                            it is not deleted
 */
#pragma once

#include "engine/spec/check.h"

enum treatment {
    TREAT_OVERRIDE,
    TREAT_MERGE,     /* fields that others added stay: no manager's fields are taken over */
    TREAT_IF_ABSENT, /* an object that exists stays as it is */
    TREAT_NOT,
};

/* What the wanted object says goes before what the live one says. live: NULL: there is none.
 * *ret_why: "its annotation …: …", static; NULL: TREAT_OVERRIDE. */
enum treatment treatment_of(const struct value *wanted, const struct value *live,
                            const char **ret_why);

/* "its annotation …: …", static: why the live object is not deleted. NULL: it may be. */
const char *treatment_keeps(const struct value *object);

/* Whether it is one of these annotations, or another of api.kusion.io/: what a person sets of them
 * on the live object is not drift. */
bool treatment_reads(const char *key);

/* Reports values of our own annotations that mean nothing. place: of the object's metadata. */
void treatment_check(const struct value *attributes, struct check *check,
                     const struct place *place);
