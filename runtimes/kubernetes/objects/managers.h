/*
 * The takeover of other field managers' fields, for an object that a Spec owns. A server-side apply
 * removes a field only if our manager alone has it. So before an apply, the fields of some managers
 * become ours; what the Spec does not have of them is then removed.
 *
 * These are taken over, as Flux does:
 *   - managers whose name begins with "kubectl": both of `kubectl apply` (client-side and
 *     server-side), and those of `kubectl edit`, `set`, `patch`, `label` and the like. Not
 *     kubectl-rollout: undoing `kubectl rollout restart` would restart all Pods once more;
 *   - Updates of "before-first-apply": the API server gives that name to all fields of an object
 *     that had no managers when it was first applied;
 *   - Updates under our own name;
 *   - Applies of other Specs: the object was handed over.
 *   - when an object is adopted, also what the tool had that applied it before: Helm, Flux, Argo
 * CD, Kusion, kapp, Terraform, Pulumi. Not of kinds that are that tool's own. Never taken over:
 * managers of a subresource (status, scale), and all others, such as controllers and webhooks. Nor
 * what a person sets on a live object to say how it is to be treated (treatment.h), finalizers, and
 * what the Spec ignores (ignore.h): that stays theirs.
 *
 * In the same way our manager gives up what the Spec has come to ignore: the field keeps its value,
 * and has no manager then. Simply applying without it would reset it.
 *
 * An entry's fields are those of its apiVersion. Entries of another version than ours (or, where we
 * have none yet, than that of the first one) are left.
 *
 * `entries` is an object's metadata.managedFields, `ours` the name of our manager. Pure functions.
 */
#pragma once

#include "runtimes/kubernetes/objects/ignored.h"

/* Whose fields are taken over. */
enum managers_from {
    MANAGERS_OURS,   /* Updates under our own name, and Applies of other Specs */
    MANAGERS_PEOPLE, /* those and what people changed by kubectl */
    MANAGERS_TOOLS,  /* those and what the tool had that applied the object before */
};

struct managers_taking {
    enum managers_from from;
    struct ignored ignored; /* borrowed */
};

/* The digest of what our manager has, and of what the managers have that are to be taken; free()
 * it. NULL: there is neither. */
char *managers_digest(const struct value *entries, const char *ours);

/* The fields that our manager has, as fieldsV1; borrowed. NULL: it has none. */
const struct value *managers_own(const struct value *entries, const char *ours);

/* The entry of another manager that has fields of `own` which our manager does not have any more:
 * who changed the object. own: the fields that an apply gives us; borrowed. NULL: nobody. */
const struct value *managers_rival(const struct value *entries, const char *ours,
                                   const struct value *own);

/* The entries after the takeover: with what was taken in ours, and without what is ignored. A
 * reference; NULL: nothing is to be taken, or given up. */
const struct value *managers_take(const struct value *entries, const char *ours,
                                  const struct managers_taking *taking);

/* Whether the fields of a manager of that name are taken over. */
bool managers_takes(const char *manager, const char *ours, const struct managers_taking *taking);

/* The entries after the takeover as they are written, before the apply that is to follow: ours has
 * one more field, which no object has. If that apply does not come, because the process was
 * killed, the digest of the entries is not the one in State: without the field, an object whose
 * values kubectl changed would look as if they had been changed back. The apply removes it. */
const struct value *managers_mark(const struct value *taken, const char *ours);

/*
 * What an apply will make of the object once its managers are taken. applied: the object after a
 * dry-run of the apply, with its managedFields; taken: managers_take() of the object before. The
 * object without the fields that go then, before the server fills in defaults. A reference; NULL:
 * none goes.
 */
const struct value *managers_prune(const struct value *applied, const struct value *taken,
                                   const char *ours, const struct managers_taking *taking);
