/* What an operation holds of objects that are larger than what is wanted of them. */
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

#define MANY  8
#define LARGE (1u << 20) /* bytes of one object */

/* r0 … are there, and large; nobody's. */
static void put_large(struct stage *stage)
{
    _cleanup_free_ char *text = mem_new_array(LARGE + 1, 1);
    char name[16];

    memset(text, 'x', LARGE);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "r%d", i);
        fake_put(&stage->objects, name, text, OWNER_NONE);
    }
}

#define ALL "r0=1 r1=1 r2=1 r3=1 r4=1 r5=1 r6=1 r7=1"

static const struct {
    const char *note, *spec;
    size_t most; /* bytes */
} rows[] = {
    {"nothing refers to them", ALL, 64u << 10},
    {"something refers to a small field", ALL " b@r0 c@r0 d@r7", 64u << 10},
};

static void objects_are_not_kept(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;
        struct run run;
        size_t held;

        stage_init(&stage);
        stage_begin_process(&stage);
        put_large(&stage);
        run_begin(&run, &stage);
        run_plan(&run, rows[i].spec);
        EXPECT_INT(operation_error(run.operation, NULL), 0, rows[i].note);
        held = operation_memory(run.operation);
        EXPECT(held <= rows[i].most, rows[i].note);
        run_apply(&run);
        EXPECT_INT(run_wait(&run), OPERATION_ENDED, rows[i].note);
        EXPECT(operation_memory(run.operation) <= rows[i].most, rows[i].note);
        EXPECT_INT(run_end(&run), 0, stage.error.message);
        stage_end_process(&stage);
    }
}

/* Also before anything is planned. */
static void an_approved_plan_counts(void)
{
    _cleanup_stage_ struct stage stage;
    size_t held[2];

    stage_init(&stage);
    stage_approve(&stage, ALL);
    for (int is_approved = 1; is_approved >= 0; is_approved--) {
        struct run run;

        if (!is_approved)
            stage_automate(&stage);
        stage_begin_process(&stage);
        run_begin(&run, &stage);
        held[is_approved] = operation_memory(run.operation);
        run_end(&run);
        stage_end_process(&stage);
    }
    EXPECT(held[1] >= held[0] + (size_t)MANY * 2 * HASH_HEX_SIZE, "two digests of each step");
}

/* Of what cannot be planned, and of what fails: the error is in the plan, and in the result. */
static void errors_count(void)
{
    _cleanup_free_ char *words = str_printf("%0*d", 2000, 0);
    static const char *const said[] = {"no", NULL};
    size_t planned[2], ended[2];

    for (size_t i = 0; i < ARRAY_SIZE(said); i++) {
        _cleanup_stage_ struct stage stage;
        struct run run;

        stage_init(&stage);
        stage.thorough = true;
        stage.objects.words = said[i] ? said[i] : words;
        fake_fault(&stage.objects, "b", FAKE_REFUSED_DRY);
        fake_fault(&stage.objects, "c", FAKE_REFUSED_DRY);
        stage_begin_process(&stage);
        run_begin(&run, &stage);
        run_plan(&run, "a=1 b=1 c=1");
        planned[i] = operation_memory(run.operation);
        run_apply(&run);
        EXPECT_INT(run_wait(&run), OPERATION_ENDED, "ended");
        ended[i] = operation_memory(run.operation);
        run_end(&run);
        stage_end_process(&stage);
    }
    EXPECT(planned[1] >= planned[0] + 2 * 1900, "one in each change");
    EXPECT(planned[1] <= planned[0] + 3 * 2000, "and no more than that");
    EXPECT(ended[1] >= ended[0] + 4 * 1900, "and one in each result");
}

/* ---- Growth ---- */

static void more_than_it_may_hold_ends_it(void)
{
    static const struct {
        const char *note, *more; /* resources than "a", which is large */
        size_t most;
        int code;
    } limits[] = {
        {"nothing refers to it", " b@a", 3 * LARGE / 2, 0},
        {"it may hold what is taken", " b@a.data", 8 * LARGE, 0},
        {"it may not", " b@a.data", LARGE / 2, ERR_TOO_LARGE},
        {"however often it is taken", " b@a.data c@a.data d@a.data e@a.data", 8 * LARGE, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
        _cleanup_stage_ struct stage stage;
        struct buf spec = BUF_INIT;
        struct run run;

        buf_add_str(&spec, "a=");
        for (size_t k = 0; k < LARGE; k++)
            buf_add(&spec, "x", 1);
        buf_add_str(&spec, limits[i].more);
        stage_init(&stage);
        stage.may_forget = true;
        stage.most = limits[i].most;
        stage_begin_process(&stage);
        run_begin(&run, &stage);
        run_plan(&run, spec.data);
        EXPECT_INT(run.code, limits[i].code, limits[i].note);
        EXPECT(stage.asked, "it asked");
        run_apply(&run);
        run_wait(&run);
        EXPECT_INT(run_end(&run), limits[i].code, limits[i].note);
        stage_end_process(&stage);
        buf_done(&spec);
    }
}

/* ---- What is unchanged ---- */

static void unchanged_keeps_no_step(void)
{
    static const struct {
        const char *note, *spec;
        bool keeps_step;
    } plans[] = {
        {"as State has it", "a=1 b@a c=1", false},
        {"State has other dependencies", "a=1 b@a:c c=1", true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(plans); i++) {
        _cleanup_stage_ struct stage stage;
        const struct plan_change *change;
        struct run run;

        stage_init(&stage);
        EXPECT_INT(stage_apply(&stage, "a=1 b@a c=1"), 0, stage.error.message);
        stage_begin_process(&stage);
        run_begin(&run, &stage);
        run_plan(&run, plans[i].spec);
        change = &operation_get_plan(run.operation)->changes[1];
        EXPECT_INT(change->action, PLAN_UNCHANGED, plans[i].note);
        EXPECT_INT(change->step != NULL, plans[i].keeps_step, plans[i].note);
        run_apply(&run);
        EXPECT_INT(run_wait(&run), OPERATION_ENDED, plans[i].note);
        EXPECT_INT(run_end(&run), 0, stage.error.message);
        stage_end_process(&stage);
    }
}

/* What is taken from a is small when it is planned, and large when it is looked at. */
static void more_than_it_may_hold_ends_it_while_it_is_carried_out(void)
{
    _cleanup_stage_ struct stage stage;
    _cleanup_free_ char *text = mem_new_array(LARGE + 1, 1);
    struct run run;

    memset(text, 'x', LARGE);
    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1 z=1"), 0, stage.error.message);
    stage.verify = true;
    stage.most = LARGE / 2;
    stage_begin_process(&stage);
    run_begin(&run, &stage);
    run_plan(&run, "a=1 b=1@a.data c=1:b");
    EXPECT_INT(run.code, 0, stage.error.message);
    fake_drift(&stage.objects, "a", text);
    run_apply(&run);
    EXPECT_INT(run_wait(&run), OPERATION_ENDED, "ended");
    EXPECT_INT(run_end(&run), ERR_TOO_LARGE, "for memory");
    stage_end_process(&stage);
    EXPECT_STR(stage.error.reason, "TooLarge", stage.error.message);
    EXPECT_STR(stage.results.data, "a succeeded; b cancelled; c cancelled; z cancelled", "results");
    EXPECT(
        strstr(stage.causes.data, "b: not begun: the operation needs more memory than it may have"),
        stage.causes.data);
    EXPECT_STR(stage_deeds(&stage), "", "nothing is begun");
    EXPECT_STR(stage_state(&stage), "a z b? c?", "and nothing is forgotten");
    fake_drift(&stage.objects, "a", "1");
    stage.most = 0;
    EXPECT_INT(stage_apply(&stage, "a=1 b=1@a.data c=1:b"), 0, stage.error.message);
    EXPECT_STR(stage_state(&stage), "a b c", "the next one");
}

SUITE(operation_memory, TEST(objects_are_not_kept), TEST(unchanged_keeps_no_step),
      TEST(an_approved_plan_counts), TEST(errors_count), TEST(more_than_it_may_hold_ends_it),
      TEST(more_than_it_may_hold_ends_it_while_it_is_carried_out))
