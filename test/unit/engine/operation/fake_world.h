/*
 * What fakes share: a clock that is stepped, a log of what was done in the order in which it was
 * done, and the ways in which an operation is interrupted.
 *
 * A step is a change of the world or of the store: an object created, patched or deleted, a save,
 * a removal. A process is killed after a step: the step took place, its answer is never seen, and
 * nothing that is asked after it happens.
 *
 * The clock jumps to what is waited for, so that waiting takes no time; for one thread only. It
 * goes on by PACE whenever nothing happens for a real millisecond, for several; or it stands, until
 * the test moves it.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "engine/base/buf.h"
#include "engine/base/error.h"
#include "engine/threads/clock.h"
#include "engine/threads/permit.h"

enum fake_clock { FAKE_CLOCK_JUMPS, FAKE_CLOCK_PACES, FAKE_CLOCK_STANDS };

struct fake_world {
    struct clock_source clock; /* first: its functions get a pointer to it */
    _Atomic int64_t now;
    _Atomic enum fake_clock pace;
    int64_t step_takes; /* ms */

    pthread_mutex_t lock;   /* all that fakes hold; a leaf */
    pthread_cond_t changed; /* something that a call in flight may wait for */
    struct buf log;         /* "create a; save a; …" */
    struct buf lies;        /* what must never happen, and did; "" as it should be */
    unsigned steps;
    unsigned kill_at, cancel_at; /* after this step; 0: never */
    bool dead;
    bool is_fenced;       /* the permit refuses to act */
    struct permit permit; /* of every process */

    char **calls; /* ids of resources that a runtime is asked about at the moment */
    size_t n_calls, calls_capacity;

    /* The process ends ("Killed") or is to cancel what it does; without the lock. */
    void (*on_interrupt)(void *arg, const char *reason);
    void (*after_step)(void *arg); /* under the lock */
    void *arg;                     /* of both */
};

void fake_world_init(struct fake_world *world);
void fake_world_done(struct fake_world *world);

/* Begins a new process, with what the old one left. */
void fake_world_start(struct fake_world *world);
/* From now on there is no answer for the process, and calls in flight end. */
void fake_world_kill(struct fake_world *world);
/* Whether the permit refuses to act. */
void fake_world_fence(struct fake_world *world, bool is_fenced);
void fake_world_pass(struct fake_world *world, int64_t ms);

/* Locks. Not 0, and unlocked again: there is no answer for this process (any more). */
int fake_world_enter(struct fake_world *world, struct error *error);
/* Logs a step and unlocks. Not 0: its answer is never seen. */
int fake_world_step(struct fake_world *world, struct error *error, const char *format, ...)
    PRINTF_LIKE(3, 4);
void fake_world_leave(struct fake_world *world);
/* With the lock held. */
void fake_world_lie(struct fake_world *world, const char *format, ...) PRINTF_LIKE(2, 3);

/* Around each call about a resource, without the lock: two at once for one id are a lie. */
void fake_world_call(struct fake_world *world, const char *id);
void fake_world_return(struct fake_world *world, const char *id);

/* "web" of "v1:ConfigMap:team:web": what logs and tables call a resource. */
const char *short_name(const char *id);
