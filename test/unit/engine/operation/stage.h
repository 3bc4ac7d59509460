/*
 * A stage for operations: a world, two runtimes and a store, all fakes, and Specs written in short:
 *
 *     "a=1 b=2:a c@a:b,a Secret/s=x@t.data.x Cloud/d=1*red~big@a^b"
 *
 * is the ConfigMaps a {data.x: "1"}, b, which depends on a, c, whose data.ref is a reference to
 * a's status.address, a Secret whose data.ref is one to t's data.x, and a thing of the cloud d {x:
 * "1", fixed: "red", swapped: "big", ref: a's status.address}, whose extensions.region is b's. What
 * follows * and ~ may be a reference, too: "Cloud/e*@d" is fixed to d's id. Of things in the cloud,
 * @ and ^ refer to the address, * and ~ to the id, unless a path follows. "!3" says that what
 * revision 3 began to create is not there, and "?i1" that it has the import id i1.
 *
 * "Cloud/e=1<d" had the id of the thing d before.
 *
 * "a=&db" takes data.x from a secret store: it is ref://db/x, which stage.secrets has.
 *
 * "%a" is a in the API version v2. A Namespace/, ServiceAccount/, Role/ and RoleBinding/ are such,
 * too; a binding gives the Role "rule" to the account "robot", which the Spec acts as. "+a" is in
 * the Namespace "space". "-prune" and "-wait" switch these off.
 * "-health:a,b" waits for the ConfigMaps a and b, which are not its own.
 *
 * What comes of a run is text, too. Each run is a process of its own, unless the test has begun
 * one: all that it leaves is in the world and the store. After each step of one it is checked that
 * State names all that we made.
 */
#pragma once

#include "engine/operation/operation.h"
#include "test/unit/engine/operation/fake_cloud.h"
#include "test/unit/engine/operation/fake_objects.h"
#include "test/unit/engine/operation/fake_secrets.h"
#include "test/unit/engine/operation/fake_store.h"

#define STAGE_TIMEOUT 60000 /* ms */

struct stage {
    struct fake_world world;
    struct fake_objects objects;
    struct fake_cloud cloud;
    struct fake_store store;
    struct fake_secrets *secrets; /* NULL: nobody may know them */

    unsigned parallelism; /* 1: the order is that of ranks and of the Spec, and the clock jumps */
    const char *spec_uid; /* "spec-1" */
    int64_t epoch;        /* 1 */
    bool namespace_terminating, thorough, verify;
    bool for_approval; /* plans are to be approved */
    int64_t timeout;  /* ms; STAGE_TIMEOUT */
    bool may_forget;  /* State need not name all that we made */
    int64_t revision; /* of the last apply or destroy; counted up */
    const struct operation_recall *recall; /* State is behind this; NULL: it is not */
    const struct value *extensions; /* of the resources of a Spec that is destroyed; or NULL */
    const struct value *approved; /* the approved plan, as it is stored; NULL: none is needed */

    unsigned processes;      /* that were begun: each has a term of its own */
    struct ledgers *ledgers; /* of the process that runs; NULL: none does */
    struct executor *executor;
    struct operation *_Atomic running; /* what an interruption cancels */
    _Atomic unsigned changes;          /* times that on_change was called, of all runs */
    unsigned evict_at;                 /* it is parked so often, and then evicted; 0: never */
    _Atomic unsigned parked;           /* times */
    size_t most;                       /* bytes that an operation may hold; 0: without a bound */
    _Atomic size_t asked;              /* bytes that it asked for last */
    _Atomic size_t memory;             /* of the one that is parked; 0: none is */
    unsigned evictions;                /* that took place */
    _Atomic unsigned landed;           /* … and on_landed */

    struct error error; /* of the last run */
    bool inherited;     /* State was, when it began */
    struct buf results; /* "a succeeded; b failed" */
    struct buf actions; /* "delete a": what the results say was done */
    struct buf planned; /* "create a; unchanged b; c!Forbidden"; d' was deposed */
    struct buf diffs;   /* "data.x: 1 -> 2; …", of all changes */
    struct buf reasons; /* "d: fixed cannot be changed": of changes */
    struct buf causes;  /* "b: skipped: it depends on a": messages of what did not succeed */
    struct buf shown;   /* what the functions below return */
};

void stage_init(struct stage *stage);
void stage_done(struct stage *stage);
#define _cleanup_stage_ _cleanup_(stage_done)

/* Several threads, and a clock that goes on by itself. */
void stage_use_threads(struct stage *stage, unsigned parallelism);

/* Plan and apply; the code. What the plan said is in stage->planned. Evicted on the way, it is
 * begun again under the same revision. */
int stage_apply(struct stage *stage, const char *spec);
int stage_plan(struct stage *stage, const char *spec);
int stage_destroy(struct stage *stage);

/* Plans, and approves the plan: all that follows has to conform to it. spec NULL: destroy. */
void stage_approve(struct stage *stage, const char *spec);
/* No approval is needed any more. */
void stage_automate(struct stage *stage);

int stage_orphan(struct stage *stage);

/* No process is killed any more, no operation cancelled or evicted, no save refused. */
void stage_calm(struct stage *stage);

const char *stage_objects(
    struct stage *stage);                     /* fake_objects_text(), with "@#d" for the id of d */
const char *stage_cloud(struct stage *stage); /* fake_cloud_text() */
const char *stage_state(struct stage *stage); /* fake_store_text() */
const char *stage_log(const struct stage *stage);
/* The log without what the store did. */
const char *stage_deeds(struct stage *stage);

struct spec *stage_spec(const char *text);

/* ---- Step by step ---- */

/* A process, for several runs. Its end waits for the calls that are in flight. */
void stage_begin_process(struct stage *stage);
void stage_end_process(struct stage *stage);
/* Until no piece of work is under way in it: false, if that does not come. */
bool stage_await_idle(struct stage *stage);

/* One operation. */
struct run {
    struct stage *stage;
    struct operation *operation; /* NULL: it could not be made */
    int code;
};
void run_begin(struct run *run, struct stage *stage);
/* spec NULL: all is to go. Waits until it is planned. */
void run_plan(struct run *run, const char *spec);
void run_apply(struct run *run); /* does not wait */
enum operation_phase run_wait(struct run *run);
/* Until it is in the phase; false, if that does not come. */
bool run_await(struct run *run, enum operation_phase phase);
void run_cancel(struct run *run, const char *reason);
/* Frees it for its memory, as it is; the next run_apply() goes on under the same revision. */
void run_evict(struct run *run);
/* Changes that have ended, and that wait. */
size_t run_count_ended(const struct run *run);
size_t run_count_waiting(const struct run *run);
/* Shows what came of it; the code. */
int run_end(struct run *run);
