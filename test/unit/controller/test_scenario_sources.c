/* Specs whose resources are in ConfigMaps and Secrets (`resourcesFrom`). */
#include <unistd.h>

#include "engine/base/base64.h"
#include "engine/base/json.h"
#include "engine/base/str.h"
#include "engine/state/gzip.h"
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

/* Until it is so; at most 20 s. */
static void expect_data(struct scene *scene, const char *name, const char *x)
{
    _cleanup_free_ char *data = scene_data(scene, name);

    for (unsigned i = 0; i < 1000 && !str_equal(data, x); i++) {
        usleep(20000);
        free(data);
        data = scene_data(scene, name);
    }
    EXPECT_STR(data, x, name);
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

static void a_change_of_a_source_is_a_revision(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    source(&scene, "one", OBJECT("a", "1") OBJECT("b", "1"));
    scene_spec(&scene, "web", FROM(SOURCE("one")), "");
    scene_expect_ready(&scene, "web", "True", NULL);
    source(&scene, "one", OBJECT("a", "2"));
    expect_data(&scene, "a", "2");
    scene_expect_gone(&scene, CONFIGMAPS "/b");
    scene_expect_quiet(&scene);
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

SUITE(scenario_sources, TEST(resources_of_all_sources_are_applied),
      TEST(a_change_of_a_source_is_a_revision), TEST(a_bad_source_changes_nothing))
