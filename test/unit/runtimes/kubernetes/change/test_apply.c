/* Applies over a scripted server: what is sent, what comes of it, and what is known of that. */
#include "engine/base/str.h"
#include "test/unit/runtimes/kubernetes/change/steps.h"
#include "test/unit/suite.h"

#define VERSION(version) META_OF("a", ",\"resourceVersion\":\"" version "\"")
#define CONFLICT         STATUS(409, "Conflict", "the object has been modified", "{\"name\":\"a\"}")
#define TAKING           PATCH "&force=true "
#define LOOK             "GET " MAPS "/a "

#define LATE 0x100 /* an attempt that was not answered may still be carried out */

static void applies_or_says_why_not(void)
{
    static const struct {
        const char *note, *attributes;
        enum plan_action action;
        struct fake_step steps[MAX_STEPS];
        int code;
        const char *reason, *says;
        unsigned outcome; /* enum certainty, and LATE */
    } rows[] = {
        {"made",
         MAP("a"),
         PLAN_CREATE,
         {DISCOVERY, {.expect = PATCH " ", .status = 201, .body = META("a")}},
         0,
         "",
         "",
         OUTCOME_KNOWN},
        {"taken",
         MAP("a"),
         PLAN_ADOPT,
         {DISCOVERY, {.expect = TAKING, .status = 200, .body = META("a")}},
         0,
         "",
         "",
         OUTCOME_KNOWN},
        {"to be made, and there",
         MAP("a"),
         PLAN_CREATE,
         {DISCOVERY, {.expect = PATCH " ", .status = 409, .body = CONFLICT}},
         ERR_CONFLICT,
         "Conflict",
         "has been modified",
         OUTCOME_NOT_SENT},
        {"another field manager",
         MAP("a"),
         PLAN_CREATE,
         {DISCOVERY,
          {.expect = PATCH,
           .status = 409,
           .body = STATUS(409, "Conflict", "Apply failed with 1 conflict",
                          "{\"name\":\"a\",\"causes\":[{\"reason\":\"FieldManagerConflict\","
                          "\"message\":\"conflict with \\\"helm\\\" using v1\",\"field\":"
                          "\".data.k\"}]}")}},
         ERR_CONFLICT,
         "Conflict",
         ".data.k: conflict with \"helm\" using v1",
         OUTCOME_NOT_SENT},
        {"invalid",
         MAP("a"),
         PLAN_CREATE,
         {DISCOVERY,
          {.expect = PATCH,
           .status = 422,
           .body = STATUS(422, "Invalid", "no", "{\"name\":\"a\"}")}},
         ERR_INVALID,
         "Invalid",
         "no",
         OUTCOME_NOT_SENT},
        {"500 without a reason is the schema's",
         MAP("a"),
         PLAN_UPDATE,
         {DISCOVERY,
          {.expect = PATCH,
           .status = 500,
           .body = STATUS(500, "",
                          "failed to create typed patch object: .dada: field not declared "
                          "in schema",
                          "{}")}},
         ERR_INVALID,
         "InvalidSchema",
         ".dada: field not declared",
         OUTCOME_NOT_SENT},
        {"500 of the storage passes",
         MAP("a"),
         PLAN_UPDATE,
         {DISCOVERY,
          {.expect = PATCH, .status = 500, .body = STATUS(500, "", "etcdserver: timeout", "{}")},
          {.expect = PATCH, .status = 200, .body = META("a")}},
         0,
         "",
         "",
         OUTCOME_KNOWN | LATE},
        {"429 is waited for",
         MAP("a"),
         PLAN_UPDATE,
         {DISCOVERY,
          {.expect = PATCH,
           .status = 429,
           .headers = "Retry-After: 1\r\n",
           .body = STATUS(429, "TooManyRequests", "slow", "{}")},
          {.expect = PATCH, .status = 200, .body = META("a")}},
         0,
         "",
         "",
         OUTCOME_KNOWN},
        {"429 for too long",
         MAP("a"),
         PLAN_CREATE,
         {DISCOVERY,
          {.expect = PATCH,
           .status = 429,
           .headers = "Retry-After: 100\r\n",
           .body = STATUS(429, "TooManyRequests", "slow", "{}")}},
         ERR_UNAVAILABLE,
         "TooManyRequests",
         "slow",
         OUTCOME_NOT_SENT},
        {"503 for too long",
         MAP("a"),
         PLAN_CREATE,
         {DISCOVERY,
          {.expect = PATCH,
           .status = 503,
           .headers = "Retry-After: 100\r\n",
           .body = STATUS(503, "ServiceUnavailable", "down", "{}")}},
         ERR_UNAVAILABLE,
         "ServiceUnavailable",
         "down",
         OUTCOME_IN_DOUBT},
        {"an answer that never came is asked for again",
         MAP("a"),
         PLAN_UPDATE,
         {DISCOVERY,
          {.expect = PATCH, .status = 200, .end = FAKE_DROP},
          {.expect = PATCH, .status = 200, .body = META("a")}},
         0,
         "",
         "",
         OUTCOME_KNOWN | LATE},
        {"an answer that never came, and then it is there: perhaps by that",
         MAP("a"),
         PLAN_CREATE,
         {DISCOVERY,
          {.expect = PATCH, .status = 200, .end = FAKE_DROP},
          {.expect = PATCH, .status = 409, .body = CONFLICT}},
         ERR_CONFLICT,
         "Conflict",
         "",
         OUTCOME_IN_DOUBT},
        {"a right that is missing",
         MAP("a"),
         PLAN_UPDATE,
         {DISCOVERY, {.expect = PATCH, .status = 403, .body = DENIED}, NO_REVIEW},
         ERR_FORBIDDEN,
         "AccessDenied",
         "\nto allow it: kubectl create role kusion:team:deployer:patch-configmaps ",
         OUTCOME_NOT_SENT},
        {"a namespace that is going",
         MAP("a"),
         PLAN_UPDATE,
         {DISCOVERY,
          {.expect = PATCH,
           .status = 403,
           .body = STATUS(403, "Forbidden", "being terminated",
                          "{\"causes\":[{\"reason\":\"NamespaceTerminating\"}]}")}},
         ERR_FORBIDDEN,
         "NamespaceTerminating",
         "being terminated",
         OUTCOME_NOT_SENT},
        {"a kind that is not there",
         WIDGET,
         PLAN_CREATE,
         {{.expect = "GET /apis/x.io/v1 ", NO_PAGE},
          {.expect = "GET /apis ",
           .status = 200,
           .body = "{\"kind\":\"APIGroupList\",\"groups\":[{\"versions\":[]}]}"},
          {.expect = "GET /api ", NO_PAGE}},
         ERR_INVALID,
         "KindNotFound",
         "the cluster has no kind \"Widget\" in \"x.io/v1\"",
         OUTCOME_NOT_SENT},
        {"an answer that is no JSON",
         MAP("a"),
         PLAN_CREATE,
         {DISCOVERY, {.expect = PATCH, .status = 200, .body = "<html>"}},
         ERR_UNAVAILABLE,
         "UnexpectedAnswer",
         "not JSON",
         OUTCOME_IN_DOUBT},
        {"an answer that is another object",
         MAP("a"),
         PLAN_CREATE,
         {DISCOVERY, {.expect = PATCH, .status = 200, .body = META("b")}},
         ERR_UNAVAILABLE,
         "UnexpectedAnswer",
         "not the object that was asked for",
         OUTCOME_IN_DOUBT},
        {"an empty answer",
         MAP("a"),
         PLAN_UPDATE,
         {DISCOVERY, {.expect = PATCH, .status = 200}},
         ERR_UNAVAILABLE,
         "UnexpectedAnswer",
         "",
         OUTCOME_IN_DOUBT},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct call call;
        struct runtime_step *step;
        struct runtime_outcome outcome = {0};
        struct error error = {0};

        call_begin(&call, rows[i].steps, count_steps(rows[i].steps), rows[i].attributes);
        step = call_step(&call, rows[i].action);
        EXPECT_INT(kube_apply(step, &stage_call, &outcome, &error), rows[i].code, rows[i].note);
        EXPECT_STR(error.reason, rows[i].reason, rows[i].note);
        EXPECT(strstr(error.message, rows[i].says) != NULL, error.message);
        EXPECT_STR(outcome.now.uid, rows[i].code ? NULL : "u-a", rows[i].note);
        EXPECT_INT(outcome.certainty, rows[i].outcome & ~LATE, rows[i].note);
        EXPECT_INT(outcome.until,
                   rows[i].outcome & (OUTCOME_IN_DOUBT | LATE) ? call.stage.clock.now + EFFECT_TIME
                                                               : 0,
                   rows[i].note);
        outcome_done(&outcome);
        kube_step_free(step);
        call_end(&call);
    }
}

/* ---- An object that changes meanwhile ---- */

static void an_update_meets_what_it_was_planned_for(void)
{
#define ENTRY(fields)                                                                      \
    ",\"managedFields\":[{\"manager\":\"kusion-operator-a5cb1ff62f8ed32c\",\"operation\":" \
    "\"Apply\",\"fieldsV1\":{\"f:" fields "\":{}}}]"
#define SEEN(version, more) META_OF("a", ",\"resourceVersion\":\"" version "\"" more)
#define OURS                SEEN("5", ENTRY("a"))
#define WHOLE(version, value, status)                                                              \
    "{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"namespace\":\"team\",\"uid\":\"u-a\"," \
    "\"resourceVersion\":\"" version "\"},\"data\":{\"k\":\"" value "\"},\"status\":\"" status     \
    "\"}"
#define IN_CONFLICT                                       \
    {                                                     \
        .expect = TAKING, .status = 409, .body = CONFLICT \
    }
#define LOOK_AT(answer)                                 \
    {                                                   \
        .expect = LOOK, .status = 200, .body = (answer) \
    }
    static const struct {
        const char *note, *planned; /* the object that it was planned for */
        struct fake_step steps[MAX_STEPS];
        int code;
        const char *version; /* that was sent last */
    } rows[] = {
        {"its status changed, twice",
         OURS,
         {IN_CONFLICT,
          LOOK_AT(SEEN("6", ENTRY("a"))),
          IN_CONFLICT,
          LOOK_AT(SEEN("7", ENTRY("a"))),
          {.expect = TAKING, .status = 200, .body = META("a")}},
         0,
         "7"},
        {"its status changes all the time",
         OURS,
         {IN_CONFLICT, LOOK_AT(SEEN("6", ENTRY("a"))), IN_CONFLICT, LOOK_AT(SEEN("7", ENTRY("a"))),
          IN_CONFLICT, LOOK_AT(SEEN("8", ENTRY("a"))), IN_CONFLICT, LOOK_AT(SEEN("9", ENTRY("a"))),
          IN_CONFLICT},
         ERR_CONFLICT,
         "9"},
        {"a field of ours was taken",
         OURS,
         {IN_CONFLICT, LOOK_AT(SEEN("6", ENTRY("b")))},
         ERR_CONFLICT,
         "5"},
        {"it is gone",
         OURS,
         {IN_CONFLICT, {.expect = LOOK, .status = 404, .body = MISSING("a")}},
         ERR_CONFLICT,
         "5"},
        {"it is going",
         OURS,
         {IN_CONFLICT, LOOK_AT(SEEN("6", ENTRY("a") ",\"deletionTimestamp\":\"t\""))},
         ERR_CONFLICT,
         "5"},
        {"another has its name",
         OURS,
         {IN_CONFLICT,
          LOOK_AT("{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"namespace\":\"team\","
                  "\"uid\":\"u-b\",\"resourceVersion\":\"6\"" ENTRY("a") "}}")},
         ERR_CONFLICT,
         "5"},
        {"another Spec took it, which was nobody's",
         SEEN("5", ""),
         {IN_CONFLICT, LOOK_AT(SEEN("6", ",\"labels\":{\"api.kusion.io/owner\":\"kusion-x\"}"))},
         ERR_CONFLICT,
         "5"},
        {"nobody took it",
         SEEN("5", ""),
         {IN_CONFLICT,
          LOOK_AT(SEEN("6", "")),
          {.expect = TAKING, .status = 200, .body = META("a")}},
         0,
         "6"},
        {"nobody took it, and another changed what the step takes over",
         WHOLE("5", "1", "s"),
         {IN_CONFLICT, LOOK_AT(WHOLE("6", "2", "s"))},
         ERR_CONFLICT,
         "5"},
        {"nobody took it, and its status changed",
         WHOLE("5", "1", "s"),
         {IN_CONFLICT,
          LOOK_AT(WHOLE("6", "1", "t")),
          {.expect = TAKING, .status = 200, .body = META("a")}},
         0,
         "6"},
        {"it cannot be looked at",
         OURS,
         {IN_CONFLICT, {.expect = LOOK, .status = 403, .body = DENIED}, NO_REVIEW},
         ERR_FORBIDDEN,
         "5"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct fake_step steps[MAX_STEPS + 1] = {DISCOVERY};
        size_t n = count_steps(rows[i].steps);
        _cleanup_value_ const struct value *object = stage_value(rows[i].planned);
        _cleanup_free_ char *expected = str_printf("\"resourceVersion\":\"%s\"", rows[i].version);
        _cleanup_free_ char *sent = NULL;
        struct observation planned = {0};
        struct runtime_outcome outcome = {0};
        struct runtime_step *step;
        struct error error = {0};
        struct call call;

        memcpy(steps + 1, rows[i].steps, n * sizeof(*steps));
        call_begin(&call, steps, n + 1, MAP("a"));
        step = call_step(&call, PLAN_UPDATE);
        kube_observe_object(call.session, object, true, &planned);
        ((struct kube_step *)step)->fields_digest = str_new(planned.fields_digest);
        kube_step_see_content((struct kube_step *)step, &planned);
        EXPECT_INT(kube_apply(step, &stage_call, &outcome, &error), rows[i].code, rows[i].note);
        for (size_t at = n; at > 0 && !(sent && str_has_prefix(sent, "PATCH")); at--) {
            free(sent);
            sent = fake_server_request(call.stage.harness.server, at);
        }
        EXPECT(sent && strstr(sent, expected), sent);
        EXPECT(sent && strstr(sent, "\"uid\":\"u-a\""), sent);
        EXPECT_INT(outcome.certainty, rows[i].code ? OUTCOME_NOT_SENT : OUTCOME_KNOWN,
                   rows[i].note);
        observation_done(&planned);
        outcome_done(&outcome);
        kube_step_free(step);
        call_end(&call);
    }
}

/* ---- Before it is sent ---- */

static int refuse(void *arg, enum permit_use use, struct error *error)
{
    (void)arg;
    return use == PERMIT_ACT ? err_set(error, ERR_FENCED, "NotLeader", "not any more") : 0;
}

static void nothing_is_sent_that_may_not_be(void)
{
    static const struct permit permit = {refuse, NULL};
    static const enum plan_action actions[] = {PLAN_CREATE, PLAN_UPDATE, PLAN_DELETE};
    static const struct fake_step steps[] = {DISCOVERY};
    struct cancel *cancel = cancel_new(NULL);
    const struct {
        struct runtime_call call;
        int code;
    } rows[] = {
        {{.deadline = CLOCK_FOREVER, .permit = &permit}, ERR_FENCED},
        {{.deadline = CLOCK_FOREVER, .cancel = cancel}, ERR_CANCELLED},
        {{.deadline = 0}, ERR_TIMEOUT},
    };

    cancel_fire(cancel, "Superseded");
    for (size_t i = 0; i < ARRAY_SIZE(rows) * ARRAY_SIZE(actions); i++) {
        size_t row = i / ARRAY_SIZE(actions);
        struct runtime_outcome outcome = {0};
        struct runtime_step *step;
        struct kube_ref place;
        struct call call;

        call_begin(&call, steps, 1, MAP("a"));
        EXPECT_INT(kube_ref_of(call.session, call.attributes, &stage_call, &place, NULL), 0,
                   "discovery");
        step = call_step(&call, actions[i % ARRAY_SIZE(actions)]);
        EXPECT_INT(kube_apply(step, &rows[row].call, &outcome, NULL), rows[row].code, "refused");
        EXPECT_INT(outcome.certainty, OUTCOME_NOT_SENT, "not sent");
        outcome_done(&outcome);
        kube_step_free(step);
        call_end(&call);
    }
    cancel_free(cancel);
}

static void supersede(void *cancel)
{
    cancel_fire(cancel, "Superseded");
}

/* A newer generation, or a deletion, comes while a change is on its way, and its time passes: what
 * becomes of it is known all the same. */
static void what_was_sent_is_followed_to_its_end(void)
{
    enum {
        TIME = 1500, /* ms: enough to be sent in on a busy machine */
    };
    static const struct {
        enum plan_action action;
        struct fake_step answer;
    } rows[] = {
        {PLAN_CREATE, {.expect = PATCH " ", .status = 201, .body = META("a"), .delay = TIME + 20}},
        {PLAN_UPDATE, {.expect = TAKING, .status = 200, .body = META("a"), .delay = TIME + 20}},
        {PLAN_DELETE, {.expect = "DELETE ", .status = 200, .body = META("a"), .delay = TIME + 20}},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct fake_step steps[] = {DISCOVERY, rows[i].answer};
        struct cancel *cancel = cancel_new(NULL);
        struct runtime_outcome outcome = {0};
        struct runtime_call how;
        struct runtime_step *step;
        struct call call;

        steps[1].come = supersede;
        steps[1].arg = cancel;
        call_begin(&call, steps, ARRAY_SIZE(steps), MAP("a"));
        how =
            (struct runtime_call){.deadline = call.stage.clock.monotonic + TIME, .cancel = cancel};
        step = call_step(&call, rows[i].action);
        EXPECT_INT(kube_apply(step, &how, &outcome, NULL), 0, "done");
        EXPECT(cancel_fired(cancel), "after it was cancelled");
        EXPECT_INT(outcome.certainty, OUTCOME_KNOWN, "known");
        EXPECT_STR(outcome.now.uid, "u-a", "and seen");
        outcome_done(&outcome);
        kube_step_free(step);
        call_end(&call);
        cancel_free(cancel);
    }
}

/* A step is carried out also after its session was closed. */
static void a_step_holds_its_session(void)
{
    static const struct fake_step steps[] = {
        DISCOVERY, {.expect = PATCH " ", .status = 201, .body = META("a")}};
    struct runtime_outcome outcome = {0};
    struct runtime_step *step;
    struct call call;

    call_begin(&call, steps, ARRAY_SIZE(steps), MAP("a"));
    step = call_step(&call, PLAN_CREATE);
    session_unref(TAKE(call.session));
    EXPECT_INT(kube_apply(step, &stage_call, &outcome, NULL), 0, "made");
    outcome_done(&outcome);
    kube_step_free(step);
    call_end(&call);
}

static void carries_out_nothing_else(void)
{
    struct runtime_outcome outcome = {0};
    struct runtime_step *step;
    struct call call;

    call_begin(&call, NULL, 0, MAP("a"));
    step = call_step(&call, PLAN_UNCHANGED);
    EXPECT_INT(kube_apply(step, &stage_call, &outcome, NULL), ERR_INTERNAL, "a bug");
    EXPECT_INT(outcome.certainty, OUTCOME_NOT_SENT, "nothing was changed");
    kube_step_free(step);
    call_end(&call);
}

/* The API server reads an apply as YAML, in which some characters are line breaks, or are refused
 * (json.h): what is made would not be what was checked. */
static void sends_nothing_that_yaml_reads_in_its_own_way(void)
{
    static const struct fake_step steps[] = {
        DISCOVERY, {.expect = PATCH " ", .status = 201, .body = META("a")}};
    struct runtime_outcome outcome = {0};
    struct runtime_step *step;
    struct call call;
    struct error error = {0};
    _cleanup_free_ char *request = NULL;
    const char *body, *c;

    call_begin(&call, steps, ARRAY_SIZE(steps),
               "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"},"
               "\"data\":{\"k\":\"\\u007f\\u0080 \\u0085 \\u2028\\u2029\\ufeff\\ufffe\\uffff\"}}");
    step = call_step(&call, PLAN_CREATE);
    EXPECT_INT(kube_apply(step, &stage_call, &outcome, &error), 0, error.message);
    request = fake_server_request(call.stage.harness.server, 1);
    body = request ? strstr(request, "\r\n\r\n{") : NULL;
    EXPECT(body && strstr(body, "\"\\u007f\\u0080 \\u0085 \\u2028\\u2029\\ufeff\\ufffe\\uffff\""),
           "escaped");
    for (c = body; c && *c && (unsigned char)*c < 0x7f;)
        c++;
    EXPECT(c && !*c, "nothing beyond ASCII is left");
    outcome_done(&outcome);
    kube_step_free(step);
    call_end(&call);
}

SUITE(kube_apply, TEST(applies_or_says_why_not), TEST(an_update_meets_what_it_was_planned_for),
      TEST(nothing_is_sent_that_may_not_be), TEST(what_was_sent_is_followed_to_its_end),
      TEST(a_step_holds_its_session), TEST(carries_out_nothing_else),
      TEST(sends_nothing_that_yaml_reads_in_its_own_way))
