/* What stands in the way of a Namespace's or a definition's deletion, by a scripted server. */
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "runtimes/kubernetes/change/guard.h"
#include "runtimes/kubernetes/session/session.h"
#include "runtimes/kubernetes/session/setup.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

#define OWNER                                                                                    \
    "kusion-e7ac61094c102a236ce1546701b23ec119977c32" /* of the Spec "s" in the namespace "team" \
                                                       */

#define SPACE \
    "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"demo\",\"uid\":\"u\""
#define DEFINITION                                            \
    "{\"apiVersion\":\"apiextensions.k8s.io/"                 \
    "v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\"" \
    ":{\"name\":\"things.x.io\",\"uid\":\"u\""
#define GUARD_DISABLED ",\"annotations\":{\"api.kusion.io/deletion-guard\":\"disabled\"}"
#define END            "}}"
#define VERSIONS(versions)                                                                 \
    "},\"spec\":{\"group\":\"x.io\",\"names\":{\"kind\":\"Thing\",\"plural\":\"things\"}," \
    "\"versions\":[" versions "]}}"
#define V(name, served) "{\"name\":\"" name "\",\"served\":" served "}"

#define KINDS(kinds) "{\"kind\":\"APIResourceList\",\"resources\":[" kinds "]}"
#define NAMESPACES   KINDS("{\"name\":\"namespaces\",\"kind\":\"Namespace\",\"namespaced\":false}")
#define DEFINITIONS                                                                        \
    KINDS("{\"name\":\"customresourcedefinitions\",\"kind\":\"CustomResourceDefinition\"," \
          "\"namespaced\":false}")

#define ALL(groups) "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[" groups "]}"
#define GROUP(name, more) \
    "{\"metadata\":{\"name\":\"" name "\"},\"versions\":[{\"version\":\"v1\"," more "}]}"
#define HAS(resources) "\"freshness\":\"Current\",\"resources\":[" resources "]"
#define RESOURCE(plural, kind)                                                         \
    "{\"resource\":\"" plural "\",\"responseKind\":{\"kind\":\"" kind "\"},\"scope\":" \
    "\"Namespaced\",\"verbs\":[\"delete\",\"list\"]}"
#define NO_MORE ALL(GROUP("apps", HAS("")))

#define LIST(items)                                                                               \
    "{\"kind\":\"PartialObjectMetadataList\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":" \
    "[" items "]}"
#define ITEM(name, more) "{\"metadata\":{\"name\":\"" name "\"" more "}}"

#define GET(path, answer)                                    \
    {                                                        \
        .expect = "GET " path, .status = 200, .body = answer \
    }
#define REFUSED(path)                                                                           \
    {                                                                                           \
        .expect = "GET " path, .status = 403,                                                   \
        .body = "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"reason\":\"Forbidden\",\"code\":" \
                "403,\"message\":\"no\"}"                                                       \
    }
#define NO_PAGE(path)                                                                              \
    {                                                                                              \
        .expect = "GET " path, .status = 404, .body = "404 page not found\n", .type = "text/plain" \
    }
#define FOUND_SPACE GET("/api/v1 ", NAMESPACES), GET("/api/v1/namespaces/demo ", SPACE END)
#define FOUND_DEFINITION(versions)                                                  \
    GET("/apis/apiextensions.k8s.io/v1 ", DEFINITIONS),                             \
        GET("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.x.io ", \
            DEFINITION VERSIONS(versions))
#define MAPS   "/api/v1/namespaces/demo/configmaps?limit=500"
#define THINGS "/apis/x.io/v1/things?limit=500"

/* Asks the guard for an object. *ret_sent: the last request; free(). */
static int ask_until(int64_t deadline, const struct fake_step *steps, size_t n_steps,
                     const char *object, char **ret_sent, struct error *error)
{
    struct harness harness;
    struct fake_clock clock;
    struct kube_runtime_config config;
    struct kube_runtime runtime;
    struct runtime_session *session = NULL;
    _cleanup_value_ const struct value *identity =
        value_pack("{s:s}", "serviceAccountName", "robot");
    struct runtime_call call = {.deadline = deadline};
    const struct runtime_scope scope = {.key = {"team", "s"}, .identity = identity};
    _cleanup_value_ const struct value *attributes = NULL;
    int r;

    harness_start(&harness, steps, n_steps, NULL);
    fake_clock_init(&clock);
    config = (struct kube_runtime_config){
        .cluster = {harness.client, kube_discovery_new(harness.client, &clock.source)},
        .clock = &clock.source,
    };
    kube_runtime_init(&runtime, &config);
    EXPECT_INT(kube_session_open(&runtime.base, &scope, &call, &session, NULL), 0, "a session");
    EXPECT_INT(json_read_str(object, &attributes, NULL), 0, object);
    r = kube_may_delete(session, attributes, &call, error);
    if (ret_sent)
        *ret_sent = fake_server_request(harness.server, fake_server_count(harness.server) - 1);
    session_unref(session);
    kube_runtime_done(&runtime);
    kube_discovery_free(config.cluster.discovery);
    harness_stop(&harness, true);
    return r;
}

static int ask(const struct fake_step *steps, size_t n_steps, const char *object, char **ret_sent,
               struct error *error)
{
    return ask_until(CLOCK_FOREVER, steps, n_steps, object, ret_sent, error);
}

/* What is not listed in the time that the call has is not known. */
static void waits_no_longer_than_it_may(void)
{
    static const struct fake_step steps[] = {
        GET("/api/v1 ", NAMESPACES),
        GET("/api/v1/namespaces/demo ", SPACE END),
        GET("/api ", ALL("{\"metadata\":{},\"versions\":[{\"version\":\"v1\"," HAS(
                         RESOURCE("configmaps", "ConfigMap")) "}]}")),
        GET("/apis ", NO_MORE),
        {.expect = "GET " MAPS, .status = 200, .body = LIST(""), .delay = 1500},
    };
    struct error error = {0};

    EXPECT_INT(ask_until(FAKE_CLOCK_START + 500, steps, ARRAY_SIZE(steps), SPACE END, NULL, &error),
               ERR_CONFLICT, error.message);
    EXPECT_STR(error.reason, "DeletionGuardTripped", error.message);
    EXPECT(strstr(error.message, "not known is what it holds of configmaps"), error.message);
}

/* Of one object in the Namespace: its kind, its metadata, and whether it is in the way. */
static void tells_whose_a_content_is(void)
{
#define OWNED(version, kind, more)                                           \
    ",\"ownerReferences\":[{\"apiVersion\":\"" version "\",\"kind\":\"" kind \
    "\",\"name\":\"x\",\"uid\":\"u\"" more "}]"
#define MARK(part, key, value) ",\"" part "\":{\"" key "\":\"" value "\"}"
    static const struct {
        const char *group, *plural, *kind, *name, *metadata;
        bool foreign;
    } rows[] = {
        {"", "configmaps", "ConfigMap", "a", "", true},
        {"", "configmaps", "ConfigMap", "a", MARK("labels", "api.kusion.io/owner", OWNER), false},
        {"", "configmaps", "ConfigMap", "a", MARK("labels", "api.kusion.io/owner", "other"), true},
        {"", "configmaps", "ConfigMap", "a", MARK("annotations", "api.kusion.io/owner", OWNER),
         true},
        {"", "configmaps", "ConfigMap", "a", ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"",
         false},
        {"", "pods", "Pod", "a", OWNED("v1", "Pod", ",\"controller\":true"), false},
        {"", "pods", "Pod", "a", OWNED("v1", "Pod", ",\"controller\":false"), true},
        {"", "pods", "Pod", "a", OWNED("v1", "Pod", ""), true},
        /* whose controller is not in the Namespace, and so not counted in its stead */
        {"", "pods", "Pod", "a", OWNED("v1", "Node", ",\"controller\":true"), true},
        {"", "pods", "Pod", "a", OWNED("x.io/v1", "Pod", ",\"controller\":true"), true},
        {"", "configmaps", "ConfigMap", "kube-root-ca.crt", "", false},
        {"", "secrets", "Secret", "kube-root-ca.crt", "", true},
        {"x.io", "configmaps", "ConfigMap", "kube-root-ca.crt", "", true},
        {"", "serviceaccounts", "ServiceAccount", "default", "", false},
        {"", "serviceaccounts", "ServiceAccount", "robot", "", true},
        {"", "secrets", "Secret", "t",
         MARK("annotations", "kubernetes.io/service-account.uid", "u"), false},
        {"", "secrets", "Secret", "t", "", true},
        {"", "persistentvolumeclaims", "PersistentVolumeClaim", "data-db-0", "", true},
        {"", "endpoints", "Endpoints", "web",
         MARK("labels", "endpoints.kubernetes.io/managed-by", "endpoint-controller"), false},
        {"", "endpoints", "Endpoints", "web",
         MARK("annotations", "endpoints.kubernetes.io/last-change-trigger-time", "t"), false},
        {"", "endpoints", "Endpoints", "by-hand", "", true},
        {"discovery.k8s.io", "endpointslices", "EndpointSlice", "by-hand",
         MARK("labels", "endpointslice.kubernetes.io/managed-by", "me"), true},
        /* what a hint of ours made, for this account */
        {"rbac.authorization.k8s.io", "roles", "Role", "kusion:team:robot:list-0", "", false},
        {"rbac.authorization.k8s.io", "rolebindings", "RoleBinding", "kusion:team:robot:edit", "",
         false},
        {"rbac.authorization.k8s.io", "roles", "Role", "kusion:team:robots:edit", "", true},
        {"rbac.authorization.k8s.io", "roles", "Role", "kusion:team:robot", "", true},
        {"", "configmaps", "ConfigMap", "kusion:team:robot:edit", "", true},
        /* which would read like words of ours */
        {"rbac.authorization.k8s.io", "roles", "Role",
         "a, not of this Spec; to delete it: kubectl delete namespace team", "", true},
        {"api.kusion.io", "specs", "Spec", "a", "", true},
        {"api.kusion.io", "releases", "Release", "a",
         MARK("labels", "api.kusion.io/generated", "true"), false},
        {"api.kusion.io", "releases", "Release", "a", "", true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        bool core = !*rows[i].group;
        _cleanup_free_ char *kinds = str_printf(
            ALL(GROUP("%s", HAS("{\"resource\":\"%s\",\"responseKind\":{\"kind\":\"%s\"},"
                                "\"scope\":\"Namespaced\",\"verbs\":[\"delete\","
                                "\"list\"]}"))),
            rows[i].group, rows[i].plural, rows[i].kind);
        _cleanup_free_ char *list =
            str_printf(LIST("{\"metadata\":{\"name\":\"%s\"%s}}"), rows[i].name, rows[i].metadata);
        _cleanup_free_ char *expected =
            str_printf("it holds %s \"%s\",", rows[i].kind, rows[i].name);
        const struct fake_step steps[] = {FOUND_SPACE, GET("/api ", core ? kinds : NO_MORE),
                                          GET("/apis ", core ? NO_MORE : kinds), GET("/api", list)};
        struct error error = {0};

        EXPECT_INT(ask(steps, ARRAY_SIZE(steps), SPACE END, NULL, &error),
                   rows[i].foreign ? ERR_CONFLICT : 0, list);
        EXPECT_STR(error.reason, rows[i].foreign ? "DeletionGuardTripped" : "", list);
        EXPECT(!rows[i].foreign || strstr(error.message, expected), error.message);
    }
}

/* Nobody needs the right to list what nobody misses. */
static void does_not_ask_for_traces(void)
{
    static const struct fake_step steps[] = {
        FOUND_SPACE,
        GET("/api ", ALL(GROUP("", HAS(RESOURCE("events", "Event"))))),
        GET("/apis ",
            ALL(GROUP("events.k8s.io", HAS(RESOURCE("events", "Event"))) "," GROUP(
                "coordination.k8s.io",
                HAS(RESOURCE("leases", "Lease"))) "," GROUP("storage.k8s.io",
                                                            HAS(RESOURCE("csistoragecapacities",
                                                                         "CSIStorageCapacity"))))),
    };
    struct error error = {0};

    EXPECT_INT(ask(steps, ARRAY_SIZE(steps), SPACE END, NULL, &error), 0, error.message);
}

static void looks_as_the_service_account(void)
{
    static const struct fake_step steps[] = {
        FOUND_SPACE, GET("/api ", ALL(GROUP("", HAS(RESOURCE("configmaps", "ConfigMap"))))),
        GET("/apis ", NO_MORE), GET(MAPS " ", LIST(""))};
    _cleanup_free_ char *sent = NULL;

    EXPECT_INT(ask(steps, ARRAY_SIZE(steps), SPACE END, &sent, NULL), 0, "empty");
    EXPECT(strcasestr(sent, "impersonate-user: system:serviceaccount:team:robot\r\n"), sent);
    EXPECT(strstr(sent, "as=PartialObjectMetadataList"), sent);
}

/* The guard looks again at the Spec's next try. */
#define NOW                                                     \
    " && kubectl annotate spec s --namespace=team --overwrite " \
    "api.kusion.io/reconcile-requested-at=$(date +%s)"

static void says_what_is_in_the_way_and_the_way_out(void)
{
#define WAY_OUT                                                                             \
    "\nto delete it with all that it holds: kubectl annotate namespace demo api.kusion.io/" \
    "deletion-guard=disabled" NOW
#define KIND(plural, kind) ALL(GROUP("", HAS(RESOURCE(plural, kind))))
#define TWO_KINDS \
    ALL(GROUP("", HAS(RESOURCE("configmaps", "ConfigMap") "," RESOURCE("secrets", "Secret"))))
#define RBAC_KINDS                         \
    ALL(GROUP("rbac.authorization.k8s.io", \
              HAS(RESOURCE("roles", "Role") "," RESOURCE("rolebindings", "RoleBinding"))))
#define IN_RBAC(plural) "/apis/rbac.authorization.k8s.io/v1/namespaces/demo/" plural "?limit=500 "
    static const struct fake_step named[] = {
        FOUND_SPACE, GET("/api ", TWO_KINDS), GET("/apis ", NO_MORE),
        GET(MAPS, LIST(ITEM("a", "") "," ITEM("b", ""))),
        GET("/api/v1/namespaces/demo/secrets",
            LIST(ITEM("c", "") "," ITEM("d", "") "," ITEM("e", "")))};
    static const struct fake_step refused[] = {FOUND_SPACE,
                                               GET("/api ", TWO_KINDS),
                                               GET("/apis ", RBAC_KINDS),
                                               REFUSED(MAPS),
                                               REFUSED("/api/v1/namespaces/demo/secrets"),
                                               REFUSED(IN_RBAC("roles")),
                                               REFUSED(IN_RBAC("rolebindings"))};
    static const struct fake_step both[] = {
        FOUND_SPACE, GET("/api ", TWO_KINDS),
        GET("/apis ", ALL(GROUP("down.io", "\"freshness\":\"Stale\",\"resources\":[]"))),
        GET(MAPS, LIST(ITEM("a", ""))), REFUSED("/api/v1/namespaces/demo/secrets")};
    static const struct {
        const struct fake_step *steps;
        size_t n_steps;
        const char *message;
    } rows[] = {
        {named, ARRAY_SIZE(named),
         "not deleted: it holds ConfigMap \"a\", ConfigMap \"b\", Secret \"c\" and 2 more, not of "
         "this "
         "Spec" WAY_OUT},
        {refused, ARRAY_SIZE(refused),
         "not deleted: not known is what else it holds, since team:robot may not list configmaps, "
         "secrets, roles.rbac.authorization.k8s.io and 1 more" WAY_OUT},
        {both, ARRAY_SIZE(both),
         "not deleted: it holds ConfigMap \"a\", not of this Spec; not known is what else it "
         "holds, "
         "since team:robot may not list secrets; not known is what it holds of down.io/v1" WAY_OUT},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error error = {0};

        EXPECT_INT(ask(rows[i].steps, rows[i].n_steps, SPACE END, NULL, &error), ERR_CONFLICT,
                   rows[i].message);
        EXPECT_STR(error.reason, "DeletionGuardTripped", rows[i].message);
        EXPECT_STR(error.message, rows[i].message, "message");
    }
}

/* Those that are too many to be named are counted. */
static void a_message_is_whole_however_many_kinds_are_refused(void)
{
    enum { KINDS_REFUSED = 30 };
    _cleanup_buf_ struct buf kinds = BUF_INIT;
    struct fake_step steps[4 + KINDS_REFUSED] = {FOUND_SPACE, {0}, GET("/apis ", NO_MORE)};
    struct error error = {0};

    buf_add_str(&kinds, "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[{\"metadata\":{\"name\":"
                        "\"\"},\"versions\":[{\"version\":\"v1\",\"freshness\":\"Current\","
                        "\"resources\":[");
    for (int i = 0; i < KINDS_REFUSED; i++) {
        buf_printf(&kinds,
                   "%s{\"resource\":\"kind%dwithalongname\",\"responseKind\":{\"kind\":"
                   "\"Kind%d\"},\"scope\":\"Namespaced\",\"verbs\":[\"delete\",\"list\"]}",
                   i ? "," : "", i, i);
        steps[4 + i] = (struct fake_step)REFUSED("/api/v1/namespaces/demo/kind");
    }
    buf_add_str(&kinds, "]}]}]}");
    steps[2] = (struct fake_step)GET("/api ", kinds.data);
    EXPECT_INT(ask(steps, ARRAY_SIZE(steps), SPACE END, NULL, &error), ERR_CONFLICT, "tripped");
    EXPECT_STR(error.message,
               "not deleted: not known is what else it holds, since team:robot may not list "
               "kind0withalongname, kind1withalongname, kind2withalongname and 27 "
               "more" WAY_OUT,
               "message");
}

/* The right to list it in all namespaces is not offered. */
static void says_whose_objects_are_not_known(void)
{
    static const struct fake_step steps[] = {FOUND_DEFINITION(V("v1", "true")),
                                             REFUSED(THINGS " ")};
    struct error error = {0};

    EXPECT_INT(ask(steps, ARRAY_SIZE(steps), DEFINITION END, NULL, &error), ERR_CONFLICT,
               "tripped");
    EXPECT_STR(
        error.message,
        "not deleted: not known is what else it holds, since team:robot may not list "
        "things.x.io\nto delete it with all that "
        "it holds: kubectl annotate crd things.x.io api.kusion.io/deletion-guard=disabled" NOW,
        "message");
}

static void reads_all_pages(void)
{
    static const struct fake_step steps[] = {
        FOUND_SPACE,
        GET("/api ", KIND("configmaps", "ConfigMap")),
        GET("/apis ", NO_MORE),
        GET(MAPS " ",
            "{\"kind\":\"PartialObjectMetadataList\",\"metadata\":{\"resourceVersion\":\"1\","
            "\"continue\":\"next\"},\"items\":[" ITEM("kube-root-ca.crt", "") "]}"),
        GET(MAPS "&continue=next ", LIST(ITEM("theirs", ""))),
    };
    struct error error = {0};

    EXPECT_INT(ask(steps, ARRAY_SIZE(steps), SPACE END, NULL, &error), ERR_CONFLICT, "tripped");
    EXPECT(strstr(error.message, "ConfigMap \"theirs\","), error.message);
}

/* Neither the rest of the page, nor the next one, nor other kinds. */
static void stops_when_it_knows_enough(void)
{
    struct buf list = BUF_INIT;
    struct error error = {0};

    buf_add_str(&list, "{\"kind\":\"PartialObjectMetadataList\",\"metadata\":{\"resourceVersion\":"
                       "\"1\",\"continue\":\"next\"},\"items\":[");
    for (int i = 0; i < 200; i++)
        buf_printf(&list, "%s{\"metadata\":{\"name\":\"m%d\"}}", i ? "," : "", i);
    buf_add_str(&list, "]}");
    {
        const struct fake_step steps[] = {FOUND_SPACE, GET("/api ", TWO_KINDS),
                                          GET("/apis ", NO_MORE), GET(MAPS " ", list.data)};

        EXPECT_INT(ask(steps, ARRAY_SIZE(steps), SPACE END, NULL, &error), ERR_CONFLICT, "tripped");
    }
    EXPECT(
        strstr(error.message,
               "ConfigMap \"m0\", ConfigMap \"m1\", ConfigMap \"m2\" and 97 more at least, not of"),
        error.message);
    buf_done(&list);
}

/* A list answered without being one: whether the kind is gone says the server's discovery. */
static void tells_a_vanished_kind_from_an_unknown_one(void)
{
#define THING_KIND ALL(GROUP("x.io", HAS(RESOURCE("things", "Thing"))))
#define NO_CORE    ALL(GROUP("", HAS("")))
    static const struct fake_step gone[] = {
        FOUND_SPACE, GET("/api ", NO_CORE), GET("/apis ", THING_KIND),
        NO_PAGE("/apis/x.io/v1/namespaces/demo/things"), GET("/apis/x.io/v1 ", KINDS(""))};
    static const struct fake_step there[] = {
        FOUND_SPACE, GET("/api ", NO_CORE), GET("/apis ", THING_KIND),
        NO_PAGE("/apis/x.io/v1/namespaces/demo/things"),
        GET("/apis/x.io/v1 ",
            KINDS("{\"name\":\"things\",\"kind\":\"Thing\",\"namespaced\":true}"))};
    struct error error = {0};

    EXPECT_INT(ask(gone, ARRAY_SIZE(gone), SPACE END, NULL, &error), 0, error.message);
    EXPECT_INT(ask(there, ARRAY_SIZE(there), SPACE END, NULL, &error), ERR_CONFLICT, "unknown");
    EXPECT(strstr(error.message, "not known is what it holds of things.x.io ("), error.message);
}

static void guards_definitions(void)
{
    static const struct {
        const char *note, *items;
        int code;
    } rows[] = {
        {"none", "", 0},
        {"ours", ITEM("a", ",\"labels\":{\"api.kusion.io/owner\":\"" OWNER "\"}"), 0},
        {"in any namespace", ITEM("a", ",\"namespace\":\"far\""), ERR_CONFLICT},
        {"with a controller",
         ITEM("a", ",\"namespace\":\"far\",\"ownerReferences\":[{\"controller\":true}]"),
         ERR_CONFLICT},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *list = str_printf(LIST("%s"), rows[i].items);
        const struct fake_step steps[] = {FOUND_DEFINITION(V("v0", "false") "," V("v1", "true")),
                                          GET(THINGS " ", list)};
        struct error error = {0};

        EXPECT_INT(ask(steps, ARRAY_SIZE(steps), DEFINITION END, NULL, &error), rows[i].code,
                   rows[i].note);
        EXPECT_STR(error.message,
                   rows[i].code
                       ? "not deleted: it holds Thing \"far/a\", not of this Spec\nto delete "
                         "it with all that it holds: kubectl annotate crd things.x.io "
                         "api.kusion.io/deletion-guard=disabled" NOW
                       : "",
                   rows[i].note);
    }
}

static void does_not_know_what_no_version_serves(void)
{
    static const struct fake_step steps[] = {FOUND_DEFINITION(V("v1", "false"))};
    struct error error = {0};

    EXPECT_INT(ask(steps, ARRAY_SIZE(steps), DEFINITION END, NULL, &error), ERR_CONFLICT,
               "unknown");
    EXPECT(strstr(error.message, "no version of it is served"), error.message);
}

/* What is asked, and what it comes to, where there is nothing to look into. */
static void a_disabled_guard_does_not_look(void)
{
    static const struct fake_step annotated[] = {
        GET("/api/v1 ", NAMESPACES), GET("/api/v1/namespaces/demo ", SPACE GUARD_DISABLED END)};
    static const struct fake_step absent[] = {
        GET("/api/v1 ", NAMESPACES),
        {.expect = "GET /api/v1/namespaces/demo ",
         .status = 404,
         .body = "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"reason\":\"NotFound\",\"code\":404,"
                 "\"message\":\"no\","
                 "\"details\":{\"name\":\"demo\",\"kind\":\"namespaces\"}}"}};
    static const struct {
        const char *note, *object;
        const struct fake_step *steps;
        size_t n_steps;
    } rows[] = {
        {"annotated in the Spec", SPACE GUARD_DISABLED END, NULL, 0},
        {"annotated on the object", SPACE END, annotated, ARRAY_SIZE(annotated)},
        {"gone", SPACE END, absent, ARRAY_SIZE(absent)},
        {"a kind that holds nothing",
         "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"demo\"}}", NULL,
         0},
        {"another Namespace",
         "{\"apiVersion\":\"x.io/v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"demo\"}}",
         NULL, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error error = {0};

        EXPECT_INT(ask(rows[i].steps, rows[i].n_steps, rows[i].object, NULL, &error), 0,
                   rows[i].note);
        EXPECT_STR(error.message, "", rows[i].note);
    }
}

/* Not known is not empty. */
static void fails_where_it_cannot_look(void)
{
    static const struct fake_step unread[] = {GET("/api/v1 ", NAMESPACES),
                                              REFUSED("/api/v1/namespaces/demo ")};
    static const struct fake_step no_kinds[] = {FOUND_SPACE, REFUSED("/api ")};
    struct error error = {0};

    EXPECT_INT(ask(unread, ARRAY_SIZE(unread), SPACE END, NULL, &error), ERR_FORBIDDEN, "unread");
    EXPECT_INT(ask(no_kinds, ARRAY_SIZE(no_kinds), SPACE END, NULL, &error), ERR_FORBIDDEN,
               "no discovery");
    EXPECT(
        str_has_prefix(error.message, "looking at what would go with it: discovery of all kinds: "),
        error.message);
}

SUITE(kube_guard, TEST(waits_no_longer_than_it_may), TEST(tells_whose_a_content_is),
      TEST(does_not_ask_for_traces), TEST(looks_as_the_service_account),
      TEST(says_what_is_in_the_way_and_the_way_out),
      TEST(a_message_is_whole_however_many_kinds_are_refused),
      TEST(says_whose_objects_are_not_known), TEST(reads_all_pages),
      TEST(stops_when_it_knows_enough), TEST(tells_a_vanished_kind_from_an_unknown_one),
      TEST(guards_definitions), TEST(does_not_know_what_no_version_serves),
      TEST(a_disabled_guard_does_not_look), TEST(fails_where_it_cannot_look))
