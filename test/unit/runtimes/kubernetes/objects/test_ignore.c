/* What is ignored: the paths, whose they are, and what becomes of objects and sets of fields. */
#include "runtimes/kubernetes/objects/ignored.h"

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/engine/spec/parse.h"
#include "test/unit/runtimes/kubernetes/objects/values.h"
#include "test/unit/suite.h"

#define WEB                                                                                        \
    "{\"id\":\"apps/v1:Deployment:web\",\"type\":\"Kubernetes\",\"attributes\":{"                  \
    "\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"web\"},\"spec\":" \
    "{\"replicas\":3,\"containers\":[{\"name\":\"c\",\"image\":\"a\",\"args\":[\"x\"]}]}}}"
#define IGNORES(rules) SPEC("\"resources\":[" WEB "],\"ignore\":" rules)
#define PATH(path)     IGNORES("[{\"paths\":[\"" path "\"]}]")
#define BAD(why)       "InvalidSpec|-|ignore[0].paths[0]|" why "\n"
#define BAD_INDEX(why) "InvalidSpec|apps/v1:Deployment:web|ignore[0].paths[0]|" why "\n"

static void refuses_wrong_paths(void)
{
    static const struct parse_row rows[] = {
        {PATH("/spec/replicas"), ""},
        {PATH("/metadata/annotations/a.io~1b"), ""},
        {PATH("/spec/containers[name=c]/image"), ""},
        {PATH("/spec/containers/[name=c]/image"), ""},
        {PATH("/spec/ports[port=80,protocol=\\\"TCP\\\"]"), ""},
        {PATH("/spec/containers/0/image"),
         BAD_INDEX("\"/spec/containers/0/image\" names an item by its index, which may be another "
                   "item in the live object: write [name=…] in the place of the number")},
        {PATH("/spec/containers[name=c]/args/0"),
         BAD_INDEX("\"/spec/containers[name=c]/args/0\" names an item by its index, which may be "
                   "another item in the live object: write [key=value] in the place of the number, "
                   "or ignore the list as a whole")},
        {PATH("/data/0"), ""}, /* a member of that name */
        {PATH("spec.replicas"),
         BAD("\"spec.replicas\" is no JSON pointer, such as /spec/replicas")},
        {PATH("/"), BAD("\"/\" is the whole object")},
        {PATH("/spec/a~2b"),
         BAD("\"/spec/a~2b\" has a ~ that is neither ~0 (for ~) nor ~1 (for /)")},
        {PATH("/spec/containers[name=c"),
         BAD("\"/spec/containers[name=c\" has brackets that are no keys of a list, such as "
             "[name=web]")},
        {PATH("/spec/containers[=c]"), BAD("\"/spec/containers[=c]\" has brackets that are no keys "
                                           "of a list, such as [name=web]")},
        {PATH("/kind"), BAD("\"/kind\" names the object: it cannot be ignored")},
        {PATH("/metadata/name"), BAD("\"/metadata/name\" names the object: it cannot be ignored")},
        {PATH("/metadata"), BAD("\"/metadata\" has what names the object: name the fields in it "
                                "that others manage")},
        {PATH("/metadata/labels"), BAD("\"/metadata/labels\" has the operator's own marks: name "
                                       "the labels and annotations that others manage")},
        {PATH("/metadata/labels/api.kusion.io~1owner"),
         BAD("\"/metadata/labels/api.kusion.io~1owner\" is a mark by which the operator knows its "
             "objects")},
        {PATH(""), "InvalidSpec|-|ignore[0].paths[0]|must not be empty\n"},
        {IGNORES("[{\"paths\":[3]}]"),
         "InvalidSpec|-|ignore[0].paths[0]|must be a string, and is of type number\n"},
        {IGNORES("[{}]"), "InvalidSpec|-|ignore[0].paths|must be a list of paths, with one at "
                          "least\n"},
        {IGNORES("{\"paths\":[]}"), "InvalidSpec|-|ignore|must be a list, and is of type object\n"},
        {IGNORES("[{\"paths\":[\"/a\"],\"target\":{\"name\":\"web-.*\"}}]"),
         "InvalidSpec|-|ignore[0].target.name|\"web-.*\" is no name: * stands for any characters, "
         "and there are no regular expressions\n"},
        {IGNORES("[{\"paths\":[\"/a\"],\"target\":{\"labelSelector\":\"a in b\"}}]"),
         "InvalidSpec|-|ignore[0].target.labelSelector|\"a in b\" is no selector: `in` and `notin` "
         "need a list in parentheses\n"},
        {IGNORES("[{\"paths\":[\"/a\"],\"target\":\"web\"}]"),
         "InvalidSpec|-|ignore[0].target|must be an object, and is of type string\n"},
    };

    expect_problems(rows, ARRAY_SIZE(rows));
}

static void bounds_the_paths(void)
{
    struct buf text = BUF_INIT;
    char *problems = NULL;
    struct spec *spec;

    buf_add_str(&text, "{\"metadata\":{\"name\":\"s\",\"namespace\":\"team\"},\"spec\":{"
                       "\"resources\":[],\"ignore\":[{\"paths\":[");
    for (int i = 0; i <= IGNORE_PATHS; i++)
        buf_printf(&text, "%s\"/a/b%d\"", i ? "," : "", i);
    buf_add_str(&text, "]}]}}");
    spec = parse_spec(text.data, &problems);
    EXPECT(!spec, "refused");
    EXPECT_STR(problems, "InvalidSpec|-|ignore|has 1001 paths, 1000 at most\n", "why");
    spec_free(spec);
    free(problems);
    buf_done(&text);
}

/* Of an object with these labels, in the namespace "team". */
static void finds_whose_they_are(void)
{
    static const struct {
        const char *target;
        bool is_meant;
    } rows[] = {
        {"{}", true},
        {"{\"kind\":\"Deployment\"}", true},
        {"{\"kind\":\"StatefulSet\"}", false},
        {"{\"group\":\"apps\",\"version\":\"v1\"}", true},
        {"{\"group\":\"batch\"}", false},
        {"{\"version\":\"v2\"}", false},
        {"{\"name\":\"web\"}", true},
        {"{\"name\":\"we\"}", false},
        {"{\"name\":\"w*b\"}", true},
        {"{\"name\":\"*\"}", true},
        {"{\"name\":\"*x*\"}", false},
        {"{\"namespace\":\"team\"}", true},
        {"{\"namespace\":\"other\"}", false},
        {"{\"labelSelector\":\"app=web\"}", true},
        {"{\"labelSelector\":\"app==web, tier!=cache\"}", true},
        {"{\"labelSelector\":\"app!=web\"}", false},
        {"{\"labelSelector\":\"app in (db, web)\"}", true},
        {"{\"labelSelector\":\"app notin (db,web)\"}", false},
        {"{\"labelSelector\":\"tier notin (db)\"}", true},
        {"{\"labelSelector\":\"app,!tier\"}", true},
        {"{\"labelSelector\":\"tier\"}", false},
        {"{\"labelSelector\":\"common=yes\"}", true},
        {"{\"labelSelector\":\"app=\"}", false},
        {"{\"annotationSelector\":\"a.io/b=c\"}", true},
        {"{\"kind\":\"Deployment\",\"name\":\"other\"}", false},
    };
    _cleanup_value_ const struct value *object =
        stage_value("{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":"
                    "\"web\",\"labels\":{\"app\":\"web\"},\"annotations\":{\"a.io/b\":\"c\"}}}");
    _cleanup_value_ const struct value *common = stage_value("{\"common\":\"yes\"}");

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *text =
            str_printf("[{\"paths\":[\"/a\",\"/b\"],\"target\":%s}]", rows[i].target);
        _cleanup_value_ const struct value *list = stage_value(text);
        struct check unreported = {0};
        _cleanup_(ignore_free_p) struct ignore *ignore = ignore_read(list, &unreported);
        struct ignored ignored;

        ignore_find(ignore, object, "team", common, &ignored);
        EXPECT_INT((int)ignored.n, rows[i].is_meant ? 2 : 0, rows[i].target);
        ignored_done(&ignored);
    }
}

/* The paths of all rules, in any object. */
static struct ignore *ignoring(const char *paths, struct ignored *ret)
{
    _cleanup_free_ char *text = str_printf("[{\"paths\":%s}]", paths);
    _cleanup_value_ const struct value *list = stage_value(text);
    _cleanup_value_ const struct value *object =
        stage_value("{\"apiVersion\":\"v1\",\"kind\":\"A\",\"metadata\":{\"name\":\"a\"}}");
    struct check unreported = {0};
    struct ignore *ignore = ignore_read(list, &unreported);

    ignore_find(ignore, object, NULL, NULL, ret);
    return ignore;
}

static void expect_value(const struct value *found, const char *wanted, const char *note)
{
    _cleanup_value_ const struct value *value = wanted ? stage_value(wanted) : NULL;
    _cleanup_buf_ struct buf text = BUF_INIT;

    if (found)
        json_write(&text, found, JSON_CANONICAL);
    EXPECT(value ? found && value_equal(found, value) : !found, note);
    if (!(value ? found && value_equal(found, value) : !found))
        EXPECT_STR(text.data, wanted, note);
}

static void leaves_them_out_and_fills_them_in(void)
{
    static const struct {
        const char *note, *paths, *object, *left, *live, *filled;
    } rows[] = {
        {"a member", "[\"/spec/a\"]", "{\"spec\":{\"a\":1,\"b\":2}}", "{\"spec\":{\"b\":2}}",
         "{\"spec\":{\"a\":7,\"b\":8}}", "{\"spec\":{\"a\":7,\"b\":2}}"},
        {"the only one", "[\"/spec/a\"]", "{\"k\":1,\"spec\":{\"a\":1}}", "{\"k\":1}",
         "{\"spec\":{\"a\":7}}", "{\"k\":1,\"spec\":{\"a\":7}}"},
        {"not there", "[\"/spec/x/y\"]", "{\"spec\":{\"a\":1}}", "{\"spec\":{\"a\":1}}",
         "{\"spec\":{\"a\":2}}", "{\"spec\":{\"a\":1}}"},
        {"an escaped key", "[\"/m/a.io~1b\"]", "{\"m\":{\"a.io/b\":1,\"c\":1}}",
         "{\"m\":{\"c\":1}}", "{\"m\":{\"a.io/b\":2}}", "{\"m\":{\"a.io/b\":2,\"c\":1}}"},
        {"an item", "[\"/l[name=b]\"]", "{\"l\":[{\"name\":\"a\"},{\"name\":\"b\",\"x\":1}]}",
         "{\"l\":[{\"name\":\"a\"}]}", "{\"l\":[{\"name\":\"b\",\"x\":2},{\"name\":\"a\"}]}",
         "{\"l\":[{\"name\":\"a\"},{\"name\":\"b\",\"x\":2}]}"},
        {"in an item", "[\"/l[name=a]/x\"]", "{\"l\":[{\"name\":\"a\",\"x\":1},{\"name\":\"b\"}]}",
         "{\"l\":[{\"name\":\"a\"},{\"name\":\"b\"}]}", "{\"l\":[{\"name\":\"a\",\"x\":5}]}",
         "{\"l\":[{\"name\":\"a\",\"x\":5},{\"name\":\"b\"}]}"},
        {"an item that is gone from the Spec", "[\"/l[name=s]/x\"]", "{\"l\":[{\"name\":\"a\"}]}",
         "{\"l\":[{\"name\":\"a\"}]}", "{\"l\":[{\"name\":\"s\",\"x\":5,\"y\":1}]}",
         "{\"l\":[{\"name\":\"a\"},{\"name\":\"s\",\"x\":5}]}"},
        {"by a number", "[\"/l[port=80,protocol=TCP]\"]",
         "{\"l\":[{\"port\":80,\"protocol\":\"UDP\"},{\"port\":80,\"protocol\":\"TCP\"}]}",
         "{\"l\":[{\"port\":80,\"protocol\":\"UDP\"}]}", "{}",
         "{\"l\":[{\"port\":80,\"protocol\":\"UDP\"}]}"},
        {"all items of a list", "[\"/l[name=a]\"]", "{\"k\":1,\"l\":[{\"name\":\"a\"}]}",
         "{\"k\":1}", "{\"l\":[]}", "{\"k\":1}"},
        {"two of them", "[\"/a\",\"/b\"]", "{\"a\":1,\"b\":2,\"c\":3}", "{\"c\":3}",
         "{\"a\":5,\"b\":6,\"c\":7}", "{\"a\":5,\"b\":6,\"c\":3}"},
        {"another form", "[\"/a/b\",\"/l[name=x]\"]", "{\"a\":[1],\"l\":{\"name\":\"x\"}}",
         "{\"a\":[1],\"l\":{\"name\":\"x\"}}", "{\"a\":{\"b\":1},\"l\":[{\"name\":\"x\"}]}",
         "{\"a\":[1],\"l\":{\"name\":\"x\"}}"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct ignored ignored;
        _cleanup_(ignore_free_p) struct ignore *ignore = ignoring(rows[i].paths, &ignored);
        _cleanup_value_ const struct value *object = stage_value(rows[i].object);
        _cleanup_value_ const struct value *live = stage_value(rows[i].live);
        _cleanup_value_ const struct value *left = ignored_leave_out(&ignored, object);
        _cleanup_value_ const struct value *filled = ignored_fill_in(&ignored, left, live);

        expect_value(left, rows[i].left, rows[i].note);
        expect_value(filled, rows[i].filled, rows[i].note);
        ignored_done(&ignored);
    }
}

static void divides_sets_of_fields(void)
{
    static const struct {
        const char *note, *paths, *fields, *left, *kept, *named;
    } rows[] = {
        {"a field", "[\"/spec/a\"]", "{\"f:spec\":{\"f:a\":{},\"f:b\":{}}}",
         "{\"f:spec\":{\"f:b\":{}}}", "{\"f:spec\":{\"f:a\":{}}}", "/spec/a"},
        {"the only one", "[\"/spec/a\"]", "{\"f:k\":{},\"f:spec\":{\"f:a\":{}}}", "{\"f:k\":{}}",
         "{\"f:spec\":{\"f:a\":{}}}", "/spec/a"},
        {"all of them", "[\"/spec\"]", "{\"f:spec\":{\"f:a\":{}}}", NULL,
         "{\"f:spec\":{\"f:a\":{}}}", "/spec"},
        {"none", "[\"/spec/x\"]", "{\"f:spec\":{\"f:a\":{}}}", "{\"f:spec\":{\"f:a\":{}}}", NULL,
         NULL},
        {"what it belongs to stays", "[\"/m/a\"]", "{\"f:m\":{\".\":{},\"f:a\":{}}}",
         "{\"f:m\":{\".\":{}}}", "{\"f:m\":{\"f:a\":{}}}", "/m/a"},
        {"an item", "[\"/l[name=b]\"]",
         "{\"f:l\":{\"k:{\\\"name\\\":\\\"a\\\"}\":{},\"k:{\\\"name\\\":\\\"b\\\"}\":{\".\":{}}}}",
         "{\"f:l\":{\"k:{\\\"name\\\":\\\"a\\\"}\":{}}}",
         "{\"f:l\":{\"k:{\\\"name\\\":\\\"b\\\"}\":{\".\":{}}}}", "/l[name=b]"},
        {"by one of its keys", "[\"/l[port=80]/x\"]",
         "{\"f:l\":{\"k:{\\\"port\\\":80,\\\"protocol\\\":\\\"TCP\\\"}\":{\"f:x\":{},\"f:y\":{}}}}",
         "{\"f:l\":{\"k:{\\\"port\\\":80,\\\"protocol\\\":\\\"TCP\\\"}\":{\"f:y\":{}}}}",
         "{\"f:l\":{\"k:{\\\"port\\\":80,\\\"protocol\\\":\\\"TCP\\\"}\":{\"f:x\":{}}}}",
         "/l[port=80]/x"},
        {"inside of a leaf", "[\"/l[name=a]\"]", "{\"f:l\":{}}", "{\"f:l\":{}}", NULL, NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct ignored ignored;
        _cleanup_(ignore_free_p) struct ignore *ignore = ignoring(rows[i].paths, &ignored);
        _cleanup_value_ const struct value *fields = stage_value(rows[i].fields);
        _cleanup_value_ const struct value *left = ignored_leave_out_fields(&ignored, fields);
        _cleanup_value_ const struct value *kept = ignored_keep_fields(&ignored, fields);
        _cleanup_free_ char *named = ignored_name(&ignored, fields);

        expect_value(left, rows[i].left, rows[i].note);
        expect_value(kept, rows[i].kept, rows[i].note);
        EXPECT_STR(named, rows[i].named, rows[i].note);
        ignored_done(&ignored);
    }
}

static void finds_what_is_inside_of_one_field(void)
{
    static const struct {
        const char *note, *path, *fields;
        bool is_inside;
    } rows[] = {
        {"an item of an atomic list", "[\"/l[name=a]\"]", "{\"f:l\":{}}", true},
        {"a member of an atomic object", "[\"/o/a\"]", "{\"f:o\":{}}", true},
        {"the field itself", "[\"/o\"]", "{\"f:o\":{}}", false},
        {"a field of its own", "[\"/o/a\"]", "{\"f:o\":{\"f:a\":{}}}", false},
        {"not ours", "[\"/o/a\"]", "{\"f:x\":{}}", false},
        {"not in the object", "[\"/o/x\"]", "{\"f:o\":{}}", false},
    };
    _cleanup_value_ const struct value *object =
        stage_value("{\"l\":[{\"name\":\"a\"}],\"o\":{\"a\":1}}");

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct ignored ignored;
        _cleanup_(ignore_free_p) struct ignore *ignore = ignoring(rows[i].path, &ignored);
        _cleanup_value_ const struct value *fields = stage_value(rows[i].fields);

        EXPECT_INT(ignored_find_inside(&ignored, object, fields) != NULL, rows[i].is_inside,
                   rows[i].note);
        ignored_done(&ignored);
    }
}

SUITE(ignore, TEST(refuses_wrong_paths), TEST(bounds_the_paths), TEST(finds_whose_they_are),
      TEST(leaves_them_out_and_fills_them_in), TEST(divides_sets_of_fields),
      TEST(finds_what_is_inside_of_one_field))
