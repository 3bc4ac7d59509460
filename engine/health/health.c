#include "engine/health/health.h"

#include "engine/base/str.h"
#include "engine/health/rules.h"
#include "engine/health/verdict.h"

const char *health_status_name(enum health_status status)
{
    static const char *const names[] = {
        [HEALTH_UNKNOWN] = "Unknown",         [HEALTH_PROGRESSING] = "InProgress",
        [HEALTH_CURRENT] = "Current",         [HEALTH_FAILED] = "Failed",
        [HEALTH_TERMINATING] = "Terminating",
    };

    return names[status];
}

static void by_conditions(const struct value *object, struct health *ret)
{
    const char *message;

    if (str_equal(health_condition(object, "Reconciling", &message), "True"))
        health_set(ret, HEALTH_PROGRESSING, "Reconciling: %s", message);
    else if (str_equal(health_condition(object, "Stalled", &message), "True"))
        health_set(ret, HEALTH_FAILED, "Stalled: %s", message);
    else if (*health_condition(object, "Ready", &message) &&
             !str_equal(health_condition(object, "Ready", NULL), "True"))
        health_set(ret, HEALTH_PROGRESSING, "not Ready: %s", message);
    else
        health_set(ret, HEALTH_CURRENT, "Resource is current");
}

void health_of_object(const struct value *object, struct health *ret)
{
    int64_t generation = value_int(value_path(object, "metadata", "generation", NULL), 0);
    int64_t observed =
        value_int(value_path(object, "status", "observedGeneration", NULL), generation);
    health_rule *rule =
        health_rule_of(value_get_string(object, "apiVersion"), value_get_string(object, "kind"));

    *ret = (struct health){0};
    if (!value_is(object, VALUE_OBJECT))
        health_set(ret, HEALTH_UNKNOWN, "nothing was read");
    else if (value_path(object, "metadata", "deletionTimestamp", NULL))
        health_set(ret, HEALTH_TERMINATING, "is being deleted");
    else if (observed != generation)
        health_set(ret, HEALTH_PROGRESSING, "generation %lld, of which %lld is observed",
                   (long long)generation, (long long)observed);
    else if (rule)
        rule(object, ret);
    else
        by_conditions(object, ret);
}
