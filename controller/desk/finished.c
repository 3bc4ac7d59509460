/* Releases of people that have ended, and the end of a Spec. */
#include "controller/desk/desk_private.h"
#include "engine/base/mem.h"

/* ---- With the lock ---- */

/* Gives the Spec, which may have nothing left; NULL: it was of none. */
static struct desk_entry *drop(struct desk_entry *release)
{
    struct desk_entry *spec = TAKE(release->finished_of);
    size_t i = 0;

    if (!spec)
        return NULL;
    while (spec->finished[i] != release)
        i++;
    spec->finished[i] = spec->finished[--spec->n_finished];
    if (!spec->n_finished) {
        free(TAKE(spec->finished));
        spec->finished_capacity = 0;
    }
    return spec;
}

static struct desk_entry *oldest_of(const struct desk_entry *spec)
{
    struct desk_entry *oldest = spec->finished[0];

    for (size_t i = 1; i < spec->n_finished; i++)
        if (spec->finished[i]->ended_at < oldest->ended_at)
            oldest = spec->finished[i];
    return oldest;
}

/* It is to go: its reconcile deletes it. */
static void end_one(struct desk_entry *release)
{
    release->is_surplus = true;
    drop(release);
    desk_ask(release);
}

/* ---- For everybody ---- */

bool desk_note_finished(struct desk *desk, const struct spec_key *release, const char *spec,
                        int64_t ended_at, size_t limit)
{
    LOCKED(&desk->lock);
    const struct spec_key of = {release->namespace_name, spec};
    struct desk_entry *entry, *group;
    bool stays;

    entry = desk_get(desk, DESK_RELEASE, release);
    stays = !entry->is_surplus;
    if (stays) {
        desk_tidy(drop(entry));
        group = desk_get(desk, DESK_SPEC, &of);
        group->finished = mem_grow(group->finished, group->n_finished, &group->finished_capacity,
                                   sizeof(*group->finished));
        group->finished[group->n_finished++] = entry;
        entry->finished_of = group;
        entry->ended_at = ended_at;
        if (group->n_finished > limit)
            end_one(oldest_of(group));
        desk_tidy(group);
    }
    return stays;
}

void desk_forget_finished(struct desk *desk, const struct spec_key *release)
{
    LOCKED(&desk->lock);
    struct desk_entry *entry = desk_find(desk, DESK_RELEASE, release);

    if (entry) {
        desk_tidy(drop(entry));
        entry->is_surplus = false;
    }
    desk_tidy(entry);
}

void desk_forget_spec(struct desk *desk, const struct spec_key *spec)
{
    LOCKED(&desk->lock);
    struct desk_entry *entry = desk_get(desk, DESK_SPEC, spec);

    entry->is_collected = entry->knows_recorded = entry->was_swept = false;
    entry->n_recorded = 0;
    while (entry->n_finished)
        end_one(entry->finished[0]);
    desk_tidy(entry);
}
