/*
 * A queue of small numbers that gives the smallest first: a tree of 64-bit
 * words, each bit of which says whether the word below it has any. Six levels
 * hold 2^32 numbers, so that adding and taking cost the same for all.
 */
#ifndef ENGINE_GRAPH_QUEUE_H
#define ENGINE_GRAPH_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#define QUEUE_LEVELS 6

struct queue {
    uint64_t *levels[QUEUE_LEVELS]; /* [0] has a bit for each number */
    unsigned n_levels;
};

void queue_init(struct queue *queue, uint32_t n_numbers);
void queue_done(struct queue *queue);
void queue_add(struct queue *queue, uint32_t number); /* below n_numbers */
bool queue_take(struct queue *queue, uint32_t *ret);  /* false: empty */

#endif
