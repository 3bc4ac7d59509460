/* What a Spec depends on besides itself, under faults: its policies, a health check in Lua, a Spec
 * that it waits for, its sources. Whatever fails in between, the end is the same. */
#include <unistd.h>

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/controller/scene.h"

#define WEB   SPECS "/web"
#define SOON  "\"retryInterval\":\"1s\","
#define LATER "\"retryInterval\":\"5m\",\"interval\":\"20m\","

/* Until Ready's message has these words. */
static void expect_message(struct scene *scene, const char *words)
{
    _cleanup_free_ char *message = scene_message(scene, "web");

    for (unsigned i = 0; i < 3000 && !(message && strstr(message, words)); i++) {
        usleep(20000);
        free(message);
        message = scene_message(scene, "web");
    }
    EXPECT(message && strstr(message, words), message ? message : words);
}

/* ---- Policies ---- */

/* What becomes of the next requests for ConfigMaps of the namespace, one after the other. */
static const struct api_rule faults[] = {
    {.path = CONFIGMAPS "*", .first = 1, .times = 1, .fault = API_HOLD_AFTER},
    {.path = CONFIGMAPS "*", .first = 2, .times = 1, .fault = API_ANSWER, .status = 409},
    {.path = CONFIGMAPS "*", .first = 3, .times = 1, .fault = API_ANSWER, .status = 410},
    {.path = CONFIGMAPS "*", .first = 4, .times = 1, .fault = API_DROP_AFTER},
    {.path = CONFIGMAPS "*", .first = 5, .times = 2, .fault = API_ANSWER, .status = 500},
};

static void others_set(struct scene *scene, const char *name, const char *x)
{
    _cleanup_free_ char *path = str_printf(CONFIGMAPS "/%s", name);
    _cleanup_free_ char *patch = str_printf("{\"data\":{\"x\":\"%s\"}}", x);

    api_server_edit(scene->server, path, patch);
}

static void conflict_change(struct scene *scene)
{
    others_set(scene, "a", "theirs");
    scene_spec(scene, "web",
               SOON "\"driftDetection\":{\"mode\":\"warn\"},\"conflictPolicy\":\"Fail\",",
               CONFIGMAP("a", "2") "," CONFIGMAP("b", "1"));
}

static void conflict_end(struct scene *scene)
{
    scene_expect_ready(scene, "web", "False", "ConflictDetected");
    EXPECT_DATA(scene, "a", "theirs");
}

static void few_deletions_change(struct scene *scene)
{
    scene_spec(scene, "web", SOON "\"maxDeletions\":0,", CONFIGMAP("a", "2"));
}

static void few_deletions_end(struct scene *scene)
{
    scene_expect_ready(scene, "web", "False", "DeletionGuardTripped");
    EXPECT_DATA(scene, "a", "1");
    EXPECT_DATA(scene, "b", "1");
}

static void enough_deletions_change(struct scene *scene)
{
    scene_spec(scene, "web", SOON "\"maxDeletions\":1,", CONFIGMAP("a", "2"));
}

static void enough_deletions_end(struct scene *scene)
{
    scene_expect_ready(scene, "web", "True", NULL);
    EXPECT_DATA(scene, "a", "2");
    EXPECT_DATA(scene, "b", NULL);
}

static void ignore_change(struct scene *scene)
{
    scene_spec(scene, "web", SOON "\"ignore\":[{\"paths\":[\"/data/x\"]}],",
               CONFIGMAP("a", "2") "," CONFIGMAP("b", "2"));
    others_set(scene, "a", "theirs");
}

static void ignore_end(struct scene *scene)
{
    scene_expect_ready(scene, "web", "True", NULL);
    others_set(scene, "a", "theirs"); /* after what went on before, ours may have come last */
    scene_ask(scene, "web");
    scene_expect_handled(scene, "web");
    scene_expect_ready(scene, "web", "True", NULL);
    EXPECT_DATA(scene, "a", "theirs");
}

static void warn_change(struct scene *scene)
{
    scene_spec(scene, "web", SOON "\"driftDetection\":{\"mode\":\"warn\"},",
               CONFIGMAP("a", "1") "," CONFIGMAP("b", "1"));
    scene_expect_ready(scene, "web", "True", NULL);
    scene_expect_quiet(scene);
    others_set(scene, "a", "theirs");
    scene_ask(scene, "web");
}

static const char *reason_of(const struct value *object, const char *type)
{
    const struct value *all = value_path(object, "status", "conditions", NULL);

    for (size_t i = 0; i < value_count(all); i++)
        if (str_equal(value_get_string(value_at(all, i), "type"), type))
            return value_get_string(value_at(all, i), "reason");
    return NULL;
}

static void warn_end(struct scene *scene)
{
    _cleanup_value_ const struct value *web = NULL;

    for (unsigned i = 0; i < 3000 && !str_equal(reason_of(web, "Drifted"), "DriftDetected"); i++) {
        usleep(20000);
        value_unref(web);
        web = api_server_get(scene->server, WEB);
    }
    EXPECT_STR(reason_of(web, "Drifted"), "DriftDetected", "it is said");
    EXPECT_DATA(scene, "a", "theirs");
}

static void policies_hold(void)
{
    static const struct {
        const char *name;
        void (*change)(struct scene *scene), (*end)(struct scene *scene);
    } rows[] = {
        {"conflictPolicy: Fail", conflict_change, conflict_end},
        {"maxDeletions, too few", few_deletions_change, few_deletions_end},
        {"maxDeletions, enough", enough_deletions_change, enough_deletions_end},
        {"ignore", ignore_change, ignore_end},
        {"driftDetection: warn", warn_change, warn_end},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct scene scene = {0};
        unsigned numbers[ARRAY_SIZE(faults)];

        scene_begin(&scene);
        scene_spec(&scene, "web", SOON "\"driftDetection\":{\"mode\":\"warn\"},",
                   CONFIGMAP("a", "1") "," CONFIGMAP("b", "1"));
        scene_expect_ready(&scene, "web", "True", NULL);
        scene_expect_quiet(&scene);
        for (size_t f = 0; f < ARRAY_SIZE(faults); f++)
            numbers[f] = api_server_rule(scene.server, &faults[f]);
        rows[i].change(&scene);
        EXPECT(api_server_wait_hits(scene.server, numbers[0], 1), rows[i].name);
        usleep(2200000); /* longer than --api-request-timeout */
        api_server_release(scene.server, numbers[0]);
        rows[i].end(&scene);
        EXPECT(api_server_hits(scene.server, numbers[1]), rows[i].name);
        scene_end(&scene);
    }
}

/* ---- Health in Lua ---- */

#define CHECK STATES "/health"

static void check_says(struct scene *scene, const char *script)
{
    _cleanup_value_ const struct value *there = api_server_get(scene->server, CHECK);
    _cleanup_value_ const struct value *object =
        value_pack("{s:s, s:s, s:{s:s, s:s, s:{s:s}}, s:{s:s}}", "apiVersion", "v1", "kind",
                   "ConfigMap", "metadata", "namespace", "kusion-system", "name", "health",
                   "labels", "api.kusion.io/health-checks", "enabled", "data",
                   "resource.customizations.health.apps_Deployment", script);
    _cleanup_free_ char *json = json_to_str(object);

    if (there)
        api_server_edit(scene->server, CHECK, json);
    else
        api_server_create(scene->server, json);
}

/* The watch of the checks ends, and cannot begin again before what happens has happened. */
static void unseen(struct scene *scene, const char *script)
{
    unsigned rule = api_server_rule(scene->server, &(struct api_rule){.verb = "watch",
                                                                      .path = STATES "*",
                                                                      .fault = API_ANSWER,
                                                                      .status = 500});

    api_server_end_watches(scene->server);
    EXPECT(api_server_wait_hits(scene->server, rule, 1), "it is watched again");
    if (script)
        check_says(scene, script);
    else
        api_server_delete(scene->server, CHECK);
    api_server_compact(scene->server);
    api_server_release(scene->server, rule);
}

/* While a Spec waits for what it says, and nobody sees it. */
static void a_check_goes_breaks_and_comes_back(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    check_says(&scene, "return {status = 'Progressing', message = 'not yet'}");
    scene_spec(&scene, "web", LATER, DEPLOYMENT("d", "1"));
    scene_expect_there(&scene, DEPLOYMENTS "/d");
    scene_roll_out(&scene, "d");
    expect_message(&scene, "not yet");
    unseen(&scene, "if");
    expect_message(&scene, "its health check failed: health.lua:1");
    scene_kill(&scene);
    scene_start(&scene);
    expect_message(&scene, "its health check failed: health.lua:1");
    unseen(&scene, "return {status = 'Progressing', message = 'again'}");
    expect_message(&scene, "again");
    unseen(&scene, NULL);
    scene_expect_ready(&scene, "web", "True", NULL);
    scene_end(&scene);
}

/* ---- A Spec that is waited for ---- */

#define ON_DB LATER "\"dependsOn\":[{\"name\":\"db\"}],"

static void wait_for_db(struct scene *scene)
{
    scene_begin(scene);
    scene_spec(scene, "db", LATER, DEPLOYMENT("d", "1"));
    scene_spec(scene, "web", ON_DB, CONFIGMAP("a", "1"));
    scene_expect_ready(scene, "web", "False", "DependencyNotReady");
    scene_expect_there(scene, DEPLOYMENTS "/d");
    scene_expect_quiet(scene);
}

static void make_db_anew(struct scene *scene)
{
    scene_spec(scene, "db", LATER, CONFIGMAP("b", "1"));
    scene_expect_ready(scene, "web", "True", NULL);
    EXPECT_DATA(scene, "a", "1");
}

static void it_is_made_anew_at_once(void)
{
    struct scene scene = {0};

    wait_for_db(&scene);
    api_server_delete(scene.server, SPECS "/db");
    scene_expect_gone(&scene, SPECS "/db");
    scene_expect_ready(&scene, "web", "False", "DependencyNotReady");
    EXPECT_DATA(&scene, "a", NULL);
    make_db_anew(&scene);
    scene_end(&scene);
}

/* The watch is told nothing of the deletion, and shows a Spec of the same name afterwards. */
static void it_is_made_anew_unseen(void)
{
    struct scene scene = {0};
    unsigned rule;

    wait_for_db(&scene);
    rule = api_server_rule(scene.server, &(struct api_rule){.verb = "watch",
                                                            .path = "/apis/api.kusion.io/v1/specs*",
                                                            .fault = API_ANSWER,
                                                            .status = 500});
    api_server_end_watches(scene.server);
    EXPECT(api_server_wait_hits(scene.server, rule, 1), "it is watched again");
    api_server_remove(scene.server, SPECS "/db");
    scene_spec(&scene, "db", LATER, CONFIGMAP("b", "1"));
    api_server_compact(scene.server);
    api_server_release(scene.server, rule);
    scene_expect_ready(&scene, "web", "True", NULL);
    EXPECT_DATA(&scene, "a", "1");
    scene_end(&scene);
}

static void it_is_made_anew_while_nobody_is_at_work(void)
{
    struct scene scene = {0};

    wait_for_db(&scene);
    scene_kill(&scene);
    api_server_remove(scene.server, SPECS "/db");
    scene_spec(&scene, "db", LATER, CONFIGMAP("b", "1"));
    scene_start(&scene);
    scene_expect_ready(&scene, "web", "True", NULL);
    EXPECT_DATA(&scene, "a", "1");
    scene_end(&scene);
}

/* ---- Sources ---- */

#define FROM_ONE "\"resourcesFrom\":[{\"kind\":\"ConfigMap\",\"name\":\"one\",\"key\":\"all\"}],"
#define OBJECT(name, x)                                                                         \
    "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " name ", namespace: team}\ndata: " \
    "{x: \"" x "\"}\n"

static void source(struct scene *scene, const char *text)
{
    _cleanup_value_ const struct value *there = api_server_get(scene->server, CONFIGMAPS "/one");
    _cleanup_value_ const struct value *object =
        value_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:s}}", "apiVersion", "v1", "kind", "ConfigMap",
                   "metadata", "namespace", "team", "name", "one", "data", "all", text);
    _cleanup_free_ char *json = json_to_str(object);

    if (there)
        api_server_edit(scene->server, CONFIGMAPS "/one", json);
    else
        api_server_create(scene->server, json);
}

static void go_on(struct scene *scene, unsigned rule)
{
    api_server_release(scene->server, rule);
}

/* The server does what it was asked to; nobody hears of it. */
static void kill_it(struct scene *scene, unsigned rule)
{
    scene_kill(scene);
    api_server_release(scene->server, rule);
    scene_start(scene);
}

/* A Spec of a and b from one source, whose next generation, a=2, is being applied: `a` is sent. */
static unsigned begin_held(struct scene *scene)
{
    unsigned rule;

    scene_begin(scene);
    source(scene, OBJECT("a", "1") OBJECT("b", "1"));
    scene_spec(scene, "web", LATER FROM_ONE, "");
    scene_expect_ready(scene, "web", "True", NULL);
    scene_expect_quiet(scene);
    rule = api_server_rule(scene->server, &(struct api_rule){.verb = "apply",
                                                             .path = CONFIGMAPS "/a",
                                                             .times = 1,
                                                             .fault = API_HOLD});
    source(scene, OBJECT("a", "2") OBJECT("b", "1"));
    EXPECT(api_server_wait_hits(scene->server, rule, 1), "it is being applied");
    return rule;
}

static void a_source_goes_in_the_middle(void)
{
    static void (*const ways[])(struct scene * scene, unsigned rule) = {go_on, kill_it};

    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        struct scene scene = {0};
        unsigned rule = begin_held(&scene);

        api_server_delete(scene.server, CONFIGMAPS "/one");
        ways[i](&scene, rule);
        scene_expect_ready(&scene, "web", "False", "SourceNotFound");
        scene_expect_quiet(&scene);
        EXPECT_DATA(&scene, "b", "1");
        source(&scene, OBJECT("a", "3"));
        scene_expect_data(&scene, "a", "3");
        scene_expect_gone(&scene, CONFIGMAPS "/b");
        scene_expect_ready(&scene, "web", "True", NULL);
        scene_end(&scene);
    }
}

static void a_source_changes_in_the_middle(void)
{
    static void (*const ways[])(struct scene * scene, unsigned rule) = {go_on, kill_it};

    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        struct scene scene = {0};
        unsigned rule = begin_held(&scene);

        source(&scene, OBJECT("a", "3") OBJECT("c", "1"));
        ways[i](&scene, rule);
        scene_expect_data(&scene, "c", "1");
        scene_expect_data(&scene, "a", "3");
        scene_expect_gone(&scene, CONFIGMAPS "/b");
        scene_expect_ready(&scene, "web", "True", NULL);
        scene_expect_quiet(&scene);
        EXPECT_DATA(&scene, "a", "3");
        scene_end(&scene);
    }
}

SUITE(scenario_faults, TEST(policies_hold), TEST(a_check_goes_breaks_and_comes_back),
      TEST(it_is_made_anew_at_once), TEST(it_is_made_anew_unseen),
      TEST(it_is_made_anew_while_nobody_is_at_work), TEST(a_source_goes_in_the_middle),
      TEST(a_source_changes_in_the_middle))
