#include "controller/reconcile/status/conditions.h"

#include <string.h>

#include "controller/reconcile/status/reason.h"
#include "engine/base/str.h"
#include "engine/base/timestamp.h"
#include "engine/base/utf8.h"

/* A quota has no reason of its own. Others free what they use, and quotas are raised. */
static bool is_over_quota(const struct error *error)
{
    return error->code == ERR_FORBIDDEN && str_equal(error->reason, "Forbidden") &&
           strstr(error->message, "exceeded quota: ");
}

bool conditions_may_heal(const struct error *error)
{
    if (reason_has(error->reason, REASON_HEALS))
        return true;
    if (reason_has(error->reason, REASON_STAYS))
        return false;
    return err_is_transient(error->code) || error->code == ERR_CANCELLED || is_over_quota(error);
}

struct verdict verdict_of_error(const struct error *error, bool is_spent)
{
    bool may_heal = conditions_may_heal(error) && !is_spent;

    return (struct verdict){
        .ready = "False",
        .reason = error->reason,
        .message = error->message,
        .progress = may_heal ? PROGRESS_RECONCILING : PROGRESS_STALLED,
        .healthy = str_equal(error->reason, "HealthCheckFailed") ? "False" : NULL,
    };
}

const struct value *conditions_find(const struct value *conditions, const char *type)
{
    for (size_t i = 0; i < value_count(conditions); i++)
        if (str_equal(value_get_string(value_at(conditions, i), "type"), type))
            return value_at(conditions, i);
    return NULL;
}

const struct value *conditions_ready(const struct value *status)
{
    return conditions_find(value_get(status, "conditions"), "Ready");
}

static void add(struct value_builder *b, const struct value *old, const char *type,
                const char *status, const struct verdict *verdict, int64_t generation, int64_t now)
{
    const struct value *before = conditions_find(old, type);
    /* Not of the schema's default, which a new Spec has. */
    bool is_same = str_equal(value_get_string(before, "status"), status) &&
                   value_get(before, "observedGeneration");
    _cleanup_free_ char *message = utf8_show_lines(verdict->message);
    _cleanup_value_ const struct value *condition = NULL;
    char time[TIMESTAMP_SIZE];

    timestamp_format(now, time);
    condition = value_pack("{s:s, s:s, s:I, s:s, s:s, s:s}", "type", type, "status", status,
                           "observedGeneration", generation, "lastTransitionTime",
                           is_same ? value_get_string(before, "lastTransitionTime") : time,
                           "reason", verdict->reason, "message", message);
    value_add(b, condition);
}

const struct value *conditions_make(const struct value *old, const struct verdict *verdict,
                                    const struct conditions_clauses *clauses,
                                    struct conditions_generation generation, int64_t now)
{
    const char *brief = clauses ? clauses->brief : verdict->message;
    const char *healthy = clauses && clauses->healthy ? clauses->healthy : brief;
    bool goes_on = verdict->progress == PROGRESS_RECONCILING;
    /* All that there are, in this order; status NULL: not this time. */
    const struct {
        const char *type, *status, *message;
        int64_t generation;
    } table[] = {
        {"Ready", verdict->ready, verdict->message, generation.ready},
        {"Reconciling", goes_on ? "True" : NULL, brief, generation.observed},
        {"Stalled", verdict->progress == PROGRESS_STALLED ? "True" : NULL, brief,
         generation.observed},
        {"Healthy", verdict->healthy, healthy, generation.observed},
        {"Finished", goes_on ? "False" : "True", brief, generation.observed},
    };
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    value_begin_array(b);
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct verdict said = *verdict;

        said.message = table[i].message;
        if (table[i].status)
            add(b, old, table[i].type, table[i].status, &said, table[i].generation, now);
    }
    value_end_array(b);
    return value_finish(b);
}

/* A builder of an array that has them, except that of the type. */
static struct value_builder *begin_without(const struct value *conditions, const char *type)
{
    struct value_builder *b = value_builder_new();

    value_begin_array(b);
    for (size_t i = 0; i < value_count(conditions); i++)
        if (!str_equal(value_get_string(value_at(conditions, i), "type"), type))
            value_add(b, value_at(conditions, i));
    return b;
}

/* Frees the builder. */
static void finish(struct value_builder *b, const struct value **conditions)
{
    value_end_array(b);
    value_unref(*conditions);
    *conditions = value_finish(b);
    value_builder_free(b);
}

void conditions_set_warning(const struct value **conditions, const struct value *old,
                            const struct warning *warning, int64_t generation, int64_t now)
{
    const struct verdict verdict = {.reason = warning->reason, .message = warning->message};
    struct value_builder *b = begin_without(*conditions, warning->type);

    if (warning->message)
        add(b, old, warning->type, "True", &verdict, generation, now);
    finish(b, conditions);
}

void conditions_add_written(const struct value **conditions, const struct value *old,
                            const struct verdict *verdict, int64_t generation, int64_t now)
{
    const struct value *kept = conditions_find(old, CONDITION_WRITTEN);
    struct value_builder *b;

    if (!verdict && !kept)
        return;
    b = begin_without(*conditions, CONDITION_WRITTEN);
    if (verdict)
        add(b, old, CONDITION_WRITTEN, verdict->ready, verdict, generation, now);
    else
        value_add(b, kept);
    finish(b, conditions);
}

void conditions_drop(const struct value **conditions, const char *type)
{
    finish(begin_without(*conditions, type), conditions);
}
