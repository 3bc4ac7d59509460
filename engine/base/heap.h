/*
 * A binary heap. The item with the lowest key is found at once; adding, moving and removing any
 * item take O(log n). Items are embedded in their owners (see CONTAINER_OF), and zeroed before
 * their first use. Items with equal keys have no defined order. Not locked.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "engine/base/cleanup.h"

struct heap_item {
    int64_t key;  /* while in a heap, changed only by heap_set() */
    size_t place; /* in the heap, from 1; 0: not in it */
};

struct heap {
    struct heap_item **items;
    size_t count;
    size_t capacity;
};

/* Frees the heap's own memory. Items that are still in it must not be used afterwards. */
void heap_done(struct heap *heap);

/* Adds the item, or moves it if it is there. */
void heap_set(struct heap *heap, struct heap_item *item, int64_t key);
/* Does nothing if the item is not in the heap. */
void heap_remove(struct heap *heap, struct heap_item *item);

/* The item with the lowest key; NULL: the heap is empty. */
struct heap_item *heap_first(const struct heap *heap);
