#include <stdlib.h>

#include "engine/base/cleanup.h"
#include "engine/graph/queue.h"
#include "test/unit/suite.h"

static void gives_the_smallest_first(void)
{
    static const uint32_t sizes[] = {0, 1, 63, 64, 65, 4096, 4097, 300000};

    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        uint32_t size = sizes[i], wrong = 0, number;
        _cleanup_(queue_done) struct queue queue;

        queue_init(&queue, size);
        for (uint32_t n = size; n-- > 0;)
            queue_add(&queue, n);
        for (uint32_t n = 0; n < size; n++)
            wrong += !queue_take(&queue, &number) || number != n;
        EXPECT_INT(wrong, 0, "in order");
        EXPECT(!queue_take(&queue, &number), "empty");
    }
}

static void takes_and_adds_in_turn(void)
{
    static const struct {
        int add; /* -1: none */
        int take;
    } steps[] = {{5000, -1}, {70, 70}, {4999, 4999}, {-1, 5000}, {-1, -1}, {0, 0}, {9999, 9999}};
    _cleanup_(queue_done) struct queue queue;

    queue_init(&queue, 10000);
    queue_add(&queue, 5000);
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        uint32_t number = 0;

        if (steps[i].add >= 0)
            queue_add(&queue, (uint32_t)steps[i].add); /* 5000 twice: it is there once */
        if (steps[i].take >= 0) {
            EXPECT(queue_take(&queue, &number), "there is one");
            EXPECT_INT(number, steps[i].take, "the smallest");
        } else if (i > 0) {
            EXPECT(!queue_take(&queue, &number), "empty");
        }
    }
}

SUITE(queue, TEST(gives_the_smallest_first), TEST(takes_and_adds_in_turn))
