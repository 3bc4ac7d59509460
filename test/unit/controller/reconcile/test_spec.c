#include "controller/reconcile/spec.h"

#include "controller/core/finalizer.h"
#include "controller/reconcile/conditions.h"
#include "engine/base/buf.h"
#include "engine/base/json.h"
#include "engine/base/limits.h"
#include "engine/base/str.h"
#include "test/unit/controller/reconcile/scene.h"
#include "test/unit/suite.h"

#define MAX_STEPS 5

#define SPEC     "/apis/api.kusion.io/v1/namespaces/team/specs/web"
#define RELEASES "/apis/api.kusion.io/v1/namespaces/team/releases"
#define METADATA                                                                            \
    "\"metadata\":{\"namespace\":\"team\",\"name\":\"web\",\"uid\":\"u\",\"generation\":3," \
    "\"resourceVersion\":\"7\""
#define HELD  METADATA ",\"finalizers\":[\"" KUSION_FINALIZER "\"]}"
#define FREE  METADATA "}"
#define GOING METADATA ",\"deletionTimestamp\":\"2026-01-02T03:04:05Z\"}"
#define WEB(metadata, spec, status)                                                            \
    "{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Spec\"," metadata ",\"spec\":" spec ",\"" \
    "status\":" status "}"
#define READY                                                                                    \
    "{\"observedGeneration\":3,\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason" \
    "\":\"ReconciliationSucceeded\",\"message\":\"\"}]}"

#define READ(...)                              \
    {                                          \
        .expect = "GET " SPEC " ", __VA_ARGS__ \
    }
#define REFUSED(code, reason) .status = (code), .body = STATUS(code, reason, "web")
#define FOUND(body_)          .status = 200, .body = (body_)
#define TELL                                                                  \
    {                                                                         \
        .expect = "PUT " SPEC "/status ", .status = 200, .body = "{" HELD "}" \
    }
#define NO_RELEASES                                                                         \
    {                                                                                       \
        .expect = "GET " RELEASES "?", .status = 200,                                       \
        .body = "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[]}" \
    }
#define RECORD                                                                                  \
    "\"metadata\":{\"name\":\"web-2\",\"namespace\":\"team\",\"annotations\":{\"api.kusion.io/" \
    "revision\":\"2\",\"api.kusion.io/spec-generation\":\"2\"}}"
#define UNFINISHED                                                                        \
    {.expect = "GET " RELEASES "?",                                                       \
     .status = 200,                                                                       \
     .body = "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":["    \
             "{" RECORD "}]}"},                                                           \
    {                                                                                     \
        .expect = "GET " RELEASES "/web-2 ", .status = 200,                               \
        .body = "{" RECORD ",\"spec\":{\"operation\":\"Apply\"},\"status\":{\"phase\":\"" \
                "applying\"}}"                                                            \
    }
#define CANCEL                                                                            \
    {                                                                                     \
        .expect = "PUT " RELEASES "/web-2/status ", .status = 200, .body = "{" RECORD "}" \
    }

struct row {
    const char *note;
    struct fake_step steps[MAX_STEPS];
    struct reconcile_result result;
    const char *reason; /* of Ready in the status that was written last; NULL: none was */
};

static void expect_result(struct scene *scene, struct cancel *cancel,
                          struct reconcile_result expected, const char *note)
{
    struct reconcile_result result = reconcile_spec(&scene->context, "team/web", cancel);

    EXPECT_INT(result.kind, expected.kind, note);
    EXPECT_INT(result.after, expected.after, note);
}

/* Ready, as it was written by request n. */
static void expect_ready(struct scene *scene, size_t n, const char *field, const char *expected,
                         const char *note)
{
    _cleanup_value_ const struct value *body = scene_body(scene, n);
    const struct value *conditions = value_path(body, "status", "conditions", NULL);

    EXPECT_STR(value_get_string(conditions_find(conditions, "Ready"), field), expected, note);
}

static void expect_row(const struct row *row)
{
    size_t n_steps = count_steps(row->steps, MAX_STEPS);
    struct scene scene;

    scene_start(&scene, row->steps, n_steps);
    expect_result(&scene, NULL, row->result, row->note);
    if (row->reason)
        expect_ready(&scene, n_steps - 1, "reason", row->reason, row->note);
    scene_stop(&scene);
}

/* ---- When it is looked at again ---- */

static const struct row rows[] = {
    {"ready",
     {READ(FOUND(WEB(HELD, "{\"resources\":[]}", READY)))},
     {RECONCILE_AFTER, 600000},
     NULL},
    {"ready, with an interval of its own",
     {READ(FOUND(WEB(HELD, "{\"resources\":[],\"interval\":\"1h\"}", READY)))},
     {RECONCILE_AFTER, 3600000},
     NULL},
    {"a wrong Spec",
     {READ(FOUND(WEB(HELD, "{\"resources\":1}", "{}"))), NO_RELEASES, TELL},
     {RECONCILE_AFTER, 30000},
     "InvalidSpec"},
    {"wrong, and the one before it was being applied",
     {READ(FOUND(WEB(HELD, "{\"resources\":1}", "{}"))), UNFINISHED, CANCEL, TELL},
     {RECONCILE_AFTER, 30000},
     "InvalidSpec"},
    {"suspended",
     {READ(FOUND(WEB(FREE, "{\"suspend\":true}", READY))), NO_RELEASES, TELL},
     {RECONCILE_DONE, 0},
     "Suspended"},
    {"suspended while it was applied",
     {READ(FOUND(WEB(HELD, "{\"suspend\":true}", "{}"))), UNFINISHED, CANCEL, TELL},
     {RECONCILE_DONE, 0},
     "Suspended"},
    {"deleted, and not held by us",
     {READ(FOUND(WEB(GOING, "{\"resources\":[]}", READY)))},
     {RECONCILE_DONE, 0},
     NULL},
    {"gone", {READ(REFUSED(404, "NotFound")), NO_RELEASES}, {RECONCILE_DONE, 0}, NULL},
    {"gone while it was applied",
     {READ(REFUSED(404, "NotFound")), UNFINISHED, CANCEL},
     {RECONCILE_DONE, 0},
     "Superseded" /* the Release's */},
    {"gone, and no right to say so",
     {READ(REFUSED(404, "NotFound")), {.expect = "GET " RELEASES "?", REFUSED(403, "Forbidden")}},
     {RECONCILE_RETRY, 0},
     NULL},
    {"no right to read", {READ(REFUSED(403, "Forbidden"))}, {RECONCILE_RETRY, 0}, NULL},
    {"no right to tell",
     {READ(FOUND(WEB(HELD, "{\"resources\":1}", "{}"))),
      NO_RELEASES,
      {.expect = "PUT " SPEC "/status ", REFUSED(403, "Forbidden")}},
     {RECONCILE_RETRY, 0},
     "InvalidSpec"},
};

static void says_when_to_look_again(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        expect_row(&rows[i]);
}

/* What puts an end to a Release is of another generation than that. */
static void a_cancelled_release_keeps_its_generation(void)
{
    static const struct fake_step steps[] = {READ(REFUSED(404, "NotFound")), UNFINISHED, CANCEL};
    _cleanup_value_ const struct value *body = NULL;
    struct scene scene;

    scene_start(&scene, steps, ARRAY_SIZE(steps));
    expect_result(&scene, NULL, (struct reconcile_result){RECONCILE_DONE, 0}, "gone");
    body = scene_body(&scene, ARRAY_SIZE(steps) - 1);
    EXPECT_INT(value_int(value_path(body, "status", "specGeneration", NULL), 0), 2, "its own");
    scene_stop(&scene);
}

static void passes_over_a_key_that_is_none(void)
{
    struct reconcile_result result;
    struct scene scene;

    scene_start(&scene, NULL, 0);
    result = reconcile_spec(&scene.context, "web", NULL);
    EXPECT_INT(result.kind, RECONCILE_DONE, "there is no such Spec");
    scene_stop(&scene);
}

static void leaves_a_cancelled_one_to_the_next(void)
{
    _cleanup_(cancel_free_p) struct cancel *cancel = cancel_new(NULL);
    struct scene scene;

    scene_start(&scene, NULL, 0);
    cancel_fire(cancel, "Superseded");
    expect_result(&scene, cancel, (struct reconcile_result){RECONCILE_DONE, 0}, "cancelled");
    scene_stop(&scene);
}

/* ---- A status that says it already ---- */

/* The Spec with the status that was written as request n. */
static char *as_written(struct scene *scene, size_t n, const char *spec)
{
    _cleanup_value_ const struct value *body = scene_body(scene, n);
    _cleanup_free_ char *status = json_to_str(value_get(body, "status"));

    return str_printf(WEB(HELD, "%s", "%s"), spec, status);
}

static char *filled(size_t bytes)
{
    _cleanup_free_ char *x = str_printf("%0*d", (int)bytes, 0);

    return str_printf("{\"resources\":[],\"context\":{\"x\":\"%s\"}}", x);
}

struct words {
    const char *reason, *message;
};

static const struct words
    suspended = {"Suspended", "nothing is done while spec.suspend is true"},
    too_large = {"InvalidSpec",
                 "the Spec is too large: its fields have more than 1 MiB as JSON, so that its "
                 "status may not fit beside them. Make several Specs of it"};

/* Looked at again, it is not written, and no Release is looked for. */
static void expect_told_once(const char *spec, const struct fake_step *first, size_t n_first,
                             const struct words *words)
{
    static const struct reconcile_result done = {RECONCILE_DONE, 0};
    _cleanup_free_ char *again = NULL;
    struct scene scene;

    scene_start(&scene, first, n_first);
    expect_result(&scene, NULL, done, words->reason);
    expect_ready(&scene, n_first - 1, "reason", words->reason, words->reason);
    expect_ready(&scene, n_first - 1, "message", words->message, words->reason);
    again = as_written(&scene, n_first - 1, spec);
    scene_stop(&scene);

    scene_start(&scene, (struct fake_step[]){READ(FOUND(again))}, 1);
    expect_result(&scene, NULL, done, "again");
    EXPECT(!scene_event(&scene, 0), "nothing is new");
    scene_stop(&scene);
}

static void tells_once_that_it_is_suspended(void)
{
    static const struct fake_step first[] = {READ(FOUND(WEB(HELD, "{\"suspend\":true}", READY))),
                                             NO_RELEASES, TELL};

    expect_told_once("{\"suspend\":true}", first, ARRAY_SIZE(first), &suspended);
}

static void tells_once_that_it_is_too_large(void)
{
    _cleanup_free_ char *spec = filled(LIMIT_SPEC_BYTES);
    _cleanup_free_ char *object = str_printf(WEB(FREE, "%s", "%s"), spec, "{}");
    const struct fake_step first[] = {READ(FOUND(object)), NO_RELEASES, TELL};

    expect_told_once(spec, first, ARRAY_SIZE(first), &too_large);
}

/* With the bytes of the fields around it, it is as large as it may be. */
static void takes_the_largest(void)
{
    _cleanup_free_ char *around = filled(1);
    _cleanup_free_ char *spec = filled(LIMIT_SPEC_BYTES - strlen(around) + 1);
    _cleanup_free_ char *object = str_printf(WEB(HELD, "%s", "%s"), spec, READY);
    struct fake_step step = READ(FOUND(object));
    struct scene scene;

    EXPECT_INT(strlen(spec), LIMIT_SPEC_BYTES, "the bound");
    scene_start(&scene, &step, 1);
    expect_result(&scene, NULL, (struct reconcile_result){RECONCILE_AFTER, 600000}, "taken");
    scene_stop(&scene);
}

/* ---- A Spec that our readers refuse ---- */

static char *nested_too_deep(void)
{
    struct buf text;

    buf_init(&text, 0);
    for (unsigned i = 0; i <= LIMIT_DEPTH; i++)
        buf_add_str(&text, "[");
    for (unsigned i = 0; i <= LIMIT_DEPTH; i++)
        buf_add_str(&text, "]");
    return buf_take(&text);
}

/* Its metadata is enough to tell it so, or to let it go. */
static void goes_by_the_metadata_of_what_it_cannot_read(void)
{
    _cleanup_free_ char *deep = nested_too_deep();
    _cleanup_free_ char *object = str_printf(WEB(HELD, "%s", "%s"), deep, READY);
    const struct row cases[] = {
        {"told",
         {READ(FOUND(object)), READ(FOUND("{" HELD "}")), NO_RELEASES, TELL},
         {RECONCILE_DONE, 0},
         "InvalidSpec"},
        {"deleted", {READ(FOUND(object)), READ(FOUND("{" GOING "}"))}, {RECONCILE_DONE, 0}, NULL},
        {"gone meanwhile",
         {READ(FOUND(object)), READ(REFUSED(404, "NotFound")), NO_RELEASES},
         {RECONCILE_DONE, 0},
         NULL},
        {"no right any more",
         {READ(FOUND(object)), READ(REFUSED(403, "Forbidden"))},
         {RECONCILE_RETRY, 0},
         NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        expect_row(&cases[i]);
}

SUITE(spec, TEST(says_when_to_look_again), TEST(a_cancelled_release_keeps_its_generation),
      TEST(passes_over_a_key_that_is_none), TEST(leaves_a_cancelled_one_to_the_next),
      TEST(tells_once_that_it_is_suspended), TEST(tells_once_that_it_is_too_large),
      TEST(takes_the_largest), TEST(goes_by_the_metadata_of_what_it_cannot_read))
