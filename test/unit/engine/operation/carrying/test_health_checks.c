/* Objects that the Spec does not own, and waits for. */
#include "engine/base/str.h"
#include "engine/threads/locked.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

static void waits_for_what_others_own(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage.verify = true;
    fake_put(&stage.objects, "x", "1", OWNER_OTHER);
    fake_fault(&stage.objects, "x", FAKE_SLOW);
    EXPECT_INT(stage_apply(&stage, "a=1 -health:x"), 0, stage.error.message);
    EXPECT_STR(stage.results.data, "a succeeded", "the check is no change");
    EXPECT_STR(stage_objects(&stage), "a=1 x=1!", "nothing is done to it");
    EXPECT_STR(stage_state(&stage), "a", "State does not name it");
    EXPECT(stage.objects.reads >= 3, "it was looked at until it was healthy");
}

static void tells_why_it_is_not_healthy(void)
{
    static const struct {
        const char *spec;
        unsigned faults;
        bool is_there;
        int code;
        const char *message;
    } rows[] = {
        {"a=1 -health:x", FAKE_UNHEALTHY, true, ERR_TIMEOUT,
         "healthChecks: 1 of 1 failed: v1:ConfigMap:team:x: not healthy within 60 s (timeout): "
         "phase "},
        {"a=1 -health:x", FAKE_SICK, true, ERR_INVALID,
         "healthChecks: 1 of 1 failed: v1:ConfigMap:team:x: phase failed"},
        {"a=1 -health:x", 0, false, ERR_TIMEOUT,
         "healthChecks: 1 of 1 failed: v1:ConfigMap:team:x: not healthy within 60 s (timeout): it "
         "is not there"},
        {"a=1 -health:x", FAKE_UNSEEN, true, ERR_FORBIDDEN,
         "healthChecks: 1 of 1 failed: v1:ConfigMap:team:x: the fake says so"},
        /* the same words, whether it is there or not */
        {"a=1 -health:x", FAKE_UNSEEN, false, ERR_FORBIDDEN,
         "healthChecks: 1 of 1 failed: v1:ConfigMap:team:x: the fake says so"},
        /* asked for, whatever `wait` says of its own */
        {"a=1 -wait -health:x", FAKE_SICK, true, ERR_INVALID, "healthChecks: 1 of 1 failed"},
        {"a=1 -health:x,y", FAKE_SICK, true, ERR_INVALID,
         "healthChecks: 2 of 2 failed: v1:ConfigMap:team:x: phase failed; v1:ConfigMap:team:y: not "
         "healthy within 60 s (timeout): it is not there"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        stage.verify = true;
        if (rows[i].is_there)
            fake_put(&stage.objects, "x", "1", OWNER_OTHER);
        fake_fault(&stage.objects, "x", rows[i].faults);
        EXPECT_INT(stage_apply(&stage, rows[i].spec), rows[i].code, rows[i].message);
        EXPECT(str_has_prefix(stage.error.message, rows[i].message), stage.error.message);
        EXPECT_STR(stage.results.data, "a succeeded", "its own is done");
    }
}

/* What is forbidden is not tried again and again, and what fails before it is the error. */
static void looks_only_after_its_own(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage.verify = true;
    fake_put(&stage.objects, "x", "1", OWNER_OTHER);
    fake_fault(&stage.objects, "a", FAKE_REFUSED);
    fake_fault(&stage.objects, "x", FAKE_SICK);
    EXPECT_INT(stage_apply(&stage, "a=1 -health:x"), ERR_FORBIDDEN, stage.error.message);
    EXPECT(strstr(stage.error.message, "healthChecks") == NULL, stage.error.message);
    stage.verify = false;
    fake_fault(&stage.objects, "a", 0);
    EXPECT_INT(stage_apply(&stage, "a=1 -health:x"), 0, "a correction does not look");
}

static void is_woken_and_can_be_cancelled(void)
{
    _cleanup_stage_ struct stage stage;
    char waits[256];
    struct run run;

    stage_init(&stage);
    stage_use_threads(&stage, 4);
    stage.verify = true;
    stage.objects.hints = true;
    stage.world.pace = FAKE_CLOCK_STANDS;
    fake_put(&stage.objects, "x", "1", OWNER_OTHER);
    fake_fault(&stage.objects, "x", FAKE_UNHEALTHY);
    stage_begin_process(&stage);
    run_begin(&run, &stage);
    run_plan(&run, "a=1 -health:x");
    run_apply(&run);
    {
        LOCKED(&stage.world.lock);

        stage.objects.hints = false;
    }
    EXPECT(run_await(&run, OPERATION_PARKED), "it waits without a thread");
    while (!operation_waits_for(run.operation, waits, sizeof(waits), NULL))
        ;
    EXPECT(str_has_prefix(waits, "v1:ConfigMap:team:x: phase "), waits);
    run_cancel(&run, "Superseded");
    EXPECT_INT(run_end(&run), ERR_CANCELLED, stage.error.message);
}

SUITE(operation_health_checks, TEST(waits_for_what_others_own), TEST(tells_why_it_is_not_healthy),
      TEST(looks_only_after_its_own), TEST(is_woken_and_can_be_cancelled))
