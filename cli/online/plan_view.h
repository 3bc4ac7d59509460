/*
 * A plan on a page: what a Release says will be done, or was done, resource by resource and field
 * by field. Pure.
 *
 *   + create   ConfigMap/web-c6gb
 *       + data.COLOR = "green"
 *   ~ update   Deployment/web
 *       ~ spec.replicas = 1 -> 2
 * -/+ replace, - delete, < read, . forget, ? what could not be planned
 *
 * The labels and annotations that the operator itself adds to each object are left out.
 */
#pragma once

#include "cli/frame/output.h"
#include "engine/value/value.h"

struct plan_view {
    bool is_full;       /* long values whole */
    bool has_unchanged; /* what stays as it is, too */
};

/* The resources. */
void plan_view_results(struct output *out, const struct value *release,
                       const struct plan_view *view);
/* "Plan: 1 to create, 3 unchanged.   digest 8c17…". */
void plan_view_summary(struct output *out, const struct value *release);
/* What an approval covers that is not shown: lines. */
void plan_view_unseen(struct output *out, const struct value *release);

/* Whether something would be changed; whether all of it could be planned. */
bool plan_has_changes(const struct value *release);
bool plan_is_complete(const struct value *release);
/* "8c17f00d9a2b", which names the plan well enough for people; free(). */
char *plan_short_digest(const struct value *release);

/* Two plans of one Spec: resources of `plan` whose changes are not those of `before`. */
unsigned plan_count_other(const struct value *before, const struct value *plan);
