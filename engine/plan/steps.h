/*
 * The order in which a plan is carried out, as a graph of steps.
 *
 * A change is one step, or two: a replacement creates the new object (apply) and deletes the old
 * one, in either order. If x depends on d:
 *
 *   - apply(x) comes after apply(d).
 *   - delete(d) comes after delete(x), if both are deleted.
 *
 * If x is replaced:
 *
 *   - Delete first: apply(x) comes after delete(x). So all that depended on the old x and is
 *     deleted, is deleted before it.
 *   - Create first: delete(x) comes after apply(x), and after apply of all that depends on x. If d
 *     is replaced, too, it is also created first.
 *   - Delete first, and it is not known yet if x has to be replaced at all (has_unknown): delete(x)
 *     also comes after apply(d), which tells. Not if d itself has to wait for delete(x).
 *
 * A resource that left the Spec is deleted when everything is applied: after the barrier. Not if a
 * replacement that deletes first has to wait for this deletion. The resources with `last` are
 * deleted after everything else.
 *
 * If these rules form a cycle, every replacement that can is created first, which may resolve it.
 *
 * The dependencies of applies are those of the Spec. The dependencies of deletions are those of the
 * records in State.
 */
#pragma once

#include "engine/graph/graph.h"
#include "engine/graph/relations.h"

enum step_kind {
    STEP_APPLY,   /* creates or updates the object, or only reads it */
    STEP_DELETE,  /* deletes the recorded object */
    STEP_BARRIER, /* everything is applied; change: STEP_NONE */
};

struct step_node {
    enum step_kind kind;
    uint32_t change; /* its index */
};

/* The facts about a change that its steps depend on. A replacement applies and deletes. */
struct step_change {
    bool applies;             /* the object is to exist */
    bool deletes;             /* the recorded object is to be deleted */
    bool create_first;        /* of a replacement; steps_new() also sets it where the rules do */
    bool cannot_create_first; /* of a replacement */
    /* The dependencies must be applied before it is known if this is a replacement. steps_new()
     * clears it where the deletion cannot wait for them. */
    bool has_unknown;
    uint16_t rank; /* where edges allow it, lower ranks are applied first and deleted last */
    uint32_t last; /* not 0: it is deleted after everything else, in this order (relations.h) */
};

struct steps_input {
    struct step_change *changes;
    uint32_t n_changes;
    const struct graph_edge *planned; /* of the Spec, between changes that apply */
    size_t n_planned;
    const struct graph_edge *recorded; /* of State, between changes that delete */
    size_t n_recorded;
    const char *(*name)(void *arg, uint32_t change); /* of a change, for messages */
    void *arg;
};

struct steps {
    struct graph *graph; /* its nodes are the indexes of `nodes` */
    struct step_node *nodes;
    uint32_t n_nodes;
    uint32_t *apply, *delete; /* for each change: its node, or STEP_NONE */
    uint32_t barrier;         /* its node, or STEP_NONE */
};
#define STEP_NONE UINT32_MAX

/* ERR_INVALID CyclicDependency: the message shows the cycle. */
int steps_new(const struct steps_input *input, struct steps **ret, struct error *error);
void steps_free(struct steps *steps);
DEFINE_CLEANUP(struct steps *, steps_free)
