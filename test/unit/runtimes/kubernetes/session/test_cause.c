/* What is asked, and when, to say why an object is not healthy. */
#include "engine/base/str.h"
#include "test/unit/runtimes/kubernetes/session/script.h"
#include "test/unit/suite.h"

#define THE(kind, more)                                                            \
    "\"kind\":\"" kind "\",\"metadata\":{\"name\":\"web\",\"namespace\":\"team\"," \
    "\"uid\":\"u-web\",\"generation\":1" more "}"
#define SELECTOR "\"selector\":{\"matchLabels\":{\"app\":\"web\"}}"
#define DEPLOYMENT_WITH(conditions)                                                        \
    "{\"apiVersion\":\"apps/v1\"," THE(                                                    \
        "Deployment",                                                                      \
        "") ",\"spec\":{\"replicas\":2," SELECTOR                                          \
            "},\"status\":{\"observedGeneration\":1,\"replicas\":2,\"updatedReplicas\":2," \
            "\"conditions\":[" conditions "]}}"
#define DEPLOYMENT DEPLOYMENT_WITH("")
#define SET                                                      \
    "{\"apiVersion\":\"apps/v1\"," THE(                          \
        "StatefulSet", "") ",\"spec\":{\"replicas\":1," SELECTOR \
                           "},\"status\":{\"observedGeneration\":1,\"replicas\":0}}"
#define JOB                                                                                       \
    "{\"apiVersion\":\"batch/v1\"," THE(                                                          \
        "Job",                                                                                    \
        "") ",\"spec\":{" SELECTOR                                                                \
            "},\"status\":{\"conditions\":[{\"type\":\"Failed\",\"status\":\"True\",\"message\":" \
            "\"Job has reached the specified backoff limit\"}]}}"
#define CLAIM                                              \
    "{\"apiVersion\":\"v1\"," THE("PersistentVolumeClaim", \
                                  "") ",\"status\":{\"phase\":\"Pending\"}}"
#define POD_OF(status) "{\"apiVersion\":\"v1\"," THE("Pod", "") ",\"status\":{" status "}}"

/* A Pod of an owner. */
#define POD(name, hash, created, owner, status)                                                    \
    "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"u-" name "\",\"creationTimestamp\":\"" created \
    "\",\"labels\":{\"pod-template-hash\":\"" hash                                                 \
    "\"},\"ownerReferences\":[{\"controller\":true," owner "}]},\"status\":{" status "}}"
#define OF_SET(hash) "\"kind\":\"ReplicaSet\",\"name\":\"web-" hash "\""
#define UNSCHEDULABLE                                                                        \
    "\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\"," \
    "\"reason\":\"Unschedulable\",\"message\":\"no node\"}]"
#define READY   "\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]"
#define UNREADY "\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"app\",\"ready\":false}]"
#define ENDED                                                                                  \
    "\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"app\",\"ready\":false,\"state\":" \
    "{\"terminated\":{\"exitCode\":3,\"reason\":\"Error\"}}}]"
#define EVENT(reason, message, seen) \
    "{\"reason\":\"" reason "\",\"message\":\"" message "\",\"lastTimestamp\":\"" seen "\"}"

#define OLDER   POD("web-a-1", "a", "1", OF_SET("a"), UNREADY)
#define STUCK_1 POD("web-b-1", "b", "2", OF_SET("b"), UNSCHEDULABLE)
#define STUCK_2 POD("web-b-2", "b", "2", OF_SET("b"), UNSCHEDULABLE)
#define OF_ANOTHER \
    POD("other-c-1", "c", "3", "\"kind\":\"ReplicaSet\",\"name\":\"other-c\"", UNREADY)

#define PODS "GET /api/v1/namespaces/team/pods?labelSelector=app%3Dweb&limit=50 "
#define EVENTS(uid, type) \
    "GET /api/v1/namespaces/team/events?fieldSelector=involvedObject.uid%3D" uid type "&limit=50 "
#define WARNINGS(uid) EVENTS(uid, "%2Ctype%3DWarning")
#define FOUND(where, items)                                 \
    {                                                       \
        .expect = where, .status = 200, .body = LIST(items) \
    }
#define REFUSED(where)                                                               \
    {                                                                                \
        .expect = where, .status = 403, .body = STATUS(403, "Forbidden", "no", "{}") \
    }

#define COMMAND(list, name)                                                           \
    "to see why: kubectl create role kusion:team:deployer:list-" name                 \
    " --verb=list --resource=" list                                                   \
    " --namespace=team && kubectl create rolebinding kusion:team:deployer:list-" name \
    " --role=kusion:team:deployer:list-" name " --serviceaccount=team:deployer --namespace=team"

/* The health of an object, after so many ms in which it was not healthy. */
static struct health look(struct call *call, const char *text, int64_t later)
{
    _cleanup_value_ const struct value *object = stage_value(text);
    const struct observation seen = {.presence = PRESENCE_PRESENT, .result = object};
    struct health health = {0};

    call->stage.clock.monotonic += later;
    EXPECT_INT(kube_judge_health(call->session, &call->target, &seen, &stage_call, &health, NULL),
               0, text);
    return health;
}

static void names_the_cause(void)
{
    static const struct {
        const char *object;
        struct fake_step steps[3];
        const char *message, *hint;
    } rows[] = {
        {DEPLOYMENT,
         {FOUND(PODS, POD("web-a-1", "a", "1", OF_SET("a"), UNSCHEDULABLE))},
         "Available: 0/2: Pod web-a-1: Unschedulable: no node",
         ""},
        /* One text for Pods with one cause; those of others, and of an older template, are none. */
        {DEPLOYMENT,
         {FOUND(PODS, OLDER "," STUCK_1 "," STUCK_2 "," OF_ANOTHER)},
         "Available: 0/2: 2 Pods (web-b-1, …): Unschedulable: no node",
         ""},
        /* The Pod is up, and not ready: the newest Event says why. */
        {DEPLOYMENT,
         {FOUND(PODS, POD("web-a-1", "a", "1", OF_SET("a"), UNREADY)),
          FOUND(WARNINGS("u-web-a-1"), EVENT("FailedMount", "old", "1") "," EVENT(
                                           "Unhealthy", "Readiness probe failed: 503", "2"))},
         "Available: 0/2: Pod web-a-1: Unhealthy: Readiness probe failed: 503",
         ""},
        {DEPLOYMENT,
         {FOUND(PODS, POD("web-a-1", "a", "1", OF_SET("a"), UNREADY)),
          REFUSED(WARNINGS("u-web-a-1"))},
         "Available: 0/2: Pod web-a-1: container app is not ready",
         COMMAND("events", "events")},
        /* There are no Pods: a Deployment says why itself, others by an Event. */
        {DEPLOYMENT_WITH("{\"type\":\"ReplicaFailure\",\"status\":\"True\",\"message\":"
                         "\"exceeded quota: none\"}"),
         {{.status = 0}},
         "Available: 0/2: FailedCreate: exceeded quota: none",
         ""},
        {SET,
         {FOUND(PODS, ""), FOUND(WARNINGS("u-web"), EVENT("FailedCreate", "no account", "1"))},
         "Replicas: 0/1: FailedCreate: no account",
         ""},
        {SET, {FOUND(PODS, ""), FOUND(WARNINGS("u-web"), "")}, "Replicas: 0/1", ""},
        /* All Pods are ready, and something else is missing. */
        {DEPLOYMENT,
         {FOUND(PODS, POD("web-a-1", "a", "1", OF_SET("a"), READY))},
         "Available: 0/2",
         ""},
        {CLAIM,
         {FOUND(EVENTS("u-web", ""),
                EVENT("WaitForFirstConsumer", "waiting for first consumer", "1"))},
         "not Bound yet: WaitForFirstConsumer: waiting for first consumer",
         ""},
        {POD_OF(UNSCHEDULABLE), {{.status = 0}}, "Unschedulable: no node", ""},
        {POD_OF(UNREADY),
         {FOUND(WARNINGS("u-web"), EVENT("Unhealthy", "probe failed", "1"))},
         "Unhealthy: probe failed",
         ""},
        /* The account may not know. */
        {DEPLOYMENT,
         {REFUSED(PODS)},
         "Available: 0/2: to see why, grant ServiceAccount deployer: list pods,events",
         COMMAND("pods,events", "pods-events")},
        /* Nor can the API server say. */
        {DEPLOYMENT,
         {{.expect = PODS, .status = 404, .body = "404 page not found\n", .type = "text/plain"}},
         "Available: 0/2",
         ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct health health;
        struct call call;

        call_begin(&call, rows[i].steps, count_steps(rows[i].steps), MAP("a"));
        look(&call, rows[i].object, 0);
        health = look(&call, rows[i].object, 3000);
        EXPECT_STR(health.message, rows[i].message, rows[i].object);
        EXPECT_STR(health.hint, rows[i].hint, rows[i].object);
        for (size_t n = 0; n < count_steps(rows[i].steps); n++)
            EXPECT(call_impersonates(&call, n), "as the Spec's account");
        call_end(&call);
    }
}

/* What is not healthy for a moment costs nothing; then the answer is kept for a while. */
static void asks_now_and_then(void)
{
    static const struct fake_step steps[] = {
        FOUND(PODS, POD("web-a-1", "a", "1", OF_SET("a"), UNSCHEDULABLE)),
        FOUND(PODS, ""),
        REFUSED(PODS),
        FOUND(PODS, ""),
    };
    static const struct {
        int64_t later;
        const char *message;
        int64_t look_again;
    } rows[] = {
        {0, "Available: 0/2", 3000},
        {2999, "Available: 0/2", 1},
        {1, "Available: 0/2: Pod web-a-1: Unschedulable: no node", 5000},
        {4999, "Available: 0/2: Pod web-a-1: Unschedulable: no node", 1},
        {1, "Available: 0/2", 10000},
        {10000, "Available: 0/2: to see why, grant ServiceAccount deployer: list pods,events",
         60000},
        {59999, "Available: 0/2: to see why, grant ServiceAccount deployer: list pods,events", 1},
        {1, "Available: 0/2", 30000},
    };
    struct call call;

    call_begin(&call, steps, ARRAY_SIZE(steps), MAP("a"));
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct health health = look(&call, DEPLOYMENT, rows[i].later);

        EXPECT_STR(health.message, rows[i].message, rows[i].message);
        EXPECT_INT(health.look_again, rows[i].look_again, rows[i].message);
    }
    call_end(&call);
}

/* A workload that failed is not looked at again. */
static void asks_at_once_after_a_failure(void)
{
    static const struct fake_step steps[] = {
        FOUND(PODS, POD("web-1", "", "1", "\"uid\":\"u-web\"", ENDED))};
    struct health health;
    struct call call;

    call_begin(&call, steps, ARRAY_SIZE(steps), MAP("a"));
    health = look(&call, JOB, 0);
    EXPECT_INT(health.status, HEALTH_FAILED, health.message);
    EXPECT_STR(health.message,
               "Job has reached the specified backoff limit: Pod web-1: container app: exit code 3",
               "");
    call_end(&call);
}

/* Objects whose health says all there is are not asked about. */
static void leaves_others_alone(void)
{
    static const char *const objects[] = {
        "{\"apiVersion\":\"x.io/v1\"," THE(
            "Widget", "") ",\"status\":{\"conditions\":[{\"type\":"
                          "\"Ready\",\"status\":\"False\",\"message\":\"no\"}]}}",
        "{\"apiVersion\":\"apps/v1\"," THE("Deployment", ",\"deletionTimestamp\":\"x\"") "}",
    };
    struct call call;

    call_begin(&call, NULL, 0, MAP("a"));
    for (size_t i = 0; i < ARRAY_SIZE(objects); i++)
        EXPECT_INT(look(&call, objects[i], 60000).look_again, 0, objects[i]);
    call_end(&call);
}

SUITE(cause, TEST(names_the_cause), TEST(asks_now_and_then), TEST(asks_at_once_after_a_failure),
      TEST(leaves_others_alone))
