/* The runtime over a scripted server: what a real one cannot be made to do. */
#include "engine/base/str.h"
#include "engine/base/value_mark.h"
#include "test/unit/runtimes/kubernetes/script.h"
#include "test/unit/suite.h"

/* ---- Writing ---- */

static void applies_or_says_why_not(void)
{
    static const struct {
        const char *note, *attributes;
        enum apply_mode mode;
        struct fake_step steps[MAX_STEPS];
        int code;
        const char *reason, *says;
    } rows[] = {
        {"made",
         MAP("a"),
         APPLY_CREATE,
         {DISCOVERY, {.expect = PATCH " ", .status = 201, .body = META("a")}},
         0,
         "",
         ""},
        {"taken",
         MAP("a"),
         APPLY_TAKE,
         {DISCOVERY, {.expect = PATCH "&force=true ", .status = 200, .body = META("a")}},
         0,
         "",
         ""},
        {"another field manager",
         MAP("a"),
         APPLY_CREATE,
         {DISCOVERY,
          {.expect = PATCH,
           .status = 409,
           .body = STATUS(409, "Conflict", "Apply failed with 1 conflict",
                          "{\"name\":\"a\",\"causes\":[{\"reason\":\"FieldManagerConflict\","
                          "\"message\":\"conflict with \\\"helm\\\" using v1\",\"field\":"
                          "\".data.k\"}]}")}},
         ERR_CONFLICT,
         "Conflict",
         ".data.k: conflict with \"helm\" using v1"},
        {"500 without a reason is the schema's",
         MAP("a"),
         APPLY_TAKE,
         {DISCOVERY,
          {.expect = PATCH,
           .status = 500,
           .body = STATUS(500, "",
                          "failed to create typed patch object: .dada: field not declared "
                          "in schema",
                          "{}")}},
         ERR_INVALID,
         "InvalidSchema",
         ".dada: field not declared"},
        {"500 of the storage passes",
         MAP("a"),
         APPLY_TAKE,
         {DISCOVERY,
          {.expect = PATCH, .status = 500, .body = STATUS(500, "", "etcdserver: timeout", "{}")},
          {.expect = PATCH, .status = 200, .body = META("a")}},
         0,
         "",
         ""},
        {"429 is waited for",
         MAP("a"),
         APPLY_TAKE,
         {DISCOVERY,
          {.expect = PATCH,
           .status = 429,
           .headers = "Retry-After: 1\r\n",
           .body = STATUS(429, "TooManyRequests", "slow", "{}")},
          {.expect = PATCH, .status = 200, .body = META("a")}},
         0,
         "",
         ""},
        {"an answer that never came is asked for again",
         MAP("a"),
         APPLY_TAKE,
         {DISCOVERY,
          {.expect = PATCH, .status = 200, .end = FAKE_DROP},
          {.expect = PATCH, .status = 200, .body = META("a")}},
         0,
         "",
         ""},
        {"a right that is missing",
         MAP("a"),
         APPLY_TAKE,
         {DISCOVERY, {.expect = PATCH, .status = 403, .body = DENIED}},
         ERR_FORBIDDEN,
         "AccessDenied",
         "; to allow it: kubectl create rolebinding kusion:team:deployer:edit "},
        {"a namespace that is going",
         MAP("a"),
         APPLY_TAKE,
         {DISCOVERY,
          {.expect = PATCH,
           .status = 403,
           .body = STATUS(403, "Forbidden", "being terminated",
                          "{\"causes\":[{\"reason\":\"NamespaceTerminating\"}]}")}},
         ERR_FORBIDDEN,
         "NamespaceTerminating",
         "being terminated"},
        {"a kind that is not there",
         WIDGET,
         APPLY_TAKE,
         {{.expect = "GET /apis/x.io/v1 ", NO_PAGE},
          {.expect = "GET /apis ",
           .status = 200,
           .body = "{\"kind\":\"APIGroupList\",\"groups\":[{\"versions\":[]}]}"}},
         ERR_INVALID,
         "KindNotFound",
         "the cluster has no kind \"Widget\" in \"x.io/v1\""},
        {"an answer that is no JSON",
         MAP("a"),
         APPLY_TAKE,
         {DISCOVERY, {.expect = PATCH, .status = 200, .body = "<html>"}},
         ERR_INTERNAL,
         "UnexpectedAnswer",
         "not JSON"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct call call;
        struct observation seen = {0};
        struct error error = {0};

        call_begin(&call, rows[i].steps, count_steps(rows[i].steps), rows[i].attributes);
        EXPECT_INT(kube_apply(call.session, &call.target, rows[i].mode, &seen, &error),
                   rows[i].code, rows[i].note);
        EXPECT_STR(error.reason, rows[i].reason, rows[i].note);
        EXPECT(strstr(error.message, rows[i].says) != NULL, error.message);
        EXPECT_STR(seen.uid, rows[i].code ? NULL : "u-a", rows[i].note);
        observation_done(&seen);
        call_end(&call);
    }
}

/* The API server reads an apply as YAML, in which some characters are line breaks, or are refused
 * (json.h): what is made would not be what was checked. */
static void sends_nothing_that_yaml_reads_in_its_own_way(void)
{
    static const struct fake_step steps[] = {
        DISCOVERY, {.expect = PATCH " ", .status = 201, .body = META("a")}};
    struct observation seen = {0};
    struct call call;
    struct error error = {0};
    _cleanup_free_ char *request = NULL;
    const char *body, *c;

    call_begin(&call, steps, ARRAY_SIZE(steps),
               "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"},"
               "\"data\":{\"k\":\"\\u007f\\u0080 \\u0085 \\u2028\\u2029\\ufeff\\ufffe\\uffff\"}}");
    EXPECT_INT(kube_apply(call.session, &call.target, APPLY_CREATE, &seen, &error), 0,
               error.message);
    request = fake_server_request(call.stage.harness.server, 1);
    body = request ? strstr(request, "\r\n\r\n{") : NULL;
    EXPECT(body && strstr(body, "\"\\u007f\\u0080 \\u0085 \\u2028\\u2029\\ufeff\\ufffe\\uffff\""),
           "escaped");
    for (c = body; c && *c && (unsigned char)*c < 0x7f;)
        c++;
    EXPECT(c && !*c, "nothing beyond ASCII is left");
    observation_done(&seen);
    call_end(&call);
}

static void previews_what_apply_would_do(void)
{
    static const struct fake_step steps[] = {
        DISCOVERY,
        {.expect = PATCH "&dryRun=All ",
         .status = 201,
         .body = "{\"metadata\":{\"name\":\"a\",\"uid\":\"made-up\"},\"spec\":{\"clusterIP\":"
                 "\"10.0.0.1\",\"clusterIPs\":[\"10.0.0.1\"]}}"},
        {.expect = PATCH "&force=true&dryRun=All ", .status = 200, .body = META("a")},
    };
    _cleanup_value_ const struct value *made = NULL, *changed = NULL;
    struct call call;
    struct error error = {0};

    call_begin(&call, steps, ARRAY_SIZE(steps), MAP("a"));
    EXPECT_INT(kube_preview(call.session, &call.target, APPLY_CREATE, &made, &error), 0,
               error.message);
    EXPECT(value_is(value_path(made, "metadata", "uid", NULL), VALUE_UNKNOWN),
           "a uid that is made up is not known");
    EXPECT(value_is(value_path(made, "spec", "clusterIP", NULL), VALUE_UNKNOWN), "nor an address");
    EXPECT_INT(kube_preview(call.session, &call.target, APPLY_TAKE, &changed, &error), 0,
               error.message);
    EXPECT_STR(value_string(value_path(changed, "metadata", "uid", NULL)), "u-a", "a real one");
    EXPECT(!call_impersonates(&call, 0), "discovery is ours");
    EXPECT(call_impersonates(&call, 1) && call_impersonates(&call, 2), "the rest is theirs");
    call_end(&call);
}

static void removes_or_says_why_not(void)
{
    static const struct {
        const char *note;
        struct fake_step steps[MAX_STEPS];
        int code;
        const char *says;
    } rows[] = {
        {"begun",
         {DISCOVERY, {.expect = "DELETE " MAPS "/a ", .status = 200, .body = META("a")}},
         0,
         ""},
        {"gone since it was read",
         {DISCOVERY, {.expect = "DELETE", .status = 404, .body = MISSING("a")}},
         0,
         ""},
        {"another has its name now",
         {DISCOVERY,
          {.expect = "DELETE",
           .status = 409,
           .body = STATUS(409, "Conflict",
                          "Precondition failed: UID in precondition: u-a, UID in object meta: u-b",
                          "{\"name\":\"a\"}")}},
         ERR_CONFLICT,
         "UID in precondition: u-a"},
        {"answered by who cannot know",
         {DISCOVERY, {.expect = "DELETE", NO_PAGE}},
         ERR_UNAVAILABLE,
         "404"},
        {"asked again, it is gone: it was us",
         {DISCOVERY,
          {.expect = "DELETE", .status = 200, .end = FAKE_DROP},
          {.expect = "DELETE", .status = 404, .body = MISSING("a")}},
         0,
         ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        size_t n = count_steps(rows[i].steps);
        struct call call;
        struct error error = {0};
        _cleanup_free_ char *request = NULL;

        call_begin(&call, rows[i].steps, n, MAP("a"));
        EXPECT_INT(kube_remove(call.session, &call.target, &error), rows[i].code, rows[i].note);
        EXPECT(strstr(error.message, rows[i].says) != NULL, error.message);
        request = fake_server_request(call.stage.harness.server, n - 1);
        EXPECT(request && strstr(request, "\"preconditions\":{\"uid\":\"u-a\"}"), request);
        EXPECT(request && strstr(request, "\"propagationPolicy\":\"Foreground\""), request);
        EXPECT(call_impersonates(&call, n - 1), rows[i].note);
        call_end(&call);
    }
}

static void removes_nothing_without_a_uid(void)
{
    static const struct fake_step steps[] = {DISCOVERY};
    struct call call;
    struct error error = {0};

    call_begin(&call, steps, 1, MAP("a"));
    call.target.uid = NULL;
    EXPECT_INT(kube_remove(call.session, &call.target, &error), ERR_INTERNAL, "a bug");
    EXPECT_STR(error.reason, "UnknownIdentity", error.message);
    call_end(&call);
}

/* ---- Sessions ---- */

static void opens_for_an_account_that_is_there(void)
{
    static const char path[] = "GET /api/v1/namespaces/team/serviceaccounts/deployer ";
    static const struct {
        const char *note, *account;
        bool act_as_controller, is_terminating;
        struct fake_step step;
        int code;
        const char *reason;
    } rows[] = {
        {"there",
         "deployer",
         false,
         false,
         {.expect = path, .status = 200, .body = META("x")},
         0,
         ""},
        {"not there",
         "deployer",
         true,
         false,
         {.expect = path, .status = 404, .body = MISSING("deployer")},
         ERR_INVALID,
         "ServiceAccountNotFound"},
        {"not to be known",
         "deployer",
         true,
         false,
         {.expect = path, .status = 403, .body = DENIED},
         ERR_FORBIDDEN,
         "Forbidden"},
        {"not looked up", "deployer", false, true, {.status = 0}, 0, ""},
        {"the controller's own", NULL, true, false, {.status = 0}, 0, ""},
        {"where that is not allowed",
         NULL,
         false,
         false,
         {.status = 0},
         ERR_FORBIDDEN,
         "AccessDenied"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct runtime_scope scope = {.spec_namespace = "team",
                                      .spec_name = "web",
                                      .owner = STAGE_OWNER,
                                      .service_account = rows[i].account,
                                      .spec_namespace_terminating = rows[i].is_terminating};
        struct runtime_session *session = NULL;
        struct stage stage;

        stage_start(&stage, NULL, &rows[i].step, rows[i].step.status ? 1 : 0);
        ((struct kube_runtime *)stage.runtime)->config.act_as_controller =
            rows[i].act_as_controller;
        EXPECT_INT(stage.runtime->ops->open(stage.runtime, &scope, &session, &stage.error),
                   rows[i].code, rows[i].note);
        EXPECT_STR(stage.error.reason, rows[i].reason, stage.error.message);
        EXPECT_INT(session != NULL, rows[i].code == 0, rows[i].note);
        if (session)
            EXPECT_STR(session->field_manager, "kusion-operator-0123456789abcdef", "its own");
        stage.runtime->ops->close(session);
        stage_stop(&stage);
    }
}

static void knows_what_is_secret(void)
{
    static const struct {
        const char *attributes, *pointers; /* NULL: none */
    } rows[] = {
        {"{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"data\":{}}", "[\"/data\"]"},
        {"{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"stringData\":{\"a\":\"b\"},\"data\":{}}",
         "[\"/stringData\",\"/data\"]"},
        {"{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"a\",\"annotations\":{"
         "\"a\":\"b\",\"kubectl.kubernetes.io/last-applied-configuration\":\"{}\"}}}",
         "[\"/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration\"]"},
        {"{\"apiVersion\":\"v1\",\"kind\":\"Secret\"}", NULL},
        {"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"data\":{}}", NULL},
        {"{\"apiVersion\":\"x.io/v1\",\"kind\":\"Secret\",\"data\":{}}", NULL},
    };
    struct stage stage;

    stage_start(&stage, NULL, NULL, 0);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *attributes = stage_value(rows[i].attributes);
        _cleanup_value_ const struct value *expected =
            rows[i].pointers ? stage_value(rows[i].pointers) : NULL;
        _cleanup_value_ const struct value *marked = stage.runtime->ops->mark(attributes);
        _cleanup_value_ const struct value *pointers = value_sensitive_paths(marked);

        EXPECT(value_equal(marked, attributes), rows[i].attributes);
        EXPECT(expected ? value_equal(pointers, expected) : !pointers, rows[i].attributes);
    }
    stage_stop(&stage);
}

SUITE(kube_runtime, TEST(applies_or_says_why_not),
      TEST(sends_nothing_that_yaml_reads_in_its_own_way), TEST(previews_what_apply_would_do),
      TEST(removes_or_says_why_not), TEST(removes_nothing_without_a_uid),
      TEST(opens_for_an_account_that_is_there), TEST(knows_what_is_secret))
