#include "engine/base/str.h"
#include "engine/value/json.h"
#include "engine/value/value_mark.h"
#include "runtimes/kubernetes/change/observe.h"
#include "runtimes/kubernetes/change/prepare.h"
#include "runtimes/kubernetes/objects/object.h"
#include "test/unit/runtimes/kubernetes/session/stage.h"
#include "test/unit/suite.h"

#define LABEL      "\"labels\":{\"api.kusion.io/owner\":\"" STAGE_OWNER "\"}"
#define ANNOTATION "\"annotations\":{\"api.kusion.io/spec\":\"team/web\"}"
#define MARKS      LABEL "," ANNOTATION
#define MANAGER    "kusion-operator-a5cb1ff62f8ed32c"

static void prepares_what_is_sent(void)
{
    static const struct {
        const char *note;
        const char *namespace_name; /* of the place */
        const char *attributes, *expected;
    } rows[] = {
        {"the Spec's namespace where it names none", "team",
         "{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}",
         "{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"namespace\":\"team\"," MARKS
         "},\"data\":{\"k\":\"v\"}}"},
        {"its own where it does", "other",
         "{\"metadata\":{\"name\":\"a\",\"namespace\":\"other\"}}",
         "{\"metadata\":{\"name\":\"a\",\"namespace\":\"other\"," MARKS "}}"},
        {"none for what is of the cluster", NULL,
         "{\"metadata\":{\"name\":\"a\",\"namespace\":\"other\"}}",
         "{\"metadata\":{\"name\":\"a\"," MARKS "}}"},
        {"labels and annotations of its own stay", "team",
         "{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"1\"},\"annotations\":{\"y\":\"2\"}}}",
         "{\"metadata\":{\"name\":\"a\",\"namespace\":\"team\",\"labels\":{\"x\":\"1\","
         "\"api.kusion.io/owner\":\"" STAGE_OWNER "\"},\"annotations\":{\"y\":\"2\","
         "\"api.kusion.io/spec\":\"team/web\"}}}"},
        {"labels that are null", "team",
         "{\"metadata\":{\"name\":\"a\",\"labels\":null,\"annotations\":null}}",
         "{\"metadata\":{\"name\":\"a\",\"namespace\":\"team\"," MARKS "}}"},
        {"another's mark is overwritten, not kept", "team",
         "{\"metadata\":{\"name\":\"a\",\"labels\":{\"api.kusion.io/owner\":\"kusion-other\"}}}",
         "{\"metadata\":{\"name\":\"a\",\"namespace\":\"team\"," MARKS "}}"},
        {"what the server fills in is not sent", "team",
         "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"5\",\"uid\":\"u\",\"generation\":1,"
         "\"selfLink\":\"/x\",\"creationTimestamp\":null,\"managedFields\":[]},\"spec\":{\"a\":1},"
         "\"status\":{\"ready\":true}}",
         "{\"metadata\":{\"name\":\"a\",\"namespace\":\"team\"," MARKS "},\"spec\":{\"a\":1}}"},
        {"nor what kubectl leaves", "team",
         "{\"metadata\":{\"name\":\"a\",\"annotations\":{\"kubectl.kubernetes.io/"
         "last-applied-configuration\":\"{}\",\"z\":\"1\"}}}",
         "{\"metadata\":{\"name\":\"a\",\"namespace\":\"team\"," LABEL
         ",\"annotations\":{\"z\":\"1\",\"api.kusion.io/spec\":\"team/web\"}}}"},
        {"a status further down is no status", "team",
         "{\"metadata\":{\"name\":\"a\"},\"data\":{\"status\":\"x\",\"uid\":\"y\"}}",
         "{\"metadata\":{\"name\":\"a\",\"namespace\":\"team\"," MARKS
         "},\"data\":{\"status\":\"x\",\"uid\":\"y\"}}"},
        {"a Secret's stringData is its data", "team",
         "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"a\"},\"data\":{\"a\":"
         "\"MQ==\",\"b\":\"MQ==\"},\"stringData\":{\"b\":\"2\",\"c\":\"\"}}",
         "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"a\",\"namespace\":"
         "\"team\"," MARKS "},\"data\":{\"a\":\"MQ==\",\"b\":\"Mg==\",\"c\":\"\"}}"},
        {"a Secret's stringData alone", "team",
         "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"a\"},\"data\":null,"
         "\"stringData\":{\"b\":\"2\"}}",
         "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"a\",\"namespace\":"
         "\"team\"," MARKS "},\"data\":{\"b\":\"Mg==\"}}"},
        {"a stringData that the API server will refuse", "team",
         "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"a\"},\"stringData\":"
         "{\"b\":2}}",
         "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"a\",\"namespace\":"
         "\"team\"," MARKS "},\"stringData\":{\"b\":2}}"},
        {"a stringData of another kind", "team",
         "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"},"
         "\"stringData\":{\"b\":\"2\"}}",
         "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"namespace\":"
         "\"team\"," MARKS "},\"stringData\":{\"b\":\"2\"}}"},
    };
    struct runtime_session session = stage_session();
    const struct kube_expected any = {0};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct kube_ref place = {NULL, rows[i].namespace_name, "a", NULL};
        _cleanup_value_ const struct value *attributes = stage_value(rows[i].attributes);
        _cleanup_value_ const struct value *expected = stage_value(rows[i].expected);
        _cleanup_value_ const struct value *object =
            kube_object_prepare(&session, &place, attributes, &any);
        _cleanup_free_ char *before = json_to_str(attributes), *text = json_to_str(object);

        EXPECT(value_equal(object, expected), rows[i].note);
        if (!value_equal(object, expected))
            fprintf(stderr, "%s: %s\n", rows[i].note, text);
        EXPECT_STR(before, rows[i].attributes, "the attributes are as they were");
    }
}

static void tells_whose_an_object_is(void)
{
    static const struct {
        const char *metadata;
        enum kube_owner owner;
    } rows[] = {
        {"{}", OWNER_NONE},
        {"{\"labels\":{\"app\":\"x\"}}", OWNER_NONE},
        {"{" LABEL "}", OWNER_SELF},
        {"{\"labels\":{\"api.kusion.io/owner\":\"kusion-0123\"}}", OWNER_SPEC},
        {"{\"labels\":{\"api.kusion.io/owner\":\"\"}}", OWNER_SPEC},
        {"{\"annotations\":{\"api.kusion.io/owner\":\"" STAGE_OWNER "\"}}", OWNER_NONE},
        {"{\"labels\":{\"app.kubernetes.io/managed-by\":\"Helm\"}}", OWNER_OTHER},
        {"{\"labels\":{\"app.kubernetes.io/managed-by\":\"kustomize\"}}", OWNER_NONE},
        {"{\"labels\":{\"kustomize.toolkit.fluxcd.io/name\":\"apps\"}}", OWNER_OTHER},
        {"{\"labels\":{\"helm.toolkit.fluxcd.io/name\":\"web\"}}", OWNER_OTHER},
        {"{\"labels\":{\"argocd.argoproj.io/instance\":\"web\"}}", OWNER_OTHER},
        {"{\"annotations\":{\"argocd.argoproj.io/tracking-id\":\"web:a\"}}", OWNER_OTHER},
        {"{\"labels\":{\"applyset.kubernetes.io/part-of\":\"applyset-x\"}}", OWNER_OTHER},
        {"{\"labels\":{\"app.kubernetes.io/managed-by\":\"Helm\",\"api.kusion.io/owner\":"
         "\"" STAGE_OWNER "\"}}",
         OWNER_SELF},
    };
    struct runtime_session session = stage_session();

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *metadata = stage_value(rows[i].metadata);
        _cleanup_value_ const struct value *object = value_pack("{s:v}", "metadata", metadata);
        struct observation seen = {0};

        kube_observe_object(&session, object, false, &seen);
        EXPECT_INT(kube_detail_of(&seen)->owner, rows[i].owner, rows[i].metadata);
        EXPECT_INT(seen.presence, PRESENCE_PRESENT, rows[i].metadata);
        EXPECT(!seen.result, "not asked for");
        observation_done(&seen);
    }
}

static void names_the_object_that_it_is_for(void)
{
    struct runtime_session session = stage_session();
    const struct kube_expected expected = {"u-1", "7"};
    struct kube_ref place = {NULL, "team", "a", NULL};
    _cleanup_value_ const struct value *attributes =
        stage_value("{\"metadata\":{\"name\":\"a\",\"uid\":\"x\",\"resourceVersion\":\"1\"}}");
    _cleanup_value_ const struct value *object =
        kube_object_prepare(&session, &place, attributes, &expected);

    EXPECT_STR(value_string(value_path(object, "metadata", "uid", NULL)), "u-1", "the uid");
    EXPECT_STR(value_string(value_path(object, "metadata", "resourceVersion", NULL)), "7",
               "the version");
}

static void knows_what_is_secret(void)
{
    static const struct {
        const char *attributes, *pointers; /* NULL: none */
    } rows[] = {
        {"{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"data\":{}}", "[\"/data\"]"},
        {"{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"stringData\":{\"a\":\"b\"},\"data\":{}}",
         "[\"/stringData\",\"/data\"]"},
        {"{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"a\",\"annotations\":{"
         "\"a\":\"b\",\"kubectl.kubernetes.io/last-applied-configuration\":\"{}\"}}}",
         "[\"/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration\"]"},
        {"{\"apiVersion\":\"v1\",\"kind\":\"Secret\"}", NULL},
        {"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"data\":{}}", NULL},
        {"{\"apiVersion\":\"x.io/v1\",\"kind\":\"Secret\",\"data\":{}}", NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *attributes = stage_value(rows[i].attributes);
        _cleanup_value_ const struct value *expected =
            rows[i].pointers ? stage_value(rows[i].pointers) : NULL;
        _cleanup_value_ const struct value *marked = kube_object_mark(attributes);
        _cleanup_value_ const struct value *pointers = value_sensitive_paths(marked);

        EXPECT(value_equal(marked, attributes), rows[i].attributes);
        EXPECT(expected ? value_equal(pointers, expected) : !pointers, rows[i].attributes);
    }
    EXPECT(!kube_object_mark(NULL), "nothing stays nothing");
}

static void leaves_out_what_the_server_fills_in(void)
{
    static const struct {
        const char *object, *projected;
    } rows[] = {
        {"{\"kind\":\"X\",\"metadata\":{\"name\":\"n\"},\"spec\":{\"status\":1}}",
         "{\"kind\":\"X\",\"metadata\":{\"name\":\"n\"},\"spec\":{\"status\":1}}"},
        {"{\"status\":1,\"metadata\":{\"uid\":\"u\",\"name\":\"n\",\"resourceVersion\":\"1\","
         "\"creationTimestamp\":null,\"selfLink\":\"\",\"generation\":2,\"managedFields\":[]}}",
         "{\"metadata\":{\"name\":\"n\"}}"},
        {"{\"metadata\":{\"annotations\":{\"kubectl.kubernetes.io/"
         "last-applied-configuration\":\"{\\\"data\\\":\\\"secret\\\"}\",\"a\":\"1\"}}}",
         "{\"metadata\":{\"annotations\":{\"a\":\"1\"}}}"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *object = stage_value(rows[i].object);
        _cleanup_value_ const struct value *expected = stage_value(rows[i].projected);
        _cleanup_value_ const struct value *projected = kube_object_project(object);

        EXPECT(value_equal(projected, expected), rows[i].object);
    }
}

/* fields: of our entry of managedFields; rest: more of the object. */
static char *fields_digest(const char *manager, const char *more, const char *fields,
                           const char *rest)
{
    struct runtime_session session = stage_session();
    _cleanup_free_ char *text = str_printf(
        "{\"metadata\":{\"uid\":\"u-1\",\"managedFields\":[{\"manager\":\"helm\",\"operation\":"
        "\"Apply\",\"fieldsV1\":{\"f:x\":{}}},{\"manager\":\"%s\",%s,\"fieldsV1\":%s}]}%s}",
        manager, more, fields, rest);
    static const char *const managed[] = {"metadata", "managedFields"};
    _cleanup_value_ const struct value *object = stage_value(text), *kept = NULL;
    struct observation seen = {0};
    char *fields_digest;

    kube_observe_object(&session, object, true, &seen);
    EXPECT_STR(seen.uid, "u-1", "uid");
    kept = value_without_path(object, managed, ARRAY_SIZE(managed));
    EXPECT(value_equal(seen.result, kept), "kept, without who manages what");
    fields_digest = TAKE(seen.fields_digest);
    observation_done(&seen);
    return fields_digest;
}

static void the_digest_changes_with_our_fields_alone(void)
{
    static const char apply[] = "\"operation\":\"Apply\",\"time\":\"2026-01-01T00:00:00Z\"";
    static const char fields[] = "{\"f:a\":{},\"f:b\":{}}";
    static const struct {
        const char *note, *manager, *more, *fields, *rest;
        enum { SAME, DIFFERENT, NONE } is;
    } rows[] = {
        {"the same", MANAGER, apply, fields, "", SAME},
        {"another status", MANAGER, apply, fields, ",\"status\":{\"x\":1}", SAME},
        {"another time", MANAGER, "\"operation\":\"Apply\",\"time\":\"2027-01-01T00:00:00Z\"",
         fields, "", SAME},
        {"another order", MANAGER, apply, "{\"f:b\":{},\"f:a\":{}}", "", SAME},
        {"a field was taken", MANAGER, apply, "{\"f:a\":{}}", "", DIFFERENT},
        {"all were taken", MANAGER, apply, "{}", "", DIFFERENT},
        {"another manager", "another-operator", apply, fields, "", NONE},
        {"of a subresource", MANAGER, "\"operation\":\"Apply\",\"subresource\":\"status\"", fields,
         "", NONE},
    };
    _cleanup_free_ char *first = fields_digest(MANAGER, apply, fields, "");

    CU_ASSERT_PTR_NOT_NULL_FATAL(first);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *now =
            fields_digest(rows[i].manager, rows[i].more, rows[i].fields, rows[i].rest);

        EXPECT_INT(now != NULL, rows[i].is != NONE, rows[i].note);
        EXPECT_INT(str_equal(now, first), rows[i].is == SAME, rows[i].note);
    }
}

static void sees_what_is_being_deleted(void)
{
    struct runtime_session session = stage_session();
    _cleanup_value_ const struct value *object =
        stage_value("{\"metadata\":{\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"}}");
    struct observation seen = {0};

    kube_observe_object(&session, object, false, &seen);
    EXPECT(seen.terminating, "terminating");
    EXPECT_STR(seen.uid, NULL, "no uid");
    observation_done(&seen);
}

static void says_why_it_still_exists(void)
{
#define GOES "\"metadata\":{\"deletionTimestamp\":\"2026-01-01T00:00:00Z\""
    static const struct {
        const char *object, *expected;
    } rows[] = {
        {"{\"metadata\":{\"finalizers\":[\"a.io/b\"]}}", NULL},
        {"{" GOES "}}", NULL},
        {"{" GOES ",\"finalizers\":[\"a.io/b\"]}}", "it has the finalizer a.io/b"},
        {"{" GOES ",\"finalizers\":[\"foregroundDeletion\",\"a.io/b\",\"c\"]}}",
         "it has the finalizer a.io/b, c"},
        {"{" GOES ",\"finalizers\":[\"a\",\"b\",\"c\",\"d\",\"e\"]}}",
         "it has the finalizer a, b, c, and 2 more"},
        {"{" GOES ",\"finalizers\":[\"foregroundDeletion\"]}}",
         "the objects that it owns are deleted first"},
        {"{" GOES ",\"deletionGracePeriodSeconds\":30}}", "it has 30 s to end"},
        {"{" GOES ",\"deletionGracePeriodSeconds\":0}}", NULL},
        {"{\"apiVersion\":\"v1\",\"kind\":\"Namespace\"," GOES "}}",
         "its content is deleted first"},
        {"{\"apiVersion\":\"v1\",\"kind\":\"Namespace\"," GOES
         "},\"status\":{\"conditions\":[{\"type\":\"NamespaceContentRemaining\",\"status\":"
         "\"True\","
         "\"message\":\"pods.\"},{\"type\":\"NamespaceFinalizersRemaining\",\"status\":\"True\","
         "\"message\":\"a.io/b in 1 resource\"}]}}",
         "its content is deleted first: a.io/b in 1 resource"},
    };
    struct runtime_session session = stage_session();

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *object = stage_value(rows[i].object);
        struct observation seen = {0};

        kube_observe_object(&session, object, true, &seen);
        EXPECT_STR(seen.held_by, rows[i].expected, rows[i].object);
        observation_done(&seen);
    }
}

SUITE(kube_object, TEST(leaves_out_what_the_server_fills_in), TEST(prepares_what_is_sent),
      TEST(names_the_object_that_it_is_for), TEST(knows_what_is_secret),
      TEST(tells_whose_an_object_is), TEST(the_digest_changes_with_our_fields_alone),
      TEST(sees_what_is_being_deleted), TEST(says_why_it_still_exists))
