/* Clocks for tests of the engine, which has none. */
#ifndef TEST_UNIT_ENGINE_WALK_TEST_CLOCK_H
#define TEST_UNIT_ENGINE_WALK_TEST_CLOCK_H

#include "engine/base/clock.h"

/* Real time, ms. */
extern const struct clock_source test_clock;

/* It jumps to what is waited for: for one worker. */
extern const struct clock_source jumping_clock;
extern int64_t jumping_now;

#endif
