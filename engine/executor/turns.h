/*
 * Turns: a tree in which each node gives turns to its waiting children, round robin. A waiting leaf
 * (a task) is in its parent's queue, the parent is in the queue of its own parent, and so on up to
 * the root. So the next turn is found in as many steps as the tree is high, and the share of a
 * child does not depend on how many leaves wait below its siblings.
 *
 * A share is an inner node with a name (a namespace, a Spec). It exists as long as there is
 * something below it. A blocked share gets no turns; the leaves below it keep their places. Not
 * locked.
 */
#pragma once

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
    unsigned n_running;   /* pieces of work under way below it; kept by the caller */
    bool is_blocked;
};

void share_init_root(struct share *root);
void share_done_root(struct share *root); /* nothing may be below it */

/* Returns the share of that name below the parent; creates it if there is none. */
struct share *share_get(struct share *parent, const char *name);

void turn_init_leaf(struct turn *leaf, struct share *parent);
/* Removes the leaf, and the shares that have nothing below them any more. */
void turn_done_leaf(struct turn *leaf);

/* The leaf waits from now on, in the last place. Does nothing if it waits already. */
void turn_wait(struct turn *leaf);
/* The leaf waits no more. Does nothing if it does not wait. */
void turn_leave(struct turn *leaf);

/* The share gets no turns until it is unblocked. Then it is in the last place among its siblings.
 * */
void share_block(struct share *share);
void share_unblock(struct share *share);

/* Returns the child whose turn it is; NULL: none waits. The child moves to the last place, and
 * still waits. */
struct turn *share_next(struct share *share);

/* Returns the leaf whose turn it is; NULL: no leaf waits. The leaf and each share above it move to
 * the last place among their siblings, and still wait. */
struct turn *turn_next(struct share *root);
