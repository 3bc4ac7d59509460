/* The revisions of a history: private.h. */
#include "controller/state/private.h"

#include <stdlib.h>

#include "engine/base/mem.h"

void revisions_done(struct revisions *revisions)
{
    free(revisions->items);
    *revisions = (struct revisions){0};
}

static void add(struct revisions *revisions, int64_t revision)
{
    revisions->items = mem_grow(revisions->items, revisions->count, &revisions->capacity,
                                sizeof(*revisions->items));
    revisions->items[revisions->count++] = revision;
}

static int on_head(void *arg, const struct release_head *head, struct error *error)
{
    (void)error;
    add(arg, head->revision);
    return 0;
}

static int on_document(void *arg, const struct document_name *name, struct error *error)
{
    int64_t revision;

    (void)error;
    if (release_revision_parse(name->item, &revision))
        add(arg, revision);
    return 0;
}

static int newest_first(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

    return left > right ? -1 : left < right;
}

/* A history of documents reads each for its list, and ends it at one that is damaged. */
int revisions_list(const struct state_side *side, const struct spec_key *spec,
                   const struct store_call *call, struct revisions *ret, struct error *error)
{
    int r;

    if (!side->has_releases)
        return side->history->ops->list(side->history, spec, on_head, ret, call, error);
    r = side->store->ops->list(side->store, DOCUMENT_RELEASE, spec, on_document, ret, call, error);
    if (r >= 0 && ret->count)
        qsort(ret->items, ret->count, sizeof(*ret->items), newest_first);
    return r;
}
