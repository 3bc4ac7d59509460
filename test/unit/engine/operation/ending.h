/*
 * How an operation ends: the world, State, and what was made on the way. So that one which was
 * disturbed can be compared with one that was not.
 */
#pragma once

#include "test/unit/engine/operation/stage.h"

struct ending {
    char objects[256], cloud[256], state[256];
    unsigned steps, objects_made, things_made;
};

struct ending ending_of(struct stage *stage);

/* cleared: things whose creation was in doubt, and that a person took away (doubt.h). */
void ending_expect(struct stage *stage, const struct ending *ending, unsigned cleared,
                   const char *note);
