/*
 * A stage for operations: a world, a runtime and a store, all fakes, and Specs written in short:
 *
 *     "a=1 b=2:a c@a:b,a Secret/s=x@t.data.x"
 *
 * is the ConfigMaps a {data.x: "1"}, b, which depends on a, c, whose data.ref is a reference to
 * a's status.address, and a Secret whose data.ref is one to t's data.x. "%a" is a in the API
 * version v2. A Namespace/, ServiceAccount/, Role/ and RoleBinding/ are such, too; a binding gives the
 * Role "rule" to the account "robot", which the Spec acts as. "+a" is in the Namespace "space". "-prune" and "-wait" switch these off.
 *
 * What comes of a run is text, too. Each run is a process of its own: all that it leaves is in the
 * world and the store. After each step of one it is checked that State names all that we made.
 */
#ifndef TEST_UNIT_ENGINE_OPERATION_STAGE_H
#define TEST_UNIT_ENGINE_OPERATION_STAGE_H

#include "engine/operation/operation.h"
#include "test/unit/engine/operation/fake_runtime.h"
#include "test/unit/engine/operation/fake_store.h"

#define STAGE_TIMEOUT 60000 /* ms */

struct stage {
    struct fake_world world;
    struct fake_runtime runtime;
    struct fake_store store;

    unsigned parallelism; /* 1 */
    const char *spec_uid; /* "spec-1" */
    bool namespace_terminating;
    bool verify;
    bool fired_before;   /* the operation's cancel, when it begins */
    bool may_forget; /* State need not name all that we made */
    int64_t revision; /* of the last apply or destroy; counted up */

    unsigned waited; /* times that it said so, of all runs */
    bool waits;      /* as it said last */

    struct error error; /* of the last run */
    bool inherited;     /* as it said */
    struct buf results; /* "a succeeded; b failed" */
    struct buf actions; /* "delete a": what the results say was done */
    struct buf progress; /* "a begins; a succeeded", as it was told */
    struct buf planned; /* "create a; unchanged b; update c!Forbidden" */
    struct buf diffs;   /* "data.x: 1 -> 2; …", of all changes */
    struct buf causes;  /* "b: skipped: it depends on a": messages of what did not succeed */
    struct buf shown;   /* what the functions below return */
};

void stage_init(struct stage *stage);
void stage_done(struct stage *stage);
#define _cleanup_stage_ _cleanup_(stage_done)

/* Plan (shallow) and apply; the code. What the plan said is in stage->planned. */
int stage_apply(struct stage *stage, const char *spec);
int stage_plan(struct stage *stage, const char *spec, enum plan_depth depth);
int stage_destroy(struct stage *stage);
int stage_orphan(struct stage *stage);

/* No process is killed any more, no operation cancelled, no save refused. */
void stage_calm(struct stage *stage);

const char *stage_objects(struct stage *stage); /* fake_runtime_text() */
const char *stage_state(struct stage *stage);   /* fake_store_text() */
const char *stage_log(const struct stage *stage);

struct spec *stage_spec(const char *text);

#endif
