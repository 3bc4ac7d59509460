/*
 * Drift that is told and not corrected: driftDetection.mode `warn`.
 */
#pragma once

#include "controller/reconcile/run/run.h"

#define DRIFT_DETECTED "DriftDetected" /* a reason */

/* The plan of a check would change something in the world. */
bool drift_is_in(const struct plan *plan);
/* "apps/v1:Deployment:shop:web: spec.replicas, changed by hpa; v1:ConfigMap:shop:a: it is gone",
 * cut to a few resources and fields; free(). No values: they may be secret. */
char *drift_describe(const struct plan *plan);
/* An event, a line of the log, and the metric, of run->drifted, unless the status says the same. */
void drift_tell(const struct run *run);
