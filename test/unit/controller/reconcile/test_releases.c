#include "controller/reconcile/releases.h"

#include <stdatomic.h>

#include "controller/reconcile/report.h"
#include "engine/base/json.h"
#include "engine/base/str.h"
#include "engine/spec/name.h"
#include "test/unit/controller/reconcile/scene.h"
#include "test/unit/suite.h"

#define RELEASES "/apis/api.kusion.io/v1/namespaces/team/releases"
#define LIST_PATH                                      \
    "GET " RELEASES "?fieldSelector=spec.specRef.name" \
    "%3Dweb&labelSelector=api.kusion.io%2Fgenerated%3Dtrue&"
#define ANNOTATED(name, revision)                                  \
    "{\"metadata\":{\"namespace\":\"team\",\"name\":\"" name       \
    "\",\"uid\":\"u\",\"resourceVersion\":\"7\",\"annotations\":{" \
    "\"api.kusion.io/revision\":\"" revision "\",\"api.kusion.io/spec-generation\":\"4\"}}"
#define ITEM(name, revision) ANNOTATED(name, revision) "}"
#define RELEASE(name, revision, operation, status) \
    ANNOTATED(name, revision) ",\"spec\":{\"operation\":\"" operation "\"},\"status\":" status "}"
#define WEB_3 RELEASE("web-3", "3", "Apply", "{\"phase\":\"applying\"}")

static const struct release_subject subject = {
    .key = {"team", "web"}, .generation = 4, .project = "p", .workspace = "w"};

static void expect_json(const struct value *actual, const char *expected, const char *note)
{
    _cleanup_free_ char *text = json_to_str(actual);

    EXPECT_STR(text, expected, note);
}

/* ---- Reading ---- */

static void reads_what_an_object_says(void)
{
    static const struct {
        const char *note, *object;
        int64_t revision, generation;
        enum release_operation operation;
        enum release_phase phase;
    } rows[] = {
        {"whole", WEB_3, 3, 4, RELEASE_APPLY, PHASE_APPLYING},
        {"destroy", RELEASE("a", "12", "Destroy", "{\"phase\":\"succeeded\"}"), 12, 4,
         RELEASE_DESTROY, PHASE_SUCCEEDED},
        {"not begun", RELEASE("a", "1", "Preview", "{\"observedGeneration\":-1}"), 1, 4,
         RELEASE_PREVIEW, PHASE_NONE},
        {"a phase that is none", RELEASE("a", "1", "Rollback", "{\"phase\":\"x\"}"), 1, 4,
         RELEASE_ROLLBACK, PHASE_NONE},
        {"a revision that is no number", RELEASE("a", "1.5", "Apply", "{}"), 0, 4, RELEASE_APPLY,
         PHASE_NONE},
        {"a revision that does not fit", RELEASE("a", "99999999999999999999", "Apply", "{}"), 0, 4,
         RELEASE_APPLY, PHASE_NONE},
        {"made by hand", "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"operation\":\"Preview\"}}", 0,
         0, RELEASE_PREVIEW, PHASE_NONE},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *object = scene_value(rows[i].object);
        _cleanup_(release_free_p) struct release *release = release_of(object);

        EXPECT_INT(release->revision, rows[i].revision, rows[i].note);
        EXPECT_INT(release->generation, rows[i].generation, rows[i].note);
        EXPECT_INT(release->operation, rows[i].operation, rows[i].note);
        EXPECT_INT(release->phase, rows[i].phase, rows[i].note);
        EXPECT(value_equal(release->metadata, value_get(object, "metadata")), rows[i].note);
        EXPECT(value_equal(release->status, value_get(object, "status")), rows[i].note);
    }
}

#define LIST(items) \
    "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[" items "]}"

static const struct {
    const char *note, *list, *get;
    int status;
    const char *body;
    int expected;
    int64_t revision, highest; /* revision 0: no Release */
} searches[] = {
    {"none", LIST(""), NULL, 0, NULL, 0, 0, 0},
    {"the newest by number, not by text or place",
     LIST(ITEM("web-9", "9") "," ITEM("web-3", "10") "," ITEM("web-2", "2")), "web-3", 200,
     RELEASE("web-3", "10", "Apply", "{}"), 0, 10, 10},
    {"what says no revision does not count",
     LIST("{\"metadata\":{\"name\":\"x\"}}," ITEM("web-3", "x") "," ITEM("web-1", "1")), "web-1",
     200, RELEASE("web-1", "1", "Apply", "{}"), 0, 1, 1},
    {"deleted meanwhile", LIST(ITEM("web-5", "5")), "web-5", 404, STATUS(404, "NotFound", "web-5"),
     0, 0, 5},
    {"not to be read", LIST(ITEM("web-5", "5")), "web-5", 403, STATUS(403, "Forbidden", "web-5"),
     ERR_FORBIDDEN, 0, 0},
};

static void finds_the_newest(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(searches); i++) {
        _cleanup_free_ char *get = str_printf("GET " RELEASES "/%s ", searches[i].get);
        struct fake_step steps[] = {
            {.expect = LIST_PATH, .status = 200, .body = searches[i].list},
            {.expect = get, .status = searches[i].status, .body = searches[i].body}};
        _cleanup_(release_free_p) struct release *release = NULL;
        int64_t highest = 0;
        struct scene scene;

        scene_start(&scene, steps, searches[i].get ? 2 : 1);
        EXPECT_INT(
            releases_latest(&scene.context, &subject, NULL, &release, &highest, &scene.error),
            searches[i].expected, searches[i].note);
        EXPECT_INT(scene.error.code, searches[i].expected, searches[i].note);
        EXPECT_INT(release ? release->revision : 0, searches[i].revision, searches[i].note);
        EXPECT_INT(highest, searches[i].highest, searches[i].note);
        scene_stop(&scene);
    }
}

/* ---- Making ---- */

#define POST(status_, body_)                                                 \
    {                                                                        \
        .expect = "POST " RELEASES " ", .status = (status_), .body = (body_) \
    }
#define GET(status_, body_)                                                       \
    {                                                                             \
        .expect = "GET " RELEASES "/web-3 ", .status = (status_), .body = (body_) \
    }

static const struct {
    const char *note;
    struct fake_step steps[2];
    int expected;
    enum release_phase phase;
} beginnings[] = {
    {"made", {POST(201, RELEASE("web-3", "3", "Apply", "{}"))}, 0, PHASE_NONE},
    {"there, and taken up",
     {POST(409, STATUS(409, "AlreadyExists", "web-3")), GET(200, WEB_3)},
     0,
     PHASE_APPLYING},
    {"made, and the answer lost",
     {POST(503, STATUS(503, "ServiceUnavailable", "web-3")), GET(200, WEB_3)},
     0,
     PHASE_APPLYING},
    {"not made, and no answer",
     {POST(503, STATUS(503, "ServiceUnavailable", "web-3")),
      GET(404, STATUS(404, "NotFound", "web-3"))},
     ERR_UNAVAILABLE,
     PHASE_NONE},
    {"there, and gone",
     {POST(409, STATUS(409, "AlreadyExists", "web-3")), GET(404, STATUS(404, "NotFound", "web-3"))},
     ERR_UNAVAILABLE,
     PHASE_NONE},
    {"refused", {POST(403, STATUS(403, "Forbidden", "web-3"))}, ERR_FORBIDDEN, PHASE_NONE},
};

static void begins_one(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++) {
        _cleanup_(release_free_p) struct release *release = NULL;
        struct scene scene;

        scene_start(&scene, beginnings[i].steps, beginnings[i].steps[1].expect ? 2 : 1);
        EXPECT_INT(
            release_begin(&scene.context, &subject, RELEASE_APPLY, 3, &release, &scene.error),
            beginnings[i].expected, beginnings[i].note);
        EXPECT_INT(scene.error.code, beginnings[i].expected, beginnings[i].note);
        EXPECT_INT(release != NULL, beginnings[i].expected == 0, beginnings[i].note);
        EXPECT_INT(release ? release->phase : PHASE_NONE, beginnings[i].phase, beginnings[i].note);
        scene_stop(&scene);
    }
}

static void makes_an_object_that_says_all(void)
{
    static const struct fake_step step = POST(201, WEB_3);
    _cleanup_(release_free_p) struct release *release = NULL;
    _cleanup_value_ const struct value *body = NULL;
    _cleanup_free_ char *expected = NULL;
    char owner[SPEC_HASH_NAME_SIZE];
    struct scene scene;

    scene_start(&scene, &step, 1);
    EXPECT_INT(release_begin(&scene.context, &subject, RELEASE_DESTROY, 3, &release, &scene.error),
               0, scene.error.message);
    spec_hash_name("team", "web", owner);
    expected = str_printf(
        "{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Release\",\"metadata\":{\"name\":"
        "\"web-3\",\"namespace\":\"team\",\"labels\":{\"api.kusion.io/generated\":\"true\","
        "\"api.kusion.io/owner\":\"%s\"},\"annotations\":{\"api.kusion.io/revision\":\"3\","
        "\"api.kusion.io/spec-generation\":\"4\"}},\"spec\":{\"specRef\":{\"name\":\"web\"},"
        "\"operation\":\"Destroy\"}}",
        owner);
    body = scene_body(&scene, 0);
    expect_json(body, expected, "the object");
    scene_stop(&scene);
}

/* ---- Phases ---- */

static int write(struct scene *scene, struct release *release, enum release_phase phase,
                 const struct operation_results *results)
{
    static const struct verdict verdict = {"True", "ReconciliationSucceeded", "done",
                                           PROGRESS_SETTLED, NULL};

    struct release_report report = {.phase = phase,
                                    .results = results,
                                    .verdict = release_phase_is_terminal(phase) ? &verdict : NULL};

    return release_write(&scene->context, &subject, release, &report, &scene->error);
}

static struct release *make(const char *object)
{
    _cleanup_value_ const struct value *value = scene_value(object);

    return release_of(value);
}

static void writes_nothing_where_there_is_nothing_to_write(void)
{
    static const struct {
        const char *note, *object; /* NULL: no Release */
        enum release_phase phase;
        int expected;
    } rows[] = {
        {"no Release", NULL, PHASE_APPLYING, 0},
        {"one that succeeded", RELEASE("a", "1", "Apply", "{\"phase\":\"succeeded\"}"),
         PHASE_FAILED, 0},
        {"one that failed", RELEASE("a", "1", "Apply", "{\"phase\":\"failed\"}"), PHASE_APPLYING,
         0},
        {"one that was cancelled", RELEASE("a", "1", "Apply", "{\"phase\":\"cancelled\"}"),
         PHASE_CANCELLED, 0},
        {"backwards", WEB_3, PHASE_PREVIEWING, ERR_INTERNAL},
        {"what another operation does", WEB_3, PHASE_DESTROYING, ERR_INTERNAL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(release_free_p) struct release *release =
            rows[i].object ? make(rows[i].object) : NULL;
        enum release_phase before = release ? release->phase : PHASE_NONE;
        struct scene scene;

        scene_start(&scene, NULL, 0);
        EXPECT_INT(write(&scene, release, rows[i].phase, NULL), rows[i].expected, rows[i].note);
        EXPECT_STR(scene.error.reason, rows[i].expected ? "PhaseOrder" : "", rows[i].note);
        EXPECT_INT(release ? release->phase : PHASE_NONE, before, rows[i].note);
        scene_stop(&scene);
    }
}

#define PUT(status_, body_)                                                              \
    {                                                                                    \
        .expect = "PUT " RELEASES "/web-3/status ", .status = (status_), .body = (body_) \
    }

static void results_init(struct operation_results *results, size_t n)
{
    arena_init(&results->arena);
    results->items = ARENA_ARRAY(&results->arena, struct operation_result, n);
    results->count = n;
    for (size_t i = 0; i < n; i++) {
        struct plan_change *change = ARENA_NEW(&results->arena, struct plan_change);

        change->id = arena_printf(&results->arena, "id-%zu", i);
        results->items[i] = (struct operation_result){
            .change = change, .action = PLAN_CREATE, .status = RESULT_SUCCEEDED};
    }
}

static void writes_phases_and_keeps_what_was_said(void)
{
    static const struct fake_step steps[] = {PUT(200, ANNOTATED("web-3", "3") "}"),
                                             PUT(200, ANNOTATED("web-3", "3") "}")};
    _cleanup_(release_free_p) struct release *release =
        make(RELEASE("web-3", "3", "Apply", "{\"observedGeneration\":-1}"));
    _cleanup_value_ const struct value *first = NULL, *last = NULL;
    struct operation_results results;
    struct scene scene;

    scene_start(&scene, steps, ARRAY_SIZE(steps));
    EXPECT_INT(write(&scene, release, PHASE_GENERATING, NULL), 0, scene.error.message);
    EXPECT_INT(release->phase, PHASE_GENERATING, "followed");
    atomic_fetch_add(&scene.clock.now, 60000);
    release->phase = PHASE_APPLYING;
    results_init(&results, 1);
    EXPECT_INT(write(&scene, release, PHASE_SUCCEEDED, &results), 0, scene.error.message);
    operation_results_done(&results);
    first = scene_body(&scene, 0);
    last = scene_body(&scene, 1);
    expect_json(value_get(first, "status"),
                "{\"observedGeneration\":1,\"createTime\":\"" SCENE_NOW
                "\",\"modifiedTime\":\"" SCENE_NOW
                "\",\"project\":\"p\",\"workspace\":\"w\",\"revision\":3,"
                "\"specGeneration\":4,\"phase\":\"generating\"}",
                "the first phase");
    expect_json(value_get(last, "status"),
                "{\"observedGeneration\":1,\"createTime\":\"" SCENE_NOW "\",\"modifiedTime\":"
                "\"2026-01-02T03:05:05Z\",\"project\":\"p\",\"workspace\":\"w\",\"revision\":3,"
                "\"specGeneration\":4,\"phase\":\"succeeded\",\"results\":[{\"id\":\"id-0\","
                "\"action\":\"create\"}],\"omitted\":0,\"counts\":{\"total\":1,\"succeeded\":1,"
                "\"failed\":0,\"skipped\":0,\"pending\":0},\"conditions\":[{\"type\":\"Ready\","
                "\"status\":\"True\",\"observedGeneration\":1,\"lastTransitionTime\":"
                "\"2026-01-02T03:05:05Z\",\"reason\":\"ReconciliationSucceeded\",\"message\":"
                "\"done\"}]}",
                "the last");
    scene_stop(&scene);
}

static void survives_that_it_cannot_be_written(void)
{
    static const struct {
        const char *note;
        struct fake_step step;
        int expected;
        enum release_phase phase;
    } rows[] = {
        {"deleted by somebody", PUT(404, STATUS(404, "NotFound", "web-3")), 0, PHASE_SUCCEEDED},
        {"refused", PUT(403, STATUS(403, "Forbidden", "web-3")), ERR_FORBIDDEN, PHASE_APPLYING},
        {"no room", PUT(413, STATUS(413, "RequestEntityTooLarge", "web-3")), ERR_TOO_LARGE,
         PHASE_APPLYING},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(release_free_p) struct release *release = make(WEB_3);
        struct scene scene;

        scene_start(&scene, &rows[i].step, 1);
        EXPECT_INT(write(&scene, release, PHASE_SUCCEEDED, NULL), rows[i].expected, rows[i].note);
        EXPECT_INT(scene.error.code, rows[i].expected, rows[i].note);
        EXPECT_INT(release->phase, rows[i].phase, rows[i].note);
        scene_stop(&scene);
    }
}

/* A stale Release was read, say: it had ended, and its end stays. */
static void an_end_stays_after_a_conflict(void)
{
    static const struct fake_step steps[] = {
        PUT(409, STATUS(409, "Conflict", "web-3")),
        {.expect = "GET " RELEASES "/web-3/status ",
         .status = 200,
         .body = RELEASE("web-3", "3", "Apply", "{\"phase\":\"succeeded\"}")}};
    _cleanup_(release_free_p) struct release *release = make(WEB_3);
    struct scene scene;

    scene_start(&scene, steps, ARRAY_SIZE(steps));
    EXPECT_INT(write(&scene, release, PHASE_CANCELLED, NULL), 0, scene.error.message);
    EXPECT_INT(release->phase, PHASE_SUCCEEDED, "as it is");
    EXPECT_STR(value_get_string(release->status, "phase"), "succeeded", "its status");
    scene_stop(&scene);
}

SUITE(releases, TEST(reads_what_an_object_says), TEST(finds_the_newest), TEST(begins_one),
      TEST(makes_an_object_that_says_all), TEST(writes_nothing_where_there_is_nothing_to_write),
      TEST(writes_phases_and_keeps_what_was_said), TEST(survives_that_it_cannot_be_written),
      TEST(an_end_stays_after_a_conflict))
