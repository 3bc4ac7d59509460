/* Deletions over a scripted server. */
#include "engine/base/str.h"
#include "test/unit/runtimes/kubernetes/change/steps.h"
#include "test/unit/suite.h"

#define GONE                                                                          \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Success\",\"details\":{" \
    "\"name\":\"a\",\"uid\":\"u-a\"}}"
#define ACCOUNT  "{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"metadata\":{\"name\":\"a\"}}"
#define ACCOUNTS "/api/v1/namespaces/team/serviceaccounts"

static void deletes_or_says_why_not(void)
{
    static const struct {
        const char *note, *attributes;
        struct fake_step steps[MAX_STEPS];
        int code;
        const char *says;
        enum presence presence;
        enum certainty certainty;
    } rows[] = {
        {"begun",
         MAP("a"),
         {DISCOVERY,
          {.expect = "DELETE " MAPS "/a ",
           .status = 200,
           .body = META_OF("a", ",\"deletionTimestamp\":\"t\"")}},
         0,
         "",
         PRESENCE_PRESENT,
         OUTCOME_KNOWN},
        {"done, which a look has to tell",
         MAP("a"),
         {DISCOVERY, {.expect = "DELETE " MAPS "/a ", .status = 200, .body = GONE}},
         0,
         "",
         PRESENCE_PRESENT,
         OUTCOME_KNOWN},
        {"done, where nobody may look afterwards",
         ACCOUNT,
         {DISCOVERY, {.expect = "DELETE " ACCOUNTS "/a ", .status = 200, .body = GONE}},
         0,
         "",
         PRESENCE_ABSENT,
         OUTCOME_KNOWN},
        {"done, told by what it was last",
         ACCOUNT,
         {DISCOVERY, {.expect = "DELETE " ACCOUNTS "/a ", .status = 200, .body = META("a")}},
         0,
         "",
         PRESENCE_ABSENT,
         OUTCOME_KNOWN},
        {"begun, where nobody may look afterwards",
         ACCOUNT,
         {DISCOVERY,
          {.expect = "DELETE " ACCOUNTS "/a ",
           .status = 200,
           .body = META_OF("a", ",\"deletionTimestamp\":\"t\"")}},
         0,
         "",
         PRESENCE_PRESENT,
         OUTCOME_KNOWN},
        {"a Status of another",
         ACCOUNT,
         {DISCOVERY,
          {.expect = "DELETE " ACCOUNTS "/a ",
           .status = 200,
           .body = "{\"kind\":\"Status\",\"status\":\"Success\",\"details\":{\"name\":\"b\"}}"}},
         ERR_UNAVAILABLE,
         "not the object that was asked for",
         PRESENCE_UNKNOWN,
         OUTCOME_IN_DOUBT},
        {"gone since it was seen",
         MAP("a"),
         {DISCOVERY, {.expect = "DELETE", .status = 404, .body = MISSING("a")}},
         0,
         "",
         PRESENCE_ABSENT,
         OUTCOME_KNOWN},
        {"another has its name now",
         MAP("a"),
         {DISCOVERY,
          {.expect = "DELETE",
           .status = 409,
           .body = STATUS(409, "Conflict",
                          "Precondition failed: UID in precondition: u-a, UID in object meta: u-b",
                          "{\"name\":\"a\"}")}},
         ERR_CONFLICT,
         "UID in precondition: u-a",
         PRESENCE_UNKNOWN,
         OUTCOME_NOT_SENT},
        {"answered by what cannot know",
         MAP("a"),
         {DISCOVERY, {.expect = "DELETE", NO_PAGE}},
         ERR_UNAVAILABLE,
         "404",
         PRESENCE_UNKNOWN,
         OUTCOME_NOT_SENT},
        {"asked again, it is gone: it was us",
         MAP("a"),
         {DISCOVERY,
          {.expect = "DELETE", .status = 200, .end = FAKE_DROP},
          {.expect = "DELETE", .status = 404, .body = MISSING("a")}},
         0,
         "",
         PRESENCE_ABSENT,
         OUTCOME_KNOWN},
        {"refused",
         MAP("a"),
         {DISCOVERY, {.expect = "DELETE", .status = 403, .body = DENIED}, NO_REVIEW},
         ERR_FORBIDDEN,
         "to allow it",
         PRESENCE_UNKNOWN,
         OUTCOME_NOT_SENT},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        size_t n = count_steps(rows[i].steps);
        size_t deletion = n - 1 - str_has_prefix(rows[i].steps[n - 1].expect, "POST ");
        bool is_account = str_equal(rows[i].attributes, ACCOUNT);
        struct runtime_outcome outcome = {0};
        struct runtime_step *step;
        struct call call;
        struct error error = {0};
        _cleanup_free_ char *request = NULL;

        call_begin(&call, rows[i].steps, n, rows[i].attributes);
        step = call_step(&call, PLAN_DELETE);
        EXPECT_INT(kube_apply(step, &stage_call, &outcome, &error), rows[i].code, rows[i].note);
        EXPECT(strstr(error.message, rows[i].says) != NULL, error.message);
        EXPECT_INT(outcome.now.presence, rows[i].presence, rows[i].note);
        EXPECT_INT(outcome.now.terminating, rows[i].presence == PRESENCE_PRESENT, rows[i].note);
        EXPECT_INT(outcome.certainty, rows[i].certainty, rows[i].note);
        request = fake_server_request(call.stage.harness.server, deletion);
        EXPECT(request && strstr(request, "\"preconditions\":{\"uid\":\"u-a\"}"), request);
        EXPECT(request && strstr(request, is_account ? "\"propagationPolicy\":\"Background\""
                                                     : "\"propagationPolicy\":\"Foreground\""),
               request);
        EXPECT(call_impersonates(&call, deletion), rows[i].note);
        outcome_done(&outcome);
        kube_step_free(step);
        call_end(&call);
    }
}

static void deletes_nothing_without_a_uid(void)
{
    struct runtime_outcome outcome = {0};
    struct runtime_step *step;
    struct call call;
    struct error error = {0};

    call_begin(&call, NULL, 0, MAP("a"));
    step = &kube_step_new(call.session, PLAN_DELETE, &call.target)->base;
    EXPECT_INT(kube_apply(step, &stage_call, &outcome, &error), ERR_INTERNAL, "a bug");
    EXPECT_STR(error.reason, "UnknownIdentity", error.message);
    kube_step_free(step);
    call_end(&call);
}

/* What is being deleted already is only looked at. */
static void does_not_delete_twice(void)
{
    static const struct {
        struct fake_step look;
        enum presence presence;
    } rows[] = {
        {{.expect = "GET " MAPS "/a ",
          .status = 200,
          .body = META_OF("a", ",\"deletionTimestamp\":\"t\"")},
         PRESENCE_PRESENT},
        {{.expect = "GET " MAPS "/a ", .status = 404, .body = MISSING("a")}, PRESENCE_ABSENT},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct fake_step steps[] = {DISCOVERY, rows[i].look};
        struct runtime_outcome outcome = {0};
        struct runtime_step *step;
        struct call call;

        call_begin(&call, steps, ARRAY_SIZE(steps), MAP("a"));
        step = call_step(&call, PLAN_DELETE);
        ((struct kube_step *)step)->terminating = true;
        EXPECT_INT(kube_apply(step, &stage_call, &outcome, NULL), 0, "looked at");
        EXPECT_INT(outcome.now.presence, rows[i].presence, "as it is");
        EXPECT_INT(outcome.certainty, OUTCOME_KNOWN, "as it is");
        outcome_done(&outcome);
        kube_step_free(step);
        call_end(&call);
    }
}

/* What else a Namespace holds is looked into before, and nothing is sent where that is in the way.
 */
static void guards_what_would_go_with_it(void)
{
    static const struct fake_step steps[] = {
        DISCOVERY,
        {.expect = "GET /api/v1/namespaces/a ",
         .status = 200,
         .body = "{\"kind\":\"Namespace\",\"metadata\":{\"name\":\"a\",\"uid\":\"u-a\"}}"},
        {.expect = "GET /api ",
         .status = 200,
         .body = "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[{\"metadata\":{\"name\":\"\"},"
                 "\"versions\":[{\"version\":\"v1\",\"freshness\":\"Current\",\"resources\":[{"
                 "\"resource\":\"configmaps\",\"responseKind\":{\"kind\":\"ConfigMap\"},\"scope\":"
                 "\"Namespaced\",\"verbs\":[\"delete\",\"list\"]}]}]}]}"},
        {.expect = "GET /apis ",
         .status = 200,
         .body = "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[{\"metadata\":{\"name\":\"apps\"},"
                 "\"versions\":[{\"version\":\"v1\",\"freshness\":\"Current\",\"resources\":[]}]}]"
                 "}"},
        {.expect = "GET /api/v1/namespaces/a/configmaps?limit=",
         .status = 200,
         .body = LIST(META("theirs"))},
    };
    struct runtime_outcome outcome = {0};
    struct runtime_step *step;
    struct error error = {0};
    struct call call;

    call_begin(&call, steps, ARRAY_SIZE(steps), NAMESPACE);
    step = call_step(&call, PLAN_DELETE);
    EXPECT_INT(kube_apply(step, &stage_call, &outcome, &error), ERR_CONFLICT, "not deleted");
    EXPECT_STR(error.reason, "DeletionGuardTripped", error.message);
    EXPECT_INT(outcome.certainty, OUTCOME_NOT_SENT, "nothing was sent");
    kube_step_free(step);
    call_end(&call);
}

SUITE(kube_delete, TEST(deletes_or_says_why_not), TEST(deletes_nothing_without_a_uid),
      TEST(does_not_delete_twice), TEST(guards_what_would_go_with_it))
