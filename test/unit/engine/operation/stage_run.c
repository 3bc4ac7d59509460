/* One operation, step by step. */
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/plan/approved_value.h"
#include "test/unit/engine/operation/stage_private.h"
#include "test/unit/suite.h"

static void on_change(void *arg)
{
    struct stage *stage = arg;

    stage->changes++;
}

static int reserve(void *arg, size_t bytes, struct error *error)
{
    struct stage *stage = arg;

    stage->asked = bytes;
    return !stage->most || bytes <= stage->most
               ? 0
               : err_set(error, ERR_TOO_LARGE, "TooLarge", "no more memory");
}

/* Nothing happens before the eviction. */
static void on_park(void *arg, size_t bytes)
{
    struct stage *stage = arg;

    stage->memory = bytes;
    if (bytes && ++stage->parked == stage->evict_at)
        stage->world.pace = FAKE_CLOCK_STANDS;
}

static void on_landed(void *arg, const struct spec_key *key)
{
    struct stage *stage = arg;

    stage->landed += str_equal(key->namespace_name, "team") && str_equal(key->name, "s");
}

void run_begin(struct run *run, struct stage *stage)
{
    _cleanup_value_ const struct value *identity =
        value_pack("{s:s}", "serviceAccountName", "robot");
    struct runtime *const runtimes[] = {&stage->objects.base, &stage->cloud.base};
    struct operation_config config = {
        .clock = &stage->world.clock,
        .executor = stage->executor,
        .ledgers = stage->ledgers,
        .runtimes = runtimes,
        .n_runtimes = ARRAY_SIZE(runtimes),
        .permit = &stage->world.permit,
        .scope = {.key = {"team", "s"},
                  .spec_uid = stage->spec_uid,
                  .identity = identity,
                  .thorough = stage->thorough,
                  .terminating = stage->namespace_terminating},
        .extensions = stage->extensions,
        .epoch = stage->epoch,
        .for_approval = stage->for_approval,
        .parallelism = stage->parallelism,
        .timeout = stage->timeout,
        .on_change = on_change,
        .on_park = on_park,
        .reserve = reserve,
        .arg = stage,
        .on_landed = on_landed,
        .landed_arg = stage,
        .digest_key = {STAGE_PLAN_KEY, strlen(STAGE_PLAN_KEY)},
    };

    _cleanup_(approved_plan_unref_p) struct approved_plan *approved = NULL;

    *run = (struct run){.stage = stage};
    stage_texts_reset(stage);
    err_clear(&stage->error);
    if (stage->approved)
        EXPECT_INT(approved_plan_from_value(stage->approved, STAGE_PLAN_KEY, strlen(STAGE_PLAN_KEY),
                                            value_get_string(stage->approved, "digest"), &approved,
                                            NULL),
                   0, "the approved plan is read again");
    config.approved = approved;
    run->code = operation_new(&config, &run->operation, &stage->error);
    if (run->code < 0)
        return;
    stage->inherited = ledger_is_inherited(operation_ledger(run->operation));
    stage->running = run->operation;
}

void run_plan(struct run *run, const char *text)
{
    struct spec *spec = run->code == 0 && text ? stage_spec(text) : NULL;

    if (run->code == 0 && run->stage->recall)
        run->code = operation_recall(run->operation, spec, run->stage->recall, &run->stage->error);
    if (run->code < 0) {
        spec_free(spec);
        return;
    }
    if (run->stage->secrets)
        operation_use_secrets(run->operation, fake_secrets_source(run->stage->secrets));
    operation_plan(run->operation, spec);
    operation_wait(run->operation);
    run->code = operation_error(run->operation, &run->stage->error);
    if (operation_get_plan(run->operation))
        stage_show_plan(run->stage, operation_get_plan(run->operation));
}

void run_apply(struct run *run)
{
    const struct operation_apply how = {.revision = ++run->stage->revision,
                                        .verify = run->stage->verify};

    if (run->code == 0)
        operation_apply(run->operation, &how);
}

enum operation_phase run_wait(struct run *run)
{
    if (run->code < 0)
        return OPERATION_ENDED;
    return operation_wait(run->operation);
}

bool run_await(struct run *run, enum operation_phase phase)
{
    for (unsigned waited = 0; run->code == 0 && waited < STAGE_PATIENCE; waited++) {
        if (operation_phase(run->operation) == phase)
            return true;
        usleep(1000);
    }
    return false;
}

void run_cancel(struct run *run, const char *reason)
{
    if (run->operation)
        operation_cancel(run->operation, reason);
}

static void count_results(const struct run *run, size_t *ret_ended, size_t *ret_waiting)
{
    struct operation_results results;

    *ret_ended = *ret_waiting = 0;
    operation_results(run->operation, &results);
    for (size_t i = 0; i < results.count; i++) {
        *ret_ended += results.items[i].status != RESULT_PENDING;
        *ret_waiting += results.items[i].is_waiting;
    }
    operation_results_done(&results);
}

size_t run_count_ended(const struct run *run)
{
    size_t ended, waiting;

    count_results(run, &ended, &waiting);
    return ended;
}

size_t run_count_waiting(const struct run *run)
{
    size_t ended, waiting;

    count_results(run, &ended, &waiting);
    return waiting;
}

void run_evict(struct run *run)
{
    struct stage *stage = run->stage;
    struct ledger *ledger = ledger_ref(operation_ledger(run->operation));

    stage->running = NULL;
    operation_free(run->operation);
    stage->memory = 0;
    if (stage->evict_at) /* the clock stood until now; a store that is down is waited for */
        stage_use_threads(stage, stage->parallelism);
    ledger_flush(ledger, NULL);
    ledger_unref(ledger);
    stage->revision--;
    *run = (struct run){.stage = stage};
}

int run_end(struct run *run)
{
    struct stage *stage = run->stage;
    struct operation_results results;

    if (run->operation) {
        err_clear(&stage->error);
        run->code = operation_error(run->operation, &stage->error);
        operation_results(run->operation, &results);
        stage_show_results(stage, &results);
        operation_results_done(&results);
        stage->running = NULL;
        operation_free(run->operation);
        run->operation = NULL;
    }
    EXPECT_INT(stage->error.code, run->code, "the error is the code's");
    return run->code;
}
