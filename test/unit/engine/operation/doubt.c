#include "test/unit/engine/operation/doubt.h"

#include <string.h>

#include "engine/base/str.h"
#include "test/unit/suite.h"

bool doubt_is_left(struct stage *stage)
{
    return strchr(stage_state(stage), '*') != NULL;
}

static bool is_known(struct state *state, const struct fake_thing *thing)
{
    for (size_t i = 0; i < state_count(state); i++)
        if (str_equal(fake_cloud_id(state_at(state, i)), thing->id))
            return true;
    return false;
}

unsigned doubt_clear(struct stage *stage)
{
    _cleanup_(state_free_p) struct state *state = fake_store_state(&stage->store);
    unsigned cleared = 0;

    if (!state)
        return 0;
    for (size_t i = state_count(state); i-- > 0;) {
        const struct record *record = state_at(state, i);

        if (record->status == RECORD_CREATING)
            state_drop(state, record->id, record->deposed);
    }
    for (size_t i = stage->cloud.n_things; i-- > 0;)
        if (!stage->cloud.things[i].is_foreign && !is_known(state, &stage->cloud.things[i])) {
            fake_cloud_remove(&stage->cloud, &stage->cloud.things[i]);
            cleared++;
        }
    fake_store_put(&stage->store, state);
    return cleared;
}

unsigned doubt_most_others(const char *spec)
{
    unsigned count = 0;

    for (const char *at = spec; at && (at = strstr(at, "Cloud/")); at++)
        count++;
    return count ? count - 1 : 0;
}
