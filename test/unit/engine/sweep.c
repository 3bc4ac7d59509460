#include "test/unit/engine/sweep.h"

#include <stdbool.h>
#include <stdlib.h>

#define STEP  3 /* of a sample */
#define TIMES 5

static bool is_whole(void)
{
    return getenv("KUSION_TEST_LONG") != NULL;
}

static unsigned step(void)
{
    return is_whole() ? 1 : STEP;
}

unsigned sweep_first(unsigned row)
{
    return 1 + row % step();
}

unsigned sweep_next(unsigned n)
{
    return n + step();
}

unsigned sweep_times(unsigned all)
{
    return is_whole() ? all : all / TIMES;
}
