/*
 * The action that a plan has for a resource, or that the last operation carried out on it.
 */
#pragma once

#include <stdbool.h>

enum plan_action {
    PLAN_NONE,      /* the object is not wanted and does not exist */
    PLAN_UNCHANGED, /* the object exists, as wanted */
    PLAN_READ,      /* the object is not ours, and is read when its turn comes: until then, nobody
                       knows what it is like */
    PLAN_CREATE,
    PLAN_ADOPT,     /* the object exists but State has no record of it: it becomes ours */
    PLAN_UPDATE,
    PLAN_REPLACE,   /* the object cannot be changed in place: it is deleted and created, in either
                       order */
    PLAN_DELETE,
    PLAN_FORGET,    /* the record leaves State; the object is left alone */
    PLAN_DEFERRED,  /* the resource can be planned only after another change: a later plan includes
                       it */
    PLAN_UNKNOWN,   /* the object could not be read: nothing is done */
};

const char *plan_action_name(enum plan_action action); /* "create" */
/* False: no action of that name. */
bool plan_action_parse(const char *name, enum plan_action *ret);
