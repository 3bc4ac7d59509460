#include "runtimes/kubernetes/client/kinds.h"

#include "runtimes/io/clock.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

#define ALL(groups)           "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[" groups "]}"
#define GROUP(name, versions) "{\"metadata\":{\"name\":\"" name "\"},\"versions\":[" versions "]}"
#define CORE(versions)        "{\"metadata\":{},\"versions\":[" versions "]}"
#define VERSION(name, freshness, resources) \
    "{\"version\":\"" name "\",\"freshness\":\"" freshness "\",\"resources\":[" resources "]}"
#define RESOURCE(plural, kind, scope, verbs)                                                   \
    "{\"resource\":\"" plural "\",\"responseKind\":{\"kind\":\"" kind "\"},\"scope\":\"" scope \
    "\",\"verbs\":[" verbs "]}"
#define MANAGED "\"create\",\"delete\",\"get\",\"list\""

static char *read_all(const char *core, const char *groups, int *ret_code, struct error *error)
{
    const struct fake_step steps[] = {{.expect = "GET /api ", .status = 200, .body = core},
                                      {.expect = "GET /apis ", .status = 200, .body = groups}};
    struct kube_kinds kinds = {0};
    struct harness harness;
    struct buf text = BUF_INIT;

    harness_start(&harness, steps, groups ? 2 : 1, NULL);
    *ret_code = kube_kinds_read(harness.client, &(struct kube_wait){0}, &kinds, error);
    for (size_t i = 0; i < kinds.count; i++)
        buf_printf(&text, "%s%s %s %s", i ? "; " : "", kinds.items[i].group_version,
                   kinds.items[i].plural, kinds.items[i].kind);
    for (size_t i = 0; i < kinds.n_unknown; i++)
        buf_printf(&text, "; unknown %s", kinds.unknown[i]);
    kube_kinds_done(&kinds);
    harness_stop(&harness, true);
    return buf_take(&text);
}

static void reads_what_can_be_in_a_namespace(void)
{
    static const char core[] = ALL(CORE(
        VERSION("v1", "Current",
                RESOURCE("configmaps", "ConfigMap", "Namespaced", MANAGED) "," RESOURCE(
                    "namespaces", "Namespace", "Cluster",
                    MANAGED) "," RESOURCE("bindings", "Binding", "Namespaced", "\"create\""))));
    static const char groups[] = ALL(
        GROUP("apps", VERSION("v1", "Current", RESOURCE("deployments", "Deployment", "Namespaced", MANAGED))) "," GROUP(
            "example.com",
            VERSION("v2", "Current", RESOURCE("as", "A", "Namespaced", MANAGED)) "," VERSION(
                "v1", "Current",
                RESOURCE("as", "A", "Namespaced", MANAGED) "," RESOURCE(
                    "bs", "B", "Namespaced",
                    MANAGED))) "," GROUP("metrics.k8s.io",
                                         VERSION(
                                             "v1beta1", "Current",
                                             RESOURCE(
                                                 "pods", "PodMetrics", "Namespaced",
                                                 "\"get\",\"list\""))) "," GROUP("down.io",
                                                                                 VERSION(
                                                                                     "v1", "Stale",
                                                                                     RESOURCE(
                                                                                         "ds", "D",
                                                                                         "Namespace"
                                                                                         "d",
                                                                                         MANAGED))));
    struct error error = {0};
    int code;
    _cleanup_free_ char *text = read_all(core, groups, &code, &error);

    EXPECT_INT(code, 0, error.message);
    EXPECT_STR(text,
               "v1 configmaps ConfigMap; apps/v1 deployments Deployment; example.com/v2 as A; "
               "example.com/v1 bs B; unknown down.io/v1",
               "each once, in the version preferred");
}

/* An empty answer, or one of another form, is not taken for a server without kinds. */
static void refuses_other_answers(void)
{
    static const char *const bodies[] = {
        "{}",
        "[]",
        ALL(""),
        "{\"kind\":\"APIGroupList\",\"groups\":[{\"name\":\"apps\"}]}",
        "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"]}",
    };

    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        struct error error = {0};
        int code;
        _cleanup_free_ char *text = read_all(bodies[i], NULL, &code, &error);

        EXPECT_INT(code, ERR_INTERNAL, bodies[i]);
        EXPECT_STR(error.reason, "UnexpectedAnswer", bodies[i]);
        EXPECT_STR(text, "", bodies[i]);
    }
}

static void waits_no_longer_than_it_may(void)
{
    static const char all[] = ALL(GROUP("apps", VERSION("v1", "Current", "")));
    static const struct {
        const char *note;
        struct fake_step steps[2];
        size_t asked;
    } rows[] = {
        {"the core is slow", {{.status = 200, .body = all, .delay = 2500}}, 1},
        {"the groups are slow",
         {{.status = 200, .body = all}, {.status = 200, .body = all, .delay = 2500}},
         2},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct kube_wait wait = {.clock = &system_clock};
        struct kube_kinds kinds = {0};
        struct harness harness;

        harness_start(&harness, rows[i].steps, rows[i].asked, NULL);
        wait.deadline = system_clock.monotonic(&system_clock) + 1500;
        EXPECT_INT(kube_kinds_read(harness.client, &wait, &kinds, NULL), ERR_TIMEOUT, rows[i].note);
        EXPECT_INT(fake_server_count(harness.server), rows[i].asked, rows[i].note);
        harness_stop(&harness, true);
    }
}

SUITE(kube_kinds, TEST(reads_what_can_be_in_a_namespace), TEST(refuses_other_answers),
      TEST(waits_no_longer_than_it_may))
