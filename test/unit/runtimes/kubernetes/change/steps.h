/* Steps of a script's call. */
#pragma once

#include "runtimes/kubernetes/change/step.h"
#include "test/unit/runtimes/kubernetes/session/script.h"

/* A step for the attributes, seen as version "5" of uid "u-a"; of a create, nothing was seen. */
struct runtime_step *call_step(struct call *call, enum plan_action action);
