/*
 * A runtime of things in memory, of the type "Cloud", with all that Kubernetes has not:
 *
 *   - a thing has no name there. It is found by an id that its creation gives, and that only State
 *     keeps: in the runtime's own memory, which must come back as it was given. Two creates make
 *     two things.
 *   - its fields `id`, `address`, `secret` (which is one) and `rev` are known after apply alone; an
 *     update makes another `rev`, a replacement another `id`
 *   - `x` and `ref` can be updated; another `fixed` makes it replaced, deleted first; another
 *     `swapped`, created first
 *   - what was not made to its end has to be replaced
 *   - calls may take long, fail half way, or end in doubt
 *   - where `extensions` have something unknown, nothing can be planned: it is deferred
 *   - there is no bulk look, nothing to subscribe to, no uid, no digest of fields
 *
 * What it does goes into the world's log as "create d", "update d", "delete d". Faults are set for
 * a name and stay until they are set anew. It checks what it is given, and how: fake_world_lie().
 */
#pragma once

#include "engine/runtime.h"
#include "test/unit/engine/operation/fake_world.h"

#define FAKE_CLOUD_TYPE  "Cloud"
#define FAKE_CLOUD_DOUBT 60000   /* ms: what is in doubt has an effect within that time or never */
#define FAKE_CLOUD_LIMIT 1800000 /* ms: no apply takes longer */

enum {
    CLOUD_REFUSED = 1 << 0,         /* apply is forbidden */
    CLOUD_BUSY = 1 << 1,            /* apply is ERR_UNAVAILABLE, and not sent */
    CLOUD_BUSY_ONCE = 1 << 2,       /* … at the first two tries */
    CLOUD_PARTIAL = 1 << 3,         /* a create makes it and fails: tainted */
    CLOUD_HALF = 1 << 4,            /* an update changes x alone, and fails */
    CLOUD_LOST = 1 << 5,            /* apply happens, its answer is lost */
    CLOUD_UNMADE = 1 << 6,          /* apply does not happen, its answer is lost */
    CLOUD_BLOCKS = 1 << 7,          /* apply does not answer before the fault is taken away */
    CLOUD_UNSEEN = 1 << 8,          /* cannot be looked at */
    CLOUD_KEPT = 1 << 9,            /* a delete fails */
    CLOUD_LINGERS = 1 << 10,        /* gone at the third look after its delete */
    CLOUD_UNHEALTHY = 1 << 11,      /* never gets ready */
    CLOUD_DEFERS = 1 << 12,         /* cannot be planned yet */
    CLOUD_SINGLE = 1 << 13,         /* there cannot be two at once */
    CLOUD_FINDABLE = 1 << 14,       /* found by its name, though its id is not known */
    CLOUD_OLD_FAILS = 1 << 15,      /* the old half of a replacement cannot be planned */
    CLOUD_HANGS = 1 << 16,          /* apply takes 10 s and is ERR_UNAVAILABLE, for 300 times */
    CLOUD_PLAN_BLOCKS = 1 << 17,    /* plan waits for the test */
    CLOUD_DEFERS_REMOVAL = 1 << 18, /* after the first plan */
    CLOUD_DELETE_CONFLICTS = 1 << 19,
    CLOUD_UNBOUND = 1 << 20,       /* not ready, and releases its dependents */
    CLOUD_UNKNOWN = 1 << 21,       /* what was made has a field that is not known */
    CLOUD_TWICE = 1 << 22,         /* a create is sent twice: the second is answered */
    CLOUD_IMPORTS = 1 << 23,       /* what State has no record of is there, and is adopted */
    CLOUD_READS = 1 << 24,         /* it is only read: its address is `reading` */
    CLOUD_WARNS = 1 << 25,         /* of its secret, in plan and apply */
    CLOUD_QUOTES = 1 << 28,        /* the address of what is made quotes x */
    CLOUD_QUOTES_AS_KEY = 1 << 29, /* its members have x as a key */
    CLOUD_DEFERS_ANEW = 1 << 27,   /* with CLOUD_BUSY_ONCE: cannot be planned when it was busy,
                                      once */
    CLOUD_PLAN_HANGS = 1 << 26,    /* plan takes `plan_hangs`, and is ERR_TIMEOUT */
};

struct fake_thing {
    char *id;   /* "i3" */
    char *name; /* short_name() of the resource that it was made for */
    const struct value *attributes;
    unsigned rev, looks;
    bool terminating;
    bool quotes, quotes_as_key; /* its address has x in it; an object has it as a key */
    bool is_foreign;            /* others made it, and it is not ours yet */
};

struct fake_cloud {
    struct runtime base;
    struct fake_world *world;
    struct fake_thing *things;
    size_t n_things, capacity;
    struct fake_cloud_fault {
        const char *name;
        unsigned faults, tries;
    } faults[24];
    size_t n_faults;
    unsigned next_id, next_serial;
    unsigned creates, updates, deletes, reads;
    const char *reading;      /* NULL: it cannot be read */
    unsigned readings;        /* times that it was */
    unsigned opens;           /* calls of open() */
    unsigned given;           /* records that the last call of open() was given */
    unsigned open_blocks;     /* this call of open() does not answer before it is 0; 0: none */
    unsigned open_failures;   /* so many calls of open() are ERR_UNAVAILABLE */
    unsigned sessions, steps; /* that are there */
    unsigned blocked;         /* calls that wait for the test */
    int64_t takes;            /* ms: of each apply */
    bool no_limit;            /* steps have none */
    unsigned hung;            /* calls, of CLOUD_HANGS and CLOUD_PLAN_HANGS */
    int64_t plan_hangs;       /* ms; 0: until the call's deadline */
    bool makes_when_killed; /* what was sent takes place, though the process is killed meanwhile */
};

void fake_cloud_init(struct fake_cloud *cloud, struct fake_world *world);
void fake_cloud_done(struct fake_cloud *cloud); /* tells what was leaked */

/* Wakes what is blocked by CLOUD_BLOCKS where that is not among the faults any more. */
void fake_cloud_fault(struct fake_cloud *cloud, const char *name, unsigned faults);
/* The n-th call of open() does not answer before this is set to 0. */
void fake_cloud_block_open(struct fake_cloud *cloud, unsigned n);
/* Until a call is blocked, or some real seconds have passed: false. */
bool fake_cloud_await_blocked(struct fake_cloud *cloud);

/* The first of that name. */
struct fake_thing *fake_cloud_find(const struct fake_cloud *cloud, const char *name);
void fake_cloud_drop(struct fake_cloud *cloud, const char *name);
/* Somebody else makes it. */
void fake_cloud_put(struct fake_cloud *cloud, const char *name, const char *x, const char *fixed);
/* Someone changes its x. */
void fake_cloud_drift(struct fake_cloud *cloud, const char *name, const char *x);

/* By name: "d=1*k~s@addr-a": x, fixed, swapped, ref; - terminating. An id of a thing that is there
 * shows as "#d", of one that is not as "#?". */
char *fake_cloud_text(const struct fake_cloud *cloud);

/* The id of the thing that a record's memory is of; NULL: it has none. Borrowed. */
const char *fake_cloud_id(const struct record *record);

/* ---- For fake_cloud_ops.c and fake_cloud_plan.c; with the world's lock held ---- */

extern const struct runtime_ops fake_cloud_ops;

unsigned fake_cloud_faults(const struct fake_cloud *cloud, const char *id);
/* The try that this is, from 1, of what goes wrong at the first. */
unsigned fake_cloud_try(struct fake_cloud *cloud, const char *id);
struct fake_thing *fake_cloud_by_id(const struct fake_cloud *cloud, const char *id);
struct fake_thing *fake_cloud_add(struct fake_cloud *cloud, const char *name,
                                  const struct value *attributes);
void fake_cloud_remove(struct fake_cloud *cloud, struct fake_thing *thing);
