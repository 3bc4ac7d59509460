/* What the tests of operations bring: a runtime in memory. */
#include "test/unit/engine/operation/fake_runtime.c"
