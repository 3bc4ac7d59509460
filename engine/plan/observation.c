#include <stdlib.h>

#include "engine/runtime.h"

void observation_done(struct observation *observation)
{
    free(observation->held_by);
    free(observation->uid);
    free(observation->fields_digest);
    value_unref(observation->result);
    if (observation->detail_free)
        observation->detail_free(observation->detail);
    *observation = (struct observation){0};
}

void outcome_done(struct runtime_outcome *outcome)
{
    observation_done(&outcome->now);
    value_unref(outcome->memory);
    value_unref(outcome->warnings);
    *outcome = (struct runtime_outcome){0};
}

void runtime_step_done(struct runtime_step *step)
{
    value_unref(step->attributes);
    value_unref(step->extensions);
    value_unref(step->before);
    value_unref(step->after);
    value_unref(step->shown_before);
    value_unref(step->shown_after);
    value_unref(step->result);
    value_unref(step->memory);
    value_unref(step->warnings);
}
