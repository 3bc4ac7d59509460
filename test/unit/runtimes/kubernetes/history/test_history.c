/* The history of Release objects: that it keeps the contract, over an API server in memory and over
 * a real one; what it makes, and what it takes for no record. */
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "engine/yaml/yaml.h"
#include "runtimes/kubernetes/history/history_private.h"
#include "test/unit/engine/history_contract.h"
#include "test/unit/runtimes/kubernetes/client/live.h"
#include "test/unit/runtimes/kubernetes/history/releases.h"
#include "test/unit/suite.h"

#define DEFINITION "crds/api.kusion.io_releases.yaml"
#define DEFINED    "releases.api.kusion.io"

static const struct store_call plain;
/* ---- The contract ---- */

static struct release_history *attach(void *arg)
{
    struct releases *scene = arg;

    return kube_history_new(&(struct kube_cluster){scene->client.client, NULL});
}

static void lose_answer(void *arg, bool is_after)
{
    struct releases *scene = arg;

    api_server_rule(scene->server,
                    &(struct api_rule){.verb = "write",
                                       .times = 1,
                                       .fault = is_after ? API_DROP_AFTER : API_DROP});
}

static void keeps_the_contract(void)
{
    struct releases scene;

    releases_begin(&scene);
    history_contract_check(&(struct history_fixture){&scene, "team", attach, lose_answer});
    releases_end(&scene);
}

/* ---- A real server ---- */

static struct release_history *attach_live(void *arg)
{
    struct live *live = arg;

    return kube_history_new(&(struct kube_cluster){live->harness.client, NULL});
}

static bool serves_releases(void *arg)
{
    return live_do(arg, "GET", "/apis/api.kusion.io/v1/namespaces/@/releases", NULL, NULL, NULL) ==
           0;
}

/* The definition of Releases, as `kubectl apply --server-side -f crds/` installs it. */
static void install(struct live *live)
{
    _cleanup_value_ const struct value *definition = NULL;
    struct buf text = BUF_INIT;
    struct error error = {0};
    FILE *file = fopen(DEFINITION, "r");
    char piece[4096];

    if (!file) {
        EXPECT(false, DEFINITION);
        return;
    }
    for (size_t n; (n = fread(piece, 1, sizeof(piece), file)) > 0;)
        buf_add(&text, piece, n);
    fclose(file);
    EXPECT_INT(yaml_read(text.data, text.length, &definition, &error), 0, error.message);
    buf_done(&text);
    EXPECT_INT(kube_do(live->harness.client,
                       &(struct kube_request){.method = "PATCH",
                                              .path = "/apis/apiextensions.k8s.io/v1/"
                                                      "customresourcedefinitions/" DEFINED
                                                      "?fieldManager=kubectl&force=true",
                                              .body = definition,
                                              .content_type = KUBE_APPLY_PATCH,
                                              .idempotent = true},
                       NULL, &error),
               0, error.message);
    EXPECT(live_eventually(serves_releases, live), "Releases are served");
}

static void keeps_the_contract_live(void)
{
    struct live live;

    if (!live_start(&live))
        return;
    install(&live);
    history_contract_check(&(struct history_fixture){&live, live.space, attach_live, NULL});
    live_stop(&live);
}

/* ---- What it makes ---- */

static void makes_objects_that_people_can_read(void)
{
    _cleanup_value_ const struct value *object = NULL, *metadata = NULL, *expected = NULL;
    _cleanup_free_ char *version = NULL;
    struct releases scene;

    releases_begin(&scene);
    EXPECT_INT(releases_create(&scene, 3, &version), 0, scene.error.message);
    object = api_server_get(scene.server, RELEASES "/web-3");
    EXPECT(object, "by its name");
    json_read_str("{\"labels\":{\"api.kusion.io/generated\":\"true\",\"api.kusion.io/owner\":"
                  "\"kusion-a5cb1ff62f8ed32c81ba8c077640d70f35eefe35\"},\"annotations\":{"
                  "\"api.kusion.io/revision\":\"3\",\"api.kusion.io/spec-generation\":\"4\","
                  "\"api.kusion.io/operation\":\"Destroy\"}}",
                  &expected, NULL);
    metadata = value_pack("{s:v, s:v}", "labels", value_path(object, "metadata", "labels", NULL),
                          "annotations", value_path(object, "metadata", "annotations", NULL));
    EXPECT(value_equal(metadata, expected), "labels and annotations");
    EXPECT_STR(value_string(value_path(object, "spec", "specRef", "name", NULL)), "web", "specRef");
    EXPECT_STR(value_string(value_path(object, "spec", "operation", NULL)), "Destroy", "operation");
    EXPECT(!value_path(object, "metadata", "ownerReferences", NULL), "it outlives its Spec");
    releases_end(&scene);
}

/* The list has metadata alone, and only of this Spec's records; then the one is read. */
static void loads_the_newest_in_two_requests(void)
{
    _cleanup_(release_record_free_p) struct release_record *record = NULL;
    _cleanup_free_ char *log = NULL, *version = NULL;
    struct releases scene;

    releases_begin(&scene);
    for (int64_t revision = 1; revision <= 3; revision++) {
        _cleanup_free_ char *made = NULL;

        EXPECT_INT(releases_create(&scene, revision, &made), 0, scene.error.message);
    }
    api_server_mark(scene.server);
    EXPECT_INT(
        scene.history->ops->load(scene.history, &releases_web, 0, &plain, &record, &version, NULL),
        0, "load");
    EXPECT_INT(api_server_count(scene.server, "list", RELEASES), 1, "one list");
    EXPECT_INT(api_server_count(scene.server, "get", RELEASES "/web-3"), 1, "one read");
    EXPECT_INT(api_server_count(scene.server, NULL, NULL), 2, "nothing else");
    log = api_server_log(scene.server);
    EXPECT(strstr(log, "fieldSelector=spec.specRef.name%3Dweb&labelSelector=api.kusion.io"
                       "%2Fgenerated%3Dtrue"),
           log);
    releases_end(&scene);
}

/* ---- What is no record ---- */

#define RELEASE_WITH(name, labels, annotations, spec, fields)                                \
    "{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Release\",\"metadata\":{\"namespace\":" \
    "\"team\",\"name\":\"" name "\",\"labels\":{" labels "},\"annotations\":{" annotations   \
    "}},\"spec\":{\"specRef\":{\"name\":\"" spec "\"}," fields "\"operation\":\"Preview\"}}"
#define RELEASE(name, labels, annotations, spec) RELEASE_WITH(name, labels, annotations, spec, "")
#define GENERATED                                "\"api.kusion.io/generated\":\"true\""
#define REVISION(n)                              "\"api.kusion.io/revision\":\"" n "\""

/* Releases that are in the way of revision 3 of web, and no record of it. */
static const struct {
    const char *note, *object;
} others[] = {
    {"a person's", RELEASE("web-3", "", "", "web")},
    {"a label of another value",
     RELEASE("web-3", "\"api.kusion.io/generated\":\"false\"", REVISION("3"), "web")},
    {"without a revision", RELEASE("web-3", GENERATED, "", "web")},
    {"another revision", RELEASE("web-3", GENERATED, REVISION("4"), "web")},
    {"a revision that is none", RELEASE("web-3", GENERATED, REVISION("3.0"), "web")},
    {"of another Spec", RELEASE("web-3", GENERATED, REVISION("3"), "cache")},
    {"approved when it was created",
     RELEASE_WITH("web-3", GENERATED, REVISION("3"), "web", "\"approvedPlan\":\"d\",")},
    {"approved unseen when it was created",
     RELEASE_WITH("web-3", GENERATED, REVISION("3"), "web", "\"approvedUnseen\":true,")},
    {"rejected when it was created",
     RELEASE_WITH("web-3", GENERATED, REVISION("3"), "web", "\"rejected\":true,")},
};

/* People can make any number of Releases that look like records in a list. */
static void looks_for_the_newest_in_few_requests(void)
{
    _cleanup_(release_record_free_p) struct release_record *record = NULL;
    _cleanup_free_ char *version = NULL;
    struct releases scene;

    releases_begin(&scene);
    for (int i = 1; i <= 40; i++) {
        _cleanup_free_ char *object = str_printf(
            RELEASE_WITH("web-%d", GENERATED, REVISION("%d"), "web", "\"approvedPlan\":\"d\","), i,
            i);

        api_server_create(scene.server, object);
    }
    api_server_mark(scene.server);
    EXPECT_INT(
        scene.history->ops->load(scene.history, &releases_web, 0, &plain, &record, &version, NULL),
        ERR_NOT_FOUND, "load");
    EXPECT_INT(api_server_count(scene.server, NULL, NULL), 9, "one list, and eight reads");
    releases_end(&scene);
}

static void leaves_alone_what_is_no_record(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        _cleanup_(release_record_free_p) struct release_record *record = NULL;
        _cleanup_value_ const struct value *before = NULL, *after = NULL;
        _cleanup_free_ char *version = NULL, *loaded = NULL;
        struct releases scene;

        releases_begin(&scene);
        api_server_create(scene.server, others[i].object);
        before = api_server_get(scene.server, RELEASES "/web-3");
        EXPECT_INT(releases_create(&scene, 3, &version), ERR_CONFLICT, others[i].note);
        EXPECT_STR(scene.error.reason, "ReleaseNameTaken", scene.error.message);
        EXPECT(strstr(scene.error.message, "web-3"), scene.error.message);
        for (int64_t revision = 0; revision <= 3; revision += 3)
            EXPECT_INT(scene.history->ops->load(scene.history, &releases_web, revision, &plain,
                                                &record, &loaded, NULL),
                       ERR_NOT_FOUND, others[i].note);
        EXPECT_INT(scene.history->ops->remove(scene.history, &releases_web, 3, RELEASE_ANYWAY,
                                              &plain, NULL),
                   0, others[i].note);
        after = api_server_get(scene.server, RELEASES "/web-3");
        EXPECT(value_equal(before, after), others[i].note);
        releases_end(&scene);
    }
}

/* A record is made whose name a person's Release takes afterwards. */
static void writes_no_status_of_a_persons_release(void)
{
    _cleanup_free_ char *version = NULL;
    _cleanup_value_ const struct value *object = NULL;
    struct releases scene;

    releases_begin(&scene);
    EXPECT_INT(releases_create(&scene, 3, &version), 0, scene.error.message);
    api_server_delete(scene.server, RELEASES "/web-3");
    api_server_create(scene.server, others[0].object);
    EXPECT_INT(releases_update(&scene, 3, "succeeded", &version), ERR_NOT_FOUND,
               scene.error.message);
    object = api_server_get(scene.server, RELEASES "/web-3");
    EXPECT(!value_path(object, "status", "phase", NULL), "as it was");
    releases_end(&scene);
}

static int expect_second(void *arg, const struct release_head *head, struct error *error)
{
    (void)error;
    EXPECT_INT(head->revision, 2, "listed");
    ++*(unsigned *)arg;
    return 0;
}

/* Revisions that somebody made up do not become the newest (S15). */
static void counts_no_revision_that_is_none(void)
{
    static const char *const forged[] = {
        RELEASE("web-0", GENERATED, REVISION("0"), "web"),
        RELEASE("web-9007199254740993", GENERATED, REVISION("9007199254740993"), "web"),
        RELEASE("web-99999999999999999999", GENERATED, REVISION("99999999999999999999"), "web"),
        RELEASE("web--5", GENERATED, REVISION("-5"), "web"),
        RELEASE("look", GENERATED, REVISION("7"), "web"),
        RELEASE("web-8", GENERATED, REVISION("7"), "web"),
        RELEASE("web-9", GENERATED, REVISION("09"), "web"),
    };
    _cleanup_(release_record_free_p) struct release_record *record = NULL;
    _cleanup_free_ char *version = NULL, *loaded = NULL;
    unsigned listed = 0;
    struct releases scene;

    releases_begin(&scene);
    EXPECT_INT(releases_create(&scene, 2, &version), 0, scene.error.message);
    for (size_t i = 0; i < ARRAY_SIZE(forged); i++)
        api_server_create(scene.server, forged[i]);
    EXPECT_INT(
        scene.history->ops->load(scene.history, &releases_web, 0, &plain, &record, &loaded, NULL),
        0, "load");
    EXPECT_INT(record ? record->head.revision : 0, 2, "the newest");
    EXPECT_INT(scene.history->ops->list(scene.history, &releases_web, expect_second, &listed,
                                        &plain, NULL),
               0, "list");
    EXPECT_INT(listed, 1, "that one alone");
    releases_end(&scene);
}

/* What names no document is not taken for one: neither a path nor a text without an end. */
static void takes_no_text_for_a_digest(void)
{
    static const struct {
        const char *annotation;
        bool is_digest;
    } rows[] = {
        {"", false},
        {"9aF", false},
        {"../web", false},
        {"9af", true},
        {"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", true},
        {"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *object =
            value_pack("{s:{s:{s:s}}}", "metadata", "annotations", "api.kusion.io/spec-digest",
                       rows[i].annotation);

        EXPECT_STR(kube_history_digest(object, HISTORY_SPEC),
                   rows[i].is_digest ? rows[i].annotation : NULL, rows[i].annotation);
    }
}

/* A list of pages may have an item twice, where it was changed between two of them. */
static void lists_a_record_once(void)
{
    static const char item[] = RELEASE("web-2", GENERATED, REVISION("2"), "web");
    _cleanup_free_ char *body =
        str_printf("{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\","
                   "\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[%s,%s]}",
                   item, item);
    unsigned listed = 0;
    struct releases scene;

    releases_begin(&scene);
    api_server_rule(scene.server,
                    &(struct api_rule){.verb = "list", .fault = API_BODY, .body = body});
    EXPECT_INT(scene.history->ops->list(scene.history, &releases_web, expect_second, &listed,
                                        &plain, &scene.error),
               0, scene.error.message);
    EXPECT_INT(listed, 1, "once");
    releases_end(&scene);
}

/* A person labels a record meanwhile: it is a conflict, and after a look it goes on. What people
 * approve raises its own generation. */
static void people_may_change_its_metadata_and_approve_it(void)
{
    _cleanup_(release_record_free_p) struct release_record *record = NULL;
    _cleanup_free_ char *version = NULL, *loaded = NULL;
    struct releases scene;

    releases_begin(&scene);
    EXPECT_INT(releases_create(&scene, 1, &version), 0, scene.error.message);
    api_server_edit(scene.server, RELEASES "/web-1",
                    "{\"metadata\":{\"labels\":{\"mine\":\"yes\"}},\"spec\":{\"approvedPlan\":"
                    "\"digest\"}}");
    EXPECT_INT(releases_update(&scene, 1, "applying", &version), ERR_CONFLICT, scene.error.message);
    EXPECT_INT(
        scene.history->ops->load(scene.history, &releases_web, 1, &plain, &record, &loaded, NULL),
        0, "load");
    EXPECT_INT(record ? record->own_generation : 0, 2, "its own generation");
    EXPECT_INT(releases_update(&scene, 1, "applying", &loaded), 0, scene.error.message);
    releases_end(&scene);
}

SUITE(history, TEST(keeps_the_contract), TEST(makes_objects_that_people_can_read),
      TEST(loads_the_newest_in_two_requests), TEST(looks_for_the_newest_in_few_requests),
      TEST(leaves_alone_what_is_no_record), TEST(writes_no_status_of_a_persons_release),
      TEST(counts_no_revision_that_is_none), TEST(takes_no_text_for_a_digest),
      TEST(lists_a_record_once), TEST(people_may_change_its_metadata_and_approve_it))
SUITE(live_history, TEST(keeps_the_contract_live))
