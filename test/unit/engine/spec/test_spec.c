#include "engine/base/limits.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/engine/spec/parse.h"
#include "test/unit/suite.h"

#define MAP(name, more)                                                                            \
    "{\"id\":\"v1:ConfigMap:" name "\",\"type\":\"Kubernetes\"" more                               \
    ",\"attributes\":{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" name \
    "\"}}}"
#define MAP_DATA(name, more, data)                                                                 \
    "{\"id\":\"v1:ConfigMap:" name "\",\"type\":\"Kubernetes\"" more                               \
    ",\"attributes\":{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" name \
    "\"},\"data\":" data "}}"

#define THING(id, more) "{\"id\":\"" id "\",\"type\":\"Kubernetes\",\"attributes\":{}" more "}"

static void reads_a_spec(void)
{
    _cleanup_free_ char *problems = NULL;
    _cleanup_(spec_free_p) struct spec *spec = parse_spec(
        "{\"metadata\":{\"name\":\"s\",\"namespace\":\"team\",\"uid\":\"u\",\"generation\":7},"
        "\"spec\":{\"project\":\"p\",\"stack\":\"st\",\"workspace\":\"w\",\"suspend\":true,"
        "\"revisionHistoryLimit\":0,\"prune\":false,\"wait\":false,\"force\":true,"
        "\"deletionPolicy\":\"Orphan\","
        "\"interval\":\"1h\","
        "\"retryInterval\":\"1500ms\",\"timeout\":\"0.5h\",\"serviceAccountName\":\"deployer\","
        "\"context\":{\"AWS_REGION\":\"x\"},\"resources\":[" MAP(
            "a",
            ",\"extensions\":{\"GVK\":"
            "\"/v1, Kind=ConfigMap\",\"kusion.io/is-workload\":true,\"x\":1}") "," MAP("b",
                                                                                       "") "]}}",
        &problems);

    EXPECT_STR(problems, "", "none");
    EXPECT_STR(spec->name, "s", "name");
    EXPECT_STR(spec->namespace_name, "team", "namespace");
    EXPECT_STR(spec->uid, "u", "uid");
    EXPECT_INT(spec->generation, 7, "generation");
    EXPECT_STR(spec->project, "p", "project");
    EXPECT_STR(spec->stack, "st", "stack");
    EXPECT_STR(spec->workspace, "w", "workspace");
    EXPECT(spec->policy.suspend && !spec->policy.prune && !spec->policy.wait && spec->policy.force,
           "booleans");
    EXPECT_INT(spec->policy.deletion, DELETION_ORPHAN, "deletionPolicy");
    EXPECT_INT(spec->policy.interval, 3600000, "interval");
    EXPECT_INT(spec->policy.retry_interval, 1500, "retryInterval");
    EXPECT_INT(spec->policy.history_limit, 0, "revisionHistoryLimit");
    EXPECT_INT(spec->policy.timeout, 1800000, "timeout");
    EXPECT_STR(spec->policy.service_account, "deployer", "serviceAccountName");
    EXPECT_INT(spec->n_resources, 2, "resources");
    EXPECT_STR(spec->resources[1].id, "v1:ConfigMap:b", "in the order written");
    EXPECT(strmap_get(&spec->by_id, "v1:ConfigMap:b") == &spec->resources[1], "by id");
    EXPECT_INT(spec_index(spec, &spec->resources[1]), 1, "index");
}

static void has_defaults(void)
{
    _cleanup_free_ char *problems = NULL;
    _cleanup_(spec_free_p) struct spec *spec =
        parse_spec(SPEC("\"resources\":[],\"interval\":null,\"prune\":null"), &problems);

    EXPECT_STR(problems, "", "an empty list is a wish");
    EXPECT_STR(spec->project, "s", "the Spec's name");
    EXPECT_STR(spec->stack, "default", "stack");
    EXPECT_STR(spec->workspace, "default", "workspace");
    EXPECT(!spec->policy.suspend && spec->policy.prune && spec->policy.wait && !spec->policy.force,
           "booleans");
    EXPECT_INT(spec->policy.deletion, DELETION_MIRROR_PRUNE, "deletionPolicy");
    EXPECT_INT(spec->policy.interval, 600000, "interval");
    EXPECT_INT(spec->policy.retry_interval, 30000, "retryInterval");
    EXPECT_INT(spec->policy.history_limit, 10, "revisionHistoryLimit");
    EXPECT_INT(spec->policy.timeout, 300000, "timeout");
    EXPECT(!spec->policy.service_account && !spec->uid, "not named");
    EXPECT_INT(spec->n_resources, 0, "none");
}

static void reads_whether_plans_are_approved(void)
{
    static const struct {
        const char *approval, *problems;
        bool is_needed;
    } rows[] = {
        {"null", "", false},
        {"{}", "", false},
        {"{\"mode\":null}", "", false},
        {"{\"mode\":\"Automatic\"}", "", false},
        {"{\"mode\":\"Manual\"}", "", true},
        {"{\"mode\":\"Manual\",\"approvedPlan\":\"x\"}", "", true},
        {"{\"mode\":\"manual\"}",
         "InvalidSpec|-|approval.mode|\"manual\" is neither Automatic nor Manual\n", true},
        {"{\"mode\":true}",
         "InvalidSpec|-|approval.mode|must be a string, and is of type boolean\n", true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *text =
            str_printf("{\"metadata\":{\"name\":\"s\",\"namespace\":\"team\"},\"spec\":"
                       "{\"resources\":[],\"approval\":%s}}",
                       rows[i].approval);
        _cleanup_free_ char *problems = NULL;
        _cleanup_(spec_free_p) struct spec *spec = parse_spec(text, &problems);
        _cleanup_value_ const struct value *object = NULL;
        struct spec_policy policy;

        EXPECT_STR(problems, rows[i].problems, rows[i].approval);
        json_read(text, strlen(text), &object, NULL);
        spec_policy_read(object, &policy);
        EXPECT_INT(policy.needs_approval, rows[i].is_needed, rows[i].approval);
    }
}

static void reads_what_is_done_about_drift(void)
{
    static const struct {
        const char *detection, *problems;
        enum drift_mode mode;
    } rows[] = {
        {"null", "", DRIFT_ENABLED},
        {"{}", "", DRIFT_ENABLED},
        {"{\"mode\":null}", "", DRIFT_ENABLED},
        {"{\"mode\":\"enabled\"}", "", DRIFT_ENABLED},
        {"{\"mode\":\"warn\"}", "", DRIFT_WARN},
        {"{\"mode\":\"disabled\"}", "", DRIFT_DISABLED},
        {"{\"mode\":\"Warn\"}",
         "InvalidSpec|-|driftDetection.mode|\"Warn\" is none of enabled, warn and disabled\n",
         DRIFT_ENABLED},
        {"{\"mode\":true}",
         "InvalidSpec|-|driftDetection.mode|must be a string, and is of type boolean\n",
         DRIFT_ENABLED},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *text =
            str_printf("{\"metadata\":{\"name\":\"s\",\"namespace\":\"team\"},\"spec\":"
                       "{\"resources\":[],\"driftDetection\":%s}}",
                       rows[i].detection);
        _cleanup_free_ char *problems = NULL;
        _cleanup_(spec_free_p) struct spec *spec = parse_spec(text, &problems);
        _cleanup_value_ const struct value *object = NULL;
        struct spec_policy policy;

        EXPECT_STR(problems, rows[i].problems, rows[i].detection);
        json_read(text, strlen(text), &object, NULL);
        spec_policy_read(object, &policy);
        EXPECT_INT(policy.drift, rows[i].mode, rows[i].detection);
    }
}

static void reports_the_head(void)
{
    static const struct parse_row rows[] = {
        {SPEC("\"resourcesFrom\":[]"), "InvalidSpec|-|resources\n"},
        {"null", "InvalidSpec|-|metadata.name|is required\n"
                 "InvalidSpec|-|metadata.namespace|is required\nInvalidSpec|-|resources\n"},
        {SPEC(""), "InvalidSpec|-|resources\n"},
        {SPEC("\"resources\":{}"),
         "InvalidSpec|-|resources|must be a list, and is of type object\n"},
        {SPEC("\"resources\":[],\"interval\":\"soon\",\"timeout\":\"\",\"retryInterval\":\"10ms\""),
         "InvalidSpec|-|interval|\"soon\" is not a duration, such as 1h30m, 10m or 90s\n"
         "InvalidSpec|-|retryInterval|\"10ms\" is too short: at least 1s\n"
         "InvalidSpec|-|timeout|must not be empty\n"},
        {SPEC("\"resources\":[],\"prune\":\"no\",\"deletionPolicy\":\"Keep\",\"project\":1"),
         "InvalidSpec|-|project|must be a string, and is of type number\n"
         "InvalidSpec|-|deletionPolicy|\"Keep\" is none of MirrorPrune, Delete, "
         "WaitForTermination and Orphan\n"
         "InvalidSpec|-|prune|must be a boolean, and is of type string\n"},
        {SPEC("\"resources\":[],\"revisionHistoryLimit\":-1"),
         "InvalidSpec|-|revisionHistoryLimit|must be a number from 0 to 1000\n"},
        {SPEC("\"resources\":[],\"revisionHistoryLimit\":1001"),
         "InvalidSpec|-|revisionHistoryLimit|must be a number from 0 to 1000\n"},
        {SPEC("\"resources\":[],\"revisionHistoryLimit\":\"ten\""),
         "InvalidSpec|-|revisionHistoryLimit|must be a number from 0 to 1000\n"},
        {SPEC("\"resources\":[],\"serviceAccountName\":\"a:b\""),
         "InvalidSpec|-|serviceAccountName\n"},
        {SPEC("\"resources\":[],\"stack\":\"a\\u0000b\""),
         "InvalidSpec|-|stack|must not hold a NUL\n"},
    };

    expect_problems(rows, ARRAY_SIZE(rows));
}

static void reports_entries(void)
{
    static const struct parse_row rows[] = {
        {RESOURCES("1"), "InvalidSpec|-|resources[0]|must be an object, and is of type number\n"},
        {RESOURCES("{}"),
         "InvalidSpec|-|resources[0].id|is required\n"
         "InvalidSpec|-|resources[0].type|is required\n"
         "InvalidSpec|-|resources[0].attributes|must be an object, and is absent\n"},
        {RESOURCES("{\"id\":\"\",\"type\":7,\"attributes\":[],\"dependsOn\":\"a\","
                   "\"extensions\":[]}"),
         "InvalidSpec|-|resources[0].id|must not be empty\n"
         "InvalidSpec|-|resources[0].type\n"
         "InvalidSpec|-|resources[0].attributes|must be an object, and is of type array\n"
         "InvalidSpec|-|resources[0].dependsOn|must be a list of ids, and is of type string\n"
         "InvalidSpec|-|resources[0].extensions|must be an object, and is of type array\n"},
        {RESOURCES("{\"id\":\"a\\u0000b\",\"type\":\"Kubernetes\",\"attributes\":null}"),
         "InvalidSpec|-|resources[0].id|must not hold a NUL\n"
         "InvalidSpec|-|resources[0].attributes\n"},
        {RESOURCES(MAP("a", "") "," MAP("b", "") "," MAP("a", "")),
         "InvalidSpec|v1:ConfigMap:a|resources[2].id|resources[0] has the same id\n"},
        {RESOURCES("{\"id\":\"a\",\"type\":\"Terraform\",\"attributes\":{}}"),
         "Unsupported|a|resources[0].type|the type \"Terraform\" is known, and not supported by "
         "this version\n"},
        {RESOURCES("{\"id\":\"a\",\"type\":\"kubernetes\",\"attributes\":{}}"),
         "InvalidSpec|a|resources[0].type|unknown type \"kubernetes\"; supported: Kubernetes\n"},
        {RESOURCES(MAP("first", "") "," MAP("a", ",\"dependsOn\":[\"v1:ConfigMap:frist\","
                                                 "\"v1:Secret:first\"]")),
         "InvalidSpec|v1:ConfigMap:a|resources[1].dependsOn[0]|no resource has the id "
         "\"v1:ConfigMap:frist\": did you mean \"v1:ConfigMap:first\"?\n"
         "InvalidSpec|v1:ConfigMap:a|resources[1].dependsOn[1]|no resource has the id "
         "\"v1:Secret:first\"\n"},
        {RESOURCES(MAP("a", ",\"dependsOn\":[\"v1:ConfigMap:b\",1,\"\"]")),
         "InvalidSpec|v1:ConfigMap:a|resources[0].dependsOn[1]\n"
         "InvalidSpec|v1:ConfigMap:a|resources[0].dependsOn[2]\n"
         "InvalidSpec|v1:ConfigMap:a|resources[0].dependsOn[0]|no resource has the id "
         "\"v1:ConfigMap:b\"\n"
         "InvalidSpec|v1:ConfigMap:a|resources[0].dependsOn[1]\n"},
        {RESOURCES(MAP("a", ",\"dependsOn\":[\"v1:ConfigMap:a\"]")),
         "CyclicDependency|v1:ConfigMap:a|resources[0].dependsOn[0]|a resource cannot depend on "
         "itself\n"},
    };

    expect_problems(rows, ARRAY_SIZE(rows));
}

static void reports_references(void)
{
    static const struct parse_row rows[] = {
        {RESOURCES(MAP_DATA("a", "", "{\"x\":[\"$kusion_path.v1:ConfigMap:b.data\"]}")),
         "InvalidSpec|v1:ConfigMap:a|resources[0].attributes.data.x[0]|no resource has an id that "
         "\"v1:ConfigMap:b.data\" begins with\n"},
        {RESOURCES(MAP_DATA("a", "", "{\"x.y\":\"$kusion_path.v1:ConfigMap:a.uid\"}")),
         "CyclicDependency|v1:ConfigMap:a|resources[0].attributes.data[x.y]\n"},
        {RESOURCES(MAP("b", "") "," MAP_DATA("a", "", "{\"x\":\"$kusion_path.v1:ConfigMap:b.[\"}")),
         "InvalidSpec|v1:ConfigMap:a|resources[1].attributes.data.x\n"},
        {RESOURCES(
             MAP("b", "") "," MAP_DATA("a", "", "{\"x\":\"$kusion_path.v1:ConfigMap:b\\u0000\"}")),
         "InvalidSpec|v1:ConfigMap:a|resources[1].attributes.data.x\n"},
        {RESOURCES(MAP_DATA("a", "", "{\"x\":\"ref://db/password\",\"y\":\"my ref://\"}")),
         "InvalidSpec|v1:ConfigMap:a|resources[0].attributes.data.x\n"},
        {RESOURCES(MAP_DATA("a", "", "{\"x\":[\"http://$kusion_path.nobody.data.x:80\"]}")),
         "InvalidSpec|v1:ConfigMap:a|resources[0].attributes.data.x[0]|has \"$kusion_path.\" in "
         "the middle of a text, where it is not replaced: a reference must be the whole string. "
         "Put the reference into a string of its own, and join the parts where they are used\n"},
        {RESOURCES(MAP("b", "") "," MAP_DATA(
             "a", "", "{\"x\":\"$kusion_path.v1:ConfigMap:b.data.x $kusion_path.\"}")),
         "InvalidSpec|v1:ConfigMap:a|resources[1].attributes.data.x\n"},
        {RESOURCES(MAP_DATA("a", "", "{\"x\":\"\\u0000$kusion_path.\"}")),
         "InvalidSpec|v1:ConfigMap:a|resources[0].attributes.data.x\n"},
        {RESOURCES(MAP_DATA("a", "", "{\"x\":\"see $kusion_path\",\"y\":\"\"}")), ""},
    };

    expect_problems(rows, ARRAY_SIZE(rows));
}

/* The id that a resource had before. */
static void reports_ids_of_before(void)
{
#define MOVED(id) ",\"extensions\":{\"kusionstack.io/moved-from\":" id "}"
#define AT(index) "resources[" index "].extensions[kusionstack.io/moved-from]"
    static const struct parse_row rows[] = {
        {RESOURCES(THING("a", MOVED("null"))), ""},
        {RESOURCES(THING("a", MOVED("\"b\"")) "," THING("b", MOVED("\"c\""))), ""},
        {RESOURCES(THING("a", MOVED("\"a\""))),
         "InvalidSpec|a|" AT("0") "|is the id that the resource has\n"},
        {RESOURCES(THING("a", MOVED("7"))), "InvalidSpec|a|" AT("0") "\n"},
        {RESOURCES(THING("a", MOVED("\"\""))), "InvalidSpec|a|" AT("0") "\n"},
        {RESOURCES(THING("b", "") "," THING("a", MOVED("\"$kusion_path.b.x\""))),
         "InvalidSpec|a|" AT("1") "|must be written out, and cannot be a reference\n"},
        {RESOURCES(THING("a", MOVED("\"c\"")) "," THING("b", MOVED("\"c\""))),
         "InvalidSpec|b|" AT("1") "|one object cannot become two: \"a\" has moved from \"c\", "
                                  "too\n"},
    };

    expect_problems(rows, ARRAY_SIZE(rows));
}

static void unites_dependencies(void)
{
    _cleanup_free_ char *problems = NULL;
    _cleanup_(spec_free_p) struct spec *spec = parse_spec(
        RESOURCES(MAP("a", "") "," MAP("b", "") "," MAP("c", "") "," MAP_DATA(
            "d",
            ",\"dependsOn\":[\"v1:ConfigMap:c\",\"v1:ConfigMap:e\","
            "\"v1:ConfigMap:c\"]",
            "{\"x\":\"$kusion_path.v1:ConfigMap:a.data.x\","
            "\"y\":[\"$kusion_path.v1:ConfigMap:c\"],"
            "\"z\":\"$kusion_path.v1:ConfigMap:a.data.z\"}") "," MAP("e", ",\"dependsOn\":[\"v1:"
                                                                          "ConfigMap:c\"]")),
        &problems);
    static const uint32_t of_d[] = {2, 4, 0};

    EXPECT_STR(problems, "", "none");
    EXPECT_INT(spec->dependencies[0].count, 0, "a");
    EXPECT_INT(spec->dependencies[3].count, 3, "d: each once");
    EXPECT(memcmp(spec->dependencies[3].indices, of_d, sizeof(of_d)) == 0,
           "explicit ones first, in the order written");
    EXPECT_INT(spec->dependencies[4].count, 1, "e");
    EXPECT_INT(spec->dependencies[4].indices[0], 2, "e: c, though d has it, too");
}

static void bounds_what_it_takes(void)
{
    _cleanup_buf_ struct buf json = BUF_INIT;
    _cleanup_free_ char *id = NEW_ARRAY(char, LIMIT_ID_BYTES + 2), *problems = NULL;

    memset(id, 'x', LIMIT_ID_BYTES + 1);
    buf_printf(&json,
               "{\"metadata\":{\"name\":\"s\",\"namespace\":\"team\"},\"spec\":{"
               "\"resources\":[{\"id\":\"%s\",\"type\":\"Kubernetes\",\"attributes\":{"
               "\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"}},"
               "\"dependsOn\":[\"\"",
               id);
    for (int i = 0; i < LIMIT_DEPENDS_ON; i++)
        buf_add_str(&json, ",\"\"");
    buf_add_str(&json, "]}]}}");
    EXPECT(!parse_spec(json.data, &problems), "refused");
    EXPECT(str_has_prefix(problems, "InvalidSpec|-|resources[0].id|has 1025 bytes, 1024 at most\n"
                                    "InvalidSpec|-|resources[0].dependsOn|holds 10001 ids, 10000 "
                                    "at most\n"),
           problems);
}

/* State has the path of each reference to a secret. */
static void bounds_the_paths_of_references(void)
{
    static const struct {
        size_t key_bytes;
        int references;
        const char *problems;
    } rows[] = {
        {100, 10000, ""},
        {100000, 40, ""},
        {100000, 10000,
         "InvalidSpec|v1:ConfigMap:a|-|the paths of all references have more than 4 MiB: shorten "
         "keys above "
         "them\n"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_buf_ struct buf data = BUF_INIT, json = BUF_INIT;
        _cleanup_free_ char *problems = NULL;
        _cleanup_(spec_free_p) struct spec *spec = NULL;

        for (size_t j = 0; j < rows[i].key_bytes; j++)
            buf_add_char(&data, 'k');
        buf_add_str(&data, "\":{\"a\":0");
        for (int j = 0; j < rows[i].references; j++)
            buf_printf(&data, ",\"%d\":\"$kusion_path.v1:ConfigMap:b.data\"", j);
        buf_printf(&json, RESOURCES("%s," MAP_DATA("a", "", "{\"%s}}")), MAP("b", ""), data.data);
        spec = parse_spec(json.data, &problems);
        EXPECT_STR(problems, rows[i].problems, "problems");
        EXPECT(!spec == (*rows[i].problems != 0), rows[i].problems);
    }
}

static void refuses_too_many_resources(void)
{
    _cleanup_buf_ struct buf json = BUF_INIT;
    _cleanup_free_ char *problems = NULL;

    buf_add_str(&json, "{\"metadata\":{\"name\":\"s\",\"namespace\":\"team\"},\"spec\":{"
                       "\"resources\":[{}");
    for (int i = 0; i < LIMIT_RESOURCES; i++)
        buf_add_str(&json, ",{}");
    buf_add_str(&json, "]}}");
    EXPECT(!parse_spec(json.data, &problems), "refused");
    EXPECT_STR(problems, "InvalidSpec|-|resources|holds 200001 resources, 200000 at most\n",
               "one problem");
}

/* For deletion: of a Spec that is broken otherwise; what cannot be read deletes less. */
static void reads_the_policy_alone(void)
{
    static const struct {
        const char *json;
        bool suspend, prune;
        enum deletion_policy deletion;
    } rows[] = {
        {SPEC("\"resources\":7,\"prune\":false,\"deletionPolicy\":\"WaitForTermination\""), false,
         false, DELETION_WAIT_FOR_TERMINATION},
        {SPEC("\"deletionPolicy\":\"Delete\",\"interval\":\"?\""), false, true, DELETION_DELETE},
        {SPEC("\"deletionPolicy\":\"Shred\""), false, true, DELETION_ORPHAN},
        {SPEC("\"deletionPolicy\":null,\"prune\":\"yes\""), false, false, DELETION_MIRROR_PRUNE},
        {SPEC("\"suspend\":1"), true, true, DELETION_MIRROR_PRUNE},
        {"{}", false, true, DELETION_MIRROR_PRUNE},
        {"null", false, true, DELETION_MIRROR_PRUNE},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *object = NULL;
        struct spec_policy policy;

        json_read_str(rows[i].json, &object, NULL);
        spec_policy_read(object, &policy);
        EXPECT_INT(policy.suspend, rows[i].suspend, rows[i].json);
        EXPECT_INT(policy.prune, rows[i].prune, rows[i].json);
        EXPECT_INT(policy.deletion, rows[i].deletion, rows[i].json);
        EXPECT_INT(policy.interval, 600000, rows[i].json);
    }
}

SUITE(spec, TEST(bounds_the_paths_of_references), TEST(reads_a_spec), TEST(has_defaults),
      TEST(reads_whether_plans_are_approved), TEST(reads_what_is_done_about_drift),
      TEST(reports_the_head), TEST(reports_entries), TEST(reports_references),
      TEST(reports_ids_of_before), TEST(unites_dependencies), TEST(bounds_what_it_takes),
      TEST(refuses_too_many_resources), TEST(reads_the_policy_alone))
