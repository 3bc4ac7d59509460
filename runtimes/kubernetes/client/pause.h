/*
 * Sleeps that a cancel ends early.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/threads/cancel.h"

/* Blocks for `delay` ms. False: cancel fired, perhaps before. */
bool pause_for(int64_t delay, struct cancel *cancel);
