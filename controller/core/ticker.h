/*
 * A thread that does something now and then: after each interval, until it is
 * freed.
 */
#pragma once

#include "engine/threads/clock.h"

struct ticker;

/* interval: ms from the start, or the end of one call, to the next. name: of the thread. */
struct ticker *ticker_new(const struct clock_source *clock, const char *name, int64_t interval,
                          void (*fn)(void *arg), void *arg);
/* fn is not called any more after it returns; a call that runs is waited for. NULL is accepted. */
void ticker_free(struct ticker *ticker);
