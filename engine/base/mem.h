/*
 * Allocation that does not fail.
 *
 * The operator is crash-only: a process without memory logs that and aborts, and the next process
 * continues from State. So no code tests for a failed allocation. Sizes that come from outside are
 * bounded (limits.h) before they get here.
 */
#pragma once

#include <stddef.h>

/* All return zeroed memory (mem_resize: only what was there before is kept). */
void *mem_new(size_t size);
void *mem_new_array(size_t count, size_t size); /* aborts on overflow */
void *mem_resize(void *pointer, size_t count, size_t size);

/* Makes room for one more item in a growing array: doubles *capacity when
 * count has reached it. Returns the array, perhaps moved. */
void *mem_grow(void *array, size_t count, size_t *capacity, size_t size);

#define NEW(type) ((type *)mem_new(sizeof(type)))
#define NEW_ARRAY(type, count) ((type *)mem_new_array((count), sizeof(type)))
