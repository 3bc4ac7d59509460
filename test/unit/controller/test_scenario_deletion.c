/* The end of a Spec. */
#include <unistd.h>

#include "engine/base/buf.h"
#include "engine/base/str.h"
#include "test/unit/controller/scene.h"

#define WEB SPECS "/web"

/* Made, ready, at rest. */
static void begin(struct scene *scene, const char *fields, const char *resources)
{
    scene_begin(scene);
    scene_spec(scene, "web", fields, resources);
    scene_expect_ready(scene, "web", "True", NULL);
    scene_expect_quiet(scene);
    api_server_mark(scene->server);
}

static void takes_all_away(void)
{
    static const struct {
        const char *fields;
        bool goes;
    } rows[] = {
        {"", true},
        {"\"deletionPolicy\":\"Delete\",", true},
        {"\"deletionPolicy\":\"WaitForTermination\",", true},
        {"\"deletionPolicy\":\"Orphan\",", false},
        {"\"prune\":false,", false},
        {"\"prune\":false,\"deletionPolicy\":\"Delete\",", true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct scene scene = {0};

        begin(&scene, rows[i].fields, CONFIGMAP("a", "1"));
        api_server_delete(scene.server, WEB);
        scene_expect_gone(&scene, WEB);
        scene_expect_quiet(&scene);
        EXPECT_DATA(&scene, "a", rows[i].goes ? NULL : "1");
        EXPECT_INT(api_server_size(scene.server, KEPT), 0, rows[i].fields);
        EXPECT_INT(api_server_count(scene.server, "delete", CONFIGMAPS "/a"), rows[i].goes,
                   rows[i].fields);
        scene_end(&scene);
    }
}

/* The Release that says so may be refused. */
static void leaves_all_whatever_becomes_of_the_release(void)
{
    static const struct {
        const char *note;
        struct api_rule rule;
        size_t releases;
    } rows[] = {
        {"it is made", {.path = "/nothing"}, 2},
        {"it fails once",
         {.verb = "create", .path = RELEASES, .times = 1, .fault = API_ANSWER, .status = 500},
         2},
        {"its end is lost",
         {.verb = "write", .path = RELEASES "/*", .times = 1, .fault = API_DROP_AFTER},
         2},
        {"it is refused", {.verb = "create", .path = RELEASES, .fault = API_FORBID}, 1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct scene scene = {0};

        begin(&scene, "\"retryInterval\":\"1s\",\"deletionPolicy\":\"Orphan\",",
              CONFIGMAP("a", "1"));
        api_server_rule(scene.server, &rows[i].rule);
        api_server_delete(scene.server, WEB);
        scene_expect_gone(&scene, WEB);
        EXPECT_DATA(&scene, "a", "1");
        EXPECT_INT(api_server_size(scene.server, RELEASES), rows[i].releases, rows[i].note);
        if (rows[i].releases == 2)
            EXPECT_PHASE(&scene, "web", 2, "succeeded");
        scene_end(&scene);
    }
}

/* Whether State alone knows some of them, the status does not say: it does not name all. */
static void takes_away_more_than_the_status_names(void)
{
    enum { OBJECTS = 120 };
    struct buf resources = BUF_INIT;
    struct scene scene = {0};

    for (int i = 0; i < OBJECTS; i++)
        buf_printf(&resources,
                   "%s{\"id\":\"v1:ConfigMap:team:m%d\",\"type\":\"Kubernetes\",\"attributes\":{"
                   "\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m%d\","
                   "\"namespace\":\"team\"}}}",
                   i ? "," : "", i, i);
    begin(&scene, "", resources.data);
    EXPECT_INT(api_server_size(scene.server, CONFIGMAPS), OBJECTS, "made");
    api_server_delete(scene.server, WEB);
    scene_expect_gone(&scene, WEB);
    scene_expect_quiet(&scene);
    EXPECT_INT(api_server_size(scene.server, CONFIGMAPS), 0, "nothing is left");
    EXPECT_INT(api_server_size(scene.server, KEPT), 0, "and no State");
    scene_end(&scene);
    buf_done(&resources);
}

/* A suspended one leaves its resources alone. */
static void leaves_alone_what_is_suspended(void)
{
    struct scene scene = {0};

    begin(&scene, "", CONFIGMAP("a", "1"));
    scene_spec(&scene, "web", "\"suspend\":true,", CONFIGMAP("a", "1"));
    scene_expect_ready(&scene, "web", "True", "Suspended");
    api_server_delete(scene.server, WEB);
    scene_expect_gone(&scene, WEB);
    EXPECT_DATA(&scene, "a", "1");
    scene_end(&scene);
}

static void waits_for_finalizers_of_others(void)
{
    struct scene scene = {0};

    begin(&scene, "",
          CONFIGMAP("a", "1") "," CONFIGMAP_AFTER("b", "1", "\"" CONFIGMAP_ID("a") "\""));
    api_server_edit(scene.server, CONFIGMAPS "/b", "{\"metadata\":{\"finalizers\":[\"x/y\"]}}");
    api_server_delete(scene.server, WEB);
    for (int n = 0; n < 100 && !api_server_count(scene.server, "delete", CONFIGMAPS "/b"); n++)
        scene_expect_quiet(&scene);
    scene_expect_quiet(&scene);
    scene_expect_there(&scene, CONFIGMAPS "/b");
    EXPECT_DATA(&scene, "a", "1"); /* what it depended on stays until it is gone */
    scene_expect_there(&scene, WEB);
    api_server_edit(scene.server, CONFIGMAPS "/b", "{\"metadata\":{\"finalizers\":null}}");
    scene_expect_gone(&scene, WEB);
    EXPECT_DATA(&scene, "a", NULL);
    EXPECT_INT(api_server_count(scene.server, "delete", CONFIGMAPS "/?"), 2, "each once");
    scene_end(&scene);
}

/* Another object under the same name is not ours. */
static void deletes_by_uid(void)
{
    struct scene scene = {0};

    begin(&scene, "", CONFIGMAP("a", "1"));
    api_server_delete(scene.server, CONFIGMAPS "/a");
    api_server_create(scene.server, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
                                    "\"namespace\":\"team\",\"name\":\"a\"},\"data\":{\"x\":"
                                    "\"theirs\"}}");
    api_server_delete(scene.server, WEB);
    scene_expect_gone(&scene, WEB);
    EXPECT_DATA(&scene, "a", "theirs");
    scene_end(&scene);
}

/* What may not be deleted is kept, with the finalizer and State; then it goes. */
static void holds_what_it_may_not_delete(void)
{
    struct scene scene = {0};
    unsigned rule;

    begin(&scene, "\"retryInterval\":\"1s\",", CONFIGMAP("a", "1") "," CONFIGMAP("b", "1"));
    rule = api_server_forbid(scene.server, NULL, "delete", CONFIGMAPS "/a");
    api_server_delete(scene.server, WEB);
    EXPECT(api_server_wait_hits(scene.server, rule, 2), "it is tried again");
    scene_expect_ready(&scene, "web", "False", NULL);
    EXPECT_DATA(&scene, "a", "1");
    EXPECT_DATA(&scene, "b", NULL);
    EXPECT_INT(api_server_size(scene.server, STATES_ONLY), 1, "State is kept");
    api_server_release(scene.server, rule);
    scene_expect_gone(&scene, WEB);
    EXPECT_DATA(&scene, "a", NULL);
    EXPECT_INT(api_server_size(scene.server, KEPT), 0, "State went");
    scene_end(&scene);
}

/* Deleted while its objects are made: nothing is left of it. */
static void ends_what_is_under_way(void)
{
    struct scene scene = {0};
    unsigned rule;

    scene_begin(&scene);
    rule = api_server_rule(
        scene.server,
        &(struct api_rule){.verb = "apply", .path = DEPLOYMENTS "/slow", .fault = API_HOLD});
    scene_spec(&scene, "web", "", CONFIGMAP("a", "1") "," DEPLOYMENT("slow", "1"));
    EXPECT(api_server_wait_hits(scene.server, rule, 1), "a create is under way");
    EXPECT_DATA(&scene, "a", "1");
    api_server_delete(scene.server, WEB);
    scene_expect_quiet(&scene);
    scene_expect_there(&scene, WEB); /* it waits for the call, whatever comes of it */
    api_server_release(scene.server, rule);
    scene_expect_gone(&scene, WEB);
    EXPECT_INT(api_server_size(scene.server, CONFIGMAPS), 0, "all gone");
    EXPECT_INT(api_server_size(scene.server, DEPLOYMENTS), 0, "all gone");
    EXPECT_INT(api_server_size(scene.server, KEPT), 0, "nor recorded");
    EXPECT_PHASE(&scene, "web", 1, "cancelled");
    scene_end(&scene);
}

/* A Namespace with something that is not of the Spec. */
static void guards_what_would_go_with_a_namespace(void)
{
    static const char space[] =
        "{\"id\":\"v1:Namespace:shared\",\"type\":\"Kubernetes\",\"attributes\":{\"apiVersion\":"
        "\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"shared\"}}}";
    struct scene scene = {0};

    begin(&scene, "\"retryInterval\":\"1s\",", space);
    api_server_create(scene.server, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
                                    "\"namespace\":\"shared\",\"name\":\"theirs\"}}");
    api_server_delete(scene.server, WEB);
    scene_expect_ready(&scene, "web", "False", "DeletionGuardTripped");
    scene_expect_there(&scene, "/api/v1/namespaces/shared/configmaps/theirs");
    EXPECT_INT(api_server_count(scene.server, "delete", "/api/v1/namespaces/shared"), 0,
               "not even tried");
    api_server_delete(scene.server, "/api/v1/namespaces/shared/configmaps/theirs");
    scene_expect_gone(&scene, WEB);
    scene_expect_gone(&scene, "/api/v1/namespaces/shared");
    scene_end(&scene);
}

/* State is gone: what carries the Spec's label is found, by the kinds that its status names. */
static void finds_by_their_label_what_state_does_not_know(void)
{
    struct scene scene = {0};

    begin(&scene, "\"retryInterval\":\"1s\",", CONFIGMAP("a", "1"));
    api_server_do(scene.server, "DELETE", KEPT, NULL, NULL);
    api_server_create(scene.server, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
                                    "\"namespace\":\"team\",\"name\":\"theirs\"}}");
    api_server_delete(scene.server, WEB);
    scene_expect_gone(&scene, WEB);
    scene_expect_gone(&scene, CONFIGMAPS "/a");
    scene_expect_there(&scene, CONFIGMAPS "/theirs");
    scene_end(&scene);
}

/* The same of a Spec that never succeeded: some of its resources are there. */
static void finds_what_a_failed_apply_made(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    scene_spec(&scene, "web", "\"retryInterval\":\"1h\",",
               CONFIGMAP("a", "1") ",{\"id\":\"x.io/v1:Absent:team:b\",\"type\":\"Kubernetes\","
                                   "\"attributes\":{\"apiVersion\":\"x.io/v1\",\"kind\":"
                                   "\"Absent\",\"metadata\":{\"name\":\"b\",\"namespace\":"
                                   "\"team\"}}}");
    scene_expect_ready(&scene, "web", "False", "KindNotFound");
    EXPECT_DATA(&scene, "a", "1");
    scene_expect_quiet(&scene);
    api_server_do(scene.server, "DELETE", KEPT, NULL, NULL);
    api_server_delete(scene.server, WEB);
    scene_expect_gone(&scene, WEB);
    scene_expect_gone(&scene, CONFIGMAPS "/a");
    scene_end(&scene);
}

static void leaves_what_state_does_not_know_if_it_is_to_be_orphaned(void)
{
    struct scene scene = {0};

    begin(&scene, "\"deletionPolicy\":\"Orphan\",", CONFIGMAP("a", "1"));
    api_server_do(scene.server, "DELETE", KEPT, NULL, NULL);
    api_server_delete(scene.server, WEB);
    scene_expect_gone(&scene, WEB);
    EXPECT_DATA(&scene, "a", "1");
    scene_end(&scene);
}

/* The definition of Specs goes, and takes all Specs along: surely not what they hold. */
static void holds_while_the_definition_goes(void)
{
    static const char definition[] = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
                                     "specs.api.kusion.io";
    struct scene scene = {0};

    begin(&scene, "\"retryInterval\":\"1s\",", CONFIGMAP("a", "1"));
    api_server_edit(scene.server, definition, "{\"metadata\":{\"finalizers\":[\"x/y\"]}}");
    api_server_delete(scene.server, definition);
    api_server_delete(scene.server, WEB);
    scene_expect_ready(&scene, "web", "False", "DeletionGuardTripped");
    EXPECT_DATA(&scene, "a", "1");
    EXPECT_INT(api_server_count(scene.server, "delete", CONFIGMAPS "/a"), 0, "not even tried");
    scene_end(&scene);
}

/* etcd was set back while the finalizer could not be removed: nobody deletes the Spec any more. */
static void keeps_what_is_not_being_deleted_any_more(void)
{
    _cleanup_free_ char *writes = NULL;
    struct scene scene = {0};
    unsigned rule;

    begin(&scene, "", CONFIGMAP("a", "1"));
    api_server_save(scene.server);
    rule = api_server_rule(
        scene.server,
        &(struct api_rule){.verb = "patch", .path = WEB, .fault = API_ANSWER, .status = 503});
    api_server_delete(scene.server, WEB);
    EXPECT(api_server_wait_hits(scene.server, rule, 1), "all but the finalizer is gone");
    EXPECT_DATA(&scene, "a", NULL);
    api_server_set_back(scene.server);
    api_server_mark(scene.server);
    api_server_release(scene.server, rule);
    for (int i = 0; i < 2000 && !api_server_count(scene.server, "get", WEB); i++)
        usleep(10000);
    scene_expect_quiet(&scene);
    writes = api_server_write_summary(scene.server);
    EXPECT(!strstr(writes, "patch specs"), writes);
    EXPECT_INT(api_server_size(scene.server, STATES_ONLY), 1, "as does State");
    api_server_delete(scene.server, WEB);
    scene_expect_gone(&scene, WEB);
    EXPECT_DATA(&scene, "a", NULL);
    EXPECT_INT(api_server_size(scene.server, KEPT), 0, "State went");
    EXPECT_INT(api_server_count(scene.server, "delete", CONFIGMAPS "/a"), 1, "once more");
    scene_end(&scene);
}

/* Refused from the start, it never had a finalizer. */
static void goes_at_once_where_nothing_was_made(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    scene_spec(&scene, "web", "", "{\"id\":\"x\",\"type\":\"None\"}");
    scene_expect_ready(&scene, "web", "False", "InvalidSpec");
    api_server_delete(scene.server, WEB);
    scene_expect_gone(&scene, WEB);
    EXPECT_INT(api_server_size(scene.server, RELEASES), 0, "no record of it");
    scene_end(&scene);
}

SUITE(scenario_deletion, TEST(takes_all_away), TEST(takes_away_more_than_the_status_names),
      TEST(leaves_all_whatever_becomes_of_the_release), TEST(leaves_alone_what_is_suspended),
      TEST(waits_for_finalizers_of_others), TEST(deletes_by_uid),
      TEST(holds_what_it_may_not_delete), TEST(ends_what_is_under_way),
      TEST(guards_what_would_go_with_a_namespace),
      TEST(finds_by_their_label_what_state_does_not_know), TEST(finds_what_a_failed_apply_made),
      TEST(leaves_what_state_does_not_know_if_it_is_to_be_orphaned),
      TEST(holds_while_the_definition_goes), TEST(keeps_what_is_not_being_deleted_any_more),
      TEST(goes_at_once_where_nothing_was_made))
