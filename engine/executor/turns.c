#include "engine/executor/turns.h"

#include <assert.h>
#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"

void share_init_root(struct share *root)
{
    *root = (struct share){.turn.is_share = true, .shares = STRMAP_INIT};
    TAILQ_INIT(&root->queue);
}

void share_done_root(struct share *root)
{
    assert(!root->n_below);
    strmap_done(&root->shares);
}

struct share *share_get(struct share *parent, const char *name)
{
    struct share *share = strmap_get(&parent->shares, name);

    if (share)
        return share;
    share = NEW(struct share);
    share->turn.parent = parent;
    share->turn.is_share = true;
    TAILQ_INIT(&share->queue);
    share->name = str_new(name);
    strmap_put(&parent->shares, share->name, share);
    parent->n_below++;
    return share;
}

static void drop_unused(struct share *share)
{
    struct share *parent;

    for (; !share->n_below && (parent = share->turn.parent); share = parent) {
        strmap_remove(&parent->shares, share->name);
        parent->n_below--;
        strmap_done(&share->shares);
        free(share->name);
        free(share);
    }
}

void turn_init_leaf(struct turn *leaf, struct share *parent)
{
    *leaf = (struct turn){.parent = parent};
    parent->n_below++;
}

void turn_done_leaf(struct turn *leaf)
{
    turn_leave(leaf);
    leaf->parent->n_below--;
    drop_unused(leaf->parent);
}

static bool is_blocked(const struct turn *turn)
{
    return turn->is_share && ((const struct share *)turn)->is_blocked;
}

void turn_wait(struct turn *leaf)
{
    for (struct turn *turn = leaf; turn->parent && !turn->waits && !is_blocked(turn);
         turn = &turn->parent->turn) {
        TAILQ_INSERT_TAIL(&turn->parent->queue, turn, place);
        turn->waits = true;
    }
}

void turn_leave(struct turn *leaf)
{
    for (struct turn *turn = leaf; turn->parent && turn->waits; turn = &turn->parent->turn) {
        TAILQ_REMOVE(&turn->parent->queue, turn, place);
        turn->waits = false;
        if (!TAILQ_EMPTY(&turn->parent->queue))
            break;
    }
}

void share_block(struct share *share)
{
    share->is_blocked = true;
    turn_leave(&share->turn);
}

void share_unblock(struct share *share)
{
    share->is_blocked = false;
    if (!TAILQ_EMPTY(&share->queue))
        turn_wait(&share->turn);
}

struct turn *share_next(struct share *share)
{
    struct turn *turn = TAILQ_FIRST(&share->queue);

    if (turn) {
        TAILQ_REMOVE(&share->queue, turn, place);
        TAILQ_INSERT_TAIL(&share->queue, turn, place);
    }
    return turn;
}

struct turn *turn_next(struct share *root)
{
    struct turn *turn = share_next(root);

    while (turn && turn->is_share)
        turn = share_next((struct share *)turn);
    return turn;
}
