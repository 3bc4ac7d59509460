/*
 * Creates in doubt, as a person clears them up: one that was begun in the cloud, and whose outcome
 * nobody was told. What nobody knows of is taken away there, and its mark leaves State. No process
 * runs meanwhile.
 */
#pragma once

#include "test/unit/engine/operation/stage.h"

bool doubt_is_left(struct stage *stage);
/* How many things were taken away. */
unsigned doubt_clear(struct stage *stage);
/* How many other things of a Spec may be made while one is in doubt. */
unsigned doubt_most_others(const char *spec);
