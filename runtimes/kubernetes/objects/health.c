#include "runtimes/kubernetes/objects/health.h"

#include "engine/base/str.h"
#include "runtimes/kubernetes/objects/health_set.h"
#include "runtimes/kubernetes/objects/object_ref.h"

/* ---- Rules of single kinds ---- */

typedef void health_rule(const struct value *object, struct health *ret);

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

/* More Pods than are wanted. */
static bool has_extra(struct health *ret, int64_t have, int64_t want)
{
    if (have <= want)
        return false;
    health_set(ret, HEALTH_PROGRESSING, "%lld old replicas are still there",
               (long long)(have - want));
    return true;
}

static bool has_reason(const struct value *object, const char *type, const char *reason)
{
    return str_equal(value_get_string(health_find_condition(object, type), "reason"), reason);
}

/* Its controller has not said that the last change is carried out. Without a deadline it never
 * does. Nor of a paused one: that is as its author wants it, so that kstatus' answer, in progress,
 * would never end. */
static bool is_in_rollout(const struct value *object, struct health *ret)
{
    bool has_deadline = number(object, "spec", "progressDeadlineSeconds", INT32_MAX) != INT32_MAX;

    if (value_bool(value_path(object, "spec", "paused", NULL), false))
        return false;
    if (has_deadline && (!has_reason(object, "Progressing", "NewReplicaSetAvailable") ||
                         !str_equal(health_condition(object, "Progressing", NULL), "True")))
        health_set(ret, HEALTH_PROGRESSING, "its new ReplicaSet is not available");
    else if (!str_equal(health_condition(object, "Available", NULL), "True"))
        health_set(ret, HEALTH_PROGRESSING, "not Available");
    else
        return false;
    return true;
}

static void deployment(const struct value *object, struct health *ret)
{
    int64_t want = number(object, "spec", "replicas", 1);
    int64_t replicas = number(object, "status", "replicas", 0);
    int64_t updated = number(object, "status", "updatedReplicas", 0);

    if (is_unobserved(object, ret))
        return;
    if (has_reason(object, "Progressing", "ProgressDeadlineExceeded")) {
        health_set(ret, HEALTH_FAILED, "progress deadline exceeded");
        return;
    }
    if (is_short(ret, "Updated", updated, want) ||
        has_extra(ret, replicas, updated > want ? want : updated) ||
        is_short(ret, "Available", number(object, "status", "availableReplicas", 0), updated) ||
        is_short(ret, "Ready", number(object, "status", "readyReplicas", 0), want) ||
        is_in_rollout(object, ret))
        return;
    current(ret);
}

static void replica_set(const struct value *object, struct health *ret)
{
    int64_t want = number(object, "spec", "replicas", 1);
    int64_t replicas = number(object, "status", "replicas", 0);

    if (is_unobserved(object, ret))
        return;
    if (str_equal(health_condition(object, "ReplicaFailure", NULL), "True")) {
        health_set(ret, HEALTH_PROGRESSING, "its Pods cannot be created or deleted");
        return;
    }
    if (is_short(ret, "Replicas", replicas, want) ||
        is_short(ret, "Labelled", number(object, "status", "fullyLabeledReplicas", 0), want) ||
        is_short(ret, "Available", number(object, "status", "availableReplicas", 0), want) ||
        is_short(ret, "Ready", number(object, "status", "readyReplicas", 0), want) ||
        has_extra(ret, replicas, want))
        return;
    current(ret);
}

/* The update of all Pods, or with a partition of those from it on. The API server sets the
 * partition to 0 where nobody does. */
static bool is_in_update(const struct value *object, int64_t want, struct health *ret)
{
    const struct value *given =
        value_path(object, "spec", "updateStrategy", "rollingUpdate", "partition", NULL);
    int64_t partition = clamp(value_int(given, 0));

    if (given &&
        is_short(ret, "Updated", number(object, "status", "updatedReplicas", 0), want - partition))
        return true;
    if (!given && is_short(ret, "Current", number(object, "status", "currentReplicas", 0), want))
        return true;
    if (partition || str_equal(value_string(value_path(object, "status", "currentRevision", NULL)),
                               value_string(value_path(object, "status", "updateRevision", NULL))))
        return false;
    health_set(ret, HEALTH_PROGRESSING, "waiting for the update revision to become current");
    return true;
}

static void stateful_set(const struct value *object, struct health *ret)
{
    int64_t want = number(object, "spec", "replicas", 1);
    int64_t replicas = number(object, "status", "replicas", 0);
    const char *strategy = value_string(value_path(object, "spec", "updateStrategy", "type", NULL));

    if (str_equal(strategy, "OnDelete")) {
        current(ret);
        return;
    }
    if (is_unobserved(object, ret) || is_short(ret, "Replicas", replicas, want) ||
        is_short(ret, "Ready", number(object, "status", "readyReplicas", 0), want) ||
        has_extra(ret, replicas, want) || is_in_update(object, want, ret))
        return;
    current(ret);
}

static void daemon_set(const struct value *object, struct health *ret)
{
    int64_t want = number(object, "status", "desiredNumberScheduled", -1);

    if (is_unobserved(object, ret))
        return;
    if (want < 0) {
        health_set(ret, HEALTH_PROGRESSING, "its number of Pods is not known yet");
        return;
    }
    if (is_short(ret, "Scheduled", number(object, "status", "currentNumberScheduled", 0), want) ||
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

/* To kstatus a Pod that has failed is current, because it will not change. It has not done what the
 * Spec has it for, though. One that cannot be scheduled has failed to kstatus after 15 s: a cluster
 * that grows gets a node for it, and until then that is the cause in the message. */
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

/* One that is suspended is as its author wants it: to kstatus it has not started, in which it would
 * stay. */
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

/* kstatus does not wait for the address. What refers to it has to. */
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

/* A lost volume does not come back, so this is no progress, as to kstatus. */
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
    else if (str_equal(health_condition(object, "Established", &message), "False") &&
             !has_reason(object, "Established", "Installing"))
        health_set(ret, HEALTH_FAILED, "not Established: %s", message);
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

/* The rule of a kind; NULL: it has none. */
static health_rule *health_rule_of(const struct object_ref *ref)
{
    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        if (object_ref_is(ref, table[i].group, table[i].kind))
            return table[i].rule;
    return NULL;
}

/* What controllers of any kind say. */
static bool by_standard_conditions(const struct value *object, struct health *ret)
{
    const char *message;

    if (str_equal(health_condition(object, "Reconciling", &message), "True"))
        health_set(ret, HEALTH_PROGRESSING, "Reconciling: %s", message);
    else if (str_equal(health_condition(object, "Stalled", &message), "True"))
        health_set(ret, HEALTH_FAILED, "Stalled: %s", message);
    else
        return false;
    return true;
}

static void by_ready(const struct value *object, struct health *ret)
{
    const char *message;

    if (*health_condition(object, "Ready", &message) &&
        !str_equal(health_condition(object, "Ready", NULL), "True"))
        health_set(ret, HEALTH_PROGRESSING, "not Ready: %s", message);
    else
        health_set(ret, HEALTH_CURRENT, "Resource is current");
}

static void judge(const struct value *object, const struct object_ref *ref, struct health *ret)
{
    int64_t generation = value_int(value_path(object, "metadata", "generation", NULL), 0);
    int64_t observed =
        value_int(value_path(object, "status", "observedGeneration", NULL), generation);
    health_rule *rule = health_rule_of(ref);

    if (!value_is(object, VALUE_OBJECT))
        health_set(ret, HEALTH_UNKNOWN, "nothing was read");
    else if (value_path(object, "metadata", "deletionTimestamp", NULL))
        health_set(ret, HEALTH_TERMINATING, "is being deleted");
    else if (generation && observed != generation)
        health_set(ret, HEALTH_PROGRESSING, "generation %lld, of which %lld is observed",
                   (long long)generation, (long long)observed);
    else if (by_standard_conditions(object, ret))
        return;
    else if (rule)
        rule(object, ret);
    else
        by_ready(object, ret);
}

/* Custom resources cannot be created before their CRD is established, so dependents of a CRD must
 * wait. */
void kube_health(const struct value *object, struct health *ret)
{
    const struct object_ref ref = object_ref_of(object);

    *ret = (struct health){0};
    judge(object, &ref, ret);
    ret->dependents_must_wait = ret->status != HEALTH_CURRENT && object_ref_is_definition(&ref);
}
