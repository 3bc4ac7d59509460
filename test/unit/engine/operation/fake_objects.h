/*
 * A runtime of objects in memory, of the type "Kubernetes": objects have names that are given, so
 * that each can be looked at, and carry the mark of their owner. What it does goes into the world's
 * log as "create a", "patch a", "delete a"; an apply that changes nothing is no step.
 *
 * What carries rights is gone at once when it is deleted; a Namespace takes along what is in it.
 * Of anything else a delete is accepted, and it takes a look to know that it is gone.
 *
 * An object's `status` is the fake's: {phase, address: "addr-<name>"}; its health is its phase.
 * Faults are set for a name, or "*" for all, and stay until they are set anew.
 *
 * It checks what it is given, and how: see fake_world_lie().
 */
#pragma once

#include "engine/graph/relations.h"
#include "engine/runtime.h"
#include "test/unit/engine/operation/fake_world.h"

#define FAKE_OBJECTS_TYPE "Kubernetes"
#define FAKE_EFFECT_TIME  20000 /* ms after it was sent that a create may still be carried out */

enum {
    FAKE_REFUSED = 1 << 0,         /* apply is forbidden */
    FAKE_REFUSED_DRY = 1 << 1,     /* a dry-run is */
    FAKE_UNHEALTHY = 1 << 2,       /* never gets ready */
    FAKE_SICK = 1 << 3,            /* has failed for good */
    FAKE_SLOW = 1 << 4,            /* ready at the third look; gone at the third after a delete */
    FAKE_LOST = 1 << 5,            /* apply happens, its answer is lost */
    FAKE_OURS_APPEARS = 1 << 6,    /* just before apply there is an object: of ours */
    FAKE_NOBODYS_APPEARS = 1 << 7, /* … of nobody's */
    FAKE_OTHERS_APPEARS = 1 << 8,  /* … of another tool's */
    FAKE_UNSEEN = 1 << 9,          /* cannot be looked at */
    FAKE_VANISHES = 1 << 10,       /* gone when it is read, though prefetch saw it */
    FAKE_REPLACED = 1 << 11,       /* another object has its name just before it is deleted */
    FAKE_STUCK = 1 << 12,          /* a delete begins and does not end */
    FAKE_KEPT = 1 << 13,           /* a delete is forbidden */
    FAKE_GUARDED = 1 << 14,        /* what would go with it is not ours */
    FAKE_CHANGES = 1 << 15,        /* changes once just before apply */
    FAKE_TAKEN = 1 << 16,          /* another Spec takes it just before apply */
    FAKE_CLAIM =
        1 << 17, /* ready when there is another object, too, and has a status.volume then */
    FAKE_HOLDS = 1 << 18,         /* what depends on it must wait until it is ready */
    FAKE_BUSY = 1 << 19,          /* apply and delete are ERR_UNAVAILABLE */
    FAKE_BUSY_ONCE = 1 << 20,     /* … at the first two tries */
    FAKE_PLAN_503_ONCE = 1 << 21, /* prefetch does not see it, and the first plan is a 503 */
    FAKE_LATE = 1 << 22,          /* apply: first in doubt (may come later), then refused */
    FAKE_TWICE = 1 << 23,         /* a create is sent twice: the second is answered, the first is
                                     carried out later, if it still can be */
    FAKE_HELD = 1 << 24,          /* the process is killed while a create is on its way, which is
                                     carried out later */
    FAKE_CHANGES_OFTEN = 1 << 25, /* changes just before each of the first seven tries */
    FAKE_EDITED = 1 << 26,        /* another edits it just before each time that it is read */
};

/* Whose an object is, by the mark that it carries. */
enum owner_kind {
    OWNER_NONE,  /* nobody's that we know of */
    OWNER_SELF,  /* this Spec's */
    OWNER_SPEC,  /* another Spec's */
    OWNER_OTHER, /* another tool's */
};

struct fake_object {
    char *key; /* kind and name */
    const char *name;
    char *uid;
    const struct value *attributes;
    enum owner_kind owner;
    unsigned version;
    bool made; /* by apply: State has to know of it */
    bool terminating;
    unsigned looks; /* at it, since it was made or its deletion began */
};

/* A create on its way. */
struct fake_late {
    const struct value *attributes;
    int64_t at; /* when it is carried out */
};

struct fake_subscription {
    char *key;
    runtime_on_event *on_event;
    void *arg;
};

struct fake_objects {
    struct runtime base;
    struct fake_world *world;
    struct fake_object *objects;
    size_t n_objects, capacity;
    struct fake_subscription **subscriptions;
    size_t n_subscriptions, subscriptions_capacity;
    struct fake_fault {
        const char *name;
        unsigned faults, tries;
    } faults[24];
    size_t n_faults;
    unsigned next_uid;
    unsigned creates, previews, reads, guards;
    unsigned sessions, steps; /* that are there */
    bool account_must_exist;  /* "robot", unless it may have gone before */
    bool rights_are_bound;    /* without a RoleBinding nothing may be looked at or deleted */
    bool relate_fails;
    struct fake_late *late;
    size_t n_late, late_capacity;
    int64_t late_after; /* ms that late creates take; less than FAKE_EFFECT_TIME */
    const char *rewrites; /* into data.x of what is created, by a webhook: a thorough plan shows it;
                             "?": another value each time; NULL: nothing */
    const char *words; /* of refusals, and of what is not ready; NULL: none of its own */
    bool hints; /* subscriptions tell of each look, as if that changed the object */
};

void fake_objects_init(struct fake_objects *objects, struct fake_world *world);
void fake_objects_done(struct fake_objects *objects); /* tells what was leaked */

void fake_fault(struct fake_objects *objects, const char *name, unsigned faults);

/* A ConfigMap {data: {x}} that is there without our doing; it takes the place of one that is. */
struct fake_object *fake_put(struct fake_objects *objects, const char *name, const char *x,
                             enum owner_kind owner);
struct fake_object *fake_find(const struct fake_objects *objects, const char *name);
void fake_drop(struct fake_objects *objects, const char *name);

/* All late creates are carried out; or none is. */
void fake_land_late(struct fake_objects *objects);
void fake_lose_late(struct fake_objects *objects);

/* Someone changes its data.x. */
void fake_drift(struct fake_objects *objects, const char *name, const char *x);

/* Someone changes what is not ours of it. */
void fake_touch(struct fake_objects *objects, const char *name);

/* By name: "a=1 b@addr-a c~": data.x, data.ref, and ~ nobody's, ^ another Spec's, ! another
 * tool's, - terminating. */
char *fake_objects_text(const struct fake_objects *objects);

/* ---- For fake_objects_plan.c and fake_objects_ops.c; with the world's lock held ---- */

extern const struct runtime_ops fake_objects_ops;

struct runtime_session {
    struct fake_objects *objects;
    unsigned refs;
    bool terminating, inherited, thorough;
};
void fake_objects_session_unref(struct runtime_session *session);

/* What one look showed; prefetch's detail. */
struct fake_look {
    enum owner_kind owner;
    unsigned version;
};

struct fake_step {
    struct runtime_step base;
    struct runtime_session *session; /* a reference */
    char *id, *text_uid;
    struct fake_look seen;
    bool is_applied; /* and its outcome was told */
};

/* fake_world_enter(), and what is late by now is carried out. */
int fake_objects_enter(struct fake_objects *objects, struct error *error);
void fake_objects_send_late(struct fake_objects *objects, const struct value *attributes);
unsigned fake_objects_faults(struct fake_objects *objects, const char *id);
/* The try that this is, from 1, of what goes wrong at the first. */
unsigned fake_objects_try(struct fake_objects *objects, const char *id);
struct fake_object *fake_objects_at(const struct fake_objects *objects,
                                    const struct value *attributes);
struct fake_object *fake_objects_add(struct fake_objects *objects, const struct value *attributes,
                                     enum owner_kind owner);
/* It is gone, and with a Namespace all that is in it. */
void fake_objects_drop(struct fake_objects *objects, struct fake_object *object);
void fake_objects_look(struct fake_objects *objects, const struct fake_object *object, bool wholly,
                       struct observation *ret);
/* A look that may be the last: what was slow to go is gone. */
struct fake_object *fake_objects_read(struct fake_objects *objects, const char *id,
                                      const struct value *attributes);
bool fake_objects_may(const struct fake_objects *objects);
bool fake_objects_is(const struct value *attributes, const char *kind);
/* With what is secret of its kind marked. A reference. */
const struct value *fake_objects_mark(const struct value *attributes);
/* As the world keeps it, which knows nothing of secrets that came from elsewhere. A reference. */
const struct value *fake_without_marks(const struct value *value);

int fake_objects_plan(struct runtime_session *session, const struct runtime_target *target,
                      const struct observation *hint, const struct runtime_call *call,
                      struct runtime_step **ret, struct error *error);
int fake_objects_relate(struct runtime *runtime, const struct runtime_scope *scope,
                        const struct runtime_target *targets, size_t n, struct relations *ret,
                        struct error *error);
