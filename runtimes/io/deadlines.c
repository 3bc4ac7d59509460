#include "runtimes/io/deadlines.h"

#include <stdlib.h>

#include "engine/base/mem.h"

static void put(struct deadlines *deadlines, struct deadline *deadline, size_t place)
{
    deadlines->heap[place - 1] = deadline;
    deadline->place = place;
}

static void sift_up(struct deadlines *deadlines, struct deadline *deadline)
{
    size_t place = deadline->place;

    while (place > 1 && deadlines->heap[place / 2 - 1]->at > deadline->at) {
        put(deadlines, deadlines->heap[place / 2 - 1], place);
        place /= 2;
    }
    put(deadlines, deadline, place);
}

static void sift_down(struct deadlines *deadlines, struct deadline *deadline)
{
    size_t place = deadline->place, child;

    for (; (child = place * 2) <= deadlines->count; place = child) {
        if (child < deadlines->count && deadlines->heap[child]->at < deadlines->heap[child - 1]->at)
            child++;
        if (deadlines->heap[child - 1]->at >= deadline->at)
            break;
        put(deadlines, deadlines->heap[child - 1], place);
    }
    put(deadlines, deadline, place);
}

void deadlines_done(struct deadlines *deadlines)
{
    free(deadlines->heap);
    *deadlines = (struct deadlines){0};
}

void deadlines_set(struct deadlines *deadlines, struct deadline *deadline, int64_t at)
{
    deadline->at = at;
    if (!deadline->place) {
        deadlines->heap = mem_grow(deadlines->heap, deadlines->count, &deadlines->capacity,
                                   sizeof(*deadlines->heap));
        put(deadlines, deadline, ++deadlines->count);
    }
    sift_up(deadlines, deadline);
    sift_down(deadlines, deadline);
}

void deadlines_remove(struct deadlines *deadlines, struct deadline *deadline)
{
    struct deadline *last;
    size_t place = deadline->place;

    if (!place)
        return;
    deadline->place = 0;
    last = deadlines->heap[--deadlines->count];
    if (last == deadline)
        return;
    put(deadlines, last, place);
    sift_up(deadlines, last);
    sift_down(deadlines, last);
}

struct deadline *deadlines_first(const struct deadlines *deadlines)
{
    return deadlines->count ? deadlines->heap[0] : NULL;
}
