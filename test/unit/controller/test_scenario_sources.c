/* Specs whose resources are in ConfigMaps and Secrets (`resourcesFrom`). */
#include <unistd.h>

#include "engine/base/base64.h"
#include "engine/base/hash.h"
#include "engine/base/str.h"
#include "engine/state/gzip.h"
#include "engine/value/json.h"
#include "test/unit/controller/scene.h"

#define WEB        SPECS "/web"
#define SECRETS    "/api/v1/namespaces/team/secrets"
#define SOURCE(n)  "{\"kind\":\"ConfigMap\",\"name\":\"" n "\",\"key\":\"all\"}"
#define HIDDEN(n)  "{\"kind\":\"Secret\",\"name\":\"" n "\",\"key\":\"all\"}"
#define FROM(list) "\"resourcesFrom\":[" list "],"
#define OBJECT(name, x)                                                                         \
    "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " name ", namespace: team}\ndata: " \
    "{x: \"" x "\"}\n"

/* Makes the source, or gives it another content. */
static void source(struct scene *scene, const char *name, const char *text)
{
    _cleanup_free_ char *path = str_printf(CONFIGMAPS "/%s", name);
    _cleanup_value_ const struct value *there = api_server_get(scene->server, path);
    _cleanup_value_ const struct value *object =
        value_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:s}}", "apiVersion", "v1", "kind", "ConfigMap",
                   "metadata", "namespace", "team", "name", name, "data", "all", text);
    _cleanup_free_ char *json = json_to_str(object);

    if (there)
        api_server_edit(scene->server, path, json);
    else
        api_server_create(scene->server, json);
}

/* Of a Secret, or the binaryData of a ConfigMap. */
static void source_of_bytes(struct scene *scene, const char *kind, const char *member,
                            const char *name, const struct buf *bytes)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    _cleanup_value_ const struct value *object = NULL;
    _cleanup_free_ char *json = NULL;

    base64_encode(&text, bytes->data, bytes->length);
    object = value_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:s}}", "apiVersion", "v1", "kind", kind,
                        "metadata", "namespace", "team", "name", name, member, "all", text.data);
    json = json_to_str(object);
    api_server_create(scene->server, json);
}

static void expect_message(struct scene *scene, const char *words)
{
    _cleanup_free_ char *message = scene_message(scene, "web");

    EXPECT(message && strstr(message, words), message ? message : words);
}

static void resources_of_all_sources_are_applied(void)
{
    struct scene scene = {0};
    _cleanup_buf_ struct buf packed = BUF_INIT, plain = BUF_INIT;
    static const char zipped[] = "{\"resources\":[" CONFIGMAP("c", "1") "]}";

    scene_begin(&scene);
    source(&scene, "one", OBJECT("a", "1") OBJECT("b", "1"));
    gzip_compress(zipped, strlen(zipped), &packed);
    source_of_bytes(&scene, "ConfigMap", "binaryData", "two", &packed);
    buf_add_str(&plain, OBJECT("d", "1"));
    source_of_bytes(&scene, "Secret", "data", "three", &plain);
    scene_spec(&scene, "web", FROM(SOURCE("one") "," SOURCE("two") "," HIDDEN("three")),
               CONFIGMAP("own", "1"));
    scene_expect_ready(&scene, "web", "True", NULL);
    EXPECT_DATA(&scene, "own", "1");
    EXPECT_DATA(&scene, "a", "1");
    EXPECT_DATA(&scene, "b", "1");
    EXPECT_DATA(&scene, "c", "1");
    EXPECT_DATA(&scene, "d", "1");
    scene_end(&scene);
}

/* A Spec whose source has changed, and which is Ready again: a is 2, and b is gone. */
static void begin_changed(struct scene *scene)
{
    scene_begin(scene);
    source(scene, "one", OBJECT("a", "1") OBJECT("b", "1"));
    scene_spec(scene, "web", FROM(SOURCE("one")), "");
    scene_expect_ready(scene, "web", "True", NULL);
    source(scene, "one", OBJECT("a", "2"));
    scene_expect_data(scene, "a", "2");
    scene_expect_gone(scene, CONFIGMAPS "/b");
    scene_expect_quiet(scene);
}

static void a_change_of_a_source_is_a_revision(void)
{
    struct scene scene = {0};

    begin_changed(&scene);
    EXPECT_DATA(&scene, "a", "2");
    EXPECT_DATA(&scene, "b", NULL);
    EXPECT_PHASE(&scene, "web", 1, "succeeded");
    EXPECT_PHASE(&scene, "web", 2, "succeeded");
    EXPECT_PHASE(&scene, "web", 3, NULL);
    scene_end(&scene);
}

/* Each row: what becomes of the source of a Spec that was applied. */
static void a_bad_source_changes_nothing(void)
{
    static const struct {
        const char *text; /* NULL: it is deleted */
        const char *reason, *words;
    } rows[] = {
        {NULL, "SourceNotFound", "resourcesFrom[0]: ConfigMap \"one\", key \"all\": there is no"},
        {"", "InvalidSource", "has no document"},
        {OBJECT("a", "2") "---\na: [", "InvalidSource", "line 8"},
        {OBJECT("a", "2") "--- 5", "InvalidSource", "line 6: neither an object"},
        {OBJECT("a", "2") OBJECT("a", "3"), "InvalidSource",
         "line 6: the resource \"v1:ConfigMap:team:a\" is there twice; the first one: "
         "resourcesFrom[0]: ConfigMap \"one\", key \"all\", line 1"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct scene scene = {0};

        scene_begin(&scene);
        source(&scene, "one", OBJECT("a", "1") OBJECT("b", "1"));
        scene_spec(&scene, "web", FROM(SOURCE("one")), "");
        scene_expect_ready(&scene, "web", "True", NULL);
        if (rows[i].text)
            source(&scene, "one", rows[i].text);
        else
            api_server_delete(scene.server, CONFIGMAPS "/one");
        scene_expect_ready(&scene, "web", "False", rows[i].reason);
        expect_message(&scene, rows[i].words);
        EXPECT_DATA(&scene, "a", "1");
        EXPECT_DATA(&scene, "b", "1");
        /* As it was before: nothing is to be done. */
        source(&scene, "one", OBJECT("a", "1") OBJECT("b", "1"));
        scene_expect_ready(&scene, "web", "True", NULL);
        EXPECT_PHASE(&scene, "web", 2, NULL);
        scene_end(&scene);
    }
}

/* The first one that cannot be read is told; the others are not read then. */
static void sources_that_are_all_gone_keep_nobody_busy(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    source(&scene, "one", OBJECT("a", "1"));
    source(&scene, "two", OBJECT("b", "1"));
    scene_spec(&scene, "web", "\"retryInterval\":\"5m\"," FROM(SOURCE("one") "," SOURCE("two")),
               "");
    scene_expect_ready(&scene, "web", "True", NULL);
    scene_expect_quiet(&scene);
    api_server_delete(scene.server, CONFIGMAPS "/one");
    scene_expect_ready(&scene, "web", "False", "SourceNotFound");
    api_server_delete(scene.server, CONFIGMAPS "/two");
    scene_expect_quiet(&scene);
    EXPECT_DATA(&scene, "a", "1");
    EXPECT_DATA(&scene, "b", "1");
    source(&scene, "one", OBJECT("a", "2"));
    expect_message(&scene, "ConfigMap \"one\"");
    source(&scene, "two", OBJECT("b", "2"));
    scene_expect_data(&scene, "b", "2");
    scene_expect_data(&scene, "a", "2");
    scene_end(&scene);
}

/* ---- Releases ---- */

static void request_of(struct scene *scene, const char *name, const char *spec, const char *fields)
{
    _cleanup_free_ char *json = str_printf(
        "{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Release\",\"metadata\":{\"name\":\"%s\","
        "\"namespace\":\"team\"},\"spec\":{\"specRef\":{\"name\":\"%s\"},%s}}",
        name, spec, fields);

    api_server_create(scene->server, json);
}

static void request(struct scene *scene, const char *name, const char *fields)
{
    request_of(scene, name, "web", fields);
}

static void a_release_records_its_sources(void)
{
    struct scene scene = {0};
    _cleanup_buf_ struct buf plain = BUF_INIT;
    _cleanup_value_ const struct value *release = NULL, *one = NULL;
    const struct value *first, *second;

    scene_begin(&scene);
    source(&scene, "one", OBJECT("a", "1"));
    buf_add_str(&plain, OBJECT("b", "1"));
    source_of_bytes(&scene, "Secret", "data", "two", &plain);
    scene_spec(&scene, "web", FROM(SOURCE("one") "," HIDDEN("two")), "");
    scene_expect_ready(&scene, "web", "True", NULL);
    release = api_server_get(scene.server, RELEASES "/web-1");
    one = api_server_get(scene.server, CONFIGMAPS "/one");
    first = value_at(value_path(release, "status", "sources", NULL), 0);
    second = value_at(value_path(release, "status", "sources", NULL), 1);
    EXPECT_STR(value_get_string(first, "name"), "one", "name");
    EXPECT_STR(value_get_string(first, "uid"),
               value_string(value_path(one, "metadata", "uid", NULL)), "uid");
    EXPECT_STR(value_get_string(first, "resourceVersion"),
               value_string(value_path(one, "metadata", "resourceVersion", NULL)), "version");
    EXPECT(value_get_string(first, "digest"), "its digest");
    EXPECT_STR(value_get_string(second, "kind"), "Secret", "kind");
    EXPECT(value_get_string(second, "uid") && !value_get(second, "digest"), "none of a Secret");
    EXPECT(!value_path(release, "spec", "resources", NULL), "what a Secret had is not in it");
    scene_end(&scene);
}

static void rolls_back_to_what_the_sources_had(void)
{
    struct scene scene = {0};

    begin_changed(&scene);
    request(&scene, "undo", "\"operation\":\"Rollback\"");
    scene_expect_ready(&scene, "web", "False", "RolledBack");
    EXPECT_DATA(&scene, "a", "1");
    EXPECT_DATA(&scene, "b", "1");
    scene_ask(&scene, "web");
    scene_expect_handled(&scene, "web");
    EXPECT_DATA(&scene, "a", "1");
    /* A source that is gone does not end it, nor does the same content. */
    api_server_delete(scene.server, CONFIGMAPS "/one");
    scene_expect_quiet(&scene);
    source(&scene, "one", OBJECT("a", "2"));
    scene_expect_quiet(&scene);
    scene_expect_ready(&scene, "web", "False", "RolledBack");
    EXPECT_DATA(&scene, "a", "1");
    /* Another one does. */
    source(&scene, "one", OBJECT("a", "3"));
    scene_expect_data(&scene, "a", "3");
    scene_expect_ready(&scene, "web", "True", NULL);
    scene_expect_quiet(&scene);
    EXPECT_DATA(&scene, "b", NULL);
    /* It has ended for good: what was rolled back is applied when somebody writes it again. */
    source(&scene, "one", OBJECT("a", "2"));
    scene_expect_data(&scene, "a", "2");
    scene_expect_ready(&scene, "web", "True", NULL);
    scene_kill(&scene);
    scene_start(&scene);
    scene_ask(&scene, "web");
    scene_expect_handled(&scene, "web");
    scene_expect_ready(&scene, "web", "True", NULL);
    EXPECT_DATA(&scene, "a", "2");
    scene_end(&scene);
}

/* The Release of a Preview as it ends; a reference. */
static const struct value *ended(struct scene *scene, const char *name)
{
    _cleanup_free_ char *path = str_printf(RELEASES "/%s", name);
    const struct value *release = NULL;

    for (int i = 0; i < 20 && !value_path(release, "status", "conditions", NULL); i++) {
        scene_expect_quiet(scene);
        value_unref(release);
        release = api_server_get(scene->server, path);
    }
    return release;
}

static void previews_what_the_sources_have(void)
{
    struct scene scene = {0};
    _cleanup_value_ const struct value *release = NULL;

    scene_begin(&scene);
    source(&scene, "one", OBJECT("a", "1"));
    scene_spec(&scene, "web", "\"suspend\":true," FROM(SOURCE("one")), "");
    scene_expect_quiet(&scene);
    request(&scene, "look", "\"operation\":\"Preview\"");
    release = ended(&scene, "look");
    EXPECT_INT(value_int(value_path(release, "status", "plan", "create", NULL), 0), 1, "creates");
    EXPECT_INT(value_count(value_path(release, "status", "sources", NULL)), 1, "its sources");
    EXPECT_DATA(&scene, "a", NULL);
    scene_end(&scene);
}

#define OWN                                                                                     \
    "{\"id\":\"v1:ConfigMap:team:own\",\"type\":\"Kubernetes\",\"attributes\":{\"apiVersion\":" \
    "\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"own\",\"namespace\":\"team\"}}}"

/* Those of the Spec count no more, and the Spec need not be there. */
static void previews_sources_that_the_request_names(void)
{
    static const struct {
        const char *label, *spec, *fields;
        int creates, sources;
    } cases[] = {
        {"sources", "web", "\"operation\":\"Preview\",\"resourcesFrom\":[" SOURCE("two") "]", 2, 1},
        {"with resources", "web",
         "\"operation\":\"Preview\"," FROM(SOURCE("two")) "\"resources\":[" OWN "]", 3, 1},
        {"resources alone", "web", "\"operation\":\"Preview\",\"resources\":[" OWN "]", 1, 0},
        {"of no Spec", "new", "\"operation\":\"Preview\",\"resourcesFrom\":[" SOURCE("two") "]", 2,
         1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct scene scene = {0};
        _cleanup_value_ const struct value *release = NULL;

        scene_begin(&scene);
        source(&scene, "one", OBJECT("a", "1"));
        source(&scene, "two", OBJECT("b", "1") OBJECT("c", "1"));
        scene_spec(&scene, "web", "\"suspend\":true," FROM(SOURCE("one")), "");
        scene_expect_quiet(&scene);
        request_of(&scene, "look", cases[i].spec, cases[i].fields);
        release = ended(&scene, "look");
        EXPECT_INT(value_int(value_path(release, "status", "plan", "create", NULL), 0),
                   cases[i].creates, cases[i].label);
        EXPECT_INT(value_count(value_path(release, "status", "sources", NULL)), cases[i].sources,
                   cases[i].label);
        scene_end(&scene);
    }
}

/* What a person's preview has of Secrets lies in one, and not in the Release. */
static void a_preview_hides_what_a_secret_has(void)
{
    struct scene scene = {0};
    _cleanup_value_ const struct value *release = NULL;
    _cleanup_free_ char *text = NULL;
    struct buf bytes = BUF_INIT;

    scene_begin(&scene);
    buf_add_str(&bytes, OBJECT("a", "hunter2"));
    source_of_bytes(&scene, "Secret", "data", "hidden", &bytes);
    request_of(&scene, "look", "web",
               "\"operation\":\"Preview\",\"resourcesFrom\":[" HIDDEN("hidden") "]");
    release = ended(&scene, "look");
    text = json_to_str(release);
    EXPECT_INT(value_int(value_path(release, "status", "plan", "create", NULL), 0), 1, "creates");
    EXPECT(!strstr(text, "hunter2"), text);
    buf_done(&bytes);
    scene_end(&scene);
}

/* ---- How often they are read ---- */

static void what_is_known_is_read_once(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    source(&scene, "one", OBJECT("a", "1"));
    scene_spec(&scene, "web", FROM(SOURCE("one")), "");
    scene_expect_ready(&scene, "web", "True", NULL);
    scene_expect_quiet(&scene);
    for (int i = 0; i < 2; i++) {
        api_server_mark(scene.server);
        scene_ask(&scene, "web");
        scene_expect_handled(&scene, "web");
        scene_expect_quiet(&scene);
        EXPECT_INT(api_server_count(scene.server, "get", CONFIGMAPS "/one"), 1, "once");
    }
    source(&scene, "one", OBJECT("a", "2") OBJECT("b", "2"));
    scene_expect_data(&scene, "b", "2");
    scene_expect_ready(&scene, "web", "True", NULL);
    EXPECT_DATA(&scene, "a", "2");
    scene_end(&scene);
}

/* Its watch is refused: a followed Spec reads it at `interval` all the same. */
static void a_source_that_may_only_be_read_is_read_at_interval(void)
{
    struct scene scene = {.flags = "--min-interval=1s"};
    struct buf bytes = BUF_INIT;

    scene_begin(&scene);
    api_server_forbid(scene.server, NULL, "list", SECRETS);
    buf_add_str(&bytes, OBJECT("a", "1"));
    source_of_bytes(&scene, "Secret", "data", "one", &bytes);
    scene_spec(&scene, "web", "\"interval\":\"1s\"," FROM(HIDDEN("one")), "");
    scene_expect_ready(&scene, "web", "True", NULL);
    buf_done(&bytes);
    buf_add_str(&bytes, OBJECT("a", "2"));
    api_server_delete(scene.server, SECRETS "/one");
    source_of_bytes(&scene, "Secret", "data", "one", &bytes);
    scene_expect_data(&scene, "a", "2");
    buf_done(&bytes);
    scene_end(&scene);
}

/* ---- Several that change ---- */

#define DIGEST_OF(n) \
    "{\"kind\":\"ConfigMap\",\"name\":\"" n "\",\"key\":\"all\",\"digest\":\"sha256:%s\"}"

static void half_a_change_is_not_applied(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    source(&scene, "one", OBJECT("a", "1") OBJECT("moves", "1"));
    source(&scene, "two", OBJECT("b", "1"));
    scene_spec(&scene, "web", FROM(SOURCE("one") "," SOURCE("two")), "");
    scene_expect_ready(&scene, "web", "True", NULL);
    scene_expect_quiet(&scene);
    api_server_mark(scene.server);
    source(&scene, "one", OBJECT("a", "2"));
    usleep(600000);
    source(&scene, "two", OBJECT("b", "2") OBJECT("moves", "1"));
    scene_expect_data(&scene, "b", "2");
    scene_expect_data(&scene, "a", "2");
    scene_expect_quiet(&scene);
    EXPECT_INT(api_server_count(scene.server, "delete", CONFIGMAPS "/moves"), 0,
               "what moves to the other source is not deleted in between");
    EXPECT_PHASE(&scene, "web", 2, "succeeded");
    EXPECT_PHASE(&scene, "web", 3, NULL);
    scene_end(&scene);
}

static void only_the_content_that_is_wanted_is_applied(void)
{
    struct scene scene = {0};
    char digest[HASH_HEX_SIZE];
    static const char wanted[] = OBJECT("a", "2");
    _cleanup_free_ char *fields = NULL;

    hash_hex(wanted, strlen(wanted), digest);
    fields = str_printf(FROM(DIGEST_OF("one")), digest);
    scene_begin(&scene);
    source(&scene, "one", OBJECT("a", "1"));
    scene_spec(&scene, "web", fields, "");
    scene_expect_ready(&scene, "web", "False", "SourceDigest");
    EXPECT_DATA(&scene, "a", NULL);
    source(&scene, "one", wanted);
    scene_expect_data(&scene, "a", "2");
    scene_expect_ready(&scene, "web", "True", NULL);
    scene_end(&scene);
}

/* ---- Secrets ---- */

static void what_a_secret_has_is_not_shown(void)
{
    static const char bad[] = "a: hunter2hunter2: [";
    struct scene scene = {0};
    _cleanup_buf_ struct buf plain = BUF_INIT, broken = BUF_INIT;
    _cleanup_free_ char *said = NULL, *message = NULL;
    _cleanup_value_ const struct value *release = NULL;

    scene_begin(&scene);
    buf_add_str(&plain, OBJECT("a", "hunter2hunter2"));
    source_of_bytes(&scene, "Secret", "data", "hidden", &plain);
    scene_spec(&scene, "web", "\"approval\":{\"mode\":\"Manual\"}," FROM(HIDDEN("hidden")), "");
    scene_expect_ready(&scene, "web", "Unknown", "AwaitingApproval");
    release = api_server_get(scene.server, RELEASES "/web-1");
    said = json_to_str(release);
    EXPECT(strstr(said, "(sensitive)"), said);
    EXPECT(!strstr(said, "hunter2"), said);
    buf_add_str(&broken, bad);
    source_of_bytes(&scene, "Secret", "data", "broken", &broken);
    scene_spec(&scene, "web", FROM(HIDDEN("broken")), "");
    scene_expect_ready(&scene, "web", "False", "InvalidSource");
    message = scene_message(&scene, "web");
    EXPECT(strstr(message, "line 1") && !strstr(message, "hunter2"), message);
    scene_end(&scene);
}

/* ---- An API server that does not answer well ---- */

/* What becomes of the next reads of the source of a Spec that was applied. */
static void nothing_is_pruned_where_a_source_cannot_be_read_now(void)
{
    static const struct {
        const char *note;
        struct api_rule rule;
    } rows[] = {
        {"an error", {.fault = API_ANSWER, .status = 500}},
        {"too many requests", {.fault = API_ANSWER, .status = 429}},
        {"no right", {.fault = API_FORBID}},
        {"no answer", {.fault = API_DROP}},
        {"half an answer", {.fault = API_BREAK_OFF}},
        {"something else", {.fault = API_BODY, .body = "{\"kind\":\"ConfigMap\"}"}},
        {"no such path", {.fault = API_ANSWER, .status = 404, .message = "404 page not found"}},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct scene scene = {0};
        struct api_rule rule = rows[i].rule;
        unsigned n;

        scene_begin(&scene);
        source(&scene, "one", OBJECT("a", "1") OBJECT("b", "1"));
        scene_spec(&scene, "web", "\"retryInterval\":\"1s\"," FROM(SOURCE("one")), "");
        scene_expect_ready(&scene, "web", "True", NULL);
        scene_expect_quiet(&scene);
        rule.verb = "get";
        rule.path = CONFIGMAPS "/one";
        n = api_server_rule(scene.server, &rule);
        api_server_mark(scene.server);
        source(&scene, "one", OBJECT("a", "2"));
        EXPECT(api_server_wait_hits(scene.server, n, 1), rows[i].note);
        EXPECT_INT(api_server_count(scene.server, "delete", CONFIGMAPS "/b"), 0, rows[i].note);
        EXPECT_DATA(&scene, "a", "1");
        api_server_release(scene.server, n);
        scene_ask(&scene, "web");
        scene_expect_data(&scene, "a", "2");
        scene_expect_gone(&scene, CONFIGMAPS "/b");
        scene_end(&scene);
    }
}

/* Sources that hang, more than reconciles run at once. */
static void a_source_that_hangs_holds_up_nobody_else(void)
{
    struct scene scene = {0};
    unsigned rule;

    scene_begin(&scene);
    source(&scene, "slow", OBJECT("s", "1"));
    rule = api_server_rule(
        scene.server,
        &(struct api_rule){.verb = "get", .path = CONFIGMAPS "/slow", .fault = API_HOLD});
    for (unsigned n = 0; n < 6; n++) {
        _cleanup_free_ char *name = str_printf("s%u", n);

        scene_spec(&scene, name, "\"suspend\":false," FROM(SOURCE("slow")), "");
    }
    EXPECT(api_server_wait_hits(scene.server, rule, 2), "as many as have slots for answers");
    scene_spec(&scene, "quick", "", CONFIGMAP("quick", "1"));
    scene_expect_ready(&scene, "quick", "True", NULL);
    api_server_delete(scene.server, SPECS "/s0"); /* while it is read */
    scene_expect_gone(&scene, SPECS "/s0");
    api_server_release(scene.server, rule);
    scene_expect_data(&scene, "s", "1");
    scene_end(&scene);
}

static void a_change_ends_what_is_under_way(void)
{
    struct scene scene = {0};
    static const char first[] = "{\"resources\":[" DEPLOYMENT("d", "1") "]}";

    scene_begin(&scene);
    source(&scene, "one", first);
    scene_spec(&scene, "web", FROM(SOURCE("one")), "");
    scene_expect_there(&scene, DEPLOYMENTS "/d");
    scene_expect_quiet(&scene);
    source(&scene, "one", OBJECT("a", "1")); /* the Deployment never becomes ready */
    scene_expect_data(&scene, "a", "1");
    scene_expect_gone(&scene, DEPLOYMENTS "/d");
    scene_expect_ready(&scene, "web", "True", NULL);
    EXPECT_PHASE(&scene, "web", 1, "cancelled");
    EXPECT_PHASE(&scene, "web", 2, "succeeded");
    scene_end(&scene);
}

/* The Deployment never becomes ready, so the operation would take its whole `timeout`. */
static void a_change_that_cannot_be_read_at_first_ends_it_too(void)
{
    static const char first[] = "{\"resources\":[" DEPLOYMENT("d", "1") "]}";
    struct scene scene = {0};
    unsigned rule;

    scene_begin(&scene);
    source(&scene, "one", first);
    scene_spec(&scene, "web", "\"retryInterval\":\"1s\"," FROM(SOURCE("one")), "");
    scene_expect_there(&scene, DEPLOYMENTS "/d");
    scene_expect_quiet(&scene);
    rule = api_server_rule(scene.server, &(struct api_rule){.verb = "get",
                                                            .path = CONFIGMAPS "/one",
                                                            .times = 1,
                                                            .fault = API_ANSWER,
                                                            .status = 429,
                                                            .headers = "Retry-After: 60\r\n"});
    source(&scene, "one", OBJECT("a", "1"));
    EXPECT(api_server_wait_hits(scene.server, rule, 1), "it was to be read");
    scene_expect_data(&scene, "a", "1");
    scene_expect_gone(&scene, DEPLOYMENTS "/d");
    scene_expect_ready(&scene, "web", "True", NULL);
    scene_end(&scene);
}

/* ---- kill -9 ---- */

static bool kill_after(unsigned n)
{
    struct scene scene = {0};
    bool was_cut;

    scene_begin(&scene);
    source(&scene, "one", OBJECT("a", "1") OBJECT("b", "1"));
    scene_spec(&scene, "web", FROM(SOURCE("one")), "");
    scene_expect_ready(&scene, "web", "True", NULL);
    scene_expect_quiet(&scene);
    api_server_mark(scene.server);
    api_server_cut_after(scene.server, n + 1); /* the source's own write */
    source(&scene, "one", OBJECT("a", "2") OBJECT("c", "1"));
    for (int ms = 0; ms < 2000 && !api_server_is_cut(scene.server); ms += 300)
        scene_expect_quiet(&scene);
    was_cut = api_server_is_cut(scene.server);
    scene_kill(&scene);
    api_server_mend(scene.server);
    scene_start(&scene);
    scene_expect_data(&scene, "a", "2");
    scene_expect_data(&scene, "c", "1");
    scene_expect_gone(&scene, CONFIGMAPS "/b");
    scene_expect_ready(&scene, "web", "True", NULL);
    scene_expect_quiet(&scene);
    EXPECT_PHASE(&scene, "web", 2, "succeeded");
    EXPECT_PHASE(&scene, "web", 3, NULL);
    scene_end(&scene);
    return was_cut;
}

/* What ended the hold is taken back before any status tells of it. */
static bool change_back_after(unsigned n)
{
    struct scene scene = {0};
    bool was_cut;

    begin_changed(&scene);
    request(&scene, "undo", "\"operation\":\"Rollback\"");
    scene_expect_ready(&scene, "web", "False", "RolledBack");
    scene_expect_quiet(&scene);
    api_server_mark(scene.server);
    api_server_cut_after(scene.server, n + 1); /* the source's own write */
    source(&scene, "one", OBJECT("a", "3"));
    for (int ms = 0; ms < 2000 && !api_server_is_cut(scene.server); ms += 300)
        scene_expect_quiet(&scene);
    was_cut = api_server_is_cut(scene.server);
    scene_kill(&scene);
    api_server_mend(scene.server);
    source(&scene, "one", OBJECT("a", "2"));
    scene_start(&scene);
    if (n) {
        scene_expect_data(&scene, "a", "2");
        scene_expect_ready(&scene, "web", "True", NULL);
    } else { /* nobody has seen the change */
        scene_expect_ready(&scene, "web", "False", "RolledBack");
    }
    scene_end(&scene);
    return was_cut;
}

static void a_hold_that_has_ended_is_no_lost_state(void)
{
    unsigned n = 0;

    while (n < 30 && change_back_after(n))
        n++;
    EXPECT(n >= 5 && n < 30, "it was killed after each write");
}

static void survives_kills(void)
{
    unsigned n = 0;

    while (n < 30 && kill_after(n))
        n++;
    EXPECT(n >= 5 && n < 30, "it was killed after each write");
}

SUITE(scenario_sources, TEST(resources_of_all_sources_are_applied),
      TEST(a_change_of_a_source_is_a_revision), TEST(a_bad_source_changes_nothing),
      TEST(sources_that_are_all_gone_keep_nobody_busy), TEST(a_release_records_its_sources),
      TEST(rolls_back_to_what_the_sources_had), TEST(previews_what_the_sources_have),
      TEST(previews_sources_that_the_request_names), TEST(a_preview_hides_what_a_secret_has),
      TEST(what_is_known_is_read_once), TEST(a_source_that_may_only_be_read_is_read_at_interval),
      TEST(half_a_change_is_not_applied), TEST(only_the_content_that_is_wanted_is_applied),
      TEST(what_a_secret_has_is_not_shown),
      TEST(nothing_is_pruned_where_a_source_cannot_be_read_now),
      TEST(a_source_that_hangs_holds_up_nobody_else), TEST(a_change_ends_what_is_under_way),
      TEST(a_change_that_cannot_be_read_at_first_ends_it_too), TEST(survives_kills),
      TEST(a_hold_that_has_ended_is_no_lost_state))
