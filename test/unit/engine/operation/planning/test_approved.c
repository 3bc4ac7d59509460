/* What is carried out is what was approved: nothing else, and nothing more. */
#include <unistd.h>

#include "engine/base/str.h"
#include "engine/operation/operation.h"
#include "engine/value/json.h"
#include "test/unit/engine/operation/stage.h"
#include "test/unit/suite.h"

static void carries_out_what_was_approved(void)
{
    static const struct {
        const char *note, *before, *spec, *deeds;
    } rows[] = {
        {"creates", "", "a=1 Cloud/d=1", "create a; create d"},
        {"updates", "a=1 Cloud/d=1", "a=2 Cloud/d=2", "patch a; update d"},
        {"values that were not known", "Cloud/d=1", "Cloud/d=2 b@d.rev", "update d; create b"},
        {"an id that was not known", "", "Cloud/d=1 b@d.id Cloud/e*@d",
         "create d; create b; create e"},
        {"replaces, deleted first", "Cloud/d=1*k b@d.id", "Cloud/d=1*l b@d.id",
         "delete d; create d; patch b"},
        {"replaces, created first", "Cloud/d=1~k b@d.id", "Cloud/d=1~l b@d.id",
         "create d; patch b; delete d"},
        {"the order that others force", "Cloud/d=1*k Cloud/e*@d Cloud/f~@e",
         "Cloud/d=1*l Cloud/e*@d Cloud/f~@e",
         "create d; create e; create f; delete f; delete e; delete d"},
        {"deletes", "a=1 x=1 Cloud/y=1", "a=1", "delete x; delete y"},
        {"nothing", "a=1", "a=1", ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;

        stage_init(&stage);
        EXPECT_INT(stage_apply(&stage, rows[i].before), 0, rows[i].note);
        stage_approve(&stage, rows[i].spec);
        EXPECT_INT(stage_apply(&stage, rows[i].spec), 0, stage.error.message);
        EXPECT_STR(stage_deeds(&stage), rows[i].deeds, rows[i].note);
        EXPECT_INT(stage_apply(&stage, rows[i].spec), 0, stage.error.message);
        EXPECT_STR(stage_deeds(&stage), "", rows[i].note);
    }
}

static void destroys_what_was_approved(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1 b=1:a Cloud/d=1"), 0, "applied");
    stage_approve(&stage, NULL);
    EXPECT_INT(stage_destroy(&stage), 0, stage.error.message);
    EXPECT_STR(stage_objects(&stage), "", "gone");
    EXPECT_STR(stage_state(&stage), "none", "gone");
}

/* What somebody did between the approval and the operation. */
enum meanwhile {
    ANOTHER_SPEC,
    A_DRIFTS,
    A_IS_GONE,
    D_DRIFTS,
    U_DRIFTS,
    N_APPEARS,
};

static void meddle(struct stage *stage, enum meanwhile meanwhile)
{
    switch (meanwhile) {
    case ANOTHER_SPEC:
        break;
    case A_DRIFTS:
        fake_drift(&stage->objects, "a", "9");
        break;
    case A_IS_GONE:
        fake_drop(&stage->objects, "a");
        break;
    case D_DRIFTS:
        fake_cloud_drift(&stage->cloud, "d", "9");
        break;
    case U_DRIFTS:
        fake_drift(&stage->objects, "u", "9");
        break;
    case N_APPEARS:
        fake_put(&stage->objects, "n", "0", OWNER_NONE);
        break;
    }
}

static const struct stale_row {
    const char *note, *spec;
    enum meanwhile meanwhile;
    const char *now; /* the Spec that is applied */
    const char *says;
} stale_rows[] = {
    {"another value", "a=2 u=1 Cloud/d=1*k", ANOTHER_SPEC, "a=3 u=1 Cloud/d=1*k",
     "v1:ConfigMap:team:a: it would be updated in other fields, or with other values, than was "
     "approved"},
    {"another value of a creation", "a=1 u=1 c=1 Cloud/d=1*k", ANOTHER_SPEC,
     "a=1 u=1 c=2 Cloud/d=1*k", "c: it would be created in other fields"},
    {"one more", "a=2 u=1 Cloud/d=1*k", ANOTHER_SPEC, "a=2 u=1 c=1 Cloud/d=1*k",
     "c: it would be created, which the approved plan does not have"},
    {"a deletion more", "a=2 u=1 Cloud/d=1*k", ANOTHER_SPEC, "a=2 Cloud/d=1*k",
     "u: it would be deleted, which the approved plan does not have"},
    {"drift of what was to be changed", "a=2 u=1 Cloud/d=1*k", A_DRIFTS, "a=2 u=1 Cloud/d=1*k",
     "a: it would be updated in other fields"},
    {"what was to be changed is gone", "a=2 u=1 Cloud/d=1*k", A_IS_GONE, "a=2 u=1 Cloud/d=1*k",
     "a: it would be created, and the approved plan has it updated"},
    {"drift of what was to stay", "a=2 u=1 Cloud/d=1*k", U_DRIFTS, "a=2 u=1 Cloud/d=1*k",
     "u: it would be updated, which the approved plan does not have"},
    {"drift of what was to be deleted", "a=1 u=1", D_DRIFTS, "a=1 u=1",
     "d: it would be deleted, and is not as it was when that was approved"},
    {"drift of what was to be replaced", "a=1 u=1 Cloud/d=1*l", D_DRIFTS, "a=1 u=1 Cloud/d=1*l",
     "d: it would be replaced in another way than was approved"},
    {"an update becomes a replacement", "a=1 u=1 Cloud/d=2*k", ANOTHER_SPEC, "a=1 u=1 Cloud/d=2*l",
     "d: it would be replaced, and the approved plan has it updated"},
    {"another place", "a=1 u=1 Cloud/d=2*k^a", ANOTHER_SPEC, "a=1 u=1 Cloud/d=2*k^u",
     "d: it would be updated in other fields"},
    {"another place of what is removed", "a=1 u=1 Cloud/d=1*l^a", ANOTHER_SPEC,
     "a=1 u=1 Cloud/d=1*l^u", "d: it would be replaced in another way than was approved"},
    {"what an unknown value refers to", "a=1 u=1 Cloud/d=1*k Cloud/e=1 b@e.rev", ANOTHER_SPEC,
     "a=1 u=1 Cloud/d=1*k Cloud/e=1 b@e.secret", "b: it would be created in other fields"},
    {"which resource an unknown value is of", "a=1 u=1 Cloud/d=1*k Cloud/e=1 Cloud/f=1 g=1@e.rev",
     ANOTHER_SPEC, "a=1 u=1 Cloud/d=1*k Cloud/e=1 Cloud/f=1 g=1@f.rev",
     "g: it would be created in other fields"},
    {"a creation becomes an adoption", "a=1 u=1 n=1 Cloud/d=1*k", N_APPEARS,
     "a=1 u=1 n=1 Cloud/d=1*k", "n: it would be adopted, and the approved plan has it created"},
};

static void changes_nothing_where_a_plan_is_stale(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(stale_rows); i++) {
        const struct stale_row *row = &stale_rows[i];
        _cleanup_stage_ struct stage stage;
        _cleanup_free_ char *objects = NULL, *cloud = NULL, *state = NULL;

        stage_init(&stage);
        EXPECT_INT(stage_apply(&stage, "a=1 u=1 Cloud/d=1*k"), 0, row->note);
        stage_approve(&stage, row->spec);
        meddle(&stage, row->meanwhile);
        objects = str_new(stage_objects(&stage));
        cloud = str_new(stage_cloud(&stage));
        state = str_new(stage_state(&stage));
        EXPECT_INT(stage_apply(&stage, row->now), ERR_CONFLICT, row->note);
        EXPECT_STR(stage.error.reason, "PlanStale", row->note);
        EXPECT(strstr(stage.error.message, row->says), stage.error.message);
        EXPECT_STR(stage_log(&stage), "", row->note);
        EXPECT_STR(stage_objects(&stage), objects, row->note);
        EXPECT_STR(stage_cloud(&stage), cloud, row->note);
        EXPECT_STR(stage_state(&stage), state, row->note);
        EXPECT(stage.planned.length, "the plan of now can be shown");
    }
}

static void names_what_is_stale_without_its_values(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage_approve(&stage, "a=hunter1 b=hunter1 c=hunter1 d=hunter1 e=hunter1");
    EXPECT_INT(stage_apply(&stage, "a=hunter2 b=hunter2 c=hunter2 d=hunter2 e=hunter2"),
               ERR_CONFLICT, "stale");
    EXPECT(strstr(stage.error.message, "the approved plan is stale: v1:ConfigMap:team:a: it") &&
               strstr(stage.error.message, "; v1:ConfigMap:team:c: it") &&
               !strstr(stage.error.message, "v1:ConfigMap:team:d") &&
               strstr(stage.error.message, "; and 2 more"),
           stage.error.message);
    EXPECT(!strstr(stage.error.message, "hunter"), stage.error.message);
}

static void stores_no_values(void)
{
    _cleanup_stage_ struct stage stage;
    _cleanup_free_ char *text = NULL;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=hunter1 x=hunter3"), 0, "applied");
    stage_approve(&stage, "a=hunter2 Secret/s=hunter4 Cloud/d=hunter5@a");
    text = json_to_str(stage.approved);
    EXPECT(!strstr(text, "hunter") && strstr(text, "\"unknown\":[\"/after/ref\",\"/after/id\""),
           text);
}

static void is_not_voided_by_what_is_not_ours(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    fake_put(&stage.objects, "n", "0", OWNER_NONE);
    EXPECT_INT(stage_apply(&stage, "a=1 u=1 x=1"), 0, "applied");
    stage_approve(&stage, "a=2 u=1 n=1");
    fake_touch(&stage.objects, "a");
    fake_touch(&stage.objects, "u");
    fake_touch(&stage.objects, "n");
    fake_touch(&stage.objects, "x");
    EXPECT_INT(stage_apply(&stage, "a=2 u=1 n=1"), 0, stage.error.message);
    EXPECT_STR(stage_objects(&stage), "a=2 n=1 u=1", "as approved");
}

/* The look at d fails when it is planned, and succeeds when d is due: d is to be replaced, as was
 * approved, for which the operation has no steps. The next operation has them. */
static void is_not_voided_by_a_look_that_failed(void)
{
    static const char *const rows[][3] = {
        {"Cloud/d=1~k", "Cloud/d=1~l a=1", "create d; delete d"},
        {"Cloud/d=1*k", "Cloud/d=1*l a=1", "delete d; create d"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_stage_ struct stage stage;
        struct run run;

        stage_init(&stage);
        EXPECT_INT(stage_apply(&stage, rows[i][0]), 0, "applied");
        stage_approve(&stage, rows[i][1]);
        fake_cloud_fault(&stage.cloud, "d", CLOUD_OLD_FAILS);
        stage_begin_process(&stage);
        run_begin(&run, &stage);
        run_plan(&run, rows[i][1]);
        fake_cloud_fault(&stage.cloud, "d", 0);
        run_apply(&run);
        run_wait(&run);
        EXPECT_INT(run_end(&run), ERR_CONFLICT, "d");
        stage_end_process(&stage);
        EXPECT_STR(stage.error.reason, OPERATION_NEEDS_PLAN, stage.error.message);
        EXPECT_STR(stage.results.data, "d failed; a succeeded", "the rest is done");
        EXPECT_INT(stage_apply(&stage, rows[i][1]), 0, stage.error.message);
        EXPECT_STR(stage_deeds(&stage), rows[i][2], "the next operation");
    }
}

/* The intent of an adoption that was refused stays in State: from then on an update is planned.
 * That update can be approved, and carried out. */
static void goes_on_with_an_adoption_that_was_refused(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    fake_put(&stage.objects, "n", "0", OWNER_NONE);
    stage_approve(&stage, "n=1");
    fake_fault(&stage.objects, "n", FAKE_REFUSED);
    EXPECT_INT(stage_apply(&stage, "n=1"), ERR_FORBIDDEN, "refused");
    EXPECT_STR(stage.planned.data, "adopt n", "as approved");
    fake_fault(&stage.objects, "n", 0);
    stage_approve(&stage, "n=1");
    EXPECT_INT(stage_apply(&stage, "n=1"), 0, stage.error.message);
    EXPECT_STR(stage.planned.data, "update n", "the intent stayed");
    EXPECT_STR(stage_objects(&stage), "n=1", "adopted");
}

static bool await_blocked(struct stage *stage, unsigned count)
{
    bool are_blocked = false;

    for (unsigned waited = 0; !are_blocked && waited < 10000; waited++) {
        usleep(1000);
        pthread_mutex_lock(&stage->world.lock);
        are_blocked = stage->cloud.blocked == count;
        pthread_mutex_unlock(&stage->world.lock);
    }
    return are_blocked;
}

static bool await_failure(struct run *run, size_t change)
{
    enum result_status status = RESULT_PENDING;

    for (unsigned waited = 0; status == RESULT_PENDING && waited < 10000; waited++) {
        struct operation_results results;

        usleep(1000);
        operation_results(run->operation, &results);
        status = results.items[change].status;
        operation_results_done(&results);
    }
    return status == RESULT_FAILED;
}

/* b takes d's revision, and is planned again when that is known. Meanwhile somebody changes b: what
 * is in flight lands, and nothing else begins. */
static void ends_where_a_step_that_is_due_is_stale(void)
{
    static const char spec[] = "Cloud/d=2 b=2@d.rev Cloud/f=1 c=1:f";
    _cleanup_stage_ struct stage stage;
    struct run run;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "Cloud/d=1 b=1@d.rev x=1"), 0, "applied");
    stage_approve(&stage, spec);
    stage_use_threads(&stage, 4);
    fake_cloud_fault(&stage.cloud, "d", CLOUD_BLOCKS);
    fake_cloud_fault(&stage.cloud, "f", CLOUD_BLOCKS);
    stage_begin_process(&stage);
    run_begin(&run, &stage);
    run_plan(&run, spec);
    run_apply(&run);
    EXPECT(await_blocked(&stage, 2), "both are under way");
    pthread_mutex_lock(&stage.world.lock);
    fake_drift(&stage.objects, "b", "9");
    pthread_mutex_unlock(&stage.world.lock);
    fake_cloud_fault(&stage.cloud, "d", 0);
    EXPECT(await_failure(&run, 1), "b is stale");
    EXPECT(operation_phase(run.operation) != OPERATION_ENDED, "f is in flight");
    fake_cloud_fault(&stage.cloud, "f", 0);
    EXPECT_INT(run_wait(&run), OPERATION_ENDED, "it has landed");
    EXPECT_INT(run_end(&run), ERR_CONFLICT, "stale");
    EXPECT_STR(stage.error.reason, "PlanStale", stage.error.message);
    EXPECT_STR(stage.results.data, "d succeeded; b failed; f succeeded; c cancelled; x cancelled",
               "results");
    EXPECT_STR(stage_deeds(&stage), "update d; create f", "and nothing else");
    EXPECT_STR(stage_objects(&stage), "b=9 x=1", "and nothing else");
    stage_end_process(&stage);
    EXPECT_STR(stage_state(&stage), "b x d f", "nor is anything to be expected");
}

static void ends_where_a_step_is_planned_again_otherwise(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    EXPECT_INT(stage_apply(&stage, "a=1 b=1:a c=1:b x=1"), 0, "applied");
    stage_approve(&stage, "a=2 b=2:a c=2:b n=1:a");
    fake_fault(&stage.objects, "n", FAKE_NOBODYS_APPEARS);
    EXPECT_INT(stage_apply(&stage, "a=2 b=2:a c=2:b n=1:a"), ERR_CONFLICT, "stale");
    EXPECT_STR(stage.error.reason, "PlanStale", stage.error.message);
    EXPECT(strstr(stage.error.message, "the approved plan is stale: v1:ConfigMap:team:n: it would "
                                       "be adopted, and the approved plan has it created"),
           stage.error.message);
    EXPECT(!strstr(stage_deeds(&stage), "delete x"), stage_deeds(&stage));
    EXPECT_STR(stage.results.data, "a succeeded; b succeeded; c cancelled; n failed; x cancelled",
               "results");
    EXPECT(strstr(stage.causes.data, "c: not begun: the approved plan is stale"),
           stage.causes.data);
    EXPECT(strstr(stage_objects(&stage), "n=1~"), stage_objects(&stage));
    EXPECT_STR(stage_state(&stage), "a b c x", "n was never made");
}

/* What was deferred needs another approval, and the rest is done. */
static void leaves_what_was_deferred_for_another_round(void)
{
    static const char spec[] = "a=1 Cloud/r=1 Cloud/d=1^r Cloud/e=1:d";
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    stage_approve(&stage, spec);
    for (unsigned round = 0; round < 2; round++) {
        EXPECT_INT(stage_apply(&stage, spec), ERR_UNAVAILABLE, "not all");
        EXPECT_STR(stage.error.reason, OPERATION_NEEDS_APPROVAL, stage.error.message);
        EXPECT(strstr(stage.error.message, "another round of approval"), stage.error.message);
        EXPECT_STR(stage_deeds(&stage), round ? "" : "create a; create r", "once");
        EXPECT_STR(stage.results.data, "a succeeded; r succeeded; d deferred; e skipped",
                   "results");
    }
    stage_approve(&stage, spec);
    EXPECT_INT(stage_apply(&stage, spec), 0, stage.error.message);
    EXPECT_STR(stage_deeds(&stage), "create d; create e", "the next round");
}

static void leaves_what_could_not_be_looked_at_for_another_round(void)
{
    _cleanup_stage_ struct stage stage;

    stage_init(&stage);
    fake_cloud_fault(&stage.cloud, "d", CLOUD_UNSEEN);
    stage_approve(&stage, "a=1 Cloud/d=1");
    EXPECT_INT(stage_apply(&stage, "a=1 Cloud/d=1"), ERR_FORBIDDEN, "it still cannot be");
    EXPECT_STR(stage.results.data, "a succeeded; d failed", "results");
    fake_cloud_fault(&stage.cloud, "d", 0);
    EXPECT_INT(stage_apply(&stage, "a=1 Cloud/d=1"), ERR_UNAVAILABLE, "not covered");
    EXPECT_STR(stage.error.reason, OPERATION_NEEDS_APPROVAL, stage.error.message);
    EXPECT_STR(stage_deeds(&stage), "", "it is left");
}

/* A webhook is installed, changed or removed after the approval: before the operation is planned,
 * so that nothing begins; or when a creation is due, after others. */
static void ends_where_a_creation_would_be_another(void)
{
    static const struct {
        const char *note, *then, *now;
        bool is_stale;
    } rows[] = {
        {"none", NULL, NULL, false},
        {"the same", "w", "w", false},
        {"installed", NULL, "w", true},
        {"changed", "w", "v", true},
        {"removed", "w", NULL, true},
        {"another value each time", "?", "?", false},
        {"another value each time, that is known now", "?", "w", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows) * 2; i++) {
        bool is_late = i % 2;
        _cleanup_stage_ struct stage stage;
        struct run run;

        stage_init(&stage);
        stage.thorough = true;
        stage.objects.rewrites = rows[i / 2].then;
        stage_approve(&stage, "a=1 b=2:a");
        stage_begin_process(&stage);
        run_begin(&run, &stage);
        if (!is_late)
            stage.objects.rewrites = rows[i / 2].now;
        run_plan(&run, "a=1 b=2:a");
        stage.objects.rewrites = rows[i / 2].now;
        run_apply(&run);
        run_wait(&run);
        EXPECT_INT(run_end(&run), rows[i / 2].is_stale ? ERR_CONFLICT : 0, rows[i / 2].note);
        if (rows[i / 2].is_stale)
            EXPECT_STR(stage.error.reason, "PlanStale", stage.error.message);
        EXPECT_STR(stage_deeds(&stage), rows[i / 2].is_stale ? "" : "create a; create b",
                   rows[i / 2].note);
        stage_end_process(&stage);
        EXPECT_STR(stage_state(&stage),
                   !rows[i / 2].is_stale ? "a b"
                   : is_late             ? ""
                                         : "none",
                   rows[i / 2].note);
    }
}

/* What was created under the approval stays, and the next plan shows the rest. */
static void compares_each_creation_when_it_is_due(void)
{
    static const char spec[] = "Cloud/d=1 a=1:d";
    _cleanup_stage_ struct stage stage;
    struct run run;

    stage_init(&stage);
    stage.thorough = true;
    stage_approve(&stage, spec);
    stage_use_threads(&stage, 4);
    fake_cloud_fault(&stage.cloud, "d", CLOUD_BLOCKS);
    stage_begin_process(&stage);
    run_begin(&run, &stage);
    run_plan(&run, spec);
    run_apply(&run);
    EXPECT(await_blocked(&stage, 1), "d is under way");
    pthread_mutex_lock(&stage.world.lock);
    stage.objects.rewrites = "w";
    pthread_mutex_unlock(&stage.world.lock);
    fake_cloud_fault(&stage.cloud, "d", 0);
    run_wait(&run);
    EXPECT_INT(run_end(&run), ERR_CONFLICT, "stale");
    EXPECT_STR(stage.results.data, "d succeeded; a failed", "results");
    EXPECT_STR(stage_deeds(&stage), "create d", "and nothing else");
    stage_end_process(&stage);
    stage_approve(&stage, spec);
    EXPECT_INT(stage_apply(&stage, spec), 0, stage.error.message);
    EXPECT_STR(stage_deeds(&stage), "create a", "as it was approved now");
}

SUITE(operation_approved, TEST(carries_out_what_was_approved), TEST(destroys_what_was_approved),
      TEST(changes_nothing_where_a_plan_is_stale), TEST(names_what_is_stale_without_its_values),
      TEST(stores_no_values), TEST(is_not_voided_by_what_is_not_ours),
      TEST(is_not_voided_by_a_look_that_failed), TEST(goes_on_with_an_adoption_that_was_refused),
      TEST(ends_where_a_step_that_is_due_is_stale),
      TEST(ends_where_a_step_is_planned_again_otherwise),
      TEST(leaves_what_was_deferred_for_another_round),
      TEST(leaves_what_could_not_be_looked_at_for_another_round),
      TEST(ends_where_a_creation_would_be_another), TEST(compares_each_creation_when_it_is_due))
