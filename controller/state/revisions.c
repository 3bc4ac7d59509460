/* The revisions of a history: private.h. */
#include "controller/state/private.h"

#include <stdlib.h>

#include "engine/base/mem.h"

void revisions_done(struct revisions *revisions)
{
    free(revisions->items);
    *revisions = (struct revisions){0};
}

static int on_head(void *arg, const struct release_head *head, struct error *error)
{
    struct revisions *revisions = arg;

    (void)error;
    revisions->items = mem_grow(revisions->items, revisions->count, &revisions->capacity,
                                sizeof(*revisions->items));
    revisions->items[revisions->count++] = head->revision;
    return 0;
}

int revisions_list(struct release_history *history, const struct spec_key *spec,
                   const struct store_call *call, struct revisions *ret, struct error *error)
{
    return history->ops->list(history, spec, on_head, ret, call, error);
}
