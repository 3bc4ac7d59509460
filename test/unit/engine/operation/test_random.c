/*
 * Lives of Specs, at random: they change, and things fail, are killed, cancelled, lost and
 * changed by others on the way. In the end, left in peace, all is as the last Spec has it; and
 * after a destroy nothing is left.
 *
 * KUSION_TEST_LIVES is how many, KUSION_TEST_SEED the first one's seed (hack/soak random).
 */
#include <stdlib.h>

#include "engine/operation/operation.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

#define LIVES "200"
#define SEED  "1"
#define NAMES "abcdefgh"

/* Each depends on, or refers to, some of those before it. */
static void random_spec(char *ret, size_t size)
{
    size_t length = 0;
    char there[sizeof(NAMES)] = "";
    size_t n = 0;

    ret[0] = '\0';
    char names[] = NAMES;

    for (int i = (int)strlen(names) - 1; i > 0; i--) {
        int other = rand() % (i + 1);
        char name = names[i];

        names[i] = names[other];
        names[other] = name;
    }
    for (const char *name = names; *name; name++) {
        char reference[32] = "", dependency[8] = "";

        if (rand() % 3 == 0)
            continue;
        if (n && rand() % 3 == 0)
            snprintf(reference, sizeof(reference), "@%c%s", there[(size_t)rand() % n],
                     rand() % 2 ? ".data.x" : "");
        if (n && rand() % 2)
            snprintf(dependency, sizeof(dependency), ":%c", there[(size_t)rand() % n]);
        length += (size_t)snprintf(ret + length, size - length, "%s%c=%d%s%s", n ? " " : "", *name,
                                   rand() % 3, reference, dependency);
        there[n++] = *name;
    }
}

static const char *random_name(void)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};

    return names[(size_t)rand() % ARRAY_SIZE(names)];
}

static void let_something_happen(struct stage *stage)
{
    static const unsigned faults[] = {FAKE_REFUSED,  FAKE_REFUSED_DRY, FAKE_UNHEALTHY, FAKE_SICK,
                                      FAKE_SLOW,     FAKE_LOST,        FAKE_UNSEEN,    FAKE_STUCK,
                                      FAKE_VANISHES, FAKE_KEPT};
    const char *name = random_name();
    unsigned when = 1 + (unsigned)rand() % 12;

    switch (rand() % 8) {
    case 0:
        stage->world.kill_at = when;
        break;
    case 1:
        stage->world.cancel_at = when;
        break;
    case 2:
        stage->store.fail_at = when / 3;
        break;
    case 3:
        stage->store.conflict_at = when / 3;
        break;
    case 4:
        stage->store.lose_at = when / 3;
        break;
    case 5:
        fake_drop(&stage->runtime, name);
        break;
    case 6:
        if (fake_find(&stage->runtime, name))
            fake_drift(&stage->runtime, name, "drift");
        break;
    default:
        fake_fault(&stage->runtime, name, faults[(size_t)rand() % ARRAY_SIZE(faults)]);
    }
}

static void leave_in_peace(struct stage *stage)
{
    stage_calm(stage);
    for (size_t i = 0; i < stage->runtime.n_faults; i++)
        stage->runtime.faults[i].faults = 0;
    for (size_t i = 0; i < stage->runtime.n_objects;)
        if (stage->runtime.objects[i].terminating)
            fake_drop(&stage->runtime, stage->runtime.objects[i].name);
        else
            i++;
}

static void expect_as_new(struct stage *stage, const char *spec, const char *note)
{
    _cleanup_stage_ struct stage fresh;

    stage_init(&fresh);
    EXPECT_INT(stage_apply(&fresh, spec), 0, note);
    EXPECT_STR(stage_objects(stage), stage_objects(&fresh), note);
}

static void live(unsigned seed, unsigned parallelism)
{
    _cleanup_stage_ struct stage stage;
    char spec[256], note[300];

    srand(seed);
    stage_init(&stage);
    stage.parallelism = parallelism;
    stage.world.jumps = parallelism == 1;
    stage.world.step_takes = 400;
    for (int i = 1 + rand() % 5; i > 0; i--) {
        random_spec(spec, sizeof(spec));
        for (int k = rand() % 3; k > 0; k--)
            let_something_happen(&stage);
        if (rand() % 10)
            stage_apply(&stage, spec);
        else
            stage_destroy(&stage);
        stage_calm(&stage);
    }
    leave_in_peace(&stage);
    snprintf(note, sizeof(note), "seed %u: %s", seed, spec);
    EXPECT_INT(stage_apply(&stage, spec), 0, stage.error.message);
    expect_as_new(&stage, spec, note);
    EXPECT_INT(stage_plan(&stage, spec, PLAN_SHALLOW), 0, note);
    EXPECT(!strstr(stage.planned.data, "update") && !strstr(stage.planned.data, "create"), note);
    EXPECT_INT(stage_destroy(&stage), 0, stage.error.message);
    EXPECT_STR(stage_objects(&stage), "", note);
    EXPECT_STR(stage_state(&stage), "none", note);
    EXPECT_STR(stage.world.lies.data, "", note);
}

static unsigned number_of(const char *variable, const char *otherwise)
{
    const char *text = getenv(variable);

    return (unsigned)strtoul(text ? text : otherwise, NULL, 10);
}

static void all_is_well_in_the_end(void)
{
    unsigned first = number_of("KUSION_TEST_SEED", SEED);
    unsigned lives = number_of("KUSION_TEST_LIVES", LIVES);

    for (unsigned seed = first; seed - first < lives; seed++)
        live(seed, seed % 8 ? 1 : 4);
}

SUITE(operation_random, TEST(all_is_well_in_the_end))
