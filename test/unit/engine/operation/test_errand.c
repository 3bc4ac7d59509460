/* What the owner has done in the operation's turns. */
#include <sched.h>
#include <stdatomic.h>

#include "engine/operation/operation.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

struct errand {
    bool waits; /* until it is cancelled */
    _Atomic unsigned begun, ended, freed;
};

static void run(void *arg, struct operation *operation, struct cancel *cancel)
{
    struct errand *errand = arg;

    (void)operation;
    errand->begun++;
    while (errand->waits && !cancel_fired(cancel))
        sched_yield();
    errand->ended++;
}

static void set_free(void *arg)
{
    struct errand *errand = arg;

    EXPECT_INT(errand->begun, errand->ended, "not while it runs");
    errand->freed++;
}

static void send(struct operation *operation, struct errand *errand)
{
    operation_send(operation, &(struct operation_errand){run, set_free, errand});
}

/* Its owner is told, and goes on. */
static void await_change(struct stage *stage, unsigned before)
{
    while (stage->changes == before)
        sched_yield();
}

static void runs_once_in_any_phase_that_rests(void)
{
    _cleanup_stage_ struct stage stage;
    struct errand errands[3] = {0};
    unsigned before;
    struct run at;

    stage_init(&stage);
    stage_begin_process(&stage);
    run_begin(&at, &stage);
    before = stage.changes;
    send(at.operation, &errands[0]);
    await_change(&stage, before);
    EXPECT_INT(operation_phase(at.operation), OPERATION_NEW, "still");
    run_plan(&at, "a=1");
    before = stage.changes;
    send(at.operation, &errands[1]);
    await_change(&stage, before);
    EXPECT_INT(errands[0].freed, 1, "another took its place");
    EXPECT_INT(operation_phase(at.operation), OPERATION_PLANNED, "still");
    run_apply(&at);
    EXPECT_INT(run_wait(&at), OPERATION_ENDED, "ended");
    before = stage.changes;
    send(at.operation, &errands[2]);
    await_change(&stage, before);
    EXPECT_INT(run_end(&at), 0, stage.error.message);
    stage_end_process(&stage);
    for (size_t i = 0; i < ARRAY_SIZE(errands); i++) {
        EXPECT_INT(errands[i].ended, 1, "once");
        EXPECT_INT(errands[i].freed, 1, "and freed");
    }
}

/* Whoever frees the operation does not wait for it. */
static void outlives_the_operation(void)
{
    _cleanup_stage_ struct stage stage;
    struct errand errand = {.waits = true};
    struct run at;

    stage_init(&stage);
    stage_begin_process(&stage);
    run_begin(&at, &stage);
    send(at.operation, &errand);
    while (!errand.begun)
        sched_yield();
    EXPECT_INT(errand.freed, 0, "it runs");
    run_end(&at);
    stage_end_process(&stage);
    EXPECT_INT(errand.ended, 1, "cancelled");
    EXPECT_INT(errand.freed, 1, "and freed");
}

SUITE(operation_errand, TEST(runs_once_in_any_phase_that_rests), TEST(outlives_the_operation))
