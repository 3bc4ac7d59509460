#include "runtimes/kubernetes/objects/health.h"

#include "engine/base/str.h"
#include "runtimes/kubernetes/objects/health_rules.h"
#include "runtimes/kubernetes/objects/health_set.h"

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
