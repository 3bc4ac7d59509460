/*
 * Deadlines in the order in which they pass: a binary heap of what is embedded
 * in its owners. One thread's.
 */
#ifndef RUNTIMES_IO_DEADLINES_H
#define RUNTIMES_IO_DEADLINES_H

#include <stddef.h>
#include <stdint.h>

struct deadline {
    int64_t at;   /* of system_clock.monotonic() */
    size_t place; /* in the heap, from 1; 0: not in it */
};

struct deadlines {
    struct deadline **heap;
    size_t count;
    size_t capacity;
};

void deadlines_done(struct deadlines *deadlines);

/* Adds it, or moves it if it is there. */
void deadlines_set(struct deadlines *deadlines, struct deadline *deadline, int64_t at);
void deadlines_remove(struct deadlines *deadlines, struct deadline *deadline);

/* The next to pass; NULL: none. */
struct deadline *deadlines_first(const struct deadlines *deadlines);

#endif
