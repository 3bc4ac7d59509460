/* What the tests of operations bring: a store in memory, and the world that it shares with a
 * runtime. (Files that have names in common are not in one.) */
#include "test/unit/engine/operation/fake_store.c"
#include "test/unit/engine/operation/fake_world.c"
