#include <unistd.h>

#include "engine/base/str.h"
#include "engine/plan/approved_value.h"
#include "engine/value/json.h"
#include "test/unit/engine/operation/stage_private.h"
#include "test/unit/suite.h"

#define THREADS 4

static void on_interrupt(void *arg, const char *reason)
{
    struct stage *stage = arg;
    struct operation *operation = stage->running;

    if (operation)
        operation_cancel(operation, reason);
}

/* ---- The stage ---- */

void stage_init(struct stage *stage)
{
    *stage = (struct stage){
        .parallelism = 1, .spec_uid = "spec-1", .epoch = 1, .timeout = STAGE_TIMEOUT};
    fake_world_init(&stage->world);
    fake_objects_init(&stage->objects, &stage->world);
    fake_cloud_init(&stage->cloud, &stage->world);
    fake_store_init(&stage->store, &stage->world);
    stage->world.after_step = stage_check_truth;
    stage->world.on_interrupt = on_interrupt;
    stage->world.arg = stage;
    stage_texts_init(stage);
}

void stage_done(struct stage *stage)
{
    if (stage->executor)
        stage_end_process(stage);
    value_unref(stage->approved);
    fake_store_done(&stage->store);
    fake_objects_done(&stage->objects);
    fake_cloud_done(&stage->cloud);
    EXPECT_STR(stage->world.lies.data, "", "what must never happen");
    stage_texts_done(stage);
    fake_world_done(&stage->world);
}

void stage_use_threads(struct stage *stage, unsigned parallelism)
{
    stage->parallelism = parallelism;
    stage->world.pace = parallelism == 1 ? FAKE_CLOCK_JUMPS : FAKE_CLOCK_PACES;
}

void stage_calm(struct stage *stage)
{
    stage->world.kill_at = stage->world.cancel_at = stage->evict_at = 0;
    stage->store.conflict_at = stage->store.fail_at = stage->store.lose_at = 0;
    stage->store.is_down = false;
}

/* ---- Processes ---- */

void stage_begin_process(struct stage *stage)
{
    unsigned threads = stage->parallelism == 1 ? 1 : THREADS;

    fake_world_start(&stage->world);
    stage->ledgers = ledgers_new(&(struct ledgers_config){
        .store = fake_store_attach(&stage->store),
        .clock = &stage->world.clock,
        .permit = &stage->world.permit,
        .term = stage->world.now + stage->processes++,
        .effect_time = FAKE_EFFECT_TIME,
    });
    stage->executor = executor_new(&(struct executor_config){
        .clock = &stage->world.clock,
        .threads = threads,
        .max_threads = stage->world.pace == FAKE_CLOCK_JUMPS ? threads : 0,
    });
}

bool stage_await_idle(struct stage *stage)
{
    struct executor_stats stats;

    for (unsigned waited = 0; waited < STAGE_PATIENCE; waited++) {
        executor_stats(stage->executor, &stats);
        if (!stats.running && !stats.ready)
            return true;
        usleep(1000);
    }
    return false;
}

void stage_end_process(struct stage *stage)
{
    EXPECT(stage_await_idle(stage), "calls in flight come to an end");
    executor_free(stage->executor);
    ledgers_free(stage->ledgers);
    fake_store_detach(&stage->store);
    stage->executor = NULL;
    stage->ledgers = NULL;
}

/* ---- Whole runs ---- */

/* True: it is parked, and stays so. */
static bool is_to_be_evicted(struct run *run)
{
    struct stage *stage = run->stage;

    while (run->code == 0 && stage->evict_at) {
        if (stage->parked >= stage->evict_at)
            return true;
        if (operation_phase(run->operation) == OPERATION_ENDED)
            return false;
        usleep(50);
    }
    return false;
}

/* Once. */
static void evict(struct run *run, const char *spec)
{
    struct stage *stage = run->stage;
    bool verified = stage->verify;

    run_evict(run);
    stage->evict_at = 0;
    stage->evictions++;
    run_begin(run, stage);
    run_plan(run, spec);
    stage->verify = true; /* what landed may not be ready yet */
    run_apply(run);
    stage->verify = verified;
}

enum deed { DEED_PLAN, DEED_APPLY };

static int do_it(struct stage *stage, const char *spec, enum deed deed)
{
    bool is_own = !stage->executor;
    struct run run;
    int r;

    if (is_own)
        stage_begin_process(stage);
    run_begin(&run, stage);
    run_plan(&run, spec);
    if (deed == DEED_APPLY) {
        stage->parked = 0;
        run_apply(&run);
        if (is_to_be_evicted(&run))
            evict(&run, spec);
        run_wait(&run);
    }
    r = run_end(&run);
    if (is_own)
        stage_end_process(stage);
    return r;
}

int stage_plan(struct stage *stage, const char *spec)
{
    return do_it(stage, spec, DEED_PLAN);
}

int stage_apply(struct stage *stage, const char *spec)
{
    return do_it(stage, spec, DEED_APPLY);
}

int stage_destroy(struct stage *stage)
{
    return do_it(stage, NULL, DEED_APPLY);
}

int stage_orphan(struct stage *stage)
{
    const struct ledger_opening opening = {
        .key = {"team", "s"}, .spec_uid = stage->spec_uid, .epoch = stage->epoch};
    struct ledger *ledger = NULL;
    int r;

    stage_texts_reset(stage);
    err_clear(&stage->error);
    stage_begin_process(stage);
    r = ledger_open(stage->ledgers, &opening, &ledger, &stage->error);
    if (r >= 0)
        r = ledger_remove(ledger, &stage->error);
    ledger_unref(ledger);
    stage_end_process(stage);
    return r;
}

/* ---- Approved plans ---- */

void stage_automate(struct stage *stage)
{
    value_assign(&stage->approved, NULL);
}

/* As text, and without anything of this process: as a store would keep it. */
static const struct value *store_approved(const struct plan *plan)
{
    _cleanup_(approved_plan_unref_p) struct approved_plan *approved =
        approved_plan_new(plan, STAGE_PLAN_KEY, strlen(STAGE_PLAN_KEY));
    _cleanup_value_ const struct value *value = approved_plan_to_value(approved);
    _cleanup_free_ char *text = json_to_str(value);
    const struct value *stored = NULL;

    EXPECT_INT(json_read_str(text, &stored, NULL), 0, "a text");
    return stored;
}

void stage_approve(struct stage *stage, const char *spec)
{
    struct run run;

    stage_automate(stage);
    stage->for_approval = true;
    stage_begin_process(stage);
    run_begin(&run, stage);
    stage->for_approval = false;
    run_plan(&run, spec);
    EXPECT_INT(run.code, 0, stage->error.message);
    stage->approved = store_approved(operation_get_plan(run.operation));
    operation_cancel(run.operation, "Approving");
    err_clear(&stage->error);
    stage->running = NULL;
    operation_free(run.operation);
    stage_end_process(stage);
}
