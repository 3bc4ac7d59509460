/* Values of tests. */
#ifndef TEST_UNIT_RUNTIMES_KUBERNETES_OBJECTS_VALUES_H
#define TEST_UNIT_RUNTIMES_KUBERNETES_OBJECTS_VALUES_H

#include "engine/value/value.h"

/* JSON of a test; a wrong one fails the test. */
const struct value *stage_value(const char *text);

#endif
