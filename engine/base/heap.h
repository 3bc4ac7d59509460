/*
 * A binary heap: the item with the lowest key is found at once, and any item
 * is added, moved and removed in O(log n). Items are embedded in their owners
 * (CONTAINER_OF finds these) and zeroed before they are first used. Among
 * items of one key the order is not defined. Not locked.
 */
#ifndef ENGINE_BASE_HEAP_H
#define ENGINE_BASE_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/cleanup.h"

struct heap_item {
    int64_t key;  /* in a heap: changed only by heap_set() */
    size_t place; /* in the heap, from 1; 0: not in it */
};

struct heap {
    struct heap_item **items;
    size_t count;
    size_t capacity;
};

/* The heap's own memory. Items that are still in it may not be used after. */
void heap_done(struct heap *heap);

/* Adds the item, or moves it if it is there. */
void heap_set(struct heap *heap, struct heap_item *item, int64_t key);
/* Nothing, if it is not there. */
void heap_remove(struct heap *heap, struct heap_item *item);

/* The item with the lowest key; NULL: the heap is empty. */
struct heap_item *heap_first(const struct heap *heap);

#endif
