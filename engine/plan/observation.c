#include <stdlib.h>

#include "engine/base/str.h"
#include "engine/runtime.h"

struct runtime *runtime_find(struct runtime *const *runtimes, size_t n, const char *type)
{
    for (size_t i = 0; i < n; i++)
        if (str_equal(runtimes[i]->ops->type, type))
            return runtimes[i];
    return NULL;
}

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
