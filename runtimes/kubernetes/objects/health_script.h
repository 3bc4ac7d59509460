/*
 * Health checks in Lua (runtimes/lua/script.h): where they are written, which objects they are for,
 * and what their answers mean.
 *
 * A resource has its own in the extension `healthPolicy: {health.lua: …}`. Those of the whole
 * cluster are in ConfigMaps, under the keys that Argo CD's argocd-cm has for them:
 *
 *   resource.customizations.health.GROUP_KIND: SCRIPT      one kind; KIND alone: of the core group
 *   resource.customizations: YAML of {GROUP/KIND: {health.lua: SCRIPT}}, "*" for any text
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/health.h"
#include "engine/spec/check.h"
#include "engine/value/value.h"
#include "runtimes/kubernetes/objects/object_ref.h"

/* The text of a resource's own check; NULL: it has none. Borrowed. */
const struct value *health_script_own(const struct value *extensions);

/* Checks a `healthPolicy`, which is there. `known` has the texts that were found to be right. */
void health_script_check(struct check *check, const struct value *policy, const struct place *place,
                         struct strmap *known);

/* ---- Of the cluster ---- */

/* A check that a ConfigMap has. */
struct health_script {
    char *of;                 /* "apps/Deployment", "Pod", "*.example.com/Widget" */
    const struct value *text; /* a reference */
};

/* Those of a ConfigMap, an array of *ret_n for health_scripts_free(). *ret_problem: to free(); what
 * is wrong with the others; NULL: nothing. */
struct health_script *health_scripts_read(const struct value *config_map, size_t *ret_n,
                                          char **ret_problem);
void health_scripts_free(struct health_script *scripts, size_t n);

/* How well a check suits the kind: 0: not at all; else the greater, the better. */
size_t health_script_rank(const struct health_script *script, const struct object_ref *ref);

/* ---- A verdict ---- */

/*
 * Sets what the check says of the object in place of what the rules of kinds say (`ret`, as of
 * kube_health()). Nothing changes for an object that is being deleted, and if the check has no
 * opinion. cpu: as of script_judge().
 *
 * Healthy and Suspended are CURRENT, Degraded is FAILED, Progressing and Missing are PROGRESSING. A
 * check that fails is UNKNOWN, with the error. Degraded is PROGRESSING while the object's
 * controller has not seen its generation: the failure is that of an earlier one.
 */
void health_script_judge(const struct value *text, const struct value *object, int64_t (*cpu)(void),
                         struct health *ret);
