#include "engine/state/action.h"

#include "engine/base/cleanup.h"
#include "engine/base/str.h"

static const char *const names[] = {
    [PLAN_NONE] = "none",         [PLAN_UNCHANGED] = "unchanged", [PLAN_READ] = "read",
    [PLAN_CREATE] = "create",     [PLAN_ADOPT] = "adopt",         [PLAN_UPDATE] = "update",
    [PLAN_REPLACE] = "replace",   [PLAN_DELETE] = "delete",       [PLAN_FORGET] = "forget",
    [PLAN_DEFERRED] = "deferred", [PLAN_UNKNOWN] = "unknown",
};

const char *plan_action_name(enum plan_action action)
{
    return names[action];
}

bool plan_action_parse(const char *name, enum plan_action *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (str_equal(names[i], name)) {
            *ret = (enum plan_action)i;
            return true;
        }
    return false;
}
