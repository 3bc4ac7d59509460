#include "controller/reconcile/write.h"

#include "controller/core/finalizer.h"
#include "engine/base/str.h"
#include "test/unit/controller/reconcile/scene.h"
#include "test/unit/suite.h"

#define MAX_STEPS 3

#define SPEC "/apis/api.kusion.io/v1/namespaces/team/specs/web"
#define METADATA(uid, version, more)                                          \
    "{\"namespace\":\"team\",\"name\":\"web\",\"uid\":\"" uid "\",\"resource" \
    "Version\":\"" version "\"" more "}"
#define BEFORE METADATA("u", "7", "")
#define AFTER  METADATA("u", "8", "")
#define OURS   ",\"finalizers\":[\"" KUSION_FINALIZER "\"]"

#define ASKED(how, ...)              \
    {                                \
        .expect = (how), __VA_ARGS__ \
    }
#define FOUND(metadata)       .status = 200, .body = "{\"metadata\":" metadata "}"
#define REFUSED(code, reason) .status = (code), .body = STATUS(code, reason, "web")

/* Ends it; expected: the metadata after it. */
static void expect_end(struct scene *scene, struct spec_write *write, int code,
                       const char *expected, const char *note)
{
    _cleanup_value_ const struct value *metadata = NULL, *wanted = scene_value(expected);

    EXPECT_INT(spec_write_end(write, &metadata, &scene->error), code, note);
    EXPECT_INT(scene->error.code, code, note);
    EXPECT(value_equal(metadata, wanted), note);
}

/* ---- The finalizer ---- */

#define PATCH(...) ASKED("PATCH " SPEC "?fieldManager=kusion-operator ", __VA_ARGS__)

static void adds_the_finalizer_to_the_spec_that_was_read(void)
{
    static const struct fake_step step = PATCH(FOUND(METADATA("u", "8", OURS)));
    _cleanup_value_ const struct value *metadata = scene_value(BEFORE), *body = NULL;
    _cleanup_value_ const struct value *expected = scene_value(
        "{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Spec\",\"metadata\":{\"uid\":\"u\",\""
        "resourceVersion\":\"7\"" OURS "}}");
    struct spec_write *write;
    struct scene scene;

    scene_start(&scene, &step, 1);
    write = spec_write_finalizer(&scene.context, metadata, NULL);
    expect_end(&scene, write, 0, METADATA("u", "8", OURS), "added");
    body = scene_body(&scene, 0);
    EXPECT(value_equal(body, expected), "what was sent");
    scene_stop(&scene);
}

static void keeps_the_metadata_where_no_finalizer_is_added(void)
{
    static const struct {
        const char *note, *metadata;
        struct fake_step steps[MAX_STEPS];
        bool cancelled;
        int code;
    } rows[] = {
        {"it is there", METADATA("u", "7", OURS), {{0}}, false, 0},
        {"read without its version",
         "{\"namespace\":\"team\",\"name\":\"web\",\"uid\":\"u\"}",
         {{0}},
         false,
         ERR_INTERNAL},
        {"the Spec changed", BEFORE, {PATCH(REFUSED(409, "Conflict"))}, false, ERR_CONFLICT},
        {"the Spec is gone", BEFORE, {PATCH(REFUSED(404, "NotFound"))}, false, ERR_NOT_FOUND},
        {"no right", BEFORE, {PATCH(REFUSED(403, "Forbidden"))}, false, ERR_FORBIDDEN},
        {"cancelled", BEFORE, {{0}}, true, ERR_CANCELLED},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *metadata = scene_value(rows[i].metadata);
        _cleanup_(cancel_free_p) struct cancel *cancel = cancel_new(NULL);
        struct scene scene;

        scene_start(&scene, rows[i].steps, count_steps(rows[i].steps, MAX_STEPS));
        if (rows[i].cancelled)
            cancel_fire(cancel, "Superseded");
        expect_end(&scene, spec_write_finalizer(&scene.context, metadata, cancel), rows[i].code,
                   rows[i].metadata, rows[i].note);
        scene_stop(&scene);
    }
}

/* ---- The status ---- */

#define PUT(...)  ASKED("PUT " SPEC "/status ", __VA_ARGS__)
#define LOOK(...) ASKED("GET " SPEC "/status ", __VA_ARGS__)

static void writes_a_status_without_the_spec(void)
{
    static const struct fake_step step = PUT(FOUND(AFTER));
    _cleanup_value_ const struct value *metadata = scene_value(METADATA("u", "7", OURS)),
                                       *status = scene_value("{\"observedGeneration\":3}"),
                                       *body = NULL;
    _cleanup_value_ const struct value *expected =
        scene_value("{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Spec\",\"metadata\":" BEFORE
                    ",\"status\":{\"observedGeneration\":3}}");
    struct spec_write *write;
    struct scene scene;

    scene_start(&scene, &step, 1);
    write = spec_write_status(&scene.context, metadata, status);
    expect_end(&scene, write, 0, AFTER, "written");
    body = scene_body(&scene, 0);
    EXPECT(value_equal(body, expected), "what was sent");
    scene_stop(&scene);
}

/* What others write meanwhile is no conflict, as long as it is the same Spec. */
static void writes_a_status_to_the_same_spec_alone(void)
{
    static const struct {
        const char *note;
        struct fake_step steps[MAX_STEPS];
        int code;
        const char *metadata;
    } rows[] = {
        {"it changed",
         {PUT(REFUSED(409, "Conflict")), LOOK(FOUND(METADATA("u", "8", ""))),
          PUT(FOUND(METADATA("u", "9", "")))},
         0,
         METADATA("u", "9", "")},
        {"it was made anew",
         {PUT(REFUSED(409, "Conflict")), LOOK(FOUND(METADATA("v", "8", "")))},
         ERR_NOT_FOUND,
         BEFORE},
        {"it changed, and is gone",
         {PUT(REFUSED(409, "Conflict")), LOOK(REFUSED(404, "NotFound"))},
         ERR_NOT_FOUND,
         BEFORE},
        {"it is gone", {PUT(REFUSED(404, "NotFound"))}, ERR_NOT_FOUND, BEFORE},
        {"no right", {PUT(REFUSED(403, "Forbidden"))}, ERR_FORBIDDEN, BEFORE},
        {"no room", {PUT(REFUSED(413, "RequestEntityTooLarge"))}, ERR_TOO_LARGE, BEFORE},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *metadata = scene_value(BEFORE),
                                           *status = scene_value("{}");
        struct scene scene;

        scene_start(&scene, rows[i].steps, count_steps(rows[i].steps, MAX_STEPS));
        expect_end(&scene, spec_write_status(&scene.context, metadata, status), rows[i].code,
                   rows[i].metadata, rows[i].note);
        scene_stop(&scene);
    }
}

/* ---- What it is given ---- */

/* Who begins a write need not keep what is written, nor see it change. */
static void has_references_of_its_own(void)
{
    static const struct fake_step step = PUT(FOUND(AFTER));
    const struct value *metadata = scene_value(BEFORE), *status = scene_value("{\"x\":1}");
    struct spec_write *write;
    struct scene scene;

    scene_start(&scene, &step, 1);
    write = spec_write_status(&scene.context, metadata, status);
    value_unref(metadata);
    value_unref(status);
    expect_end(&scene, write, 0, AFTER, "written");
    scene_stop(&scene);
}

SUITE(write, TEST(adds_the_finalizer_to_the_spec_that_was_read),
      TEST(keeps_the_metadata_where_no_finalizer_is_added), TEST(writes_a_status_without_the_spec),
      TEST(writes_a_status_to_the_same_spec_alone), TEST(has_references_of_its_own))
