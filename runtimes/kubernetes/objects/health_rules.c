#include "runtimes/kubernetes/objects/health_rules.h"

#include "engine/base/str.h"
#include "runtimes/kubernetes/objects/health_set.h"
#include "runtimes/kubernetes/objects/object_ref.h"

/* The API has 32 bits for each of these numbers: sums of what is no such number do not overflow. */
static int64_t clamp(int64_t number)
{
    if (number < INT32_MIN)
        return INT32_MIN;
    return number > INT32_MAX ? INT32_MAX : number;
}

static int64_t number(const struct value *object, const char *part, const char *field,
                      int64_t fallback)
{
    return clamp(value_int(value_path(object, part, field, NULL), fallback));
}

static void current(struct health *ret)
{
    health_set(ret, HEALTH_CURRENT, "Resource is current");
}

/* Sets PROGRESSING with a message such as "Available: 1/3" if have < want. */
static bool is_short(struct health *ret, const char *what, int64_t have, int64_t want)
{
    if (have >= want)
        return false;
    health_set(ret, HEALTH_PROGRESSING, "%s: %lld/%lld", what, (long long)have, (long long)want);
    return true;
}

/* The controller has not written an observedGeneration, so it has not seen the object yet. */
static bool is_unobserved(const struct value *object, struct health *ret)
{
    if (value_path(object, "status", "observedGeneration", NULL))
        return false;
    health_set(ret, HEALTH_PROGRESSING, "not yet observed by its controller");
    return true;
}

static bool progress_deadline_exceeded(const struct value *object)
{
    const struct value *conditions = value_path(object, "status", "conditions", NULL);

    for (size_t i = 0; i < value_count(conditions); i++)
        if (str_equal(value_get_string(value_at(conditions, i), "reason"),
                      "ProgressDeadlineExceeded"))
            return true;
    return false;
}

static void deployment(const struct value *object, struct health *ret)
{
    int64_t want = number(object, "spec", "replicas", 1);
    int64_t replicas = number(object, "status", "replicas", 0);
    int64_t updated = number(object, "status", "updatedReplicas", 0);

    if (is_unobserved(object, ret))
        return;
    if (progress_deadline_exceeded(object)) {
        health_set(ret, HEALTH_FAILED, "progress deadline exceeded");
        return;
    }
    if (is_short(ret, "Updated", updated, want))
        return;
    if (replicas > updated) {
        health_set(ret, HEALTH_PROGRESSING, "%lld old replicas are still there",
                   (long long)(replicas - updated));
        return;
    }
    if (is_short(ret, "Available", number(object, "status", "availableReplicas", 0), want) ||
        is_short(ret, "Ready", number(object, "status", "readyReplicas", 0), want))
        return;
    current(ret);
}

static void replica_set(const struct value *object, struct health *ret)
{
    int64_t want = number(object, "spec", "replicas", 1);

    if (is_unobserved(object, ret) ||
        is_short(ret, "Replicas", number(object, "status", "replicas", 0), want) ||
        is_short(ret, "Available", number(object, "status", "availableReplicas", 0), want))
        return;
    if (number(object, "status", "replicas", 0) > want)
        health_set(ret, HEALTH_PROGRESSING, "more replicas than wanted");
    else
        current(ret);
}

static void stateful_set(const struct value *object, struct health *ret)
{
    int64_t want = number(object, "spec", "replicas", 1);
    const char *strategy = value_string(value_path(object, "spec", "updateStrategy", "type", NULL));
    int64_t partition = clamp(value_int(
        value_path(object, "spec", "updateStrategy", "rollingUpdate", "partition", NULL), 0));

    if (str_equal(strategy, "OnDelete")) {
        current(ret);
        return;
    }
    if (is_unobserved(object, ret) ||
        is_short(ret, "Replicas", number(object, "status", "replicas", 0), want) ||
        is_short(ret, "Ready", number(object, "status", "readyReplicas", 0), want) ||
        is_short(ret, "Updated", number(object, "status", "updatedReplicas", 0), want - partition))
        return;
    if (!partition &&
        !str_equal(value_string(value_path(object, "status", "currentRevision", NULL)),
                   value_string(value_path(object, "status", "updateRevision", NULL))))
        health_set(ret, HEALTH_PROGRESSING, "waiting for the update revision to become current");
    else
        current(ret);
}

static void daemon_set(const struct value *object, struct health *ret)
{
    int64_t want = number(object, "status", "desiredNumberScheduled", 0);

    if (is_unobserved(object, ret) ||
        is_short(ret, "Scheduled", number(object, "status", "currentNumberScheduled", 0), want) ||
        is_short(ret, "Updated", number(object, "status", "updatedNumberScheduled", 0), want) ||
        is_short(ret, "Available", number(object, "status", "numberAvailable", 0), want) ||
        is_short(ret, "Ready", number(object, "status", "numberReady", 0), want))
        return;
    current(ret);
}

static bool has_crash_loop(const struct value *object)
{
    const struct value *containers = value_path(object, "status", "containerStatuses", NULL);

    for (size_t i = 0; i < value_count(containers); i++)
        if (str_equal(value_string(
                          value_path(value_at(containers, i), "state", "waiting", "reason", NULL)),
                      "CrashLoopBackOff"))
            return true;
    return false;
}

static void pod(const struct value *object, struct health *ret)
{
    const char *phase = value_string(value_path(object, "status", "phase", NULL));

    if (str_equal(phase, "Succeeded"))
        health_set(ret, HEALTH_CURRENT, "has completed");
    else if (str_equal(phase, "Failed"))
        health_set(ret, HEALTH_FAILED, "has failed");
    else if (has_crash_loop(object))
        health_set(ret, HEALTH_FAILED, "a container is in CrashLoopBackOff");
    else if (str_equal(health_condition(object, "Ready", NULL), "True"))
        current(ret);
    else
        health_set(ret, HEALTH_PROGRESSING, "phase %s, not Ready", phase ? phase : "unknown");
}

static void job(const struct value *object, struct health *ret)
{
    const char *message;

    ret->removes_itself = value_path(object, "spec", "ttlSecondsAfterFinished", NULL) &&
                          !str_equal(health_condition(object, "Failed", NULL), "True") &&
                          !str_equal(health_condition(object, "FailureTarget", NULL), "True") &&
                          !str_equal(health_condition(object, "Suspended", NULL), "True");

    if (str_equal(health_condition(object, "Failed", &message), "True"))
        health_set(ret, HEALTH_FAILED, "%s", *message ? message : "has failed");
    else if (str_equal(health_condition(object, "Complete", NULL), "True"))
        health_set(ret, HEALTH_CURRENT, "has completed");
    else if (str_equal(health_condition(object, "Suspended", NULL), "True"))
        health_set(ret, HEALTH_CURRENT, "is suspended");
    else if (!value_path(object, "status", "startTime", NULL))
        health_set(ret, HEALTH_PROGRESSING, "has not started");
    else
        health_set(ret, HEALTH_CURRENT, "is running");
}

static void service(const struct value *object, struct health *ret)
{
    const struct value *ingress = value_path(object, "status", "loadBalancer", "ingress", NULL);

    if (str_equal(value_string(value_path(object, "spec", "type", NULL)), "LoadBalancer") &&
        !value_count(ingress))
        health_set(ret, HEALTH_PROGRESSING, "no address from a load balancer yet");
    else
        current(ret);
}

/* An unbound claim. Most storage classes bind a claim only when a Pod uses it
 * (WaitForFirstConsumer), and the claim does not say whether its class does. */
static void unbound(struct health *ret)
{
    health_set(ret, HEALTH_PROGRESSING, "not Bound yet");
    ret->may_wait_for_consumer = true;
}

static void claim(const struct value *object, struct health *ret)
{
    const char *phase = value_string(value_path(object, "status", "phase", NULL));

    if (str_equal(phase, "Bound"))
        current(ret);
    else if (str_equal(phase, "Lost"))
        health_set(ret, HEALTH_FAILED, "its volume is lost");
    else
        unbound(ret);
}

static void disruption_budget(const struct value *object, struct health *ret)
{
    if (is_unobserved(object, ret))
        return;
    current(ret);
}

static void definition(const struct value *object, struct health *ret)
{
    const char *message;

    if (str_equal(health_condition(object, "NamesAccepted", &message), "False"))
        health_set(ret, HEALTH_FAILED, "names are not accepted: %s", message);
    else if (str_equal(health_condition(object, "Established", NULL), "True"))
        current(ret);
    else
        health_set(ret, HEALTH_PROGRESSING, "not Established yet");
}

static void namespace_rule(const struct value *object, struct health *ret)
{
    const char *phase = value_string(value_path(object, "status", "phase", NULL));

    if (str_equal(phase, "Terminating"))
        health_set(ret, HEALTH_TERMINATING, "is being deleted");
    else
        current(ret);
}

static void api_service(const struct value *object, struct health *ret)
{
    const char *message;

    if (str_equal(health_condition(object, "Available", &message), "True"))
        current(ret);
    else
        health_set(ret, HEALTH_PROGRESSING, "not Available: %s", message);
}

static const struct {
    const char *group, *kind;
    health_rule *rule;
} table[] = {
    {"apps", "Deployment", deployment},
    {"apps", "StatefulSet", stateful_set},
    {"apps", "DaemonSet", daemon_set},
    {"apps", "ReplicaSet", replica_set},
    {"", "Pod", pod},
    {"batch", "Job", job},
    {"", "Service", service},
    {"", "PersistentVolumeClaim", claim},
    {"policy", "PodDisruptionBudget", disruption_budget},
    {"apiextensions.k8s.io", "CustomResourceDefinition", definition},
    {"", "Namespace", namespace_rule},
    {"apiregistration.k8s.io", "APIService", api_service},
};

health_rule *health_rule_of(const struct object_ref *ref)
{
    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        if (object_ref_is(ref, table[i].group, table[i].kind))
            return table[i].rule;
    return NULL;
}
