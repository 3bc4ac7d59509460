/* What is made of a refused update: invalid, to be replaced, or not known. */
#include <string.h>

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/runtimes/kubernetes/change/steps.h"
#include "test/unit/suite.h"

#define TRIAL_NAME "kusion-trial-3749de0734f61d23" /* of "id" in team/web */
#define NAMED(name, more)                                                                \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" name "\"," \
    "\"namespace\":\"team\",\"uid\":\"u-a\",\"resourceVersion\":\"5\"" more "},\"data\":{}}"
#define OURS ",\"labels\":{\"api.kusion.io/owner\":\"" STAGE_OWNER "\"}"
#define WANTED                                                                              \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"},\"data\":" \
    "{\"k\":\"s3cret-value\"}}"

#define CAUSE(field, text) \
    "{\"reason\":\"FieldValueInvalid\",\"message\":\"" text "\",\"field\":\"" field "\"}"
#define FIXED CAUSE("data", "Invalid value: \\\"s3cret-value\\\": may not change")
#define REFUSED(causes)                                                   \
    {                                                                     \
        .expect = PATCH "&force=true&dryRun=All ", .status = 422,         \
        .body = STATUS(422, "Invalid", "no", "{\"causes\":[" causes "]}") \
    }
#define LOOKED                                                               \
    {                                                                        \
        .expect = "GET " MAPS "/a ", .status = 200, .body = NAMED("a", OURS) \
    }
#define TRIED "PATCH " MAPS "/" TRIAL_NAME "?"
#define PASSED                                                          \
    {                                                                   \
        .expect = TRIED, .status = 200, .body = NAMED(TRIAL_NAME, OURS) \
    }
#define HELD(reason, code)                                                          \
    {                                                                               \
        .expect = TRIED, .status = code, .body = STATUS(code, reason, "held", "{}") \
    }

static void tells_what_a_refusal_means(void)
{
    static const struct {
        const char *note;
        struct fake_step steps[MAX_STEPS];
        bool force;
        int code;
        const char *reason, *message; /* NULL: it is replaced */
    } rows[] = {
        {"allowed", {DISCOVERY, LOOKED, REFUSED(FIXED), PASSED}, true, 0, NULL, NULL},
        {"not allowed",
         {DISCOVERY, LOOKED, REFUSED(FIXED), PASSED},
         false,
         ERR_INVALID,
         "ImmutableField",
         "data: Invalid value: (redacted): may not change; it cannot be changed in place: "},
        {"no field", /* of an admission policy, say */
         {DISCOVERY, LOOKED, REFUSED(FIXED "," CAUSE("", "no"))},
         true,
         ERR_INVALID,
         "Invalid",
         "data: Invalid value: (redacted): may not change; no"},
        {"no causes", {DISCOVERY, LOOKED, REFUSED("")}, true, ERR_INVALID, "Invalid", "no"},
        {"invalid",
         {DISCOVERY, LOOKED, REFUSED(FIXED), HELD("Invalid", 422)},
         true,
         ERR_INVALID,
         "Invalid",
         "data: Invalid value: (redacted): may not change"},
        {"too large to tell",
         {DISCOVERY, LOOKED, REFUSED(FIXED), HELD("RequestEntityTooLarge", 413)},
         true,
         ERR_INVALID,
         "Invalid",
         "data: Invalid value: (redacted): may not change; whether it can be replaced is not "
         "known, because a trial was refused: held"},
        {"it may pass",
         {DISCOVERY, LOOKED, REFUSED(FIXED), HELD("Conflict", 409)},
         true,
         ERR_CONFLICT,
         "Conflict",
         "held"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *earlier = stage_value(NAMED("a", ""));
        const struct record prior = {
            .status = RECORD_APPLIED, .id = "id", .attributes = earlier, .uid = "u-a"};
        struct runtime_step *step = NULL;
        struct error error = {0};
        struct call call;

        call_begin(&call, rows[i].steps, count_steps(rows[i].steps), WANTED);
        call.session->force = rows[i].force;
        call.target.prior = &prior;
        EXPECT_INT(kube_plan(call.session, &call.target, NULL, &stage_call, &step, &error),
                   rows[i].code, rows[i].note);
        EXPECT_INT(step ? step->action : PLAN_NONE, rows[i].reason ? PLAN_NONE : PLAN_REPLACE,
                   rows[i].note);
        EXPECT_STR(error.reason, rows[i].reason ? rows[i].reason : "", rows[i].note);
        EXPECT(str_has_prefix(error.message, rows[i].message ? rows[i].message : ""),
               error.message);
        kube_step_free(step);
        call_end(&call);
    }
}

/* ---- What is shown ---- */

#define MANAGED                                                                                 \
    OURS ",\"managedFields\":[{\"manager\":\"kusion-operator-a5cb1ff62f8ed32c\",\"operation\":" \
         "\"Apply\",\"fieldsV1\":{\"f:data\":{\"f:k\":{}}}}]"
#define WITH(name, more, data)                                                                    \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" name "\","          \
    "\"namespace\":\"team\",\"uid\":\"u-" name "\"" more "},\"data\":{" data "},\"seen\":\"" name \
    "\"}"
#define NOW                                                                  \
    {                                                                        \
        .expect = "GET " MAPS "/a ", .status = 200,                          \
        .body = WITH("a", MANAGED, "\"k\":\"0\",\"other\":\"of a webhook\"") \
    }
#define MADE(data)                                                                       \
    {                                                                                    \
        .expect = TRIED, .status = 200, .body = WITH(TRIAL_NAME, MANAGED, "\"k\":" data) \
    }
#define POSTED                                                                         \
    {                                                                                  \
        .expect = "POST " MAPS "?", .status = 201,                                     \
        .body = WITH(TRIAL_NAME, OURS, "\"k\":\"s3cret-value\",\"other\":\"made up\"") \
    }

/* The diff shows our fields of both objects; a digest is made of what is wanted, however much is
 * tried. Nothing is known by the name of the trial. */
static void shows_the_fields_of_both_objects(void)
{
    static const struct {
        const char *note;
        struct fake_step steps[MAX_STEPS];
        bool thorough;
        const char *shown; /* k; NULL: unknown */
    } rows[] = {
        {"tried once",
         {DISCOVERY, NOW, REFUSED(FIXED), MADE("\"as the server has it\"")},
         false,
         "as the server has it"},
        {"nothing is assigned",
         {DISCOVERY, NOW, REFUSED(FIXED), MADE("\"s3cret-value\"")},
         true,
         "s3cret-value"},
        {"the second trial shows what is assigned",
         {DISCOVERY, NOW, REFUSED(FIXED), MADE("\"1\""), MADE("\"2\"")},
         true,
         NULL},
        {"without the right to apply it by another name",
         {DISCOVERY, NOW, REFUSED(FIXED), HELD("Forbidden", 403), POSTED},
         true,
         "s3cret-value"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *earlier = stage_value(NAMED("a", ""));
        const struct record prior = {
            .status = RECORD_APPLIED, .id = "id", .attributes = earlier, .uid = "u-a"};
        _cleanup_buf_ struct buf before = BUF_INIT, after = BUF_INIT, result = BUF_INIT;
        struct runtime_step *step = NULL;
        struct error error = {0};
        const struct value *shown;
        struct call call;

        call_begin(&call, rows[i].steps, count_steps(rows[i].steps), WANTED);
        call.session->force = true;
        call.session->thorough = rows[i].thorough;
        call.target.prior = &prior;
        EXPECT_INT(kube_plan(call.session, &call.target, NULL, &stage_call, &step, &error), 0,
                   error.message);
        if (step) {
            json_write(&before, value_get(step->shown_before, "data"), JSON_CANONICAL);
            json_write(&after, step->shown_after, JSON_CANONICAL);
            json_write(&result, step->result, JSON_CANONICAL);
            shown = value_path(step->shown_after, "data", "k", NULL);
            EXPECT_STR(before.data, "{\"k\":\"0\"}", rows[i].note);
            EXPECT_STR(value_string(shown), rows[i].shown, rows[i].note);
            EXPECT(rows[i].shown || value_is(shown, VALUE_UNKNOWN), rows[i].note);
            EXPECT(!value_path(step->shown_after, "data", "other", NULL), "another's");
            EXPECT(
                value_equal(value_get(step->before, "data"), value_get(step->shown_before, "data")),
                rows[i].note);
            EXPECT(value_equal(step->after, call.attributes), "one digest");
            EXPECT(value_is(value_path(step->result, "metadata", "uid", NULL), VALUE_UNKNOWN),
                   "another object's");
            EXPECT(!strstr(after.data, "trial") && !strstr(result.data, "trial"), result.data);
        }
        kube_step_free(step);
        call_end(&call);
    }
}

SUITE(kube_replace, TEST(tells_what_a_refusal_means), TEST(shows_the_fields_of_both_objects))
