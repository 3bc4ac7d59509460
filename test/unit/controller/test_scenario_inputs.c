/* What a tenant's Specs need besides themselves, and have written, may be slow: that holds up
 * nobody else. */
#include <unistd.h>

#include "engine/base/str.h"
#include "test/unit/controller/scene.h"

#define SLOW_SPECS 6 /* more than reconciles run at once (--concurrent) */
#define SECRET     "/api/v1/namespaces/slow/secrets/held"
#define PATIENCE   20000 /* ms */

static void make_tenant(struct scene *scene)
{
    static const char *const objects[] = {
        "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"slow\"}}",
        "{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"metadata\":{\"namespace\":\"slow\","
        "\"name\":\"default\"}}",
        "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"namespace\":\"slow\","
        "\"name\":\"held\"},\"data\":{\"A\":\"Yg==\"}}",
    };

    for (size_t i = 0; i < ARRAY_SIZE(objects); i++)
        api_server_create(scene->server, objects[i]);
}

/* A Spec with one ConfigMap. fields: "\"prune\":false,", or "". */
static void make_spec(struct scene *scene, unsigned n, const char *fields)
{
    _cleanup_free_ char *text = str_printf(
        "{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Spec\",\"metadata\":{\"namespace\":"
        "\"slow\",\"name\":\"s%u\"},\"spec\":{%s\"resources\":[{\"id\":\"v1:ConfigMap:slow:c%u\","
        "\"type\":\"Kubernetes\",\"attributes\":{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
        "\"metadata\":{\"namespace\":\"slow\",\"name\":\"c%u\"}}}]}}",
        n, fields, n, n);

    api_server_create(scene->server, text);
}

static bool is_ready(struct scene *scene, unsigned n)
{
    _cleanup_free_ char *path = str_printf("/apis/api.kusion.io/v1/namespaces/slow/specs/s%u", n);
    _cleanup_value_ const struct value *spec = api_server_get(scene->server, path);
    const struct value *conditions = value_path(spec, "status", "conditions", NULL);

    for (size_t i = 0; i < value_count(conditions); i++)
        if (str_equal(value_get_string(value_at(conditions, i), "type"), "Ready"))
            return str_equal(value_get_string(value_at(conditions, i), "status"), "True");
    return false;
}

static void a_slow_tenant_holds_up_nobody_else(void)
{
    static const struct {
        const char *note, *fields;
    } rows[] = {
        {"a Secret that is read before the plan",
         "\"contextFrom\":[{\"secretRef\":{\"name\":\"held\"}}],"},
        {"the Secret of a state file, which is read at the end",
         "\"terraformState\":{\"to\":{\"secretRef\":{\"name\":\"held\"}}},"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct scene scene = {.flags = "--terraform-provider=a/b@~>1.0 "
                                       "--terraform-plugin-dir=/tmp --terraform-allow-unconfined"};
        unsigned rule;

        scene_begin(&scene);
        make_tenant(&scene);
        rule = api_server_rule(
            scene.server, &(struct api_rule){.verb = "get", .path = SECRET, .fault = API_HOLD});
        for (unsigned n = 0; n < SLOW_SPECS; n++)
            make_spec(&scene, n, rows[i].fields);
        EXPECT(api_server_wait_hits(scene.server, rule, 4), rows[i].note);
        scene_spec(&scene, "quick", "", CONFIGMAP("quick", "1"));
        scene_expect_ready(&scene, "quick", "True", NULL);
        EXPECT(api_server_wait_hits(scene.server, rule, SLOW_SPECS), "all wait");
        api_server_release(scene.server, rule);
        for (unsigned n = 0; n < SLOW_SPECS; n++) {
            for (int ms = 0; ms < PATIENCE && !is_ready(&scene, n); ms += 20)
                usleep(20000);
            EXPECT(is_ready(&scene, n), rows[i].note);
        }
        /* None was given up, and tried again, before that of the other was done. */
        EXPECT_INT(api_server_count(scene.server, "get", SECRET), SLOW_SPECS, rows[i].note);
        scene_end(&scene);
    }
}

SUITE(scenario_inputs, TEST(a_slow_tenant_holds_up_nobody_else))
