#include "test/unit/engine/sweep.h"

#include <stdlib.h>

#define STEP 3 /* of a sample */

static unsigned step(void)
{
    return getenv("KUSION_TEST_LONG") ? 1 : STEP;
}

unsigned sweep_first(unsigned row)
{
    return 1 + row % step();
}

unsigned sweep_next(unsigned n)
{
    return n + step();
}
