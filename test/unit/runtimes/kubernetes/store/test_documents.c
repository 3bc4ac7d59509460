/* The documents over a scripted server: answers that never come, and those that mean nothing.
 * (What happens when it did happen: test/fuzz/documents.c.) */
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/store/documents_private.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

#define MAPS    "/api/v1/namespaces/state/configmaps"
#define SECRETS "/api/v1/namespaces/state/secrets"
#define HEAD    "kusion-a5cb1ff62f8ed32c81ba8c077640d70f35eefe35"
#define STATUS(code, reason, details)                                                   \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"code\":" #code \
    ",\"reason\":\"" reason "\",\"message\":\"m\",\"details\":" details "}"
#define ABSENT STATUS(404, "NotFound", "{\"name\":\"" HEAD "\"}")
#define VERSION(number)                                      \
    "{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" HEAD \
    "\",\"namespace\":\"state\",\"uid\":\"u\",\"resourceVersion\":\"" #number "\"}}"

static const struct store_call plain;

struct scene {
    struct harness harness;
    struct store *store;
    struct document_name name;
    struct store_file *file;
    struct error error;
};

static void begin_with(struct scene *scene, const struct fake_step *steps, size_t n_steps,
                       const struct kube_client_config *config)
{
    *scene = (struct scene){.name = {DOCUMENT_STATE, {"team", "web"}, NULL}};
    harness_start(&scene->harness, steps, n_steps, config);
    scene->store = kube_documents_new(&(struct kube_documents_config){
        .cluster = {scene->harness.client, NULL}, .namespace_name = "state", .effect_time = 1});
    scene->store->ops->open(scene->store, &scene->name, STORE_WRITE, &plain, &scene->file, NULL);
}

static void begin(struct scene *scene, const struct fake_step *steps, size_t n_steps)
{
    begin_with(scene, steps, n_steps, NULL);
}

static void end(struct scene *scene)
{
    scene->store->ops->close(scene->file);
    scene->store->ops->free(scene->store);
    harness_stop(&scene->harness, true);
}

static int write_small(struct scene *scene, const struct store_call *call)
{
    struct document document = DOCUMENT_INIT;
    int r;

    buf_add_str(&document.open, "open");
    err_clear(&scene->error);
    r = scene->store->ops->write(scene->file, call, &document, &scene->error);
    document_done(&document);
    return r;
}

static void names_are_as_people_know_them(void)
{
    static const struct {
        struct document_name name;
        const char *expected;
    } rows[] = {
        {{DOCUMENT_STATE, {"team", "web"}, NULL}, HEAD},
        {{DOCUMENT_PLAN, {"team", "web"}, "web-1"}, "kusion-plan-"},
        {{DOCUMENT_OUTCOME, {"team", "web"}, "call"}, "kusion-outcome-"},
        {{DOCUMENT_RELEASE, {"team", "web"}, "1"}, "kusion-release-"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char name[KUBE_DOCUMENT_NAME_SIZE];

        kube_document_name(&rows[i].name, name);
        EXPECT(str_has_prefix(name, rows[i].expected), name);
        EXPECT(str_is_dns_subdomain(name) && strlen(name) <= 63, name);
    }
}

/* A swap without an answer is tried again, as long as nobody else changed the head. */
static void tries_a_swap_again(void)
{
    const struct fake_step put_503 = {
        .expect = "PUT " MAPS "/", .status = 503, .body = STATUS(503, "ServiceUnavailable", "{}")};
    const struct fake_step post = {.expect = "POST " MAPS " ", .status = 201, .body = VERSION(7)};
    const struct fake_step put = {.expect = "PUT " MAPS "/", .status = 200, .body = VERSION(8)};
    const struct fake_step drop_put = {.expect = "PUT " MAPS "/", .end = FAKE_DROP};
    const struct fake_step drop_post = {.expect = "POST " MAPS " ", .end = FAKE_DROP};
    const struct fake_step as_before = {
        .expect = "GET " MAPS "/", .status = 200, .body = VERSION(7)};
    const struct fake_step changed = {.expect = "GET " MAPS "/", .status = 200, .body = VERSION(9)};
    const struct fake_step absent = {.expect = "GET " MAPS "/", .status = 404, .body = ABSENT};
    const struct fake_step conflict = {
        .expect = "PUT " MAPS "/", .status = 409, .body = STATUS(409, "Conflict", "{}")};
    const struct fake_step post_409 = {
        .expect = "POST " MAPS " ", .status = 409, .body = STATUS(409, "Conflict", "{}")};
    const struct fake_step post_exists = {
        .expect = "POST " MAPS " ", .status = 409, .body = STATUS(409, "AlreadyExists", "{}")};
    const struct {
        const char *note;
        struct fake_step steps[6];
        size_t n_steps;
        int codes[2]; /* of two writes */
    } rows[] = {
        {"503", {post, put_503, as_before, put}, 4, {0, 0}},
        {"503 twice", {post, put_503, as_before, put_503, as_before, put}, 6, {0, 0}},
        {"an answer is lost", {post, drop_put, as_before, put}, 4, {0, 0}},
        {"of the first", {drop_post, absent, post, put}, 4, {0, 0}},
        {"another changed it", {post, drop_put, changed}, 3, {0, ERR_CONFLICT}},
        {"another removed it", {post, drop_put, absent}, 3, {0, ERR_CONFLICT}},
        {"another made the first",
         {drop_post, changed, changed, drop_post, changed, changed},
         6,
         {ERR_CONFLICT, ERR_CONFLICT}},
        {"a conflict", {post, conflict, changed}, 3, {0, ERR_CONFLICT}},
        {"a conflict, though nobody changed it", {post, conflict, as_before, put}, 4, {0, 0}},
        {"of the first, though it is not there", {post_409, absent, post, put}, 4, {0, 0}},
        {"of the first, though there is none", {post_exists, absent, post, put}, 4, {0, 0}},
        {"the first is another's",
         {post_exists, changed, changed, post_exists, changed, changed},
         6,
         {ERR_CONFLICT, ERR_CONFLICT}},
        {"after a lost answer, too",
         {post, drop_put, as_before, conflict, changed},
         5,
         {0, ERR_CONFLICT}},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct scene scene;

        begin(&scene, rows[i].steps, rows[i].n_steps);
        for (size_t k = 0; k < 2; k++)
            EXPECT_INT(write_small(&scene, &plain), rows[i].codes[k], rows[i].note);
        end(&scene);
    }
}

/* 409 without end, and nobody changed the object: that is no conflict, and it is not tried for
 * ever.
 */
static void gives_conflicts_up(void)
{
    const struct fake_step conflict = {
        .expect = "POST " MAPS " ", .status = 409, .body = STATUS(409, "Conflict", "{}")};
    const struct fake_step absent = {.expect = "GET " MAPS "/", .status = 404, .body = ABSENT};
    const struct fake_step steps[] = {conflict, absent,   conflict, absent,   conflict,
                                      absent,   conflict, absent,   conflict, absent};
    struct scene scene;

    begin(&scene, steps, ARRAY_SIZE(steps));
    EXPECT_INT(write_small(&scene, &plain), ERR_UNAVAILABLE, "it can be tried again");
    EXPECT_STR(scene.error.reason, "Conflict", scene.error.message);
    end(&scene);
}

static void keeps_to_the_deadline(void)
{
    static const struct fake_step steps[] = {
        {.status = 503, .body = STATUS(503, "ServiceUnavailable", "{}"), .repeat = true}};
    struct store_call call = {0};
    struct scene scene;
    int64_t start;

    begin(&scene, steps, 1);
    start = system_clock.monotonic(&system_clock);
    call.deadline = start + 2000;
    EXPECT_INT(write_small(&scene, &call), ERR_UNAVAILABLE, "it may have happened");
    EXPECT_STR(scene.error.reason, "ServiceUnavailable", scene.error.message);
    EXPECT(system_clock.monotonic(&system_clock) - start < 30000, "in time");
    end(&scene);
}

static int refuse(void *arg, struct error *error)
{
    (void)arg;
    return err_set(error, ERR_FENCED, NULL, "not the leader");
}

static int only_tell(void *arg, enum permit_use use, struct error *error)
{
    (void)arg;
    return use == PERMIT_RECORD ? 0 : err_set(error, ERR_FENCED, NULL, "only RECORD");
}

/* Who lost the Lease may still tell; the guard of the client is for calls without a permit. */
static void the_calls_permit_stands_for_the_guard(void)
{
    static const struct fake_step steps[] = {
        {.expect = "POST " MAPS " ", .status = 201, .body = VERSION(7)}};
    const struct kube_client_config config = {.guard = refuse};
    const struct permit permit = {only_tell, NULL};
    struct scene scene;

    begin_with(&scene, steps, ARRAY_SIZE(steps), &config);
    EXPECT_INT(write_small(&scene, &plain), ERR_FENCED, "the guard");
    EXPECT_INT(write_small(&scene, &(struct store_call){.permit = &permit, .use = PERMIT_ACT}),
               ERR_FENCED, "the permit");
    EXPECT_INT(write_small(&scene, &(struct store_call){.permit = &permit, .use = PERMIT_RECORD}),
               0, scene.error.message);
    end(&scene);
}

/* No answer, or one of who cannot know, is neither absence nor damage. */
static void reads_nothing_from_answers_that_say_nothing(void)
{
    static const struct {
        const char *note;
        struct fake_step step;
        int code;
    } rows[] = {
        {"a proxy's page",
         {.status = 404, .body = "404 page not found\n", .type = "text/plain"},
         ERR_UNAVAILABLE},
        {"refused", {.status = 403, .body = STATUS(403, "Forbidden", "{}")}, ERR_FORBIDDEN},
        {"not of the API server", {.status = 200, .body = "<html>"}, ERR_UNAVAILABLE},
        {"another's absence",
         {.status = 404, .body = STATUS(404, "NotFound", "{\"name\":\"x\"}")},
         ERR_UNAVAILABLE},
        {"its absence", {.status = 404, .body = ABSENT}, ERR_NOT_FOUND},
        {"an empty object", {.status = 200, .body = "{}"}, ERR_UNAVAILABLE},
        {"an object without a document",
         {.status = 200, .body = VERSION(7), .repeat = true},
         ERR_CORRUPT},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct document document = DOCUMENT_INIT;
        struct store_call call = {0};
        struct scene scene;

        begin(&scene, &rows[i].step, 1);
        call.deadline = system_clock.monotonic(&system_clock) + 2000;
        EXPECT_INT(scene.store->ops->read(scene.file, &call, &document, &scene.error), rows[i].code,
                   rows[i].note);
        EXPECT(document.open.length == 0, rows[i].note);
        end(&scene);
    }
}

/* A body, as the API server answers with it. */
static char *stored(const struct value *body)
{
    _cleanup_value_ const struct value *uid = value_pack("s", "u"), *metadata = NULL,
                                       *object = NULL;

    metadata = value_with(value_get(body, "metadata"), "uid", uid);
    object = value_with(body, "metadata", metadata);
    return json_to_str(object);
}

/* The head is read, a write by another goes by, and the chunk that it named is gone. */
static void reads_again_when_the_head_moved_on(void)
{
    static const char map[] = "GET " MAPS "/" HEAD " ", chunk[] = "GET " SECRETS "/" HEAD "-";
    _cleanup_(kube_head_done) struct head head = {0};
    _cleanup_value_ const struct value *before = NULL, *after = NULL;
    _cleanup_free_ char *before_text = NULL, *after_text = NULL, *missing = NULL;
    _cleanup_buf_ struct buf open = BUF_INIT;
    char empty[HASH_HEX_SIZE], checksum[HASH_HEX_SIZE];
    struct document document = DOCUMENT_INIT;
    struct scene scene;

    buf_add_str(&open, "open");
    hash_hex(open.data, open.length, checksum);
    hash_hex("", 0, empty);
    begin(&scene, NULL, 0); /* for the names alone */
    kube_head_init(&head);
    kube_head_set(&head, HEAD_CHECKSUM, checksum);
    kube_head_set(&head, HEAD_CHUNKS, "0");
    after = kube_head_body((struct document_file *)scene.file, &head, &open, "2", "8");
    kube_head_set(&head, HEAD_SECRET_CHECKSUM, empty);
    kube_head_set(&head, HEAD_SECRET_CHUNKS, "1");
    kube_head_set(&head, HEAD_SECRET_TAG, "0123456789abcdef");
    before = kube_head_body((struct document_file *)scene.file, &head, &open, "1", "7");
    end(&scene);
    before_text = stored(before);
    after_text = stored(after);
    missing = str_printf(
        STATUS(404, "NotFound", "{\"name\":\"" HEAD "-%.12s-0123456789abcdef-s0\"}"), empty);
    {
        const struct fake_step moved[] = {
            {.expect = map, .status = 200, .body = before_text},
            {.expect = chunk, .status = 404, .body = missing},
            {.expect = map, .status = 200, .body = after_text},
        };
        const struct fake_step damaged[] = {moved[0], moved[1], moved[0], moved[1]};

        begin(&scene, moved, ARRAY_SIZE(moved));
        EXPECT_INT(scene.store->ops->read(scene.file, &plain, &document, &scene.error), 0,
                   scene.error.message);
        EXPECT_STR(document.open.data, "open", "what is in force");
        end(&scene);
        begin(&scene, damaged, ARRAY_SIZE(damaged));
        EXPECT_INT(scene.store->ops->read(scene.file, &plain, &document, &scene.error), ERR_CORRUPT,
                   "the same head again: it is damaged");
        EXPECT(strstr(scene.error.message, "Secret state/" HEAD "-"), scene.error.message);
        end(&scene);
    }
    document_done(&document);
}

static int count_name(void *arg, const struct document_name *name, struct error *error)
{
    (void)name;
    (void)error;
    ++*(int *)arg;
    return 0;
}

/* A document whose annotations were edited must not be left out without a word. */
static void a_list_tells_damage(void)
{
    static const struct fake_step steps[] = {
        {.expect = "GET " MAPS "?labelSelector=api.kusion.io%2Fdocument%3Dplan%2C"
                   "api.kusion.io%2Fspec%3D" HEAD,
         .status = 200,
         .body = "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[{"
                 "\"metadata\":{\"name\":\"kusion-plan-1\",\"annotations\":{"
                 "\"api.kusion.io/spec-namespace\":\"team\",\"api.kusion.io/spec-name\":\"web\","
                 "\"api.kusion.io/item\":\"another\"}}}]}"}};
    struct scene scene;
    int calls = 0;

    begin(&scene, steps, ARRAY_SIZE(steps));
    EXPECT_INT(scene.store->ops->list(scene.store, DOCUMENT_PLAN, &scene.name.spec, count_name,
                                      &calls, &plain, &scene.error),
               ERR_CORRUPT, scene.error.message);
    EXPECT(strstr(scene.error.message, "state/kusion-plan-1"), scene.error.message);
    EXPECT_INT(calls, 0, "not given");
    end(&scene);
}

SUITE(kube_documents, TEST(names_are_as_people_know_them), TEST(tries_a_swap_again),
      TEST(gives_conflicts_up), TEST(keeps_to_the_deadline),
      TEST(the_calls_permit_stands_for_the_guard),
      TEST(reads_nothing_from_answers_that_say_nothing), TEST(reads_again_when_the_head_moved_on),
      TEST(a_list_tells_damage))
