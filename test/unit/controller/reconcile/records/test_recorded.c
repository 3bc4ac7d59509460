/* Which resources a Release has itself, where more people can read them than in the Spec. */
#include "controller/reconcile/records/context.h"
#include "controller/reconcile/records/recorded.h"
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "runtimes/kubernetes/objects/object.h"
#include "test/unit/suite.h"

static const struct value *recorded(const struct value *object)
{
    static const struct runtime_ops ops = {.type = "Kubernetes", .exposure = kube_object_exposure};
    struct runtime runtime = {.ops = &ops};
    struct runtime *const runtimes[] = {&runtime};
    const struct reconcile_context context = {.runtimes = runtimes, .n_runtimes = 1};

    return recorded_resources(&context, object);
}

#define OBJECT(version, kind, namespace, more)                                                    \
    "{\"id\":\"a\",\"type\":\"Kubernetes\",\"attributes\":{\"apiVersion\":\"" version             \
    "\",\"kind\":\"" kind "\",\"metadata\":{\"name\":\"a\",\"namespace\":\"" namespace "\"}" more \
                                                                                       "}}"
#define MAP OBJECT("v1", "ConfigMap", "team", "")

static void shows_what_everybody_may_view(void)
{
    static const struct {
        const char *note, *resources, *more;
        bool is_shown;
    } rows[] = {
        {"ConfigMap", MAP, "", true},
        {"Deployment", MAP "," OBJECT("apps/v1", "Deployment", "team", ""), "", true},
        {"Ingress", OBJECT("networking.k8s.io/v1", "Ingress", "team", ""), "", true},
        {"nothing", "", "", true},
        {"Secret", MAP "," OBJECT("v1", "Secret", "team", ",\"stringData\":{\"a\":\"b\"}"), "",
         false},
        {"a Secret with a number",
         OBJECT("v1", "Secret", "team", ",\"stringData\":{\"pin\":90210}"), "", false},
        {"a Secret with a misspelled field",
         OBJECT("v1", "Secret", "team", ",\"stringdata\":{\"a\":\"b\"}"), "", false},
        {"custom resource", OBJECT("db.example.com/v1", "User", "team", ""), "", false},
        {"rights", OBJECT("rbac.authorization.k8s.io/v1", "Role", "team", ""), "", false},
        {"another namespace", MAP "," OBJECT("v1", "ConfigMap", "other", ""), "", false},
        {"no namespace",
         "{\"id\":\"a\",\"type\":\"Kubernetes\",\"attributes\":{\"apiVersion\":\"v1\",\"kind\":"
         "\"Namespace\",\"metadata\":{\"name\":\"a\"}}}",
         "", false},
        {"no object", "{\"id\":\"a\",\"type\":\"Kubernetes\"}", "", false},
        {"another runtime", "{\"id\":\"a\",\"type\":\"Terraform\",\"attributes\":{}}", "", false},
        {"context", MAP, ",\"context\":{\"a\":\"b\"}", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *object = NULL;
        _cleanup_free_ char *text =
            str_printf("{\"metadata\":{\"namespace\":\"team\"},\"spec\":{\"resources\":[%s]%s}}",
                       rows[i].resources, rows[i].more);

        EXPECT_INT(json_read(text, strlen(text), &object, NULL), 0, rows[i].note);
        EXPECT_INT(recorded(object) != NULL, rows[i].is_shown, rows[i].note);
    }
}

static void shows_what_is_short(void)
{
    for (int n = 0; n < 2; n++) {
        _cleanup_value_ const struct value *object = NULL;
        _cleanup_free_ char *text =
            str_printf("{\"metadata\":{\"namespace\":\"team\"},\"spec\":{\"resources\":[" OBJECT(
                           "v1", "ConfigMap", "team", ",\"data\":{\"k\":\"%*s\"}") "]}}",
                       n ? RECORDED_IN_RELEASE : RECORDED_IN_RELEASE - 200, "");

        EXPECT_INT(json_read(text, strlen(text), &object, NULL), 0, "read");
        EXPECT_INT(recorded(object) != NULL, !n, "short");
    }
}

SUITE(recorded, TEST(shows_what_everybody_may_view), TEST(shows_what_is_short))
