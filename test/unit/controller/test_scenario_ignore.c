/* A field that others manage from the creation of its object on: whatever happens between the two
 * requests, it is given up in the end, and nothing is made twice. */
#include <unistd.h>

#include "engine/base/str.h"
#include "test/unit/controller/scene.h"

#define WEB    DEPLOYMENTS "/web"
#define IGNORE "\"wait\":false,\"ignore\":[{\"paths\":[\"/spec/replicas\"]}],"

static void want(struct scene *scene, const char *more)
{
    _cleanup_free_ char *fields = str_printf("%s%s", IGNORE, more);

    scene_spec(scene, "s", fields, DEPLOYMENT("web", "v1"));
}

/* Whether our manager has the field. */
static bool has_replicas(struct scene *scene)
{
    _cleanup_value_ const struct value *web = api_server_get(scene->server, WEB);
    const struct value *entries = value_path(web, "metadata", "managedFields", NULL);

    for (size_t i = 0; i < value_count(entries); i++) {
        const struct value *entry = value_at(entries, i);
        const char *manager = value_get_string(entry, "manager");

        if (manager && str_has_prefix(manager, "kusion-operator-") &&
            value_path(entry, "fieldsV1", "f:spec", "f:replicas", NULL))
            return true;
    }
    return false;
}

static int64_t replicas(struct scene *scene)
{
    _cleanup_value_ const struct value *web = api_server_get(scene->server, WEB);

    return value_int(value_path(web, "spec", "replicas", NULL), -1);
}

static void check(struct scene *scene)
{
    scene_ask(scene, "s");
    scene_expect_handled(scene, "s");
    scene_expect_ready(scene, "s", "True", "ReconciliationSucceeded");
}

/* In the end others may have it, and the operator has nothing to write. */
static void expect_given_up(struct scene *scene, const char *note)
{
    EXPECT(!has_replicas(scene), note);
    EXPECT_INT(replicas(scene), 1, note);
    api_server_edit(scene->server, WEB, "{\"spec\":{\"replicas\":5}}");
    check(scene);
    scene_expect_quiet(scene);
    api_server_mark(scene->server);
    check(scene);
    scene_expect_quiet(scene);
    EXPECT_INT(replicas(scene), 5, note);
}

static void it_is_created_with_the_value(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    want(&scene, "");
    scene_expect_ready(&scene, "s", "True", "ReconciliationSucceeded");
    expect_given_up(&scene, "at once");
    scene_end(&scene);
}

/* The second request is refused, or is late: the object is there, and the next check goes on. */
static void giving_it_up_fails(void)
{
    static const struct api_rule rules[] = {
        {.verb = "patch", .path = WEB, .times = 2, .fault = API_ANSWER, .status = 409},
        {.verb = "patch", .path = WEB, .times = 9, .fault = API_ANSWER, .status = 409},
        {.verb = "patch", .path = WEB, .times = 1, .fault = API_ANSWER, .status = 403},
        {.verb = "patch", .path = WEB, .times = 1, .fault = API_ANSWER_AFTER, .status = 403},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
        _cleanup_free_ char *note = str_printf("row %zu", i);
        struct scene scene = {0};
        unsigned rule;

        scene_begin(&scene);
        rule = api_server_rule(scene.server, &rules[i]);
        want(&scene, "");
        scene_expect_ready(&scene, "s", "True", "ReconciliationSucceeded");
        EXPECT_INT(replicas(&scene), 1, note);
        EXPECT_INT(has_replicas(&scene), i == 1 || i == 2, note);
        api_server_release(scene.server, rule);
        check(&scene);
        expect_given_up(&scene, note);
        scene_end(&scene);
    }
}

/* False: there were fewer writes. */
static bool create_and_kill(unsigned writes)
{
    _cleanup_free_ char *note = str_printf("killed after %u writes", writes);
    struct scene scene = {0};
    bool was_cut;

    scene_begin(&scene);
    api_server_cut_after(scene.server, writes);
    want(&scene, "");
    for (int ms = 0; ms < 1500 && !api_server_is_cut(scene.server); ms += 20)
        usleep(20000);
    was_cut = api_server_is_cut(scene.server);
    scene_kill(&scene);
    api_server_mend(scene.server);
    scene_start(&scene);
    scene_expect_ready(&scene, "s", "True", "ReconciliationSucceeded");
    check(&scene);
    expect_given_up(&scene, note);
    scene_end(&scene);
    return was_cut;
}

static void killed_at_any_write_it_is_given_up(void)
{
    unsigned writes = 1;

    while (writes < 20 && create_and_kill(writes))
        writes++;
    EXPECT(writes > 4, "it was killed in the middle");
}

/* More deletions than the Spec allows: nothing at all is written to objects. */
static void too_many_deletions_change_nothing(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    scene_spec(&scene, "s", "\"maxDeletions\":1,",
               CONFIGMAP("a", "1") "," CONFIGMAP("b", "1") "," CONFIGMAP("c", "1"));
    scene_expect_ready(&scene, "s", "True", "ReconciliationSucceeded");
    scene_expect_quiet(&scene);
    api_server_mark(scene.server);
    scene_spec(&scene, "s", "\"maxDeletions\":1,", CONFIGMAP("a", "2"));
    scene_expect_ready(&scene, "s", "False", "DeletionGuardTripped");
    EXPECT_INT(api_server_count(scene.server, "delete", CONFIGMAPS "/*"), 0, "deletions");
    EXPECT_DATA(&scene, "a", "1");
    scene_spec(&scene, "s", "\"maxDeletions\":2,", CONFIGMAP("a", "2"));
    scene_expect_ready(&scene, "s", "True", "ReconciliationSucceeded");
    EXPECT_DATA(&scene, "a", "2");
    EXPECT_INT(api_server_size(scene.server, CONFIGMAPS), 1, "they are gone");
    scene_end(&scene);
}

SUITE(scenario_ignore, TEST(it_is_created_with_the_value), TEST(giving_it_up_fails),
      TEST(killed_at_any_write_it_is_given_up), TEST(too_many_deletions_change_nothing))
