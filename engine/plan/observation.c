#include "engine/runtime.h"

void observation_done(struct observation *observation)
{
    free(observation->uid);
    free(observation->version);
    free(observation->footprint);
    value_unref(observation->object);
    *observation = (struct observation){0};
}
