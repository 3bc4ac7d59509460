#include "engine/plan/plan.h"

/* kusion.md, "Three-way live diff": prior, planned, live. */
static const enum plan_action table[2][2][3] = {
    [0][0] = {[PRESENCE_UNKNOWN] = PLAN_NONE,
              [PRESENCE_ABSENT] = PLAN_NONE,
              [PRESENCE_PRESENT] = PLAN_NONE},
    [0][1] = {[PRESENCE_UNKNOWN] = PLAN_UNKNOWN,
              [PRESENCE_ABSENT] = PLAN_CREATE,
              [PRESENCE_PRESENT] = PLAN_ADOPT},
    [1][0] = {[PRESENCE_UNKNOWN] = PLAN_UNKNOWN,
              [PRESENCE_ABSENT] = PLAN_FORGET,
              [PRESENCE_PRESENT] = PLAN_DELETE},
    [1][1] = {[PRESENCE_UNKNOWN] = PLAN_UNKNOWN,
              [PRESENCE_ABSENT] = PLAN_CREATE,
              [PRESENCE_PRESENT] = PLAN_UPDATE},
};

enum plan_action plan_decide(bool prior, bool planned, enum presence live)
{
    return table[prior][planned][live];
}
