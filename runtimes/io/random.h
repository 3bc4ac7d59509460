/*
 * Random bytes and numbers; and random delays (jitter), so that many clients do not retry at the
 * same moment. All are good enough for keys. Thread-safe.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

void random_fill(void *bytes, size_t length);
/* Uniform in [0, bound); 0 where bound is 0. */
uint64_t random_below(uint64_t bound);

/* The delay before attempt n (from 0), in ms: base doubled n times, at most maximum, and of that a
 * random part between half and all. */
int64_t backoff_delay(unsigned attempt, int64_t base, int64_t maximum);
