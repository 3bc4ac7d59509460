/*
 * Killed after any step and begun again, an operation ends where it would have ended undisturbed:
 * the same objects, the same State, nothing made twice, and never an object that State does not
 * name (the stage checks that after each step).
 */
#include "engine/operation/operation.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

#define MOST_STEPS 100

static const struct scenario {
    const char *note, *before, *spec; /* spec NULL: destroy */
    const char *slow;                 /* a resource that takes its time, or NULL */
} scenarios[] = {
    {"creates", "", "a=1 b=1:a c@b d=1", NULL},
    {"creates, slowly", "", "a=1 b=1:a c@b", "a"},
    {"updates", "a=1 b=1:a c=1", "a=2 b=2:a c=3", NULL},
    {"references that change", "a=1 b@a.data.x", "a=2 b@a.data.x c@b.data.ref", NULL},
    {"prunes", "x=1 y=1:x z=1:y a=1", "a=1", NULL},
    {"prunes, slowly", "x=1 y=1:x z=1:y a=1", "a=1", "y"},
    {"everything", "x=1 y=1:x a=1 b=1:a", "b=2:a a=2 c=1:b d@c", NULL},
    {"adopts", "", "n=1 a=1:n", NULL},
    {"destroys", "a=1 b=1:a c=1:b d=1", NULL, NULL},
    {"destroys, slowly", "a=1 b=1:a c=1:b d=1", NULL, "b"},
};

static void set_up(struct stage *stage, const struct scenario *scenario, unsigned parallelism)
{
    stage_init(stage);
    stage->parallelism = parallelism;
    stage->world.jumps = parallelism == 1;
    stage->world.step_takes = 700;
    if (strstr(scenario->spec ? scenario->spec : "", "n="))
        fake_put(&stage->runtime, "n", "0", OWNER_NONE);
    if (*scenario->before)
        EXPECT_INT(stage_apply(stage, scenario->before), 0, scenario->note);
    if (scenario->slow)
        fake_fault(&stage->runtime, scenario->slow, FAKE_SLOW);
}

static int go(struct stage *stage, const struct scenario *scenario)
{
    return scenario->spec ? stage_apply(stage, scenario->spec) : stage_destroy(stage);
}

/* How it ends without being disturbed, and in how many steps. */
struct ending {
    char objects[256], state[256];
    unsigned steps, creates;
};

static struct ending undisturbed(const struct scenario *scenario)
{
    _cleanup_stage_ struct stage stage;
    struct ending ending;

    set_up(&stage, scenario, 1);
    EXPECT_INT(go(&stage, scenario), 0, scenario->note);
    snprintf(ending.objects, sizeof(ending.objects), "%s", stage_objects(&stage));
    snprintf(ending.state, sizeof(ending.state), "%s", stage_state(&stage));
    ending.steps = stage.world.steps;
    ending.creates = stage.runtime.creates;
    return ending;
}

static void expect_ending(struct stage *stage, const struct scenario *scenario,
                          const struct ending *ending, const char *note)
{
    EXPECT_STR(stage_objects(stage), ending->objects, note);
    EXPECT_STR(stage_state(stage), ending->state, note);
    EXPECT_INT(stage->runtime.creates, ending->creates, note);
    if (!scenario->spec)
        return;
    EXPECT_INT(stage_plan(stage, scenario->spec, PLAN_SHALLOW), 0, note);
    EXPECT(!strstr(stage->planned.data, "update") && !strstr(stage->planned.data, "create"), note);
}

static void ends_the_same_wherever_it_is_killed(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++) {
        struct ending ending = undisturbed(&scenarios[i]);

        EXPECT(ending.steps >= 3 && ending.steps < MOST_STEPS, scenarios[i].note);
        for (unsigned n = 1; n <= ending.steps; n++) {
            _cleanup_stage_ struct stage stage;
            char note[128];

            snprintf(note, sizeof(note), "%s, killed after step %u", scenarios[i].note, n);
            set_up(&stage, &scenarios[i], 1);
            stage.world.kill_at = n;
            EXPECT(go(&stage, &scenarios[i]) < 0, note);
            stage_calm(&stage);
            EXPECT_INT(go(&stage, &scenarios[i]), 0, stage.error.message);
            expect_ending(&stage, &scenarios[i], &ending, note);
        }
    }
}

/* Killed after each of its steps, time and again: every process gets one step further at least. */
static void ends_the_same_when_killed_all_the_time(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++) {
        struct ending ending = undisturbed(&scenarios[i]);
        _cleanup_stage_ struct stage stage;
        unsigned n = 0;

        set_up(&stage, &scenarios[i], 1);
        do
            stage.world.kill_at = 2 + n / 3;
        while (go(&stage, &scenarios[i]) < 0 && n++ < MOST_STEPS);
        EXPECT(n > 1 && n < MOST_STEPS, scenarios[i].note);
        stage_calm(&stage);
        expect_ending(&stage, &scenarios[i], &ending, scenarios[i].note);
    }
}

/* The same with several workers, where what was under way at the kill is another each time. */
static void ends_the_same_with_several_workers(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++) {
        struct ending ending = undisturbed(&scenarios[i]);

        for (unsigned n = 1; n <= ending.steps; n += 2) {
            _cleanup_stage_ struct stage stage;
            char note[128];

            snprintf(note, sizeof(note), "%s, four workers, killed after step %u",
                     scenarios[i].note, n);
            set_up(&stage, &scenarios[i], 4);
            stage.world.kill_at = n;
            go(&stage, &scenarios[i]);
            stage_calm(&stage);
            EXPECT_INT(go(&stage, &scenarios[i]), 0, stage.error.message);
            expect_ending(&stage, &scenarios[i], &ending, note);
        }
    }
}

/* Cancelled instead: what is under way comes to its end, and is saved. */
static void ends_the_same_wherever_it_is_cancelled(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++) {
        struct ending ending = undisturbed(&scenarios[i]);

        for (unsigned n = 1; n <= ending.steps; n++) {
            _cleanup_stage_ struct stage stage;
            char note[128];

            snprintf(note, sizeof(note), "%s, cancelled after step %u", scenarios[i].note, n);
            set_up(&stage, &scenarios[i], 1);
            stage.world.cancel_at = n;
            go(&stage, &scenarios[i]);
            stage_calm(&stage);
            EXPECT_INT(go(&stage, &scenarios[i]), 0, stage.error.message);
            expect_ending(&stage, &scenarios[i], &ending, note);
        }
    }
}

SUITE(operation_kill, TEST(ends_the_same_wherever_it_is_killed),
      TEST(ends_the_same_when_killed_all_the_time), TEST(ends_the_same_with_several_workers),
      TEST(ends_the_same_wherever_it_is_cancelled))
