/*
 * A priority queue of numbers, smallest first: a tree of 64-bit words in which each bit says
 * whether the word below it is not empty. Six levels hold 2^32 numbers, so adding and taking cost
 * the same for all numbers.
 */
#ifndef ENGINE_GRAPH_QUEUE_H
#define ENGINE_GRAPH_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#define QUEUE_LEVELS 6

struct queue {
    uint64_t *levels[QUEUE_LEVELS]; /* levels[0] has a bit for each number */
    unsigned n_levels;
};

void queue_init(struct queue *queue, uint32_t n_numbers);
void queue_done(struct queue *queue);
void queue_add(struct queue *queue, uint32_t number); /* below n_numbers */
bool queue_take(struct queue *queue, uint32_t *ret);  /* false: empty */

#endif
