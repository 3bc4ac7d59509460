/*
 * How long a caller waits for something that takes several requests. Without a deadline each
 * request may take 60 s.
 */
#pragma once

#include "engine/base/error.h"
#include "engine/threads/cancel.h"
#include "engine/threads/clock.h"

struct kube_wait {
    const struct clock_source *clock; /* NULL: there is no deadline */
    int64_t deadline;                 /* ms, monotonic, by the clock; CLOCK_FOREVER: none */
    struct cancel *cancel;            /* or NULL */
};

/* *ret: ms that the next request may take, 60 s at most. ERR_TIMEOUT: no time is left. */
int kube_wait_left(const struct kube_wait *wait, int64_t *ret, struct error *error);
