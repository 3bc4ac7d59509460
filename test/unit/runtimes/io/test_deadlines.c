#include "runtimes/io/deadlines.h"

#include "runtimes/io/random.h"
#include "test/unit/suite.h"

#define COUNT 500

/* Whatever is set, moved and removed: what is left comes out in order. */
static void gives_them_in_order(void)
{
    struct deadline all[COUNT] = {{0}};
    struct deadlines deadlines = {0};
    struct deadline *first;
    size_t left = 0;
    int64_t last = -1;

    for (int n = 0; n < COUNT * 4; n++) {
        struct deadline *deadline = &all[random_below(COUNT)];

        if (random_below(4) == 0)
            deadlines_remove(&deadlines, deadline);
        else
            deadlines_set(&deadlines, deadline, (int64_t)random_below(100));
    }
    for (size_t i = 0; i < COUNT; i++)
        left += all[i].place != 0;
    EXPECT_INT(deadlines.count, left, "count");
    for (; (first = deadlines_first(&deadlines)); left--) {
        CU_ASSERT(first->at >= last);
        last = first->at;
        deadlines_remove(&deadlines, first);
        EXPECT_INT(first->place, 0, "removed");
    }
    EXPECT_INT(left, 0, "all came out");
    deadlines_done(&deadlines);
}

SUITE(deadlines, TEST(gives_them_in_order))
