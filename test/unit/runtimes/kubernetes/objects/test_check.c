#include "runtimes/kubernetes/objects/check.h"

#include "engine/base/buf.h"
#include "engine/base/cleanup.h"
#include "test/unit/engine/spec/parse.h"
#include "test/unit/suite.h"

#define ONE(id, attributes) \
    "{\"id\":\"" id "\",\"type\":\"Kubernetes\",\"attributes\":{" attributes "}}"
#define OBJECT(id, version, kind, metadata) \
    ONE(id, "\"apiVersion\":\"" version "\",\"kind\":\"" kind "\",\"metadata\":{" metadata "}")
#define AT(field) "InvalidSpec|x|resources[0].attributes." field "\n"
#define GOOD      ""

static void checks_what_names_an_object(void)
{
    static const struct parse_row rows[] = {
        {RESOURCES(ONE("x", "")),
         AT("apiVersion|is required") AT("kind|is required") AT("metadata.name|is required")},
        {RESOURCES(ONE("x", "\"apiVersion\":1,\"kind\":\"\",\"metadata\":\"m\"")),
         AT("apiVersion") AT("kind") AT("metadata|must be an object, and is of type string")},
        {RESOURCES(OBJECT("x", "/v1", "Pod", "\"name\":\"a\"")), AT("apiVersion")},
        {RESOURCES(OBJECT("x", "a/b/c", "Pod", "\"name\":\"a\"")), AT("apiVersion")},
        {RESOURCES(OBJECT("x", "apps/", "Pod", "\"name\":\"a\"")), AT("apiVersion")},
        {RESOURCES(OBJECT("x", "v1", "Po/d", "\"name\":\"a\"")), AT("kind")},
        {RESOURCES(OBJECT("x", "v1", "Pod", "\"name\":\"\"")), AT("metadata.name")},
        {RESOURCES(OBJECT("x", "v1", "Pod", "\"name\":\"a/b\"")), AT("metadata.name")},
        {RESOURCES(OBJECT("x", "v1", "Pod", "\"name\":\"..\"")), AT("metadata.name")},
        {RESOURCES(OBJECT("x", "v1", "Pod", "\"name\":\"a b\"")), AT("metadata.name")},
        {RESOURCES(OBJECT("x", "v1", "Pod", "\"name\":\"a\\\"b\"")), AT("metadata.name")},
        {RESOURCES(OBJECT("x", "v1", "Pod", "\"name\":\"a'b\"")), AT("metadata.name")},
        {RESOURCES(OBJECT("x", "v1", "Pod", "\"name\":\"a\\\\b\"")), AT("metadata.name")},
        {RESOURCES(OBJECT("x", "v1", "Pod", "\"name\":\"a\\tb\"")), AT("metadata.name")},
        {RESOURCES(OBJECT("x", "v1", "Pod", "\"name\":\"a\\u202eb\"")), AT("metadata.name")},
        {RESOURCES(
             OBJECT("v1:Pod:r\u00f4le:a.b-c_d*", "v1", "Pod", "\"name\":\"r\u00f4le:a.b-c_d*\"")),
         GOOD},
        {RESOURCES(OBJECT("x", "v1", "Pod", "\"name\":\"a\\u0000b\"")), AT("metadata.name")},
        {RESOURCES(OBJECT("x", "v1", "Pod", "\"generateName\":\"a-\"")),
         AT("metadata.generateName|cannot stand for metadata.name: an object is found "
            "again by its "
            "name")},
        {RESOURCES(OBJECT("x", "v1", "Pod", "\"name\":\"a\",\"namespace\":\"A\"")),
         AT("metadata.namespace")},
        {RESOURCES(OBJECT("x", "v1", "Pod", "\"name\":\"a\",\"namespace\":\"\"")),
         AT("metadata.namespace")},
        {RESOURCES(OBJECT("x", "v1", "Pod", "\"name\":\"$kusion_path.x.y\"")),
         AT("metadata.name|must be written out: what names an object cannot be a "
            "reference") "CyclicDependency|x|resources[0].attributes.metadata.name\n"},
        {RESOURCES(ONE("x", "\"metadata\":{\"labels\":5,\"annotations\":[]}")),
         AT("apiVersion|is required") AT("kind|is required") AT("metadata.name|is required")
             AT("metadata.labels|must be an object, and is of type number")
                 AT("metadata.annotations|must be an object, and is of type array")},
        {RESOURCES(OBJECT("v1:Pod:a", "v1", "Pod", "\"name\":\"a\",\"labels\":null")), GOOD},
        {RESOURCES(OBJECT("v1:Pod:a", "v1", "Pod", "\"name\":\"a\",\"generateName\":\"b-\"")),
         GOOD},
        {RESOURCES(OBJECT("rbac.authorization.k8s.io/v1:ClusterRole:system:node",
                          "rbac.authorization.k8s.io/v1", "ClusterRole",
                          "\"name\":\"system:node\"")),
         GOOD},
    };

    expect_problems(rows, ARRAY_SIZE(rows));
}

static void compares_ids_with_attributes(void)
{
#define WEB(id, namespace) \
    RESOURCES(OBJECT(id, "apps/v1", "Deployment", "\"name\":\"web\"" namespace))
#define IN(name) ",\"namespace\":\"" name "\""
#define SHOULD_BE(id, other)                                                                   \
    "InvalidSpec|" id "|resources[0].id|does not match the attributes, which make it \"" other \
    "\"\n"
    static const struct parse_row rows[] = {
        {WEB("apps/v1:Deployment:demo:web", IN("demo")), GOOD},
        {WEB("apps/v1:Deployment:web", ""), GOOD},
        {WEB("apps/v1:Deployment:team:web", ""), GOOD}, /* the Spec's own, where it goes */
        {WEB("apps/v1:Deployment:web", IN("demo")),
         SHOULD_BE("apps/v1:Deployment:web", "apps/v1:Deployment:demo:web")},
        {WEB("apps/v1:Deployment:demo:web", ""),
         SHOULD_BE("apps/v1:Deployment:demo:web", "apps/v1:Deployment:web")},
        {WEB("apps/v1:Deployment:team:web", IN("demo")),
         SHOULD_BE("apps/v1:Deployment:team:web", "apps/v1:Deployment:demo:web")},
        {WEB("apps/v2:Deployment:web", ""),
         SHOULD_BE("apps/v2:Deployment:web", "apps/v1:Deployment:web")},
        {WEB("apps/v1:StatefulSet:web", ""),
         SHOULD_BE("apps/v1:StatefulSet:web", "apps/v1:Deployment:web")},
        {WEB("apps/v1:Deployment:web2", ""),
         SHOULD_BE("apps/v1:Deployment:web2", "apps/v1:Deployment:web")},
        {WEB("apps/v1:Deployment", ""), SHOULD_BE("apps/v1:Deployment", "apps/v1:Deployment:web")},
        {WEB("apps/v1:Deployment:web:", ""),
         SHOULD_BE("apps/v1:Deployment:web:", "apps/v1:Deployment:web")},
    };

    expect_problems(rows, ARRAY_SIZE(rows));
}

static void finds_two_ids_of_one_object(void)
{
#define SAME(id, other) "InvalidSpec|" id "|-|names the same object as resource \"" other "\"\n"
    static const struct parse_row rows[] = {
        /* by another version */
        {RESOURCES(OBJECT("apps/v1:Deployment:web", "apps/v1", "Deployment",
                          "\"name\":\"web\"") "," OBJECT("apps/v1beta1:Deployment:web",
                                                         "apps/v1beta1", "Deployment",
                                                         "\"name\":\"web\"")),
         SAME("apps/v1beta1:Deployment:web", "apps/v1:Deployment:web")},
        /* the Spec's own namespace, written and left out */
        {RESOURCES(OBJECT("v1:Pod:a", "v1", "Pod", "\"name\":\"a\"") "," OBJECT(
             "v1:Pod:team:a", "v1", "Pod", "\"name\":\"a\",\"namespace\":\"team\"")),
         SAME("v1:Pod:team:a", "v1:Pod:a")},
        {RESOURCES(OBJECT("v1:Pod:a", "v1", "Pod", "\"name\":\"a\"") "," OBJECT(
             "v1:Pod:team:a", "v1", "Pod", "\"name\":\"a\"")),
         SAME("v1:Pod:team:a", "v1:Pod:a")},
        /* both, and a third */
        {RESOURCES(OBJECT(
             "e/v1:Pod:team:a", "e/v1", "Pod",
             "\"name\":\"a\",\"namespace\":\"team\"") "," OBJECT("e/v2:Pod:a", "e/v2", "Pod",
                                                                 "\"name\":\"a\"") "," OBJECT("v1:"
                                                                                              "Pod:"
                                                                                              "a",
                                                                                              "v1",
                                                                                              "Pod",
                                                                                              "\"na"
                                                                                              "me\""
                                                                                              ":\"a"
                                                                                              "\"")),
         SAME("e/v2:Pod:a", "e/v1:Pod:team:a")},
        /* others: another group, kind, namespace, name */
        {RESOURCES(OBJECT("v1:Pod:a", "v1", "Pod", "\"name\":\"a\"") "," OBJECT(
             "e/v1:Pod:a", "e/v1", "Pod",
             "\"name\":\"a\"") "," OBJECT("v1:Service:a", "v1", "Service",
                                          "\"name\":\"a\"") "," OBJECT("v1:Pod:demo:a", "v1", "Pod",
                                                                       "\"name\":\"a\","
                                                                       "\"namespace\":"
                                                                       "\"demo\"") "," OBJECT("v1:"
                                                                                              "Pod:"
                                                                                              "team"
                                                                                              ":"
                                                                                              "b",
                                                                                              "v1",
                                                                                              "Pod",
                                                                                              "\"na"
                                                                                              "me\""
                                                                                              ":"
                                                                                              "\"b"
                                                                                              "\","
                                                                                              "\"na"
                                                                                              "mesp"
                                                                                              "ace"
                                                                                              "\":"
                                                                                              "\"te"
                                                                                              "am"
                                                                                              "\"")),
         GOOD},
    };

    expect_problems(rows, ARRAY_SIZE(rows));
}

static void refuses_what_the_spec_stands_on(void)
{
    static const struct parse_row rows[] = {
        {RESOURCES(OBJECT("v1:Namespace:team", "v1", "Namespace", "\"name\":\"team\"")),
         "InvalidSpec|v1:Namespace:team|resources[0].attributes|is the Namespace that the Spec "
         "itself lives in, which would go with it\n"},
        {RESOURCES(OBJECT("v1:Namespace:other", "v1", "Namespace", "\"name\":\"other\"")), GOOD},
        {RESOURCES(OBJECT("e/v1:Namespace:team", "e/v1", "Namespace", "\"name\":\"team\"")), GOOD},
        {RESOURCES(OBJECT("api.kusion.io/v1:Spec:s", "api.kusion.io/v1", "Spec", "\"name\":\"s\"")),
         "InvalidSpec|api.kusion.io/v1:Spec:s|resources[0].attributes|is the Spec itself: a Spec "
         "cannot manage itself\n"},
        {RESOURCES(OBJECT("api.kusion.io/v2:Spec:team:s", "api.kusion.io/v2", "Spec",
                          "\"name\":\"s\",\"namespace\":\"team\"")),
         "InvalidSpec|api.kusion.io/v2:Spec:team:s|resources[0].attributes\n"},
        {RESOURCES(OBJECT("api.kusion.io/v1:Spec:t", "api.kusion.io/v1", "Spec", "\"name\":\"t\"")),
         GOOD},
        {RESOURCES(OBJECT("api.kusion.io/v1:Spec:o:s", "api.kusion.io/v1", "Spec",
                          "\"name\":\"s\",\"namespace\":\"o\"")),
         GOOD},
    };

    expect_problems(rows, ARRAY_SIZE(rows));
}

static void refuses_another_id(void)
{
    static const struct parse_row rows[] = {
        {RESOURCES("{\"id\":\"v1:Pod:a\",\"type\":\"Kubernetes\",\"attributes\":{\"apiVersion\":"
                   "\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}},\"extensions\":{"
                   "\"kusionstack.io/moved-from\":\"v1:Pod:b\"}}"),
         "InvalidSpec|v1:Pod:a|resources[0].extensions[kusionstack.io/moved-from]|a Kubernetes "
         "object cannot get another name; one that has another API version is found without "
         "this: remove it\n"},
    };

    expect_problems(rows, ARRAY_SIZE(rows));
}

static void refuses_secrets_that_state_would_keep(void)
{
    static const struct parse_row rows[] = {
        {SPEC(
             "\"secretStore\":{\"provider\":{\"aws\":{\"region\":\"r\"}},\"auth\":{\"role\":\"r\"}}"
             ","
             "\"resources\":[{\"id\":\"v1:Pod:a\",\"type\":\"Kubernetes\",\"extensions\":{\"note\":"
             "[\"ref://db/password\"]},\"attributes\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\","
             "\"metadata\":{\"name\":\"a\",\"annotations\":{\"a\":\"ref://db/password\"}}}}]"),
         "InvalidSpec|v1:Pod:a|resources[0].extensions.note|a reference to a secret may stand in "
         "the attributes alone: State keeps the extensions, and would keep the value\n"},
    };

    expect_problems(rows, ARRAY_SIZE(rows));
}

static void names_extensions_of_later_versions(void)
{
    static const char *const keys[] = {
        "kubeConfig", "provider", "providerMeta", "resourceType", "kusionstack.io/import-id",
    };

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        _cleanup_buf_ struct buf json = BUF_INIT, expected = BUF_INIT;
        struct parse_row row;

        buf_printf(&json,
                   RESOURCES("{\"id\":\"v1:Pod:a\",\"type\":\"Kubernetes\",\"extensions\":"
                             "{\"%s\":\"x\"},\"attributes\":{\"apiVersion\":\"v1\",\"kind\":"
                             "\"Pod\",\"metadata\":{\"name\":\"a\"}}}"),
                   keys[i]);
        buf_printf(&expected,
                   strchr(keys[i], '.') ? "Unsupported|v1:Pod:a|resources[0].extensions[%s]\n"
                                        : "Unsupported|v1:Pod:a|resources[0].extensions.%s\n",
                   keys[i]);
        row = (struct parse_row){json.data, expected.data};
        expect_problems(&row, 1);
    }
}

#define WITH_POLICY(policy)                                                                     \
    RESOURCES(                                                                                  \
        "{\"id\":\"v1:Pod:a\",\"type\":\"Kubernetes\",\"extensions\":{\"healthPolicy\":" policy \
        "},\"attributes\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{"               \
        "\"name\":\"a\"}}}")
#define AT_POLICY "v1:Pod:a|resources[0].extensions.healthPolicy"

static void checks_health_policies(void)
{
    static const struct parse_row rows[] = {
        {WITH_POLICY("{\"health.lua\":\"return {status = 'Healthy'}\"}"), ""},
        {WITH_POLICY("{}"), ""},
        {WITH_POLICY("null"), ""},
        {WITH_POLICY("{\"health.lua\":\"return nil\",\"health.kcl\":\"a\"}"), ""},
        {WITH_POLICY("\"x\""),
         "InvalidSpec|" AT_POLICY "|must be an object, and is of type string\n"},
        {WITH_POLICY("{\"health.lua\":1}"),
         "InvalidSpec|" AT_POLICY "[health.lua]|must be a text, a script in Lua, and is of type "
         "number\n"},
        {WITH_POLICY("{\"health.lua\":\"if\"}"),
         "InvalidSpec|" AT_POLICY "[health.lua]|health.lua:1: unexpected symbol near <eof>\n"},
        {WITH_POLICY("{\"health.kcl\":\"a\"}"),
         "Unsupported|" AT_POLICY "[health.kcl]|KCL is not run by the operator: write the check in "
         "Lua beside it, as \"health.lua\" (docs/health.md); then this is left alone\n"},
        {WITH_POLICY("{\"lua\":\"a\"}"),
         "InvalidSpec|" AT_POLICY ".lua|is unknown; a health check is health.lua\n"},
    };

    expect_problems(rows, ARRAY_SIZE(rows));
}

#define WITH_CHECK(check) SPEC("\"resources\":[],\"healthChecks\":[" check "]")
#define OF(name)          "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"" name "\"}"

static void checks_health_checks(void)
{
    static const struct parse_row rows[] = {
        {WITH_CHECK(OF("a")), ""},
        {WITH_CHECK(OF("a/b")),
         "InvalidSpec|-|healthChecks[0]|\"apps/v1:Deployment:a/b\" does not name an object\n"},
        {WITH_CHECK(OF("..")),
         "InvalidSpec|-|healthChecks[0]|\"apps/v1:Deployment:..\" does not name an object\n"},
        {WITH_CHECK("{\"apiVersion\":\"a/b/c\",\"kind\":\"D\",\"name\":\"a\"}"),
         "InvalidSpec|-|healthChecks[0]|\"a/b/c:D:a\" does not name an object\n"},
        {WITH_CHECK("{\"apiVersion\":\"v1\",\"kind\":\"D\",\"name\":\"a\",\"namespace\":\"A\"}"),
         "InvalidSpec|-|healthChecks[0]|\"v1:D:A:a\" does not name an object\n"},
        {WITH_CHECK("{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Spec\",\"name\":\"s\"}"),
         "InvalidSpec|-|healthChecks[0]|is the Spec itself, which would wait for itself\n"},
        {WITH_CHECK("{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Spec\",\"name\":\"t\"}"), ""},
    };

    expect_problems(rows, ARRAY_SIZE(rows));
}

#define MAP_DATA(name, more, data)                                                                 \
    "{\"id\":\"v1:ConfigMap:" name "\",\"type\":\"Kubernetes\"" more                               \
    ",\"attributes\":{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" name \
    "\"},\"data\":" data "}}"
#define SECRET(name, fields)                                                                 \
    "{\"id\":\"v1:Secret:" name "\",\"type\":\"Kubernetes\",\"attributes\":{\"apiVersion\":" \
    "\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"" name "\"}," fields "}}"
#define REFERS(to) MAP_DATA("a", "", "{\"x\":\"$kusion_path." to "\"}")
#define AT_X       "InvalidSpec|v1:ConfigMap:a|resources[1].attributes.data.x|"

static void reports_references_into_data_that_never_comes(void)
{
    static const struct parse_row rows[] = {
        {RESOURCES(MAP_DATA("b", "", "{\"k\":\"v\"}") "," REFERS("v1:ConfigMap:b.data.k")), ""},
        {RESOURCES(MAP_DATA("b", "", "{\"k.x\":\"v\"}") "," REFERS("v1:ConfigMap:b.data[k.x]")),
         ""},
        {RESOURCES(MAP_DATA("b", "", "{\"k\":\"v\"}") "," REFERS("v1:ConfigMap:b.data.no")),
         AT_X "\"v1:ConfigMap:b\" has no field \"data.no\"\n"},
        {RESOURCES(MAP_DATA("b", "", "{\"k\":\"v\"}") "," REFERS("v1:ConfigMap:b.data[no]")),
         AT_X "\"v1:ConfigMap:b\" has no field \"data[no]\"\n"},
        {RESOURCES(MAP_DATA("b", "", "{\"k\":\"v\"}") "," REFERS("v1:ConfigMap:b.data")), ""},
        /* what the cluster may fill in */
        {RESOURCES(MAP_DATA("b", "", "{}") "," REFERS("v1:ConfigMap:b.data.ca")), ""},
        {RESOURCES(MAP_DATA("b", "", "{\"k\":\"v\"}") "," REFERS("v1:ConfigMap:b.binaryData.k")),
         ""},
        {RESOURCES(MAP_DATA("b", "", "{\"k\":\"v\"}") "," REFERS("v1:ConfigMap:b.database")), ""},
        {RESOURCES(SECRET("b", "\"type\":\"kubernetes.io/service-account-token\"") "," REFERS(
             "v1:Secret:b.data.token")),
         ""},
        /* stringData becomes data */
        {RESOURCES(SECRET("b", "\"data\":{\"k\":\"dg==\"},\"stringData\":{\"s\":\"v\"}") "," REFERS(
             "v1:Secret:b.data.s")),
         ""},
        {RESOURCES(SECRET("b", "\"data\":{\"k\":\"dg==\"}") "," REFERS("v1:Secret:b.data.s")),
         AT_X "\"v1:Secret:b\" has no field \"data.s\"\n"},
        {RESOURCES(
             SECRET("b", "\"stringData\":{\"s\":\"v\"}") "," REFERS("v1:Secret:b.stringData.s")),
         AT_X "the stringData of \"v1:Secret:b\" cannot be read back: refer to its data\n"},
    };

    expect_problems(rows, ARRAY_SIZE(rows));
}

SUITE(check, TEST(checks_what_names_an_object), TEST(compares_ids_with_attributes),
      TEST(finds_two_ids_of_one_object), TEST(refuses_what_the_spec_stands_on),
      TEST(names_extensions_of_later_versions), TEST(checks_health_policies),
      TEST(checks_health_checks), TEST(refuses_another_id),
      TEST(refuses_secrets_that_state_would_keep),
      TEST(reports_references_into_data_that_never_comes))
