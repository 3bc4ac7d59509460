/*
 * Killed after any step, or evicted, and begun again, an operation ends where it would have ended
 * undisturbed: the same objects and things, the same State, nothing made twice, and never one that
 * State does not name (the stage checks that after each step).
 *
 * Of a create in the cloud whose answer was never seen nobody can know what became of it. The
 * operation that follows leaves that alone, and what depends on it; then a person clears it up.
 */
#include <limits.h>
#include <stdlib.h>

#include "engine/operation/operation.h"
#include "test/unit/engine/operation/doubt.h"
#include "test/unit/engine/operation/ending.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/engine/sweep.h"
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

    {"creates in both worlds", "", "a=1 Cloud/d@a b@d Cloud/e=1:b", NULL},
    {"updates in both worlds", "a=1 Cloud/d=1@a.data.x b@d.rev", "a=2 Cloud/d=2@a.data.x b@d.rev",
     NULL},
    {"replaces, deleted first", "Cloud/d=1*k b@d.id", "Cloud/d=1*l b@d.id", NULL},
    {"replaces, created first", "Cloud/d=1~k b@d.id", "Cloud/d=1~l b@d.id", NULL},
    {"replaces a chain, deleted first", "Cloud/d=1*k Cloud/e*@d Cloud/f*@e a@f.id",
     "Cloud/d=1*l Cloud/e*@d Cloud/f*@e a@f.id", NULL},
    {"replaces a chain, created first", "Cloud/d=1~k Cloud/e~@d Cloud/f~@e a@f.id",
     "Cloud/d=1~l Cloud/e~@d Cloud/f~@e a@f.id", NULL},
    {"replaces, and prunes what is in the way", "Cloud/d=1*k Cloud/y@d Cloud/x=1 a=1",
     "Cloud/d=1*l a=2", NULL},
    {"imports", "", "a=1 Cloud/h=1:a b@h.id Cloud/d=1", NULL},
    {"reads when it is due", "", "a=1 Cloud/d@a Cloud/r@d.rev b@r", NULL},
    {"forgets what was read", "Cloud/d=1 Cloud/r@d Cloud/e@r", "Cloud/r=1 a=1", NULL},
    {"moves", "Cloud/d=1 b@d.id Cloud/y@d", "Cloud/m=1<d b@m.id Cloud/y@m a=1", NULL},
    {"moves and changes", "Cloud/d=1 b@d.rev Cloud/y@d", "a=1 Cloud/m=2<d b@m.rev", NULL},
    {"moves and replaces", "Cloud/d=1*k b@d.id Cloud/y@d", "Cloud/m=1*l<d b@m.id", NULL},
    {"moves and replaces, created first", "Cloud/d=1~k b@d.id", "Cloud/m=1~l<d b@m.id", NULL},
    {"destroys both worlds", "a=1 Cloud/d@a b@d Cloud/e=1:b", NULL, NULL},
};

static void set_up(struct stage *stage, const struct scenario *scenario, unsigned parallelism)
{
    stage_init(stage);
    stage_use_threads(stage, parallelism);
    stage->world.step_takes = 700;
    if (strstr(scenario->spec ? scenario->spec : "", "n="))
        fake_put(&stage->objects, "n", "0", OWNER_NONE);
    if (strstr(scenario->spec ? scenario->spec : "", "Cloud/h")) {
        fake_cloud_put(&stage->cloud, "h", "0", NULL);
        fake_cloud_fault(&stage->cloud, "h", CLOUD_IMPORTS);
    }
    stage->cloud.reading = "near";
    fake_cloud_fault(&stage->cloud, "r", CLOUD_READS);
    if (*scenario->before)
        EXPECT_INT(stage_apply(stage, scenario->before), 0, scenario->note);
    if (scenario->slow)
        fake_fault(&stage->objects, scenario->slow, FAKE_SLOW);
}

static int go(struct stage *stage, const struct scenario *scenario)
{
    return scenario->spec ? stage_apply(stage, scenario->spec) : stage_destroy(stage);
}

static struct ending undisturbed(const struct scenario *scenario)
{
    _cleanup_stage_ struct stage stage;

    set_up(&stage, scenario, 1);
    EXPECT_INT(go(&stage, scenario), 0, scenario->note);
    return ending_of(&stage);
}

static void expect_ending(struct stage *stage, const struct scenario *scenario,
                          const struct ending *ending, unsigned cleared, const char *note)
{
    ending_expect(stage, ending, cleared, note);
    if (!scenario->spec)
        return;
    EXPECT_INT(stage_plan(stage, scenario->spec), 0, note);
    EXPECT(!strstr(stage->planned.data, "update") && !strstr(stage->planned.data, "create") &&
               !strstr(stage->planned.data, "replace"),
           stage->planned.data);
}

/* Once more, undisturbed; what is in doubt is cleared up on the way. How many things were. */
static unsigned go_on(struct stage *stage, const struct scenario *scenario)
{
    unsigned cleared = 0;

    stage_calm(stage);
    if (doubt_is_left(stage)) {
        unsigned made = stage->cloud.creates;

        EXPECT(go(stage, scenario) < 0, "what is in doubt is no success");
        EXPECT(stage->cloud.creates <= made + doubt_most_others(scenario->spec), stage_log(stage));
        cleared = doubt_clear(stage);
    }
    EXPECT_INT(go(stage, scenario), 0, stage->error.message);
    return cleared;
}

static void ends_the_same_wherever_it_is_killed(void)
{
    for (unsigned i = 0; i < ARRAY_SIZE(scenarios); i++) {
        struct ending ending = undisturbed(&scenarios[i]);

        EXPECT(ending.steps >= 3 && ending.steps < MOST_STEPS, scenarios[i].note);
        for (unsigned n = sweep_first(i); n <= ending.steps; n = sweep_next(n)) {
            _cleanup_stage_ struct stage stage;
            unsigned cleared;
            char note[128];

            snprintf(note, sizeof(note), "%s, killed after step %u", scenarios[i].note, n);
            set_up(&stage, &scenarios[i], 1);
            stage.world.kill_at = n;
            EXPECT(go(&stage, &scenarios[i]) < 0, note);
            cleared = go_on(&stage, &scenarios[i]);
            expect_ending(&stage, &scenarios[i], &ending, cleared, note);
        }
    }
}

/* Killed after each of its steps, time and again: every process gets one step further at least. */
static void ends_the_same_when_killed_all_the_time(void)
{
    for (unsigned i = 0; i < ARRAY_SIZE(scenarios); i++) {
        struct ending ending = undisturbed(&scenarios[i]);
        _cleanup_stage_ struct stage stage;
        unsigned n = 0, cleared = 0;

        set_up(&stage, &scenarios[i], 1);
        do {
            cleared += doubt_clear(&stage);
            stage.world.kill_at = 2 + n / 3;
        } while (go(&stage, &scenarios[i]) < 0 && n++ < MOST_STEPS);
        EXPECT(n > 1 && n < MOST_STEPS, scenarios[i].note);
        stage_calm(&stage);
        expect_ending(&stage, &scenarios[i], &ending, cleared, scenarios[i].note);
    }
}

/* The same with several workers, where what was under way at the kill is another each time. */
static void ends_the_same_with_several_workers(void)
{
    for (unsigned i = 0; i < ARRAY_SIZE(scenarios); i++) {
        struct ending ending = undisturbed(&scenarios[i]);

        for (unsigned n = sweep_first(i); n <= ending.steps; n = sweep_next(n)) {
            _cleanup_stage_ struct stage stage;
            unsigned cleared;
            char note[128];

            snprintf(note, sizeof(note), "%s, four workers, killed after step %u",
                     scenarios[i].note, n);
            set_up(&stage, &scenarios[i], 4);
            stage.world.kill_at = n;
            go(&stage, &scenarios[i]);
            cleared = go_on(&stage, &scenarios[i]);
            expect_ending(&stage, &scenarios[i], &ending, cleared, note);
        }
    }
}

/* Cancelled instead: what is under way comes to its end, and is recorded. Nothing is in doubt. */
static void ends_the_same_wherever_it_is_cancelled(void)
{
    for (unsigned i = 0; i < ARRAY_SIZE(scenarios); i++) {
        struct ending ending = undisturbed(&scenarios[i]);

        for (unsigned n = sweep_first(i); n <= ending.steps; n = sweep_next(n)) {
            _cleanup_stage_ struct stage stage;
            char note[128];

            snprintf(note, sizeof(note), "%s, cancelled after step %u", scenarios[i].note, n);
            set_up(&stage, &scenarios[i], 1);
            stage.world.cancel_at = n;
            go(&stage, &scenarios[i]);
            EXPECT(!doubt_is_left(&stage), note);
            stage_calm(&stage);
            EXPECT_INT(go(&stage, &scenarios[i]), 0, stage.error.message);
            expect_ending(&stage, &scenarios[i], &ending, 0, note);
        }
    }
}

/* Evicted each time that it is parked, and begun again: nothing is made twice, nothing is lost. */
static void ends_the_same_wherever_it_is_evicted(void)
{
    unsigned evictions = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(scenarios); i++) {
        struct ending ending = undisturbed(&scenarios[i]);

        for (unsigned n = 1, before = UINT_MAX; before != evictions && n < MOST_STEPS; n++) {
            for (unsigned parallelism = 1; parallelism <= 4; parallelism += 3) {
                _cleanup_stage_ struct stage stage;
                char note[128];

                snprintf(note, sizeof(note), "%s, parked %u times, then evicted", scenarios[i].note,
                         n);
                set_up(&stage, &scenarios[i], parallelism);
                stage.evict_at = n;
                EXPECT_INT(go(&stage, &scenarios[i]), 0, note);
                before = evictions;
                evictions += stage.evictions;
                stage_calm(&stage);
                expect_ending(&stage, &scenarios[i], &ending, 0, note);
            }
        }
    }
    EXPECT(evictions >= 6, "it was evicted at all");
}

SUITE(operation_kill, TEST(ends_the_same_wherever_it_is_killed),
      TEST(ends_the_same_when_killed_all_the_time), TEST(ends_the_same_with_several_workers),
      TEST(ends_the_same_wherever_it_is_cancelled), TEST(ends_the_same_wherever_it_is_evicted))
