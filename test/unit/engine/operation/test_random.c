/*
 * Lives of Specs, at random, over both worlds in one graph: they change, and resources fail, are
 * killed, cancelled, evicted while they are parked, lost and changed by others on the way. In the
 * end, left in peace (and what is in doubt cleared up), all is as the last Spec has it; and after a
 * destroy nothing is left. Where a plan was approved, and nobody but us changes anything, the
 * approval holds.
 *
 * KUSION_TEST_LIVES is how many, KUSION_TEST_SEED the first one's seed (hack/soak random).
 */
#include <stdlib.h>

#include "engine/operation/operation.h"
#include "test/unit/engine/operation/doubt.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

#define LIVES "20"
#define SEED  "1"
#define NAMES "abcdefgh"

/* The second half of the names are of the cloud. */
static bool is_of_cloud(char name)
{
    return name > 'd';
}

/* What makes a thing be replaced, in either order, now and then for another thing's sake. */
static void random_identity(char *ret, size_t size, const char *there, size_t n)
{
    char mark = rand() % 2 ? '*' : '~', other = n ? there[(size_t)rand() % n] : 'a';

    if (n && rand() % 3 == 0 && is_of_cloud(other))
        snprintf(ret, size, "%c@%c", mark, other);
    else if (rand() % 2)
        snprintf(ret, size, "%c%d", mark, rand() % 2);
}

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
        char reference[32] = "", dependency[8] = "", identity[8] = "";

        if (rand() % 3 == 0)
            continue;
        if (is_of_cloud(*name))
            random_identity(identity, sizeof(identity), there, n);
        if (n && rand() % 3 == 0) {
            char other = there[(size_t)rand() % n];

            snprintf(reference, sizeof(reference), "@%c%s", other,
                     rand() % 2           ? ""
                     : is_of_cloud(other) ? ".x"
                                          : ".data.x");
        }
        if (n && rand() % 2)
            snprintf(dependency, sizeof(dependency), ":%c", there[(size_t)rand() % n]);
        length += (size_t)snprintf(ret + length, size - length, "%s%s%c=%d%s%s%s", n ? " " : "",
                                   is_of_cloud(*name) ? "Cloud/" : "", *name, rand() % 3, identity,
                                   reference, dependency);
        there[n++] = *name;
    }
}

static const char *random_name(void)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};

    return names[(size_t)rand() % ARRAY_SIZE(names)];
}

static void fault_at_random(struct stage *stage, const char *name)
{
    static const unsigned of_objects[] = {
        FAKE_REFUSED, FAKE_REFUSED_DRY, FAKE_UNHEALTHY, FAKE_SICK, FAKE_SLOW,
        FAKE_LOST,    FAKE_UNSEEN,      FAKE_STUCK,     FAKE_KEPT, FAKE_VANISHES,
        FAKE_BUSY,    FAKE_BUSY_ONCE,   FAKE_TWICE,     FAKE_HELD};
    static const unsigned of_things[] = {
        CLOUD_REFUSED,   CLOUD_BUSY,   CLOUD_BUSY_ONCE, CLOUD_PARTIAL, CLOUD_HALF,
        CLOUD_LOST,      CLOUD_UNMADE, CLOUD_UNSEEN,    CLOUD_KEPT,    CLOUD_LINGERS,
        CLOUD_UNHEALTHY, CLOUD_DEFERS, CLOUD_UNBOUND};

    if (is_of_cloud(*name))
        fake_cloud_fault(&stage->cloud, name, of_things[(size_t)rand() % ARRAY_SIZE(of_things)]);
    else
        fake_fault(&stage->objects, name, of_objects[(size_t)rand() % ARRAY_SIZE(of_objects)]);
}

/* Someone takes it away, or changes it. */
static void meddle(struct stage *stage, const char *name)
{
    bool drops = rand() % 2;

    if (is_of_cloud(*name) && drops)
        fake_cloud_drop(&stage->cloud, name);
    else if (is_of_cloud(*name) && fake_cloud_find(&stage->cloud, name))
        fake_cloud_drift(&stage->cloud, name, "drift");
    else if (drops)
        fake_drop(&stage->objects, name);
    else if (fake_find(&stage->objects, name))
        fake_drift(&stage->objects, name, "drift");
}

/* The process, or the store. */
static void interrupt_at_random(struct stage *stage)
{
    unsigned when = 1 + (unsigned)rand() % 14;

    switch (rand() % 7) {
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
    default:
        stage->evict_at = 1 + when / 3;
    }
}

static void let_something_happen(struct stage *stage)
{
    const char *name = random_name();
    int what = rand() % 10;

    if (what < 7)
        interrupt_at_random(stage);
    else if (what == 7)
        meddle(stage, name);
    else
        fault_at_random(stage, name);
}

static void leave_in_peace(struct stage *stage)
{
    stage_calm(stage);
    if (rand() % 2)
        fake_land_late(&stage->objects);
    for (size_t i = 0; i < stage->objects.n_faults; i++)
        stage->objects.faults[i].faults = 0;
    for (size_t i = 0; i < stage->cloud.n_faults; i++)
        stage->cloud.faults[i].faults = 0;
    for (size_t i = 0; i < stage->objects.n_objects;)
        if (stage->objects.objects[i].terminating)
            fake_drop(&stage->objects, stage->objects.objects[i].name);
        else
            i++;
    doubt_clear(stage);
}

static void expect_as_new(struct stage *stage, const char *spec, const char *note)
{
    _cleanup_stage_ struct stage fresh;

    stage_init(&fresh);
    EXPECT_INT(stage_apply(&fresh, spec), 0, note);
    EXPECT_STR(stage_objects(stage), stage_objects(&fresh), note);
    EXPECT_STR(stage_cloud(stage), stage_cloud(&fresh), note);
}

static void live(unsigned seed, unsigned parallelism)
{
    _cleanup_stage_ struct stage stage;
    char spec[256], note[300];

    srand(seed);
    stage_init(&stage);
    stage_use_threads(&stage, parallelism);
    stage.world.step_takes = 400;
    for (int i = 1 + rand() % 5; i > 0; i--) {
        random_spec(spec, sizeof(spec));
        stage.objects.late_after = rand() % FAKE_EFFECT_TIME;
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
    EXPECT_INT(stage_plan(&stage, spec), 0, note);
    EXPECT(!strstr(stage.planned.data, "update") && !strstr(stage.planned.data, "create") &&
               !strstr(stage.planned.data, "replace"),
           note);
    EXPECT_INT(stage_destroy(&stage), 0, stage.error.message);
    fake_land_late(&stage.objects); /* none can come any more */
    EXPECT_STR(stage_objects(&stage), "", note);
    EXPECT_STR(stage_cloud(&stage), "", note);
    EXPECT_STR(stage_state(&stage), "none", note);
    EXPECT_STR(stage.world.lies.data, "", note);
}

/* Creates that come late, before the plan is approved or while it is carried out. */
static void send_late_at_random(struct stage *stage)
{
    const char *name = random_name();

    stage->objects.late_after = rand() % FAKE_EFFECT_TIME;
    if (rand() % 2 && !is_of_cloud(*name))
        fake_fault(&stage->objects, name, rand() % 2 ? FAKE_TWICE : FAKE_HELD);
}

static void send_in_time(struct stage *stage)
{
    for (size_t i = 0; i < stage->objects.n_faults; i++)
        stage->objects.faults[i].faults = 0;
}

/* One approval serves until all is done, however often the operation is interrupted: it is never
 * stale, since nobody else changes anything. */
static void live_approved(unsigned seed, unsigned parallelism)
{
    _cleanup_stage_ struct stage stage;
    char before[256], spec[256], note[600];

    srand(seed);
    stage_init(&stage);
    stage_use_threads(&stage, parallelism);
    stage.world.step_takes = 400;
    random_spec(before, sizeof(before));
    random_spec(spec, sizeof(spec));
    snprintf(note, sizeof(note), "approved, seed %u: from %s to %s", seed, before, spec);
    send_late_at_random(&stage);
    stage_apply(&stage, before);
    send_in_time(&stage);
    doubt_clear(&stage); /* planning would wait for half an hour, and run out of time */
    stage_approve(&stage, spec);
    for (int i = 1 + rand() % 6; i > 0; i--) {
        send_late_at_random(&stage);
        interrupt_at_random(&stage);
        if (rand() % 2)
            stage.world.kill_at = 1 + (unsigned)rand() % 14;
        stage_apply(&stage, spec);
        EXPECT(strcmp(stage.error.reason, "PlanStale") != 0, note);
        EXPECT(strcmp(stage.error.reason, OPERATION_NEEDS_APPROVAL) != 0, note);
        stage_calm(&stage);
        send_in_time(&stage);
        if (rand() % 2)
            doubt_clear(&stage);
    }
    leave_in_peace(&stage);
    EXPECT_INT(stage_apply(&stage, spec), 0, note);
    EXPECT_STR(stage.error.message, "", note);
    expect_as_new(&stage, spec, note);
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

static void an_approval_holds_to_the_end(void)
{
    unsigned first = number_of("KUSION_TEST_SEED", SEED);
    unsigned lives = number_of("KUSION_TEST_LIVES", LIVES);

    for (unsigned seed = first; seed - first < lives; seed++)
        live_approved(seed, seed % 8 ? 1 : 4);
}

SUITE(operation_random, TEST(all_is_well_in_the_end), TEST(an_approval_holds_to_the_end))
