/*
 * What a plan would do to a resource, or what was last done to it.
 */
#ifndef ENGINE_STATE_ACTION_H
#define ENGINE_STATE_ACTION_H

#include <stdbool.h>

enum plan_action {
    PLAN_NONE,      /* neither wanted nor there */
    PLAN_UNCHANGED, /* there, as wanted */
    PLAN_CREATE,
    PLAN_ADOPT,     /* there, not in State: becomes ours */
    PLAN_UPDATE,
    PLAN_REPLACE,   /* cannot become as wanted: deleted and created, in either order */
    PLAN_DELETE,
    PLAN_FORGET,    /* leaves State; the world is not touched */
    PLAN_DEFERRED,  /* cannot be planned before something else is done: a later plan has it */
    PLAN_UNKNOWN,   /* could not be looked at: nothing is done */
};

const char *plan_action_name(enum plan_action action); /* "create" */
/* False: no action of that name. */
bool plan_action_parse(const char *name, enum plan_action *ret);

#endif
