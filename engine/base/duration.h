/*
 * Durations as Go and Kubernetes write them: "1h30m", "10m0s", "250ms", "0".
 */
#pragma once

#include <stdint.h>

/* In ms, rounded up. -1: not a duration, negative, or too large. */
int64_t duration_parse(const char *text);

/* "1h30m", "10m", "1m30s"; parts of a second are left out. free() it. */
char *duration_show(int64_t ms);
