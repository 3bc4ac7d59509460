/* The takeover of field managers over a scripted server: what the plan foresees, what is sent
 * before the apply, and what happens where one of these requests fails. */
#include "engine/base/str.h"
#include "test/unit/runtimes/kubernetes/change/steps.h"
#include "test/unit/suite.h"

#define OURS_IS "kusion-operator-a5cb1ff62f8ed32c"
#define OF(manager, operation, fields)                                                    \
    "{\"manager\":\"" manager "\",\"operation\":\"" operation "\",\"apiVersion\":\"v1\"," \
    "\"fieldsV1\":{\"f:data\":{" fields "}}}"
#define KUBECTLS(fields) OF("kubectl-edit", "Update", fields)
#define OURS(fields)     OF(OURS_IS, "Apply", fields)
#define A                "\"f:a\":{}"
#define B                "\"f:b\":{}"
#define OBJECT(version, managers, data)                                                         \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"namespace\":" \
    "\"team\",\"uid\":\"u-a\",\"resourceVersion\":\"" version "\",\"labels\":{"                 \
    "\"api.kusion.io/owner\":\"" STAGE_OWNER "\"},\"managedFields\":[" managers                 \
    "]},\"data\":{" data "}}"
#define WANTED                                                                              \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"},\"data\":" \
    "{\"a\":\"1\"}}"

#define LIVE   OBJECT("5", OURS(A) "," KUBECTLS(B), "\"a\":\"1\",\"b\":\"1\"")
#define TAKEN  OBJECT("6", OURS(A "," B), "\"a\":\"1\",\"b\":\"1\"")
#define PRUNED OBJECT("6", OURS(A), "\"a\":\"1\"")

#define GET                                                      \
    {                                                            \
        .expect = "GET " MAPS "/a ", .status = 200, .body = LIVE \
    }
#define SENT "PATCH " MAPS "/a?fieldManager=" OURS_IS
#define DRY(answer)                                                                \
    {                                                                              \
        .expect = PATCH "&force=true&dryRun=All ", .status = 200, .body = (answer) \
    }
#define FORESEE(answer)                                                \
    {                                                                  \
        .expect = SENT "&dryRun=All ", .status = 200, .body = (answer) \
    }
#define MIGRATE                                          \
    {                                                    \
        .expect = SENT " ", .status = 200, .body = TAKEN \
    }
#define APPLY                                                         \
    {                                                                 \
        .expect = PATCH "&force=true ", .status = 200, .body = PRUNED \
    }
#define CONFLICT STATUS(409, "Conflict", "the object has been modified", "{\"name\":\"a\"}")
#define PLANNED  DISCOVERY, GET, DRY(LIVE), FORESEE(PRUNED)

/* Of a Spec that has the object already. */
static int plan(struct call *call, struct runtime_step **ret, struct error *error)
{
    struct record record = {
        .status = RECORD_APPLIED, .id = "id", .attributes = call->attributes, .uid = "u-a"};

    call->target.prior = &record;
    return kube_plan(call->session, &call->target, NULL, &stage_call, ret, error);
}

static void the_plan_shows_what_goes(void)
{
    static const struct {
        const char *note;
        struct fake_step steps[MAX_STEPS];
        enum plan_action action;
        bool takes_over;
        const char *reason;
    } rows[] = {
        {"a field that kubectl added", {PLANNED}, PLAN_UPDATE, true, ""},
        {"nothing goes, and nothing else is asked",
         {DISCOVERY,
          {.expect = "GET ",
           .status = 200,
           .body = OBJECT("5", OURS(A) "," KUBECTLS(A), "\"a\":\"1\"")},
          DRY(OBJECT("5", OURS(A) "," KUBECTLS(A), "\"a\":\"1\""))},
         PLAN_UNCHANGED,
         false,
         ""},
        {"something is changed as well, so that it is taken over",
         {DISCOVERY,
          {.expect = "GET ",
           .status = 200,
           .body = OBJECT("5", OURS(A) "," KUBECTLS(A), "\"a\":\"0\"")},
          DRY(OBJECT("5", OURS(A) "," KUBECTLS(A), "\"a\":\"1\""))},
         PLAN_UPDATE,
         true,
         ""},
        {"the server fills it in again: a default",
         {DISCOVERY, GET, DRY(LIVE), FORESEE(LIVE)},
         PLAN_UNCHANGED,
         false,
         ""},
        {"it may not go",
         {DISCOVERY,
          GET,
          DRY(LIVE),
          {.expect = SENT "&dryRun=All ",
           .status = 422,
           .body = STATUS(422, "Invalid", "b is required", "{\"name\":\"a\"}")}},
         PLAN_NONE,
         false,
         "Invalid"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct runtime_step *step = NULL;
        struct error error = {0};
        struct call call;

        call_begin(&call, rows[i].steps, count_steps(rows[i].steps), WANTED);
        plan(&call, &step, &error);
        EXPECT_STR(error.reason, rows[i].reason, rows[i].note);
        if (step) {
            EXPECT_INT(step->action, rows[i].action, rows[i].note);
            EXPECT_INT(((struct kube_step *)step)->after_digest != NULL, rows[i].takes_over,
                       rows[i].note);
            EXPECT_INT(value_path(step->before, "data", "b", NULL) != NULL,
                       rows[i].action == PLAN_UPDATE && rows[i].steps[3].status != 0, rows[i].note);
            EXPECT(rows[i].action == PLAN_UNCHANGED || !value_path(step->after, "data", "b", NULL),
                   rows[i].note);
        }
        kube_step_free(step);
        call_end(&call);
    }
}

static bool sent(struct call *call, size_t n, const char *text)
{
    _cleanup_free_ char *request = fake_server_request(call->stage.harness.server, n);

    return request && strstr(request, text) != NULL;
}

static void the_plan_is_of_the_object_without_it(void)
{
    static const struct fake_step steps[] = {PLANNED};
    struct runtime_step *step = NULL;
    struct call call;

    call_begin(&call, steps, ARRAY_SIZE(steps), WANTED);
    plan(&call, &step, NULL);
    EXPECT(sent(&call, 3, "Content-Type: application/json-patch+json\r\n"), "a JSON patch");
    EXPECT(sent(&call, 3, "{\"op\":\"add\",\"path\":\"/data\",\"value\":{\"a\":\"1\"}}"), "data");
    EXPECT(!sent(&call, 3, "resourceVersion") && !sent(&call, 3, "managedFields"), "no more");
    kube_step_free(step);
    call_end(&call);
}

static void takes_over_before_the_apply(void)
{
    static const struct {
        const char *note;
        struct fake_step steps[MAX_STEPS];
        int code;
        const char *reason;
        enum certainty certainty;
    } rows[] = {
        {"taken over, checked and applied",
         {PLANNED, GET, MIGRATE, DRY(PRUNED), APPLY},
         0,
         "",
         OUTCOME_KNOWN},
        {"its status changed meanwhile",
         {PLANNED,
          GET,
          {.expect = SENT " ", .status = 409, .body = CONFLICT},
          GET,
          MIGRATE,
          DRY(PRUNED),
          APPLY},
         0,
         "",
         OUTCOME_KNOWN},
        {"kubectl added more since it was planned",
         {PLANNED,
          {.expect = "GET ",
           .status = 200,
           .body = OBJECT("6", OURS(A) "," KUBECTLS(B ",\"f:c\":{}"), "\"a\":\"1\"")}},
         ERR_CONFLICT,
         "Conflict",
         OUTCOME_NOT_SENT},
        {"kubectl wrote another value since it was planned",
         {PLANNED,
          {.expect = "GET ",
           .status = 200,
           .body = OBJECT("6", OURS(A) "," KUBECTLS(B), "\"a\":\"1\",\"b\":\"2\"")}},
         ERR_CONFLICT,
         "Conflict",
         OUTCOME_NOT_SENT},
        {"it was taken over already",
         {PLANNED, {.expect = "GET ", .status = 200, .body = TAKEN}},
         ERR_CONFLICT,
         "Conflict",
         OUTCOME_NOT_SENT},
        {"it is gone",
         {PLANNED, {.expect = "GET ", .status = 404, .body = MISSING("a")}},
         ERR_CONFLICT,
         "Conflict",
         OUTCOME_NOT_SENT},
        {"the takeover is refused",
         {PLANNED,
          GET,
          {.expect = SENT " ",
           .status = 422,
           .body = STATUS(422, "Invalid", "no", "{\"name\":\"a\"}")}},
         ERR_INVALID,
         "Invalid",
         OUTCOME_NOT_SENT},
        {"the apply would do something else than planned",
         {PLANNED, GET, MIGRATE, DRY(TAKEN)},
         ERR_CONFLICT,
         "Conflict",
         OUTCOME_NOT_SENT},
        {"the apply would be refused",
         {PLANNED,
          GET,
          MIGRATE,
          {.expect = PATCH "&force=true&dryRun=All ",
           .status = 422,
           .body = STATUS(422, "Invalid", "no", "{\"name\":\"a\"}")}},
         ERR_INVALID,
         "Invalid",
         OUTCOME_NOT_SENT},
        {"it changed after the takeover",
         {PLANNED,
          GET,
          MIGRATE,
          DRY(PRUNED),
          {.expect = PATCH "&force=true ", .status = 409, .body = CONFLICT}},
         ERR_CONFLICT,
         "Conflict",
         OUTCOME_NOT_SENT},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct runtime_outcome outcome = {0};
        struct runtime_step *step = NULL;
        struct error error = {0};
        struct call call;

        call_begin(&call, rows[i].steps, count_steps(rows[i].steps), WANTED);
        EXPECT_INT(plan(&call, &step, NULL), 0, rows[i].note);
        EXPECT_INT(kube_apply(step, &stage_call, &outcome, &error), rows[i].code, rows[i].note);
        EXPECT_STR(error.reason, rows[i].reason, error.message);
        EXPECT_INT(outcome.certainty, rows[i].certainty, rows[i].note);
        outcome_done(&outcome);
        kube_step_free(step);
        call_end(&call);
    }
}

static void each_request_is_of_the_object_as_it_was_seen(void)
{
    static const struct fake_step steps[] = {PLANNED, GET, MIGRATE, DRY(PRUNED), APPLY};
    struct runtime_outcome outcome = {0};
    struct runtime_step *step = NULL;
    struct call call;

    call_begin(&call, steps, ARRAY_SIZE(steps), WANTED);
    plan(&call, &step, NULL);
    kube_apply(step, &stage_call, &outcome, NULL);
    EXPECT(sent(&call, 5, "Content-Type: application/merge-patch+json\r\n"), "a merge patch");
    EXPECT(sent(&call, 5, "{\"metadata\":{\"uid\":\"u-a\",\"resourceVersion\":\"5\","), "as seen");
    EXPECT(sent(&call, 5, "\"f:data\":{" A "," B "}"), "all of it ours");
    EXPECT(sent(&call, 5, "f:api.kusion.io/taken-over"), "and the mark");
    EXPECT(!sent(&call, 5, "\"data\":{\"a\""), "nothing else");
    for (size_t i = 6; i <= 7; i++)
        EXPECT(sent(&call, i, "\"resourceVersion\":\"6\"") && sent(&call, i, "\"uid\":\"u-a\""),
               "as it is after the takeover");
    outcome_done(&outcome);
    kube_step_free(step);
    call_end(&call);
}

SUITE(kube_takeover, TEST(the_plan_shows_what_goes), TEST(the_plan_is_of_the_object_without_it),
      TEST(takes_over_before_the_apply), TEST(each_request_is_of_the_object_as_it_was_seen))
