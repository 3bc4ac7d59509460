#include "controller/reconcile/release.h"

#include "controller/reconcile/conditions.h"
#include "engine/base/str.h"
#include "test/unit/controller/reconcile/scene.h"
#include "test/unit/suite.h"

#define SPEC     "/apis/api.kusion.io/v1/namespaces/team/specs/web"
#define RELEASE  "/apis/api.kusion.io/v1/namespaces/team/releases/look"
#define METADATA "\"metadata\":{\"namespace\":\"team\",\"name\":\"look\",\"uid\":\"u\""
#define MADE(labels, operation, status_)                                          \
    {                                                                             \
        .expect = "GET " RELEASE " ", .status = 200,                              \
        .body = "{" METADATA labels "},\"spec\":{\"specRef\":{\"name\":\"web\"}," \
                "\"operation\":\"" operation "\"},\"status\":" status_ "}"        \
    }
#define GENERATED ",\"labels\":{\"api.kusion.io/generated\":\"true\"}"
#define DELETED   ",\"deletionTimestamp\":\"2026-01-02T03:04:05Z\""
#define READ(status_, body_)                                            \
    {                                                                   \
        .expect = "GET " SPEC " ", .status = (status_), .body = (body_) \
    }
#define SPEC_OF(spec)                                                                              \
    "{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Spec\",\"metadata\":{\"namespace\":\"team\"," \
    "\"name\":\"web\",\"uid\":\"v\",\"generation\":3},\"spec\":" spec "}"
#define TELL                                                                          \
    {                                                                                 \
        .expect = "PUT " RELEASE "/status ", .status = 200, .body = "{" METADATA "}}" \
    }
#define WAITS                                                                              \
    "{\"phase\":\"previewing\",\"conditions\":[{\"type\":\"Ready\",\"message\":\"loading " \
    "State: the store does not answer\"}]}"
#define MAX_STEPS 5

static const struct row {
    const char *note;
    struct fake_step steps[MAX_STEPS];
    int store_fails;
    const char *phase, *reason; /* as last written; NULL: nothing was */
    bool retries;
} rows[] = {
    {"shown",
     {MADE("", "Preview", "{}"), READ(200, SPEC_OF("{\"resources\":[]}")), TELL, TELL},
     0,
     "succeeded",
     "ReconciliationSucceeded",
     false},
    {"shown at the second try",
     {MADE("", "Preview", WAITS), READ(200, SPEC_OF("{\"resources\":[]}")), TELL, TELL},
     0,
     "succeeded",
     "ReconciliationSucceeded",
     false},
    {"no Spec",
     {MADE("", "Preview", "{}"), READ(404, STATUS(404, "NotFound", "web")), TELL},
     0,
     "failed",
     "SpecNotFound",
     false},
    {"a wrong Spec",
     {MADE("", "Preview", "{}"), READ(200, SPEC_OF("{\"resources\":1}")), TELL},
     0,
     "failed",
     "InvalidSpec",
     false},
    {"damaged State",
     {MADE("", "Preview", "{}"), READ(200, SPEC_OF("{\"resources\":[]}")), TELL, TELL},
     ERR_CORRUPT,
     "failed",
     "Corrupt",
     false},
    {"no answer: it waits, and says so",
     {MADE("", "Preview", "{}"), READ(200, SPEC_OF("{\"resources\":[]}")), TELL, TELL},
     ERR_UNAVAILABLE,
     "previewing",
     "Unavailable",
     true},
    {"no answer again: nothing new to say",
     {MADE("", "Preview", WAITS), READ(200, SPEC_OF("{\"resources\":[]}")), TELL},
     ERR_UNAVAILABLE,
     "previewing",
     NULL,
     true},
    {"not of this version", {MADE("", "Rollback", "{}"), TELL}, 0, "failed", "Unsupported", false},
    {"it ended", {MADE("", "Preview", "{\"phase\":\"failed\"}")}, 0, NULL, NULL, false},
    {"a record of ours", {MADE(GENERATED, "Preview", "{}")}, 0, NULL, NULL, false},
    {"it goes", {MADE(DELETED, "Preview", "{}")}, 0, NULL, NULL, false},
};

static void expect_written(struct scene *scene, const struct row *row)
{
    size_t last = count_steps(row->steps, MAX_STEPS) - 1;
    _cleanup_value_ const struct value *body = last ? scene_body(scene, last) : NULL;
    const struct value *status = value_get(body, "status");
    const struct value *ready = conditions_find(value_get(status, "conditions"), "Ready");

    EXPECT_STR(value_get_string(status, "phase"), row->phase, row->note);
    EXPECT_STR(value_get_string(ready, "reason"), row->reason, row->note);
}

static void ends_or_waits_and_says_why(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct row *row = &rows[i];
        struct reconcile_result result;
        struct scene scene;

        scene_start(&scene, row->steps, count_steps(row->steps, MAX_STEPS));
        scene.store.fails = row->store_fails;
        result = reconcile_release(&scene.context, "team/look", NULL);
        EXPECT_INT(result.kind, row->retries ? RECONCILE_RETRY : RECONCILE_DONE, row->note);
        expect_written(&scene, row);
        scene_stop(&scene);
    }
}

SUITE(release, TEST(ends_or_waits_and_says_why))
