/*
 * Sleeps that a cancel ends early.
 */
#ifndef RUNTIMES_KUBERNETES_CLIENT_PAUSE_H
#define RUNTIMES_KUBERNETES_CLIENT_PAUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/threads/cancel.h"

/* Blocks for `delay` ms. False: cancel fired, perhaps before. */
bool pause_for(int64_t delay, struct cancel *cancel);

#endif
