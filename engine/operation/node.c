#include "engine/operation/node.h"

#include <assert.h>

#include "engine/operation/private.h"

struct plan_change *operation_change(const struct node *node)
{
    return &node->operation->plan->changes[node->index];
}

/* ---- Phases ---- */

#define TO(phase) (1u << NODE_##phase)

static const unsigned transitions[] = {
    [NODE_PLANNED] = TO(INTENDED) | TO(SENT) | TO(APPLIED) | TO(OUTDATED) | TO(FINISHED) |
                     TO(TIMED_OUT) | TO(DEFERRED),
    [NODE_INTENDED] = TO(SENT) | TO(APPLIED) | TO(OUTDATED) | TO(FINISHED),
    [NODE_SENT] = TO(APPLIED) | TO(OUTDATED),
    [NODE_OUTDATED] = TO(PLANNED),
    [NODE_APPLIED] = TO(OUTDATED),
    [NODE_FINISHED] = 0,
    [NODE_TIMED_OUT] = TO(DEFERRED),
    [NODE_DEFERRED] = 0,
};

void node_move(struct node *node, enum step_kind step, enum node_phase to)
{
    enum node_phase from = node->phases[step];

    assert(from == to || transitions[from] & 1u << to);
    node->phases[step] = to;
}

bool node_is_applied(const struct node *node, enum step_kind step)
{
    return node->phases[step] == NODE_APPLIED || node->phases[step] == NODE_FINISHED;
}

enum step_kind node_only_step(const struct node *node)
{
    return operation_change(node)->resource ? STEP_APPLY : STEP_DELETE;
}
