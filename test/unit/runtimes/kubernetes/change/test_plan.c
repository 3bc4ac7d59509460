/* What is planned: by what is there, whose it is, what is recorded, and for which Spec. */
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "engine/value/redaction.h"
#include "engine/value/value_mark.h"
#include "test/unit/runtimes/kubernetes/change/steps.h"
#include "test/unit/suite.h"

#define ENTRY                                                                             \
    "\"managedFields\":[{\"manager\":\"kusion-operator-a5cb1ff62f8ed32c\",\"operation\":" \
    "\"Apply\",\"fieldsV1\":{\"f:data\":{}}}]"
#define WANTED                                                                              \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"},\"data\":" \
    "{\"k\":\"1\"}}"
#define OBJECT(marks, data)                                                                      \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"namespace\""   \
    ":\"team\",\"uid\":\"u-a\",\"resourceVersion\":\"5\",\"creationTimestamp\":\"2026-01-02T03:" \
    "04:05Z\"," ENTRY marks "},\"data\":{\"k\":\"" data "\"}}"
#define OURS   ",\"labels\":{\"api.kusion.io/owner\":\"" STAGE_OWNER "\"}"
#define THEIRS ",\"labels\":{\"api.kusion.io/owner\":\"kusion-x\"}"
#define HELMS  ",\"labels\":{\"app.kubernetes.io/managed-by\":\"Helm\"}"
#define GOING  ",\"deletionTimestamp\":\"t\""
#define LOOK   "GET " MAPS "/a "
#define DRY    PATCH "&force=true&dryRun=All "

/* What is recorded. */
enum prior {
    NOTHING,
    INTENT,  /* no uid */
    SAME,    /* this object, as it is wanted */
    OLDER,   /* this object, other attributes */
    ANOTHER, /* another object */
};

struct recorded {
    struct record record;
    const struct value *attributes;
    struct observation seen;
};

static void recorded_init(struct recorded *recorded, const struct call *call, enum prior prior,
                          const char *object)
{
    _cleanup_value_ const struct value *value = stage_value(object ? object : OBJECT("", "1"));

    *recorded = (struct recorded){0};
    kube_observe_object(call->session, value, false, &recorded->seen);
    recorded->attributes = stage_value(prior == OLDER ? MAP("a") : WANTED);
    recorded->record = (struct record){
        .status = prior == INTENT ? RECORD_INTENT : RECORD_APPLIED,
        .id = "id",
        .attributes = recorded->attributes,
        .uid = prior == INTENT    ? NULL
               : prior == ANOTHER ? "u-old"
                                  : "u-a",
        .fields_digest = prior == INTENT ? NULL : recorded->seen.fields_digest,
    };
}

static void recorded_done(struct recorded *recorded)
{
    observation_done(&recorded->seen);
    value_unref(recorded->attributes);
}

/* ---- What is wanted ---- */

static void plans_what_is_wanted(void)
{
    static const struct {
        const char *note;
        enum prior prior;
        const char *object, *dry_run; /* NULL: not there; not tried */
        enum plan_action action;
        bool is_unrecorded;
        const char *reason; /* NULL: no error */
    } rows[] = {
        {"absent", NOTHING, NULL, NULL, PLAN_CREATE, false, NULL},
        {"absent, intended", INTENT, NULL, NULL, PLAN_CREATE, false, NULL},
        {"absent, recorded", SAME, NULL, NULL, PLAN_CREATE, false, NULL},
        {"as recorded", SAME, OBJECT(OURS, "1"), NULL, PLAN_UNCHANGED, false, NULL},
        {"as recorded, without its mark", SAME, OBJECT("", "1"), NULL, PLAN_UNCHANGED, false, NULL},
        {"as recorded, Helm's mark", SAME, OBJECT(HELMS, "1"), NULL, PLAN_UNCHANGED, false, NULL},
        {"wanted otherwise", OLDER, OBJECT(OURS, "0"), OBJECT(OURS, "1"), PLAN_UPDATE, false, NULL},
        {"wanted as it is, recorded otherwise", OLDER, OBJECT(OURS, "1"), OBJECT(OURS, "1"),
         PLAN_UNCHANGED, true, NULL},
        {"another object, like it", ANOTHER, OBJECT(OURS, "1"), OBJECT(OURS, "1"), PLAN_UNCHANGED,
         true, NULL},
        {"intended, and made as wanted", INTENT, OBJECT(OURS, "1"), OBJECT(OURS, "1"),
         PLAN_UNCHANGED, true, NULL},
        {"intended, and made otherwise", INTENT, OBJECT(OURS, "0"), OBJECT(OURS, "1"), PLAN_UPDATE,
         false, NULL},
        {"nobody's", NOTHING, OBJECT("", "0"), OBJECT(OURS, "1"), PLAN_ADOPT, false, NULL},
        {"ours, of which State knows nothing", NOTHING, OBJECT(OURS, "1"), OBJECT(OURS, "1"),
         PLAN_ADOPT, false, NULL},
        {"another Spec's", NOTHING, OBJECT(THEIRS, "1"), NULL, PLAN_NONE, false,
         "ConflictDetected"},
        {"another Spec's, which was ours", SAME, OBJECT(THEIRS, "1"), NULL, PLAN_NONE, false,
         "ConflictDetected"},
        {"Helm's", NOTHING, OBJECT(HELMS, "1"), NULL, PLAN_NONE, false, "ConflictDetected"},
        {"Helm's, where ours was", ANOTHER, OBJECT(HELMS, "1"), NULL, PLAN_NONE, false,
         "ConflictDetected"},
        {"being deleted", SAME, OBJECT(OURS GOING, "1"), NULL, PLAN_NONE, false, "Terminating"},
        {"another Spec's, being deleted", NOTHING, OBJECT(THEIRS GOING, "1"), NULL, PLAN_NONE,
         false, "ConflictDetected"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct fake_step steps[] = {
            DISCOVERY,
            {.expect = LOOK,
             .status = rows[i].object ? 200 : 404,
             .body = rows[i].object ? rows[i].object : MISSING("a")},
            {.expect = DRY, .status = 200, .body = rows[i].dry_run},
        };
        struct runtime_step *step = NULL;
        struct recorded recorded;
        struct error error = {0};
        struct call call;
        int r;

        call_begin(&call, steps, rows[i].dry_run ? 3 : 2, WANTED);
        recorded_init(&recorded, &call, rows[i].prior, rows[i].object);
        call.target.prior = rows[i].prior == NOTHING ? NULL : &recorded.record;
        r = kube_plan(call.session, &call.target, NULL, &stage_call, &step, &error);
        EXPECT_INT(r < 0, rows[i].reason != NULL, rows[i].note);
        EXPECT_STR(error.reason, rows[i].reason ? rows[i].reason : "", error.message);
        if (step) {
            EXPECT_INT(step->action, rows[i].action, rows[i].note);
            EXPECT_INT(step->is_unrecorded, rows[i].is_unrecorded, rows[i].note);
            EXPECT_INT(step->hides_before,
                       rows[i].prior == NOTHING && rows[i].object && strstr(rows[i].object, OURS),
                       rows[i].note);
            EXPECT_STR(step->uid, rows[i].object ? "u-a" : NULL, rows[i].note);
            EXPECT(value_equal(step->attributes, call.attributes), rows[i].note);
            EXPECT_INT(step->before != NULL, rows[i].object != NULL, rows[i].note);
            EXPECT(step->after && step->result, rows[i].note);
            EXPECT_STR(step->action == PLAN_ADOPT ? step->reason : NULL,
                       rows[i].action == PLAN_ADOPT
                           ? "takes over the object with uid u-a, created 2026-01-02T03:04:05Z"
                           : NULL,
                       rows[i].note);
        }
        kube_step_free(step);
        recorded_done(&recorded);
        call_end(&call);
    }
}

/* An error of the look is the resource's own; nothing is planned without one. */
static void plans_nothing_that_it_cannot_see(void)
{
    static const struct {
        const char *note;
        struct fake_step steps[MAX_STEPS];
        int code;
    } rows[] = {
        {"refused",
         {DISCOVERY, {.expect = LOOK, .status = 403, .body = DENIED}, NO_REVIEW},
         ERR_FORBIDDEN},
        {"no answer of the API server's",
         {DISCOVERY, {.expect = LOOK, NO_PAGE}, DISCOVERY},
         ERR_UNAVAILABLE},
        {"an empty answer", {DISCOVERY, {.expect = LOOK, .status = 200}}, ERR_UNAVAILABLE},
        {"a dry-run that is refused",
         {DISCOVERY,
          {.expect = LOOK, .status = 200, .body = OBJECT("", "0")},
          {.expect = DRY, .status = 422, .body = STATUS(422, "Invalid", "no", "{}")}},
         ERR_INVALID},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct runtime_step *step = NULL;
        struct call call;

        call_begin(&call, rows[i].steps, count_steps(rows[i].steps), WANTED);
        EXPECT_INT(kube_plan(call.session, &call.target, NULL, &stage_call, &step, NULL),
                   rows[i].code, rows[i].note);
        EXPECT(!step, rows[i].note);
        call_end(&call);
    }
}

static void shows_what_would_become_of_it(void)
{
    static const struct fake_step steps[] = {
        DISCOVERY,
        {.expect = LOOK,
         .status = 200,
         .body = "{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"namespace\":\"team\","
                 "\"uid\":\"u-a\",\"resourceVersion\":\"5\"},\"data\":{\"k\":\"0\"},\"status\":{"
                 "\"x\":1}}"},
        {.expect = DRY,
         .status = 200,
         .body = "{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"namespace\":\"team\","
                 "\"uid\":\"u-a\",\"resourceVersion\":\"5\"},\"data\":{\"k\":\"1\"},\"status\":{"
                 "\"x\":1}}"},
    };
    _cleanup_value_ const struct value *before =
        stage_value("{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"namespace\":\"team\"},"
                    "\"data\":{\"k\":\"0\"}}");
    _cleanup_value_ const struct value *after =
        stage_value("{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"namespace\":\"team\"},"
                    "\"data\":{\"k\":\"1\"}}");
    struct runtime_step *step = NULL;
    struct error error = {0};
    struct call call;

    call_begin(&call, steps, ARRAY_SIZE(steps), WANTED);
    EXPECT_INT(kube_plan(call.session, &call.target, NULL, &stage_call, &step, &error), 0,
               error.message);
    EXPECT(value_equal(step->before, before), "without what the server fills in");
    EXPECT(value_equal(step->after, after), "without what the server fills in");
    EXPECT_STR(value_string(value_path(step->result, "data", "k", NULL)), "1",
               "references see it as it will be");
    EXPECT(value_is(value_get(step->result, "status"), VALUE_UNKNOWN),
           "but its status, which the change alone tells");
    EXPECT_STR(value_string(value_path(step->result, "metadata", "uid", NULL)), "u-a", "known");
    kube_step_free(step);
    call_end(&call);
}

/* ---- Ours, and others' ---- */

#define MANAGED(who, operation, fields)                                               \
    "{\"manager\":\"" who "\",\"operation\":\"" operation "\",\"apiVersion\":\"v1\"," \
    "\"fieldsV1\":{\"f:data\":{" fields "}}}"
#define MINE(fields) MANAGED("kusion-operator-a5cb1ff62f8ed32c", "Apply", fields)
#define THE_HPAS     MANAGED("hpa", "Update", "\"f:o\":{}")
#define OF(entries, data)                                                                       \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"namespace\":" \
    "\"team\",\"uid\":\"u-a\",\"resourceVersion\":\"5\",\"managedFields\":[" entries "]" OURS   \
    "},\"data\":{" data "}}"
#define K   "\"f:k\":{}"
#define K_G "\"f:k\":{},\"f:g\":{}"

/* A change is one of our fields, and of those that go with them. */
static void compares_what_is_ours(void)
{
    static const struct {
        const char *note, *live, *dry_run;
        enum plan_action action;
        const char *before, *after; /* of the data */
    } rows[] = {
        {"a value that a webhook would add", OF(MINE(K), "\"k\":\"1\""),
         OF(MINE(K), "\"k\":\"1\",\"w\":\"x\""), PLAN_UNCHANGED, "{\"k\":\"1\"}", "{\"k\":\"1\"}"},
        {"another's field beside ours", OF(MINE(K) "," THE_HPAS, "\"k\":\"0\",\"o\":\"7\""),
         OF(MINE(K) "," THE_HPAS, "\"k\":\"1\",\"o\":\"7\""), PLAN_UPDATE, "{\"k\":\"0\"}",
         "{\"k\":\"1\"}"},
        {"a field that we give up", OF(MINE(K_G), "\"k\":\"1\",\"g\":\"2\""),
         OF(MINE(K), "\"k\":\"1\""), PLAN_UPDATE, "{\"g\":\"2\",\"k\":\"1\"}", "{\"k\":\"1\"}"},
        {"one that another keeps", OF(MINE(K_G), "\"k\":\"1\",\"g\":\"2\""),
         OF(MINE(K), "\"k\":\"1\",\"g\":\"2\""), PLAN_UNCHANGED, "{\"k\":\"1\"}", "{\"k\":\"1\"}"},
        {"all is lost", OF("{}", ""), OF(MINE(K), "\"k\":\"1\""), PLAN_UPDATE, "", "{\"k\":\"1\"}"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct fake_step steps[] = {DISCOVERY,
                                          {.expect = LOOK, .status = 200, .body = rows[i].live},
                                          {.expect = DRY, .status = 200, .body = rows[i].dry_run}};
        _cleanup_buf_ struct buf before = BUF_INIT, after = BUF_INIT;
        struct runtime_step *step = NULL;
        struct recorded recorded;
        struct call call;

        call_begin(&call, steps, ARRAY_SIZE(steps), WANTED);
        recorded_init(&recorded, &call, OLDER, rows[i].live);
        recorded.record.fields_digest = NULL;
        call.target.prior = &recorded.record;
        EXPECT_INT(kube_plan(call.session, &call.target, NULL, &stage_call, &step, NULL), 0,
                   rows[i].note);
        EXPECT_INT(step ? step->action : PLAN_NONE, rows[i].action, rows[i].note);
        if (step && value_get(step->before, "data"))
            json_write(&before, value_get(step->before, "data"), JSON_CANONICAL);
        if (step)
            json_write(&after, value_get(step->after, "data"), JSON_CANONICAL);
        EXPECT_STR(before.data, rows[i].before, rows[i].note);
        EXPECT_STR(after.data, rows[i].after, rows[i].note);
        kube_step_free(step);
        recorded_done(&recorded);
        call_end(&call);
    }
}

/* What the server made up in a dry-run is another value when the change is made. */
static void references_see_what_is_certain(void)
{
    static const struct {
        const char *note, *live, *object, *wanted, *expected;
    } rows[] = {
        {"ours, and what stays", "{\"a\":1,\"o\":2}", "{\"a\":3,\"o\":2}", "{\"a\":3}",
         "{\"a\":3,\"o\":2}"},
        {"ours, as the server writes it", "{\"c\":\"1\"}", "{\"c\":\"500m\"}", "{\"c\":0.5}",
         "{\"c\":\"500m\"}"},
        {"the node port of a new port", "{\"p\":[{\"port\":80,\"nodePort\":30001}]}",
         "{\"p\":[{\"port\":80,\"nodePort\":30001},{\"port\":81,\"nodePort\":32769}]}",
         "{\"p\":[{\"port\":80},{\"port\":81}]}",
         "{\"p\":[{\"nodePort\":30001,\"port\":80},{\"nodePort\":?,\"port\":81}]}"},
        {"a create", NULL, "{\"s\":{\"type\":\"ClusterIP\",\"ip\":\"10.96.0.0\"},\"a\":1,\"e\":{}}",
         "{\"s\":{\"type\":\"ClusterIP\"},\"a\":1}",
         "{\"a\":1,\"e\":?,\"s\":{\"ip\":?,\"type\":\"ClusterIP\"}}"},
        {"items among which others were added", "{\"l\":[1]}", "{\"l\":[0,1,2]}", "{\"l\":[1,2]}",
         "{\"l\":[?,?,?]}"},
        {"the status", "{\"status\":{\"a\":1}}", "{\"status\":{\"a\":1}}", "{}", "{\"status\":?}"},
        {"the managers", NULL, "{\"metadata\":{\"name\":\"a\",\"managedFields\":[1]}}",
         "{\"metadata\":{\"name\":\"a\"}}", "{\"metadata\":{\"name\":\"a\"}}"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *object = stage_value(rows[i].object);
        _cleanup_value_ const struct value *wanted = stage_value(rows[i].wanted), *result = NULL;
        struct observation seen = {.presence = PRESENCE_PRESENT};
        const struct kube_change change = {
            .attributes = wanted, .seen = rows[i].live ? &seen : NULL, .object = object};
        _cleanup_buf_ struct buf text = BUF_INIT;

        seen.result = rows[i].live ? stage_value(rows[i].live) : NULL;
        result = kube_foresee_result(&change);
        json_write(&text, result, JSON_CANONICAL);
        EXPECT_STR(text.data, rows[i].expected, rows[i].note);
        value_unref(seen.result);
    }
}

/* ---- Values that are not known yet, or secret ---- */

static void plans_with_what_is_not_known_yet(void)
{
    static const struct fake_step steps[] = {
        DISCOVERY, {.expect = LOOK, .status = 200, .body = OBJECT(OURS, "1")}};
    static const char *const keys[] = {"data", "k"};
    _cleanup_value_ const struct value *unknown = value_pack("u");
    const struct value *attributes;
    struct runtime_step *step = NULL;
    struct recorded recorded;
    struct call call;

    call_begin(&call, steps, ARRAY_SIZE(steps), WANTED);
    recorded_init(&recorded, &call, SAME, OBJECT(OURS, "1"));
    attributes = value_with_path(call.attributes, keys, 2, unknown);
    call.target.attributes = attributes;
    call.target.prior = &recorded.record;
    EXPECT_INT(kube_plan(call.session, &call.target, NULL, &stage_call, &step, NULL), 0,
               "no dry-run");
    EXPECT_INT(step->action, PLAN_UPDATE, "it may change");
    EXPECT(value_has_unknown(step->after), "not known");
    EXPECT(value_is(value_path(step->shown_after, "data", "k", NULL), VALUE_UNKNOWN), "shown so");
    EXPECT_STR(value_string(value_path(step->shown_before, "data", "k", NULL)), "1", "as it is");
    EXPECT_STR(value_string(value_path(step->shown_after, "metadata", "labels",
                                       "api.kusion.io/owner", NULL)),
               STAGE_OWNER, "our mark stays");
    EXPECT(value_is(value_path(step->result, "data", "k", NULL), VALUE_UNKNOWN),
           "references do not know it either");
    kube_step_free(step);
    value_unref(attributes);
    recorded_done(&recorded);
    call_end(&call);
}

static void marks_what_is_secret(void)
{
#define SECRET_KINDS                                                                          \
    "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"secrets\",\"kind\":\"Secret\"," \
    "\"namespaced\":true}]}"
#define SECRET(more, data)                                                                   \
    "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"a\",\"namespace\":" \
    "\"team\"" more "},\"data\":{\"k\":\"" data "\"}}"
    static const struct fake_step steps[] = {
        {.expect = "GET /api/v1 ", .status = 200, .body = SECRET_KINDS},
        {.expect = "GET ", .status = 200, .body = SECRET(",\"uid\":\"u-a\"", "MA==")},
        {.expect = "PATCH ", .status = 200, .body = SECRET(",\"uid\":\"u-a\"", "MQ==")},
    };
    struct runtime_step *step = NULL;
    struct call call;

    call_begin(&call, steps, ARRAY_SIZE(steps), SECRET("", "MQ=="));
    EXPECT_INT(kube_plan(call.session, &call.target, NULL, &stage_call, &step, NULL), 0, "planned");
    EXPECT(value_is_sensitive(value_get(step->attributes, "data")), "as asked for");
    EXPECT(value_is_sensitive(value_get(step->before, "data")), "as it is");
    EXPECT(value_is_sensitive(value_get(step->after, "data")), "as it will be");
    EXPECT(value_is_sensitive(value_get(step->result, "data")), "as references see it");
    kube_step_free(step);
    call_end(&call);
}

/* A webhook gets the object as it is and as it would be. */
static void a_refusal_tells_no_secret(void)
{
    static const char refused[] =
        STATUS(400, "BadRequest",
               "denied: hunter10 (aHVudGVyMTA=) for hunter11 (aHVudGVyMTE=), on a", "{}");
    static const struct fake_step steps[] = {
        {.expect = "GET /api/v1 ", .status = 200, .body = SECRET_KINDS},
        {.expect = "GET ", .status = 200, .body = SECRET(",\"uid\":\"u-a\"", "aHVudGVyMTA=")},
        {.expect = "PATCH ", .status = 400, .body = refused},
    };
    struct runtime_step *step = NULL;
    struct error error = {0};
    struct call call;

    call_begin(&call, steps, ARRAY_SIZE(steps), SECRET("", "aHVudGVyMTE="));
    EXPECT(kube_plan(call.session, &call.target, NULL, &stage_call, &step, &error) < 0, "refused");
    EXPECT_STR(error.message,
               "denied: " REDACTED " (" REDACTED ") for " REDACTED " (" REDACTED "), on a",
               "what is there, and what is wanted");
    call_end(&call);
}

/* ---- Hints ---- */

static void a_hint_spares_a_look(void)
{
    static const struct {
        const char *note;
        bool leaves;
        enum prior prior;
        const char *hint; /* NULL: absent */
        enum plan_action action;
        int code;
    } rows[] = {
        {"as recorded", false, SAME, OBJECT(OURS, "1"), PLAN_UNCHANGED, 0},
        {"absent", false, NOTHING, NULL, PLAN_CREATE, 0},
        {"another's", false, NOTHING, OBJECT(THEIRS, "1"), PLAN_NONE, ERR_CONFLICT},
        {"being deleted", false, SAME, OBJECT(OURS GOING, "1"), PLAN_NONE, ERR_UNAVAILABLE},
        {"leaves", true, SAME, OBJECT(OURS, "1"), PLAN_DELETE, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *object =
            rows[i].hint ? stage_value(rows[i].hint) : NULL;
        struct observation hint = {.presence = PRESENCE_ABSENT};
        struct runtime_step *step = NULL;
        struct recorded recorded;
        struct call call;

        call_begin(&call, NULL, 0, WANTED);
        recorded_init(&recorded, &call, rows[i].prior, rows[i].hint);
        if (object)
            kube_observe_object(call.session, object, false, &hint);
        call.target.prior = rows[i].prior == NOTHING ? NULL : &recorded.record;
        if (rows[i].leaves)
            call.target.attributes = NULL;
        EXPECT_INT(kube_plan(call.session, &call.target, &hint, &stage_call, &step, NULL),
                   rows[i].code, rows[i].note);
        EXPECT_INT(step ? step->action : PLAN_NONE, rows[i].action, rows[i].note);
        kube_step_free(step);
        observation_done(&hint);
        recorded_done(&recorded);
        call_end(&call);
    }
}

/* ---- What leaves ---- */

static void plans_what_leaves(void)
{
    static const struct {
        const char *note;
        enum prior prior;
        const char *object; /* NULL: not there */
        bool is_inherited;
        enum plan_action action;
    } rows[] = {
        {"ours", SAME, OBJECT(OURS, "1"), false, PLAN_DELETE},
        {"ours, intended", INTENT, OBJECT(OURS, "1"), false, PLAN_DELETE},
        {"ours, made again", ANOTHER, OBJECT(OURS, "1"), false, PLAN_DELETE},
        {"ours, without its mark", SAME, OBJECT("", "1"), false, PLAN_DELETE},
        {"ours, with Helm's mark", SAME, OBJECT(HELMS, "1"), false, PLAN_DELETE},
        {"another Spec's by now", SAME, OBJECT(THEIRS, "1"), false, PLAN_FORGET},
        {"nobody's, intended", INTENT, OBJECT("", "1"), false, PLAN_FORGET},
        {"nobody's, in the place of ours", ANOTHER, OBJECT("", "1"), false, PLAN_FORGET},
        {"gone", SAME, NULL, false, PLAN_FORGET},
        {"never made", INTENT, NULL, false, PLAN_FORGET},
        {"ours, inherited", SAME, OBJECT(OURS, "1"), true, PLAN_DELETE},
        {"another with our mark, inherited", ANOTHER, OBJECT(OURS, "1"), true, PLAN_FORGET},
        {"intended, inherited", INTENT, OBJECT(OURS, "1"), true, PLAN_FORGET},
        {"without our mark, inherited", SAME, OBJECT("", "1"), true, PLAN_FORGET},
        {"being deleted", SAME, OBJECT(OURS GOING, "1"), false, PLAN_DELETE},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct fake_step steps[] = {
            DISCOVERY,
            {.expect = LOOK,
             .status = rows[i].object ? 200 : 404,
             .body = rows[i].object ? rows[i].object : MISSING("a")},
        };
        /* A list that does not show it may be old: it is asked for by its name. */
        const struct observation hint = {.presence = PRESENCE_ABSENT};
        struct runtime_step *step = NULL;
        struct recorded recorded;
        struct error error = {0};
        struct call call;

        call_begin(&call, steps, ARRAY_SIZE(steps), WANTED);
        recorded_init(&recorded, &call, rows[i].prior, rows[i].object);
        call.session->is_inherited = rows[i].is_inherited;
        call.target = (struct runtime_target){.id = "id", .prior = &recorded.record};
        EXPECT_INT(kube_plan(call.session, &call.target, &hint, &stage_call, &step, &error), 0,
                   error.message);
        EXPECT_INT(step ? step->action : PLAN_NONE, rows[i].action, rows[i].note);
        EXPECT(step && !step->attributes && !step->after, "it goes");
        EXPECT_INT(step && step->before, rows[i].action == PLAN_DELETE, "what would be deleted");
        EXPECT_STR(step ? step->uid : NULL, rows[i].object ? "u-a" : NULL, rows[i].note);
        kube_step_free(step);
        recorded_done(&recorded);
        call_end(&call);
    }
}

/* What is in the Spec's namespace goes with that, whoever may look. */
static void leaves_to_the_namespace_what_is_in_it(void)
{
    static const struct fake_step steps[] = {
        DISCOVERY,
        {.expect = "GET /api/v1/namespaces/other/", .status = 403, .body = DENIED},
        {.expect = "GET /api/v1/namespaces/other ", .status = 403, .body = DENIED}};
    struct runtime_step *step = NULL;
    struct recorded recorded;
    const struct value *inside;
    struct call call;

    call_begin(&call, steps, ARRAY_SIZE(steps), MAP_IN("other", "a"));
    recorded_init(&recorded, &call, SAME, NULL);
    call.session->terminating = true;
    call.target = (struct runtime_target){.id = "id", .prior = &recorded.record};
    EXPECT_INT(kube_plan(call.session, &call.target, NULL, &stage_call, &step, NULL), 0, "inside");
    EXPECT_INT(step ? step->action : PLAN_NONE, PLAN_FORGET, "inside");
    EXPECT(step && step->cannot_appear, "nothing is made in it any more");
    kube_step_free(TAKE(step));
    inside = recorded.record.attributes;
    recorded.record.attributes = call.attributes;
    EXPECT_INT(kube_plan(call.session, &call.target, NULL, &stage_call, &step, NULL), ERR_FORBIDDEN,
               "outside it has to be seen");
    recorded.record.attributes = inside;
    recorded_done(&recorded);
    call_end(&call);
}

SUITE(kube_plan, TEST(plans_what_is_wanted), TEST(plans_nothing_that_it_cannot_see),
      TEST(shows_what_would_become_of_it), TEST(compares_what_is_ours),
      TEST(references_see_what_is_certain), TEST(plans_with_what_is_not_known_yet),
      TEST(marks_what_is_secret), TEST(a_refusal_tells_no_secret), TEST(a_hint_spares_a_look),
      TEST(plans_what_leaves), TEST(leaves_to_the_namespace_what_is_in_it))
