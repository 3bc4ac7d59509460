/*
 * An executor under a clock that a test moves, and tasks that do as they are
 * told: so many pieces of work, held where a test wants to look.
 */
#pragma once

#include <unistd.h>

#include "engine/executor/executor.h"
#include "test/unit/engine/executor/still_clock.h"
#include "test/unit/suite.h"

#define STAGE_ACTORS 32

struct stage;

struct actor {
    struct stage *stage;
    struct task *task;
    char name;
    /* Under the stage's lock. */
    int pieces;                          /* left to do */
    int64_t due;                         /* of its answer, when there are none left */
    bool is_held;                        /* calls of run that do a piece do not end */
    bool holds_all;                      /* nor do those that have found nothing to do */
    unsigned runs;                       /* calls of run that have looked */
    unsigned ended;                      /* those that have ended */
    void (*during)(struct actor *actor); /* a piece; may be NULL; without the lock */
};

struct stage {
    struct still_clock clock;
    struct executor *executor;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char log[1024]; /* names, as their pieces began */
    size_t n_log;
    struct actor actors[STAGE_ACTORS];
    size_t n_actors;
};

void stage_init(struct stage *stage, unsigned threads, unsigned max_threads);
void stage_done(struct stage *stage); /* tasks that are left go before */

/* With no piece to do, due never. */
struct actor *stage_add(struct stage *stage, const char *namespace_name, const char *name);
void actor_hold(struct actor *actor);
void actor_hold_all(struct actor *actor);
void actor_release(struct actor *actor);
void actor_give(struct actor *actor, int pieces); /* and pokes */
void actor_free(struct actor *actor);             /* and waits until its task is gone */
void stage_drop_task(struct task *task);          /* and waits until it is gone */
unsigned actor_runs(struct actor *actor);
unsigned actor_held(struct actor *actor); /* calls of run under way */

struct executor_stats stage_stats(struct stage *stage);
bool stage_is_quiet(struct stage *stage); /* all its threads wait, and nothing else does */
const char *stage_log(struct stage *stage);

/* Until it is so; a failure, if it is not after a long time. */
#define AWAIT(condition, note)                              \
    do {                                                    \
        for (int _i = 0; _i < 100000 && !(condition); _i++) \
            usleep(200);                                    \
        EXPECT(condition, note);                            \
    } while (0)
