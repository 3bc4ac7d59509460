/*
 * One operation of one Spec: preview, apply or destroy, over the tables of
 * functions that a runtime and a store are. What Kusion's engine does.
 *
 *   operation_new()      opens the runtimes' sessions, loads State
 *   operation_plan()     looks at the world, decides, dry-runs
 *   operation_apply()    intents into State, the walk, State as results come, prune
 *   operation_destroy()  dependents first, from State alone
 *
 * Killed at any point and begun again, an operation ends in the same place:
 * State is written before the first create and before deletes, and what it
 * says is checked against the world each time.
 *
 * An operation is used by one thread; its walks have threads of their own,
 * and on_progress is called from those, one at a time.
 */
#ifndef ENGINE_OPERATION_OPERATION_H
#define ENGINE_OPERATION_OPERATION_H

#include "engine/base/clock.h"
#include "engine/plan/plan.h"
#include "engine/runtime.h"
#include "engine/spec/spec.h"
#include "engine/state/store.h"

enum result_status {
    RESULT_PENDING,
    RESULT_SUCCEEDED,
    RESULT_FAILED,
    RESULT_SKIPPED,
    RESULT_CANCELLED,
    RESULT_TIMED_OUT,
};

/* How it went with one change of the plan. */
struct operation_result {
    const char *id;
    enum plan_action action;
    enum result_status status;
    struct error error;   /* why not; for TIMED_OUT, what was waited for */
    int64_t started, ended; /* ms, monotonic; 0: not */
};

struct operation_results {
    struct operation_result *items; /* as the plan's changes; of a destroy, as State's records */
    size_t count;
    struct arena arena;
};
void operation_results_done(struct operation_results *results);

struct operation_config {
    const struct clock_source *clock;
    struct cancel *cancel;
    struct state_store *store;
    struct runtime *const *runtimes;
    size_t n_runtimes;
    struct runtime_scope scope; /* its cancel is the operation's; identity is referenced */
    unsigned parallelism;
    int64_t timeout; /* ms for all of it */
    int64_t epoch;   /* of the leader */

    /* A resource's result has changed: begun, or ended. May be NULL. */
    void (*on_progress)(void *arg, const struct operation_result *result);
    /* At each look at a resource that has to be waited for: its error says what for. From several
     * threads at once. May be NULL. */
    void (*on_pending)(void *arg, const struct operation_result *result);
    void *arg;

    /* true: from now on there is nothing to do but to wait for the world, to get healthy or to be
     * gone; false: there is again. In turns, beginning with true and ending with false; quick, and
     * from the walk's threads, under its lock. May be NULL. */
    void (*on_wait)(void *arg, bool waits);
    void *on_wait_arg;
};

struct operation;

/* State that does not exist is an empty one. ERR_CORRUPT: it is damaged. */
int operation_new(const struct operation_config *config, struct operation **ret,
                  struct error *error);
void operation_free(struct operation *operation);
DEFINE_CLEANUP(struct operation *, operation_free)

/* From now on it takes so many ms at most, and no more than before. */
void operation_limit(struct operation *operation, int64_t ms);

/* As loaded, and as this operation changes it. */
const struct state *operation_state(const struct operation *operation);
/* False: there is none in the store. */
bool operation_has_state(const struct operation *operation);
/* State was made under another uid of the Spec. Nothing of it is deleted without our label on the
 * object as well as its uid. */
bool operation_is_inherited(const struct operation *operation);

enum plan_depth {
    PLAN_SHALLOW, /* dry-runs only what is there and differs by its digest */
    PLAN_DEEP,    /* dry-runs creates too */
};

/* spec is borrowed by what follows. Problems of single resources are in their changes. */
int operation_plan(struct operation *operation, const struct spec *spec, enum plan_depth depth,
                   struct plan **ret, struct error *error);

/*
 * Carries the plan out as `revision`. `verify`: look at the health of what is unchanged, too.
 * 0: all succeeded. Else what stands for it in a condition; the results tell of each.
 */
int operation_apply(struct operation *operation, const struct spec *spec, const struct plan *plan,
                    int64_t revision, bool verify, struct operation_results *ret,
                    struct error *error);

/* 0: all that State names is gone, and so is State. */
int operation_destroy(struct operation *operation, int64_t revision, struct operation_results *ret,
                      struct error *error);

/* Forgets what State names, and leaves it in the world. */
int operation_orphan(struct operation *operation, struct error *error);

#endif
