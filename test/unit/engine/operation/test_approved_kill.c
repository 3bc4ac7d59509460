/*
 * An approved plan of ten steps in both worlds, killed after each step of the operation: begun
 * again under the plan as it was stored, it ends as it would have without the kill. Nothing is made
 * twice, and no step is taken that was not approved. Where somebody changed a live object in
 * between, the plan is stale, and nothing is done; where that was none of our fields, it goes on.
 *
 * A kill before a write is a kill after the step before it.
 */
#include <stdlib.h>

#include "engine/base/str.h"
#include "engine/operation/operation.h"
#include "test/unit/engine/operation/doubt.h"
#include "test/unit/engine/operation/ending.h"
#include "test/unit/engine/sweep.h"
#include "test/unit/suite.h"

#define MOST_STEPS 100

static const struct scenario {
    const char *before, *spec, *planned;
} scenarios[] = {
    /* Updates a, replaces d (deleted first) and e (created first), moves b to the new d, creates c
     * and f, whose fields refer to what is not known yet, adopts n, updates g, and deletes x and y.
     */
    {"a=1 u=1 Cloud/d=1*k Cloud/e=1~k b@d.id g=1 x=1 Cloud/y=1",
     "a=2 u=1 Cloud/d=1*l:a Cloud/e=1~l b@d.id c@e.id Cloud/f*@e n=1:c g=2:f",
     "update a; unchanged u; replace d; replace e; update b; create c; create f; adopt n; update "
     "g; "
     "delete x; delete y"},
    /* d is created first only because f is, which was made for it: f is replaced before d is. */
    {"Cloud/d=1*k Cloud/f~@d", "Cloud/f~m Cloud/d=1*l", "replace f; replace d"},
    /* A chain, half of which is done when the order of the rest has to be the same. */
    {"Cloud/d=1*k Cloud/e*@d Cloud/f~@e", "Cloud/d=1*l Cloud/e*@d Cloud/f~@e",
     "replace d; replace e; replace f"},
    /* While the creation of g is in doubt, its x is unknown, which was known before. */
    {"a=1", "Cloud/g=1 a=2@g.x b@a.data.x", "create g; update a; create b"},
    /* h was made by others. */
    {"a=1", "a=2 Cloud/h=1:a b@h.id", "update a; adopt h; create b"},
};

static void set_up(struct stage *stage, const struct scenario *scenario, unsigned parallelism)
{
    stage_init(stage);
    stage_use_threads(stage, parallelism);
    stage->world.step_takes = 700;
    if (scenario == &scenarios[0])
        fake_put(&stage->objects, "n", "0", OWNER_NONE);
    if (strstr(scenario->spec, "Cloud/h")) {
        fake_cloud_put(&stage->cloud, "h", "0", NULL);
        fake_cloud_fault(&stage->cloud, "h", CLOUD_IMPORTS);
    }
    EXPECT_INT(stage_apply(stage, scenario->before), 0, "before");
    stage_approve(stage, scenario->spec);
}

/* What the operation does, undisturbed: "; patch a; …; ". */
struct whole {
    const struct scenario *scenario;
    struct ending ending;
    char *deeds;
    unsigned saves;
};

static struct whole undisturbed(const struct scenario *scenario)
{
    _cleanup_stage_ struct stage stage;
    struct whole whole = {.scenario = scenario};

    set_up(&stage, scenario, 1);
    EXPECT_INT(stage_apply(&stage, scenario->spec), 0, stage.error.message);
    EXPECT_STR(stage.planned.data, scenario->planned, "planned");
    whole.ending = ending_of(&stage);
    whole.deeds = str_printf("; %s; ", stage_deeds(&stage));
    for (const char *at = stage_log(&stage); (at = strstr(at, "save")); at++)
        whole.saves++;
    EXPECT(whole.ending.steps >= 6 && whole.ending.steps < MOST_STEPS, whole.deeds);
    return whole;
}

/* All that was done in this process was approved. */
static void expect_approved_deeds(struct stage *stage, const struct whole *whole, const char *note)
{
    _cleanup_free_ char *deeds = str_new(stage_deeds(stage));
    char *rest = NULL;

    for (char *deed = strtok_r(deeds, ";", &rest); deed; deed = strtok_r(NULL, ";", &rest)) {
        _cleanup_free_ char *entry = str_printf("; %s; ", deed + strspn(deed, " "));

        EXPECT(strstr(whole->deeds, entry), note);
    }
}

/* Once more, undisturbed. What is in doubt is cleared up on the way: how many things were. It is
 * not where its outcome was told, though not in State. */
static unsigned go_on(struct stage *stage, const struct whole *whole, const char *note)
{
    unsigned cleared = 0;

    expect_approved_deeds(stage, whole, note);
    stage_calm(stage);
    if (doubt_is_left(stage) && stage_apply(stage, whole->scenario->spec) < 0) {
        EXPECT(!str_equal(stage->error.reason, "PlanStale"), stage->error.message);
        expect_approved_deeds(stage, whole, note);
        cleared = doubt_clear(stage);
    }
    EXPECT_INT(stage_apply(stage, whole->scenario->spec), 0, stage->error.message);
    expect_approved_deeds(stage, whole, note);
    return cleared;
}

static void kill_wherever(const struct scenario *scenario)
{
    struct whole whole = undisturbed(scenario);

    for (unsigned parallelism = 1; parallelism <= 4; parallelism += 3)
        for (unsigned n = sweep_first(parallelism / 2); n <= whole.ending.steps;
             n = sweep_next(n)) {
            _cleanup_stage_ struct stage stage;
            char note[64];
            unsigned cleared;

            snprintf(note, sizeof(note), "%u at once, killed after step %u", parallelism, n);
            set_up(&stage, scenario, parallelism);
            stage.world.kill_at = n;
            stage_apply(&stage, scenario->spec);
            cleared = go_on(&stage, &whole, note);
            ending_expect(&stage, &whole.ending, cleared, note);
        }
    free(whole.deeds);
}

static void ends_the_same_wherever_it_is_killed(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++)
        kill_wherever(&scenarios[i]);
}

static void kill_all_the_time(const struct scenario *scenario)
{
    struct whole whole = undisturbed(scenario);
    _cleanup_stage_ struct stage stage;
    unsigned n = 0, cleared = 0;

    set_up(&stage, scenario, 1);
    do {
        cleared += doubt_clear(&stage);
        stage.world.kill_at = 2 + n / 3;
    } while (stage_apply(&stage, scenario->spec) < 0 && n++ < MOST_STEPS);
    EXPECT(n >= 3 && n < MOST_STEPS, "it comes to its end");
    stage_calm(&stage);
    ending_expect(&stage, &whole.ending, cleared, "killed all the time");
    free(whole.deeds);
}

static void ends_the_same_when_killed_all_the_time(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++)
        kill_all_the_time(&scenarios[i]);
}

enum loss { WRITE_CONFLICTS, WRITE_FAILS, ANSWER_IS_LOST };

static void lose(struct stage *stage, enum loss loss, unsigned save)
{
    if (loss == WRITE_CONFLICTS)
        stage->store.conflict_at = save;
    else if (loss == WRITE_FAILS)
        stage->store.fail_at = save;
    else
        stage->store.lose_at = save;
}

/* A write that does not happen, and one whose answer is lost; killed two steps after it. */
static void ends_the_same_whichever_write_is_lost(void)
{
    static const char *const names[] = {"conflicts", "fails", "is lost"};
    const struct scenario *scenario = &scenarios[0];
    struct whole whole = undisturbed(scenario);

    for (int loss = WRITE_CONFLICTS; loss <= ANSWER_IS_LOST; loss++)
        for (unsigned save = 1; save <= whole.saves; save++) {
            _cleanup_stage_ struct stage stage;
            char note[64];
            unsigned cleared;

            snprintf(note, sizeof(note), "write %u %s", save, names[loss]);
            set_up(&stage, scenario, 1);
            lose(&stage, (enum loss)loss, save);
            stage.world.kill_at = 2 * save + 1;
            stage_apply(&stage, scenario->spec);
            cleared = go_on(&stage, &whole, note);
            ending_expect(&stage, &whole.ending, cleared, note);
        }
    free(whole.deeds);
}

static void is_stale_where_somebody_meddled_after_a_kill(void)
{
    static const char *const names[] = {"a", "u", "b", "g"};
    const struct scenario *scenario = &scenarios[0];
    struct whole whole = undisturbed(scenario);

    for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
        for (unsigned n = sweep_first(i); n <= whole.ending.steps; n = sweep_next(n)) {
            _cleanup_stage_ struct stage stage;
            _cleanup_free_ char *objects = NULL, *cloud = NULL;
            char note[64];

            snprintf(note, sizeof(note), "%s is changed after step %u", names[i], n);
            set_up(&stage, scenario, 1);
            stage.world.kill_at = n;
            stage_apply(&stage, scenario->spec);
            stage_calm(&stage);
            doubt_clear(&stage);
            fake_drift(&stage.objects, names[i], "9");
            objects = str_new(stage_objects(&stage));
            cloud = str_new(stage_cloud(&stage));
            EXPECT_INT(stage_apply(&stage, scenario->spec), ERR_CONFLICT, note);
            EXPECT_STR(stage.error.reason, "PlanStale", stage.error.message);
            EXPECT_STR(stage_deeds(&stage), "", note);
            EXPECT_STR(stage_objects(&stage), objects, note);
            EXPECT_STR(stage_cloud(&stage), cloud, note);
        }
    free(whole.deeds);
}

static void goes_on_where_nothing_of_ours_was_changed(void)
{
    static const char *const names[] = {"a", "u", "b", "c", "n", "g", "x"};
    const struct scenario *scenario = &scenarios[0];
    struct whole whole = undisturbed(scenario);

    for (unsigned n = sweep_first(0); n <= whole.ending.steps; n = sweep_next(n)) {
        _cleanup_stage_ struct stage stage;
        char note[64];
        unsigned cleared;

        snprintf(note, sizeof(note), "touched after step %u", n);
        set_up(&stage, scenario, 1);
        stage.world.kill_at = n;
        stage_apply(&stage, scenario->spec);
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
            fake_touch(&stage.objects, names[i]);
        cleared = go_on(&stage, &whole, note);
        ending_expect(&stage, &whole.ending, cleared, note);
    }
    free(whole.deeds);
}

SUITE(operation_approved_kill, TEST(ends_the_same_wherever_it_is_killed),
      TEST(ends_the_same_when_killed_all_the_time), TEST(ends_the_same_whichever_write_is_lost),
      TEST(is_stale_where_somebody_meddled_after_a_kill),
      TEST(goes_on_where_nothing_of_ours_was_changed))
