/*
 * Whose turn it is: a tree in which each node gives those of its children that
 * wait a turn after another. A leaf (a task) that waits is in the queue of its
 * parent, which then is in that of its own, up to the root. So the next turn
 * is found in as many steps as the tree is high, and a child's share does not
 * depend on how much waits below its siblings.
 *
 * A share is an inner node with a name (a namespace, a Spec); it is there as
 * long as there is something below it. A share that is blocked gets no turns:
 * what waits below it keeps its place there. Not locked.
 */
#ifndef ENGINE_EXECUTOR_TURNS_H
#define ENGINE_EXECUTOR_TURNS_H

#include <stdbool.h>
#include <sys/queue.h>

#include "engine/base/strmap.h"

struct share;

struct turn {
    struct share *parent; /* NULL: the root */
    TAILQ_ENTRY(turn) place;
    bool waits;    /* it is in its parent's queue */
    bool is_share; /* not a leaf */
};

struct share {
    struct turn turn; /* first member */
    TAILQ_HEAD(, turn) queue;
    char *name;           /* NULL: the root */
    struct strmap shares; /* below it, by name */
    size_t n_below;       /* shares and leaves */
    unsigned n_running;   /* pieces of work under way below it; the user's own */
    bool is_blocked;
};

void share_init_root(struct share *root);
void share_done_root(struct share *root); /* there is nothing below it */

/* The share of that name below the parent; makes it if there is none. */
struct share *share_get(struct share *parent, const char *name);

void turn_init_leaf(struct turn *leaf, struct share *parent);
/* The leaf goes, and with it the shares that have nothing below them any more. */
void turn_done_leaf(struct turn *leaf);

/* The leaf waits from now on, as the last; nothing, if it does. */
void turn_wait(struct turn *leaf);
/* It waits no more; nothing, if it does not. */
void turn_leave(struct turn *leaf);

/* The share gets no turns, until it is unblocked; then it is the last of its siblings. */
void share_block(struct share *share);
void share_unblock(struct share *share);

/* The leaf whose turn it is; NULL: none waits. It goes on waiting, as the last, and so does each
 * share above it. */
struct turn *turn_next(struct share *root);

#endif
