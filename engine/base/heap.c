#include "engine/base/heap.h"

#include <stdlib.h>

#include "engine/base/mem.h"

static void put(struct heap *heap, struct heap_item *item, size_t place)
{
    heap->items[place - 1] = item;
    item->place = place;
}

static void sift_up(struct heap *heap, struct heap_item *item)
{
    size_t place = item->place;

    while (place > 1 && heap->items[place / 2 - 1]->key > item->key) {
        put(heap, heap->items[place / 2 - 1], place);
        place /= 2;
    }
    put(heap, item, place);
}

static void sift_down(struct heap *heap, struct heap_item *item)
{
    size_t place = item->place, child;

    for (; (child = place * 2) <= heap->count; place = child) {
        if (child < heap->count && heap->items[child]->key < heap->items[child - 1]->key)
            child++;
        if (heap->items[child - 1]->key >= item->key)
            break;
        put(heap, heap->items[child - 1], place);
    }
    put(heap, item, place);
}

void heap_done(struct heap *heap)
{
    free(heap->items);
    *heap = (struct heap){0};
}

void heap_set(struct heap *heap, struct heap_item *item, int64_t key)
{
    item->key = key;
    if (!item->place) {
        heap->items = mem_grow(heap->items, heap->count, &heap->capacity, sizeof(*heap->items));
        put(heap, item, ++heap->count);
    }
    sift_up(heap, item);
    sift_down(heap, item);
}

void heap_remove(struct heap *heap, struct heap_item *item)
{
    struct heap_item *last;
    size_t place = item->place;

    if (!place)
        return;
    item->place = 0;
    last = heap->items[--heap->count];
    if (last == item)
        return;
    put(heap, last, place);
    sift_up(heap, last);
    sift_down(heap, last);
}

struct heap_item *heap_first(const struct heap *heap)
{
    return heap->count ? heap->items[0] : NULL;
}
