/* A clock for tests of the engine, which has none: real time, ms. */
#ifndef TEST_UNIT_ENGINE_WALK_TEST_CLOCK_H
#define TEST_UNIT_ENGINE_WALK_TEST_CLOCK_H

#include "engine/base/clock.h"

extern const struct clock_source test_clock;

#endif
