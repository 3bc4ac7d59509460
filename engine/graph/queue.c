#include "engine/graph/queue.h"

#include "engine/base/mem.h"

#define WORD_BITS 64

void queue_init(struct queue *queue, uint32_t n_numbers)
{
    size_t n_words = n_numbers;

    *queue = (struct queue){0};
    do {
        n_words = (n_words + WORD_BITS - 1) / WORD_BITS;
        queue->levels[queue->n_levels++] = NEW_ARRAY(uint64_t, n_words);
    } while (n_words > 1);
}

void queue_done(struct queue *queue)
{
    for (unsigned i = 0; i < queue->n_levels; i++)
        free(queue->levels[i]);
    *queue = (struct queue){0};
}

void queue_add(struct queue *queue, uint32_t number)
{
    for (unsigned i = 0; i < queue->n_levels; i++) {
        queue->levels[i][number / WORD_BITS] |= UINT64_C(1) << number % WORD_BITS;
        number /= WORD_BITS;
    }
}

bool queue_take(struct queue *queue, uint32_t *ret)
{
    uint32_t number = 0, at;

    if (!queue->levels[queue->n_levels - 1][0])
        return false;
    for (unsigned i = queue->n_levels; i-- > 0;)
        number = number * WORD_BITS + (uint32_t)__builtin_ctzll(queue->levels[i][number]);
    at = number;
    for (unsigned i = 0; i < queue->n_levels; i++) {
        uint64_t *word = &queue->levels[i][at / WORD_BITS];

        *word &= ~(UINT64_C(1) << at % WORD_BITS);
        if (*word)
            break;
        at /= WORD_BITS;
    }
    *ret = number;
    return true;
}
