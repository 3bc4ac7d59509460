/* Shared by the files of this folder. */
#ifndef ENGINE_OPERATION_PRIVATE_H
#define ENGINE_OPERATION_PRIVATE_H

#include <pthread.h>

#include "engine/graph/build.h"
#include "engine/operation/operation.h"
#include "engine/walk/walk.h"

struct operation {
    struct operation_config config; /* its strings are copies, in the arena */
    struct arena arena;
    struct runtime_session **sessions; /* of each runtime; NULL: not opened yet */
    int64_t deadline;

    pthread_mutex_t lock; /* state, version, saved_at, sessions, results' progress */
    struct state *state;
    char *version; /* of State in the store; NULL: there is none */
    bool inherited; /* State was made for a Spec of another uid: a restored backup, say */
    int64_t saved_at;
    bool saving; /* without the lock: one at a time */
    struct error save_error; /* the first save that failed: nothing is changed any more */

    struct graph *graph; /* of the Spec that was planned */
    struct node *nodes;  /* of each of its resources */
    size_t n_nodes;
};

/* What an operation knows of one of the Spec's resources. */
struct node {
    struct observation seen;
    const struct value *live; /* the object as last seen, where it was read, marked; a reference */
    const struct value *attributes; /* as last resolved, marked; a reference, or NULL */
    bool stale;               /* unchanged, but its record does not say so (an intent, say) */
    bool unknown;             /* its planned attributes hold values known after apply */
    bool applied;             /* by this operation */
    bool has_let_go;          /* what depends on it may go, though it is not ready; under the lock */
};

/* The runtime of a type, with its session opened. */
struct runtime_binding {
    const struct runtime_ops *ops;
    struct runtime_session *session;
};
int operation_bind(struct operation *operation, const char *type, struct runtime_binding *ret,
                   struct error *error);

/* Looks at all targets, whatever their runtimes. ret: zeroed. */
int operation_observe(struct operation *operation, const struct runtime_target *targets,
                      const char *const *types, size_t n, struct observation *ret,
                      struct error *error);

/* Whether what is there may be changed for us. recorded_uid: of State's record, or NULL. */
int operation_check_owner(const char *recorded_uid, const struct observation *seen,
                          struct error *error);

/* Writes State, and waits for it. Not while a walk runs. */
int operation_save(struct operation *operation, struct error *error);
/* The same from a walk's visits, if the last time was a while ago. The lock is held, and let go
 * of while the store works, so that other visits can go on recording. */
void operation_save_soon(struct operation *operation);
/* Whether anything may still be changed: not after a save that failed. */
int operation_may_change(struct operation *operation, struct error *error);

/* Ids of all that a resource of the Spec that was planned comes after. A reference. */
const struct value *operation_dependencies(const struct operation *operation,
                                           const struct spec *spec, size_t index);

void operation_report(struct operation *operation, struct operation_result *result);
void operation_report_pending(struct operation *operation, const struct operation_result *result);
void operation_wait(struct operation *operation, bool waits);
/* Sets what a walk's outcome says, for nodes that ended without a visit of their own. */
void operation_end(struct operation *operation, struct operation_result *result,
                   enum walk_outcome outcome, const char *why_skipped);
struct operation_result *operation_results_init(struct operation_results *results, size_t count);
/* What has no result is cancelled, for this error. */
void operation_results_abandon(struct operation_results *results, const struct error *error);
/* One error for all that did not succeed; 0: nothing. */
int operation_results_error(const struct operation_results *results, const char *what,
                            struct error *error);

/* The attributes of a resource with values for its references, from the live results of
 * others. planned: missing fields of what will change are unknown, not errors. Sensitive is what
 * is secret by their own kind, or comes from something that is. */
int operation_resolve(struct operation *operation, const struct spec *spec,
                      const struct plan *plan, size_t index, bool planned,
                      const struct value **ret, struct error *error);

/* The resource's object as the world has it, with what is secret of it marked: by its kind, and
 * where its attributes are, as last resolved or as recorded. A reference; NULL stays NULL. */
const struct value *operation_mark(struct operation *operation, const struct runtime_ops *ops,
                                   const struct resource *resource, const struct node *node,
                                   const struct value *object);
/* Keeps the object, marked, for what refers to it. */
void operation_set_live(struct operation *operation, const struct runtime_ops *ops,
                        const struct resource *resource, struct node *node,
                        const struct value *object);

/* Removes records' objects in reverse order of dependence. indices: which of the results are
 * for which record. */
struct removal {
    struct record *record;
    struct operation_result *result;
    struct observation seen;
    bool requested;
};
int operation_remove(struct operation *operation, struct removal *removals, size_t n,
                     struct error *error);
/* What becomes of a record's object that is no longer wanted. */
enum plan_action removal_action(const struct operation *operation, const struct record *record,
                                const struct observation *seen);

#endif
