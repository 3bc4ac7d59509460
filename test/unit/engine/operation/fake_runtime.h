/*
 * A runtime of objects in memory, of the type "Kubernetes". What it does goes into the world's log
 * as "create a", "patch a", "delete a"; an apply that changes nothing is no step.
 *
 * What carries rights is gone at once when it is deleted, and goes last: the ServiceAccount that the
 * identity {"account": name} names, then RoleBindings, then Roles. A Namespace takes along what is in
 * it.
 *
 * An object's `status` is the fake's: {phase, address: "addr-<name>"}; its health is its phase.
 * Faults are set for a name, and stay until they are set anew.
 */
#ifndef TEST_UNIT_ENGINE_OPERATION_FAKE_RUNTIME_H
#define TEST_UNIT_ENGINE_OPERATION_FAKE_RUNTIME_H

#include "engine/runtime.h"
#include "test/unit/engine/operation/fake_world.h"

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
    FAKE_VANISHES = 1 << 10,       /* gone when it is read, though observe saw it */
    FAKE_REPLACED = 1 << 11,       /* another object has its name just before it is deleted */
    FAKE_STUCK = 1 << 12,          /* a delete begins and does not end */
    FAKE_KEPT = 1 << 13,           /* a delete is forbidden */
    FAKE_GUARDED = 1 << 14,        /* what would go with it is not ours */
    FAKE_CHANGES = 1 << 15,        /* changes once just before apply */
    FAKE_TAKEN = 1 << 16,          /* another Spec takes it just before apply */
    FAKE_CLAIM = 1 << 17,          /* ready when there is another object, too, and has a status.volume then */
    FAKE_DEFINES = 1 << 18,        /* until it is ready nothing that depends on it can be made */
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

struct fake_runtime {
    struct runtime base;
    struct fake_world *world;
    struct fake_object *objects;
    size_t n_objects, capacity;
    struct fake_fault {
        const char *name;
        unsigned faults;
    } faults[16];
    size_t n_faults;
    unsigned next_uid;
    unsigned creates, previews, reads, guards;
    bool account_must_exist; /* "robot", unless it may have gone before */
    bool rights_are_bound; /* without a RoleBinding nothing may be looked at or deleted */
    bool hints; /* a watch gives hints at once, instead of being unsupported */
};

void fake_runtime_init(struct fake_runtime *runtime, struct fake_world *world);
void fake_runtime_done(struct fake_runtime *runtime);

void fake_fault(struct fake_runtime *runtime, const char *name, unsigned faults);

/* A ConfigMap {data: {x}} that is there without our doing; it takes the place of one that is. */
struct fake_object *fake_put(struct fake_runtime *runtime, const char *name, const char *x,
                             enum owner_kind owner);
struct fake_object *fake_find(const struct fake_runtime *runtime, const char *name);
void fake_drop(struct fake_runtime *runtime, const char *name);

/* Someone changes its data.x. */
void fake_drift(struct fake_runtime *runtime, const char *name, const char *x);

/* By name: "a=1 b@addr-a c~": data.x, data.ref, and ~ nobody's, ^ another Spec's, ! another
 * tool's, - terminating. */
char *fake_runtime_text(const struct fake_runtime *runtime);

#endif
