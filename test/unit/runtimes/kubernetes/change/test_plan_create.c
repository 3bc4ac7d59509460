/* Plans of objects that do not exist yet. */
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/runtimes/kubernetes/change/steps.h"
#include "test/unit/suite.h"

#define WANTED                                                                              \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"},\"data\":" \
    "{\"k\":\"1\"}}"
#define WANTED_IN_TEAM                                                                          \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"namespace\":" \
    "\"team\"},\"data\":{\"k\":\"1\"}}"
#define LOOK "GET " MAPS "/a "

/* A hint that spares the look. */
static const struct observation absent = {.presence = PRESENCE_ABSENT};

static void want_namespace(struct runtime_session *session, const char *name)
{
    _cleanup_value_ const struct value *attributes = value_pack(
        "{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "Namespace", "metadata", "name", name);

    session_note_wanted(session, attributes);
}

/* The CRD of WIDGET. */
static void want_widgets(struct runtime_session *session)
{
    _cleanup_value_ const struct value *attributes = value_pack(
        "{s:s, s:s, s:{s:s}, s:{s:s, s:{s:s}, s:[{s:s}]}}", "apiVersion", "apiextensions.k8s.io/v1",
        "kind", "CustomResourceDefinition", "metadata", "name", "widgets.x.io", "spec", "group",
        "x.io", "names", "kind", "Widget", "versions", "name", "v1");

    session_note_wanted(session, attributes);
}

static void a_thorough_plan_tries_creates(void)
{
#define CREATE PATCH "&dryRun=All "
#define NO_NAMESPACE                                                                         \
    {                                                                                        \
        .expect = CREATE, .status = 404,                                                     \
        .body = STATUS(404, "NotFound", "no", "{\"name\":\"team\",\"kind\":\"namespaces\"}") \
    }
#define MADE(ip)                                                                                \
    {                                                                                           \
        .expect = CREATE, .status = 201,                                                        \
        .body = "{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"namespace\":\"team\","  \
                "\"uid\":\"made-up\"},\"spec\":{\"clusterIP\":\"" ip "\",\"clusterIPs\":[\"" ip \
                "\"]}}"                                                                         \
    }
    static const struct {
        const char *note;
        bool thorough;
        enum target_part part;
        struct fake_step steps[MAX_STEPS];
        int code;
        bool was_tried;
        const char *wanted, *reason; /* a Namespace of the Spec; why it was not tried */
    } rows[] = {
        {"made up",
         true,
         TARGET_WHOLE,
         {DISCOVERY, MADE("10.0.0.1"), MADE("10.0.0.1")},
         0,
         true,
         NULL,
         NULL},
        {"not thorough", false, TARGET_NEW, {{.status = 0}}, 0, false, NULL, NULL},
        {"its namespace is not there yet",
         true,
         TARGET_WHOLE,
         {DISCOVERY, NO_NAMESPACE},
         0,
         false,
         "team",
         "not tried: namespace team does not exist yet"},
        {"its namespace is not there, nor in the Spec",
         true,
         TARGET_WHOLE,
         {DISCOVERY, NO_NAMESPACE},
         ERR_INVALID,
         false,
         "another",
         NULL},
        {"refused",
         true,
         TARGET_WHOLE,
         {DISCOVERY, {.expect = CREATE, .status = 422, .body = STATUS(422, "Invalid", "no", "{}")}},
         ERR_INVALID,
         false,
         NULL,
         NULL},
        {"not looked for where it is made anew",
         false,
         TARGET_NEW,
         {{.status = 0}},
         0,
         false,
         NULL,
         NULL},
        {"looked for otherwise",
         false,
         TARGET_WHOLE,
         {DISCOVERY, {.expect = LOOK, .status = 404, .body = MISSING("a")}},
         0,
         false,
         NULL,
         NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct runtime_step *step = NULL;
        struct call call;

        call_begin(&call, rows[i].steps, count_steps(rows[i].steps),
                   rows[i].wanted ? WANTED_IN_TEAM : WANTED);
        call.session->thorough = rows[i].thorough;
        call.target.part = rows[i].part;
        if (rows[i].wanted)
            want_namespace(call.session, rows[i].wanted);
        EXPECT_INT(kube_plan(call.session, &call.target, rows[i].thorough ? &absent : NULL,
                             &stage_call, &step, NULL),
                   rows[i].code, rows[i].note);
        EXPECT_INT(step != NULL, rows[i].code == 0, rows[i].note);
        if (step) {
            EXPECT_INT(step->action, PLAN_CREATE, rows[i].note);
            EXPECT_STR(step->reason, rows[i].reason, rows[i].note);
            EXPECT(value_equal(step->after, call.attributes), "one digest, tried or not");
            EXPECT_INT(step->shown_after != NULL, rows[i].was_tried, rows[i].note);
            EXPECT_INT(value_is(value_path(step->result, "spec", "clusterIP", NULL), VALUE_UNKNOWN),
                       rows[i].was_tried, "an address that is made up is not known");
            EXPECT_INT(value_is(value_path(step->result, "metadata", "uid", NULL), VALUE_UNKNOWN),
                       rows[i].was_tried, "nor a uid");
        }
        kube_step_free(step);
        call_end(&call);
    }
}

/* Their content alone: "\"annotations\":{…}". */
#define MADE_WITH(content)                                                                    \
    {                                                                                         \
        .expect = CREATE, .status = 201,                                                      \
        .body = "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"," \
                "\"namespace\":\"team\",\"uid\":\"u\"}," content "}"                          \
    }

/* What another dry-run shows otherwise is not known before the create. */
static void what_is_assigned_at_each_create_is_unknown(void)
{
    static const struct {
        const char *note;
        struct fake_step steps[MAX_STEPS];
        const char *after; /* its data, with "?" for what is unknown */
    } rows[] = {
        {"the same",
         {DISCOVERY, MADE_WITH("\"data\":{\"x\":1}"), MADE_WITH("\"data\":{\"x\":1}")},
         "{\"x\":1}"},
        {"a value",
         {DISCOVERY, MADE_WITH("\"data\":{\"x\":1,\"y\":2}"),
          MADE_WITH("\"data\":{\"x\":3,\"y\":2}")},
         "{\"x\":?,\"y\":2}"},
        {"an item",
         {DISCOVERY, MADE_WITH("\"data\":[{\"n\":1},2]"), MADE_WITH("\"data\":[{\"n\":3},2]")},
         "[{\"n\":?},2]"},
        {"more items", {DISCOVERY, MADE_WITH("\"data\":[1]"), MADE_WITH("\"data\":[1,2]")}, "?"},
        {"another name",
         {DISCOVERY, MADE_WITH("\"data\":{\"x\":1}"), MADE_WITH("\"data\":{\"y\":1}")},
         "?"},
        {"another type",
         {DISCOVERY, MADE_WITH("\"data\":[1]"), MADE_WITH("\"data\":{\"a\":1}")},
         "?"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct runtime_step *step = NULL;
        _cleanup_buf_ struct buf text = BUF_INIT;
        struct call call;

        call_begin(&call, rows[i].steps, count_steps(rows[i].steps), WANTED);
        call.session->thorough = true;
        EXPECT_INT(kube_plan(call.session, &call.target, &absent, &stage_call, &step, NULL), 0,
                   rows[i].note);
        if (step)
            json_write(&text, value_get(step->shown_after, "data"), JSON_CANONICAL);
        EXPECT_STR(text.data, rows[i].after, rows[i].note);
        kube_step_free(step);
        call_end(&call);
    }
}

/* No create could be tried when the plan was approved, because values were unknown. */
static void a_create_that_was_approved_untried_is_not_tried(void)
{
    static const struct fake_step none[] = {{.status = 0}};
    struct runtime_step *step = NULL;
    struct call call;

    call_begin(&call, none, 0, WANTED);
    call.session->thorough = true;
    call.target.was_unknown = true;
    EXPECT_INT(kube_plan(call.session, &call.target, &absent, &stage_call, &step, NULL), 0, "plan");
    EXPECT(step && value_equal(step->after, step->attributes), "as the Spec has it");
    kube_step_free(step);
    call_end(&call);
}

/* Its definition may be part of the same Spec; of what is recorded it has to be known. */
static void plans_a_create_of_a_kind_that_is_not_there_yet(void)
{
    static const struct fake_step steps[] = {
        {.expect = "GET /apis/x.io/v1 ", NO_PAGE},
        {.expect = "GET /apis ",
         .status = 200,
         .body = "{\"kind\":\"APIGroupList\",\"groups\":[{\"versions\":[]}]}"}};
    struct runtime_step *step = NULL;
    struct call call;

    call_begin(&call, steps, ARRAY_SIZE(steps), WIDGET);
    call.session->thorough = true;
    want_widgets(call.session);
    EXPECT_INT(kube_plan(call.session, &call.target, NULL, &stage_call, &step, NULL), 0, "planned");
    EXPECT_INT(step ? step->action : PLAN_NONE, PLAN_CREATE, "to be made");
    kube_step_free(step);
    call_end(&call);
}

SUITE(kube_plan_create, TEST(a_thorough_plan_tries_creates),
      TEST(what_is_assigned_at_each_create_is_unknown),
      TEST(a_create_that_was_approved_untried_is_not_tried),
      TEST(plans_a_create_of_a_kind_that_is_not_there_yet))
