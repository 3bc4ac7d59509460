#include "test/unit/engine/operation/stage.h"

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "test/unit/suite.h"

/* Whatever happens, and whenever: what we made is found in State. */
static void check_truth(void *arg)
{
    struct stage *stage = arg;
    _cleanup_(state_free_p) struct state *state = NULL;

    if (stage->may_forget)
        return;
    state = fake_store_state(&stage->store);
    for (size_t i = 0; i < stage->runtime.n_objects; i++) {
        const struct fake_object *object = &stage->runtime.objects[i];
        bool found = false;

        for (size_t k = 0; state && k < state->n_records; k++)
            found = found || str_equal(short_name(state->records[k]->id), object->name);
        if (object->made && !found)
            fake_world_lie(&stage->world, "State does not name %s, after: %s", object->name,
                           stage->world.log.data);
    }
}

void stage_init(struct stage *stage)
{
    *stage = (struct stage){.parallelism = 1, .spec_uid = "spec-1"};
    fake_world_init(&stage->world);
    fake_runtime_init(&stage->runtime, &stage->world);
    fake_store_init(&stage->store, &stage->world);
    stage->world.after_step = check_truth;
    stage->world.arg = stage;
    buf_init(&stage->results, 0);
    buf_init(&stage->actions, 0);
    buf_init(&stage->progress, 0);
    buf_init(&stage->planned, 0);
    buf_init(&stage->diffs, 0);
    buf_init(&stage->causes, 0);
    buf_init(&stage->shown, 0);
}

void stage_done(struct stage *stage)
{
    EXPECT_STR(stage->world.lies.data, "", "what must never happen");
    buf_done(&stage->results);
    buf_done(&stage->actions);
    buf_done(&stage->progress);
    buf_done(&stage->planned);
    buf_done(&stage->diffs);
    buf_done(&stage->causes);
    buf_done(&stage->shown);
    fake_store_done(&stage->store);
    fake_runtime_done(&stage->runtime);
    fake_world_done(&stage->world);
}

void stage_calm(struct stage *stage)
{
    stage->world.kill_at = stage->world.cancel_at = 0;
    stage->store.conflict_at = stage->store.fail_at = stage->store.lose_at = 0;
}

/* ---- What came of it, as text ---- */

static void separate(struct buf *text)
{
    if (text->length)
        buf_add_str(text, "; ");
}

static void show_plan(struct stage *stage, const struct plan *plan)
{
    for (size_t i = 0; i < plan->n_changes; i++) {
        const struct plan_change *change = &plan->changes[i];

        for (size_t f = 0; f < change->diff.n_fields; f++) {
            const struct diff_field *field = &change->diff.fields[f];

            separate(&stage->diffs);
            buf_printf(&stage->diffs, "%s: %s -> %s", field->path, field->from ? field->from : "",
                       field->to ? field->to : "");
        }
        separate(&stage->planned);
        buf_printf(&stage->planned, "%s %s%s%s", plan_action_name(change->action),
                   short_name(change->id), change->error.code ? "!" : "", change->error.reason);
    }
}

static const char *const status_names[] = {
    [RESULT_PENDING] = "pending",     [RESULT_SUCCEEDED] = "succeeded",
    [RESULT_FAILED] = "failed",       [RESULT_SKIPPED] = "skipped",
    [RESULT_CANCELLED] = "cancelled", [RESULT_TIMED_OUT] = "timed out",
};

static void show_results(struct stage *stage, const struct operation_results *results)
{
    for (size_t i = 0; i < results->count; i++) {
        const struct operation_result *result = &results->items[i];

        separate(&stage->actions);
        buf_printf(&stage->actions, "%s %s", plan_action_name(result->action),
                   short_name(result->id));
        separate(&stage->results);
        buf_printf(&stage->results, "%s %s", short_name(result->id), status_names[result->status]);
        if (result->status == RESULT_SUCCEEDED)
            continue;
        separate(&stage->causes);
        buf_printf(&stage->causes, "%s: %s", short_name(result->id), result->error.message);
    }
}

static void on_wait(void *arg, bool waits)
{
    struct stage *stage = arg;

    EXPECT(waits != stage->waits, "in turns");
    stage->waits = waits;
    stage->waited += waits;
}

static void on_progress(void *arg, const struct operation_result *result)
{
    struct stage *stage = arg;
    bool begins = result->status == RESULT_PENDING;

    separate(&stage->progress);
    buf_printf(&stage->progress, "%s %s", short_name(result->id),
               begins ? "begins" : status_names[result->status]);
    EXPECT(result->started && !begins == !!result->ended, "times");
}

const char *stage_objects(struct stage *stage)
{
    _cleanup_free_ char *text = fake_runtime_text(&stage->runtime);

    buf_reset(&stage->shown);
    buf_add_str(&stage->shown, text);
    return stage->shown.data;
}

const char *stage_state(struct stage *stage)
{
    _cleanup_free_ char *text = fake_store_text(&stage->store);

    buf_reset(&stage->shown);
    buf_add_str(&stage->shown, text);
    return stage->shown.data;
}

const char *stage_log(const struct stage *stage)
{
    return stage->world.log.data;
}

/* ---- Runs ---- */

/* One process: an operation over what is there. */
struct run {
    struct stage *stage;
    struct cancel *cancel;
    struct runtime *runtimes[1];
    struct operation *operation;
    struct spec *spec;
    struct plan *plan;
    struct operation_results results;
};

static int run_begin(struct run *run, struct stage *stage)
{
    _cleanup_value_ const struct value *identity = value_pack("{s:s}", "account", "robot");
    int r;

    *run = (struct run){
        .stage = stage, .cancel = cancel_new(NULL), .runtimes = {&stage->runtime.base}};
    fake_world_start(&stage->world, run->cancel);
    stage->store.saves = 0;
    buf_reset(&stage->results);
    buf_reset(&stage->actions);
    buf_reset(&stage->progress);
    buf_reset(&stage->planned);
    buf_reset(&stage->diffs);
    buf_reset(&stage->causes);
    err_clear(&stage->error);
    r = operation_new(
        &(struct operation_config){
            .clock = &stage->world.clock,
            .cancel = run->cancel,
            .store = &stage->store.base,
            .runtimes = run->runtimes,
            .n_runtimes = 1,
            .scope = {.spec_namespace = "team",
                      .spec_name = "s",
                      .spec_uid = stage->spec_uid,
                      .identity = identity,
                      .spec_namespace_terminating = stage->namespace_terminating},
            .parallelism = stage->parallelism,
            .timeout = STAGE_TIMEOUT,
            .epoch = 1,
            .on_progress = on_progress,
            .arg = stage,
            .on_wait = on_wait,
            .on_wait_arg = stage,
        },
        &run->operation, &stage->error);
    if (stage->fired_before)
        cancel_fire(run->cancel, "Shutdown");
    if (r == 0)
        stage->inherited = operation_is_inherited(run->operation);
    return r;
}

static int run_plan(struct run *run, const char *text, enum plan_depth depth)
{
    int r;

    run->spec = stage_spec(text);
    r = operation_plan(run->operation, run->spec, depth, &run->plan, &run->stage->error);
    if (r == 0)
        show_plan(run->stage, run->plan);
    return r;
}

static int run_end(struct run *run, int code)
{
    EXPECT_INT(run->stage->error.code, code, "the error is the code's");
    show_results(run->stage, &run->results);
    operation_results_done(&run->results);
    plan_free(run->plan);
    operation_free(run->operation);
    spec_free(run->spec);
    cancel_free(run->cancel);
    return code;
}

int stage_plan(struct stage *stage, const char *spec, enum plan_depth depth)
{
    struct run run;
    int r = run_begin(&run, stage);

    if (r == 0)
        r = run_plan(&run, spec, depth);
    return run_end(&run, r);
}

int stage_apply(struct stage *stage, const char *spec)
{
    struct run run;
    int r = run_begin(&run, stage);

    if (r == 0)
        r = run_plan(&run, spec, PLAN_SHALLOW);
    if (r == 0)
        r = operation_apply(run.operation, run.spec, run.plan, ++stage->revision, stage->verify,
                            &run.results, &stage->error);
    return run_end(&run, r);
}

int stage_destroy(struct stage *stage)
{
    struct run run;
    int r = run_begin(&run, stage);

    if (r == 0)
        r = operation_destroy(run.operation, ++stage->revision, &run.results, &stage->error);
    return run_end(&run, r);
}

int stage_orphan(struct stage *stage)
{
    struct run run;
    int r = run_begin(&run, stage);

    if (r == 0)
        r = operation_orphan(run.operation, &stage->error);
    return run_end(&run, r);
}
