/* What is made of a refused update: invalid, to be replaced, or not known. */
#include "engine/base/str.h"
#include "test/unit/runtimes/kubernetes/script.h"
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
        {"two trials, of which the second shows what is assigned",
         {DISCOVERY, LOOKED, REFUSED(FIXED), PASSED, PASSED},
         true,
         0,
         NULL,
         NULL},
        {"not allowed",
         {DISCOVERY, LOOKED, REFUSED(FIXED), PASSED, PASSED},
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

SUITE(kube_replace, TEST(tells_what_a_refusal_means))
