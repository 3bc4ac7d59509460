/* Values of tests. */
#pragma once

#include "engine/value/value.h"

/* JSON of a test; a wrong one fails the test. */
const struct value *stage_value(const char *text);
