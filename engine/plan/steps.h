/*
 * The order in which a plan is carried out, as a graph of steps.
 *
 * A change is one step, or two: a replacement deletes the old object and
 * makes the new one, in either order. The rules, for x that depends on d:
 *
 *   apply(x)   after apply(d)
 *   delete(d)  after delete(x), if both go
 *   replaced, delete first:  apply(x) after delete(x); what depends on x goes before it
 *   replaced, create first:  delete(x) after apply(x), and after apply of all that
 *                            depends on it; what it depends on, and is replaced as
 *                            well, is created first, too
 *   where the rules close a circle, all that can be are created first
 *   replaced for what is not known yet:  delete(x) after apply(d), too, unless d
 *                            has to wait for that deletion itself
 *   what leaves the Spec goes when everything is applied (a barrier), unless
 *   a replacement that deletes first needs it gone
 *
 * New dependencies are the Spec's, those of deletions the records'.
 */
#ifndef ENGINE_PLAN_STEPS_H
#define ENGINE_PLAN_STEPS_H

#include "engine/graph/graph.h"
#include "engine/graph/relations.h"

enum step_kind {
    STEP_APPLY,   /* makes it so, or looks at it */
    STEP_DELETE,  /* takes the recorded object away */
    STEP_BARRIER, /* everything is applied; change: none */
};

struct step_node {
    enum step_kind kind;
    uint32_t change;
};

/* What the order depends on, of each change. */
struct step_change {
    bool applies;      /* it is to be there */
    bool deletes;      /* its recorded object is to go: it leaves, or is replaced */
    bool create_first; /* of one that does both; set for what has to follow suit, too */
    bool cannot_create_first;
    bool has_unknown;  /* whether it has to be replaced, is known when what it depends on is applied;
                          cleared where its deletion cannot wait for that */
    uint16_t rank;     /* lower ones are applied first and deleted last, where no edge says otherwise */
    uint32_t last;     /* relations.h: of what goes after everything else; 0: not */
};

struct steps_input {
    struct step_change *changes;
    uint32_t n_changes;
    const struct graph_edge *planned;  /* among changes that apply: from the Spec */
    size_t n_planned;
    const struct graph_edge *recorded; /* among changes that delete: from State */
    size_t n_recorded;
    const char *(*name)(void *arg, uint32_t change); /* for messages */
    void *arg;
};

struct steps {
    struct graph *graph;     /* over nodes */
    struct step_node *nodes;
    uint32_t n_nodes;
    uint32_t *apply, *delete; /* of each change: its node, or STEP_NONE */
    uint32_t barrier;         /* or STEP_NONE */
};
#define STEP_NONE UINT32_MAX

/* ERR_INVALID CyclicDependency: names the path. */
int steps_new(const struct steps_input *input, struct steps **ret, struct error *error);
void steps_free(struct steps *steps);
DEFINE_CLEANUP(struct steps *, steps_free)

#endif
