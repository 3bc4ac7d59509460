/*
 * The real clock: CLOCK_REALTIME for what people read, CLOCK_BOOTTIME for
 * durations and leases (it goes on while the machine sleeps).
 */
#pragma once

#include "engine/threads/clock.h"

extern const struct clock_source system_clock;

/* ms of CPU time that the calling thread has had. */
int64_t clock_thread_cpu(void);
