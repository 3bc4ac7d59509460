#include "controller/reconcile/records/api.h"

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "runtimes/kubernetes/client/path.h"
#include "test/unit/controller/reconcile/records/scene.h"
#include "test/unit/suite.h"

#define SPEC "/apis/api.kusion.io/v1/namespaces/team/specs/web"

static void knows_where_its_kinds_are(void)
{
    static const struct spec_key web = {"team", "web"}, web_1 = {"team", "web-1"};
    static const struct {
        struct kube_ref (*of)(const struct spec_key *key, const char *subresource);
        const struct spec_key *key;
        const char *subresource, *path;
    } rows[] = {
        {api_spec_ref, &web, NULL, SPEC},
        {api_spec_ref, &web, "status", SPEC "/status"},
        {api_release_ref, &web_1, NULL, "/apis/api.kusion.io/v1/namespaces/team/releases/web-1"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct kube_request request = {.ref = rows[i].of(rows[i].key, rows[i].subresource)};
        _cleanup_free_ char *path = kube_path(&request);

        EXPECT_STR(path, rows[i].path, rows[i].path);
    }
}

static void knows_what_is_being_deleted(void)
{
    static const struct {
        const char *object;
        bool expected;
    } rows[] = {
        {"{\"metadata\":{\"deletionTimestamp\":\"2026-01-02T03:04:05Z\"}}", true},
        {"{\"metadata\":{}}", false},
        {"{\"deletionTimestamp\":\"2026-01-02T03:04:05Z\"}", false},
        {"null", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *object = scene_value(rows[i].object);

        EXPECT_INT(api_is_deleting(object), rows[i].expected, rows[i].object);
    }
}

/* ---- Statuses ---- */

#define PUT(status_, body_)                                                    \
    {                                                                          \
        .expect = "PUT " SPEC "/status ", .status = (status_), .body = (body_) \
    }
#define GET(status_, body_)                                                    \
    {                                                                          \
        .expect = "GET " SPEC "/status ", .status = (status_), .body = (body_) \
    }
#define CONFLICT PUT(409, STATUS(409, "Conflict", "web"))
#define META(uid, version)                                                                       \
    "{\"kind\":\"PartialObjectMetadata\",\"metadata\":{\"namespace\":\"team\",\"name\":\"web\"," \
    "\"uid\":\"" uid "\","                                                                       \
    "\"resourceVersion\":\"" version "\"}}"
#define ENDED                                                                                    \
    "{\"kind\":\"PartialObjectMetadata\",\"metadata\":{\"namespace\":\"team\",\"name\":\"web\"," \
    "\"uid\":\"u\",\"resourceVersion\":\"9\"},\"status\":{\"phase\":\"failed\"}}"

static const struct {
    const char *note;
    struct fake_step steps[5];
    int expected;
    const char *version; /* after it */
} writes[] = {
    {"written", {PUT(200, META("u", "8"))}, 0, "8"},
    {"after others", {CONFLICT, GET(200, META("u", "9")), PUT(200, META("u", "10"))}, 0, "10"},
    {"after others, twice",
     {CONFLICT, GET(200, META("u", "9")), CONFLICT, GET(200, META("u", "10")),
      PUT(200, META("u", "11"))},
     0,
     "11"},
    {"ended by another", {CONFLICT, GET(200, ENDED)}, API_IS_FINAL, "9"},
    {"made anew", {CONFLICT, GET(200, META("v", "9"))}, ERR_NOT_FOUND, "7"},
    {"gone meanwhile", {CONFLICT, GET(404, STATUS(404, "NotFound", "web"))}, ERR_NOT_FOUND, "7"},
    {"gone", {PUT(404, STATUS(404, "NotFound", "web"))}, ERR_NOT_FOUND, "7"},
    {"no right", {PUT(403, STATUS(403, "Forbidden", "web"))}, ERR_FORBIDDEN, "7"},
    {"no right to look", {CONFLICT, GET(403, STATUS(403, "Forbidden", "web"))}, ERR_FORBIDDEN, "7"},
    {"no room", {PUT(413, STATUS(413, "RequestEntityTooLarge", "web"))}, ERR_TOO_LARGE, "7"},
    {"not of the schema", {PUT(422, STATUS(422, "Invalid", "web"))}, ERR_INVALID, "7"},
};

static bool is_final(void *arg, const struct value *object)
{
    (void)arg;
    return value_get(object, "status") != NULL;
}

static int put_status(struct scene *scene, const struct value **metadata)
{
    _cleanup_value_ const struct value *object = scene_value(META("u", "7"));
    _cleanup_value_ const struct value *status = scene_value("{\"a\":1}");

    struct api_status write = {
        .ref = {&kube_specs, "team", "web", "status"}, .status = status, .is_final = is_final};

    value_assign(metadata, value_get(object, "metadata"));
    return api_put_status(&scene->context, &write, metadata, &scene->error);
}

static void writes_a_status(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(writes); i++) {
        _cleanup_value_ const struct value *metadata = NULL;
        size_t n = count_steps(writes[i].steps, ARRAY_SIZE(writes[i].steps));
        struct scene scene;

        scene_start(&scene, writes[i].steps, n);
        EXPECT_INT(put_status(&scene, &metadata), writes[i].expected, writes[i].note);
        EXPECT_INT(scene.error.code, writes[i].expected < 0 ? writes[i].expected : 0,
                   writes[i].note);
        EXPECT_STR(value_get_string(metadata, "resourceVersion"), writes[i].version,
                   writes[i].note);
        scene_stop(&scene);
    }
}

/* The version that was read last is what is replaced, and the Spec's content is not sent. */
static void sends_the_status_alone(void)
{
    static const struct fake_step steps[] = {CONFLICT, GET(200, META("u", "9")),
                                             PUT(200, META("u", "10"))};
    static const struct {
        size_t request;
        const char *version;
    } rows[] = {{0, "7"}, {2, "9"}};
    _cleanup_value_ const struct value *metadata = NULL;
    struct scene scene;

    scene_start(&scene, steps, ARRAY_SIZE(steps));
    EXPECT_INT(put_status(&scene, &metadata), 0, scene.error.message);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *body = scene_body(&scene, rows[i].request);
        _cleanup_free_ char *text = json_to_str(body);
        _cleanup_free_ char *expected = str_printf(
            "{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Spec\",\"metadata\":{\"namespace\":"
            "\"team\",\"name\":\"web\",\"uid\":\"u\",\"resourceVersion\":\"%s\"},\"status\":{"
            "\"a\":1}}",
            rows[i].version);

        EXPECT_STR(text, expected, rows[i].version);
    }
    scene_stop(&scene);
}

static void gives_up_where_it_changes_always(void)
{
    static const struct fake_step put = CONFLICT, get = GET(200, META("u", "9"));
    _cleanup_value_ const struct value *metadata = NULL;
    struct fake_step steps[17];
    struct scene scene;

    for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
        steps[i] = i % 2 ? get : put;
    scene_start(&scene, steps, ARRAY_SIZE(steps));
    EXPECT_INT(put_status(&scene, &metadata), ERR_CONFLICT, "at last");
    scene_stop(&scene);
}

/* ---- Namespaces ---- */

static void knows_what_namespace_terminates(void)
{
    static const struct {
        const char *note;
        int status;
        const char *body;
        int expected;
        bool terminating;
    } rows[] = {
        {"there", 200,
         "{\"kind\":\"PartialObjectMetadata\",\"metadata\":{\"name\":\"team\",\"uid\":\"u\"}}", 0,
         false},
        {"going", 200,
         "{\"kind\":\"PartialObjectMetadata\",\"metadata\":{\"name\":\"team\",\"uid\":\"u\","
         "\"deletionTimestamp\":\"2026-01-02T03:04:05Z\"}}",
         0, true},
        {"absent", 404, STATUS(404, "NotFound", "team"), 0, false},
        {"not to be seen", 403, STATUS(403, "Forbidden", "team"), ERR_FORBIDDEN, false},
        {"a page that says 404", 404, "404 page not found", ERR_UNAVAILABLE, false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct fake_step step = {.expect = "GET /api/v1/namespaces/team ",
                                 .status = rows[i].status,
                                 .body = rows[i].body};
        bool terminating = false;
        struct scene scene;

        scene_start(&scene, &step, 1);
        EXPECT_INT(
            api_namespace_terminating(&scene.context, "team", NULL, &terminating, &scene.error),
            rows[i].expected, rows[i].note);
        EXPECT_INT(scene.error.code, rows[i].expected, rows[i].note);
        EXPECT_INT(terminating, rows[i].terminating, rows[i].note);
        scene_stop(&scene);
    }
}

/* ---- The plan key ---- */

#define KEY_PATH "/api/v1/namespaces/own/secrets"
#define KEY_NAME "kusion-operator-plan-key"
#define KEY      "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
#define READ_KEY(status_, body_)                                                         \
    {                                                                                    \
        .expect = "GET " KEY_PATH "/" KEY_NAME " ", .status = (status_), .body = (body_) \
    }
#define MAKE_KEY(status_, body_)                                             \
    {                                                                        \
        .expect = "POST " KEY_PATH " ", .status = (status_), .body = (body_) \
    }
#define OF_KEY                                                \
    "{\"kind\":\"Secret\",\"metadata\":{\"name\":\"" KEY_NAME \
    "\",\"namespace\":\"own\",\"uid\":\"u\"},\"data\":"
#define SECRET(key) OF_KEY "{\"key\":\"" key "\"}}"
#define ABSENT      READ_KEY(404, STATUS(404, "NotFound", KEY_NAME))

static const struct {
    const char *note;
    struct fake_step steps[3];
    int expected;
    const char *message; /* part of it */
} keys[] = {
    {"there", {READ_KEY(200, SECRET(KEY))}, 0, ""},
    {"made", {ABSENT, MAKE_KEY(201, "{}"), READ_KEY(200, SECRET(KEY))}, 0, ""},
    {"made by another first",
     {ABSENT, MAKE_KEY(409, STATUS(409, "AlreadyExists", KEY_NAME)), READ_KEY(200, SECRET(KEY))},
     0,
     ""},
    {"not to be made",
     {ABSENT, MAKE_KEY(403, STATUS(403, "Forbidden", KEY_NAME))},
     ERR_FORBIDDEN,
     "making the plan key: "},
    {"not to be read",
     {READ_KEY(403, STATUS(403, "Forbidden", KEY_NAME))},
     ERR_FORBIDDEN,
     "so it is"},
    {"too short", {READ_KEY(200, SECRET("MDEy"))}, ERR_CORRUPT, "delete it, and a new one is made"},
    {"no base64", {READ_KEY(200, SECRET("!"))}, ERR_CORRUPT, KEY_NAME},
    {"no key", {READ_KEY(200, OF_KEY "{}}")}, ERR_CORRUPT, KEY_NAME},
};

static void reads_or_makes_the_plan_key(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        unsigned char key[HASH_SIZE] = {0};
        struct scene scene;

        scene_start(&scene, keys[i].steps, count_steps(keys[i].steps, ARRAY_SIZE(keys[i].steps)));
        EXPECT_INT(api_plan_key(scene.context.client, "own", key, &scene.error), keys[i].expected,
                   keys[i].note);
        EXPECT_INT(scene.error.code, keys[i].expected, keys[i].note);
        EXPECT(strstr(scene.error.message, keys[i].message), keys[i].note);
        if (keys[i].expected == 0)
            EXPECT(memcmp(key, "0123456789abcdef0123456789abcdef", HASH_SIZE) == 0, keys[i].note);
        scene_stop(&scene);
    }
}

static const char *made_key(const struct value *secret)
{
    return value_string(value_path(secret, "data", "key", NULL));
}

static void makes_another_plan_key_each_time(void)
{
    static const struct fake_step steps[] = {
        ABSENT, MAKE_KEY(201, "{}"), READ_KEY(200, SECRET(KEY)),
        ABSENT, MAKE_KEY(201, "{}"), READ_KEY(200, SECRET(KEY))};
    _cleanup_value_ const struct value *first = NULL, *second = NULL;
    unsigned char key[HASH_SIZE];
    struct scene scene;

    scene_start(&scene, steps, ARRAY_SIZE(steps));
    for (int i = 0; i < 2; i++)
        EXPECT_INT(api_plan_key(scene.context.client, "own", key, &scene.error), 0, "made");
    first = scene_body(&scene, 1);
    second = scene_body(&scene, 4);
    EXPECT_STR(value_string(value_path(first, "metadata", "name", NULL)), KEY_NAME, "name");
    EXPECT_INT(made_key(first) ? strlen(made_key(first)) : 0, strlen(KEY), "of 32 bytes");
    EXPECT(!str_equal(made_key(first), made_key(second)), "random");
    scene_stop(&scene);
}

SUITE(api, TEST(knows_where_its_kinds_are), TEST(knows_what_is_being_deleted),
      TEST(writes_a_status), TEST(sends_the_status_alone), TEST(gives_up_where_it_changes_always),
      TEST(knows_what_namespace_terminates), TEST(reads_or_makes_the_plan_key),
      TEST(makes_another_plan_key_each_time))
