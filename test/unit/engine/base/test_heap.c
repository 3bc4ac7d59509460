#include "engine/base/heap.h"

#include <stdlib.h>

#include "test/unit/suite.h"

#define COUNT 500

struct owner {
    int number;
    struct heap_item item;
};

static void gives_the_lowest_first(void)
{
    static const struct {
        const char *note;
        int64_t keys[5], moved_to; /* of the first */
        const char *order;
    } rows[] = {
        {"in order", {1, 2, 3, 4, 5}, 1, "01234"},
        {"backwards", {5, 4, 3, 2, 1}, 5, "43210"},
        {"moved to the end", {1, 2, 3, 4, 5}, 6, "12340"},
        {"moved to the front", {9, 2, 8, 4, 5}, 1, "01342"},
        {"moved between", {1, 2, 8, 4, 6}, 5, "13042"},
        {"extremes", {0, INT64_MAX, INT64_MIN, -1, 1}, 2, "23401"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct owner owners[5] = {{0}};
        struct heap heap = {0};
        struct heap_item *first;
        char order[6] = "";

        for (int n = 0; n < 5; n++) {
            owners[n].number = n;
            heap_set(&heap, &owners[n].item, rows[i].keys[n]);
        }
        heap_set(&heap, &owners[0].item, rows[i].moved_to);
        for (int n = 0; n < 5 && (first = heap_first(&heap)); n++) {
            order[n] = (char)('0' + CONTAINER_OF(first, struct owner, item)->number);
            heap_remove(&heap, first);
        }
        EXPECT_STR(order, rows[i].order, rows[i].note);
        EXPECT(!heap_first(&heap), rows[i].note);
        heap_done(&heap);
    }
}

/* Whatever is set, moved and removed: what is left comes out in order. */
static void gives_in_order_what_is_left(void)
{
    struct heap_item all[COUNT] = {{0}}, *first;
    struct heap heap = {0};
    int64_t last = -1;
    size_t left = 0;

    srand(1);
    for (int n = 0; n < COUNT * 4; n++) {
        struct heap_item *item = &all[rand() % COUNT];

        if (rand() % 4 == 0)
            heap_remove(&heap, item);
        else
            heap_set(&heap, item, rand() % 100);
    }
    for (size_t i = 0; i < COUNT; i++)
        left += all[i].place != 0;
    EXPECT_INT(heap.count, left, "count");
    for (; (first = heap_first(&heap)); left--) {
        CU_ASSERT(first->key >= last);
        last = first->key;
        heap_remove(&heap, first);
        EXPECT_INT(first->place, 0, "removed");
    }
    EXPECT_INT(left, 0, "all came out");
    heap_done(&heap);
}

SUITE(heap, TEST(gives_the_lowest_first), TEST(gives_in_order_what_is_left))
