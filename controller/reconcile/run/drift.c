#include "controller/reconcile/run/drift.h"

#include "controller/reconcile/run/corrections.h"
#include "controller/reconcile/run/operation_log.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"
#include "engine/log/log.h"

#define NAMED_RESOURCES 10
#define NAMED_FIELDS    5

static bool is_drift(const struct plan_change *change)
{
    switch (change->action) {
    case PLAN_NONE:
    case PLAN_UNCHANGED:
    case PLAN_READ:
        return change->error != NULL;
    default:
        return true;
    }
}

bool drift_is_in(const struct plan *plan)
{
    for (size_t i = 0; i < plan->n_changes; i++)
        if (is_drift(&plan->changes[i]))
            return true;
    return false;
}

static void add_fields(struct buf *text, const struct diff *diff)
{
    size_t n = diff ? diff->n_fields : 0, total = diff ? diff->total : 0;

    for (size_t i = 0; i < n && i < NAMED_FIELDS; i++)
        buf_printf(text, "%s%s", i ? ", " : "", diff->fields[i].path);
    if (total > NAMED_FIELDS)
        buf_printf(text, " and %zu more", total - NAMED_FIELDS);
    if (!n)
        buf_add_str(text, "its fields");
}

static void add_change(struct buf *text, const struct plan_change *change)
{
    operation_show_id(text, change->id);
    buf_add_str(text, ": ");
    if (change->error) {
        buf_add_str(text, change->error->message);
        return;
    }
    if (change->action == PLAN_CREATE) {
        buf_add_str(text, "it is gone");
        return;
    }
    if (change->action == PLAN_DELETE || change->action == PLAN_FORGET) {
        buf_printf(text, "to %s", plan_action_name(change->action));
        return;
    }
    add_fields(text, change->diff);
    buf_printf(text, ", %s", change->reason ? change->reason : "changed by others");
}

char *drift_describe(const struct plan *plan)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    size_t n = 0;

    for (size_t i = 0; i < plan->n_changes; i++) {
        if (!is_drift(&plan->changes[i]) || n++ >= NAMED_RESOURCES)
            continue;
        buf_add_str(&text, n > 1 ? "; " : "");
        add_change(&text, &plan->changes[i]);
    }
    if (n > NAMED_RESOURCES)
        buf_printf(&text, "; and %zu more resources", n - NAMED_RESOURCES);
    return utf8_show(text.data ? text.data : "");
}

void drift_tell(const struct run *run)
{
    const struct value *said =
        conditions_find(value_path(run->object, "status", "conditions", NULL), "Drifted");
    const struct operation_metrics *metrics = run->context->metrics;

    if (str_equal(value_get_string(said, "reason"), DRIFT_DETECTED) &&
        str_equal(value_get_string(said, "message"), run->drifted))
        return;
    run_event(run, EVENT_WARNING, DRIFT_DETECTED, run->drifted);
    log_warn("drift is left as it is", "namespace", run->subject.key.namespace_name, "spec",
             run->subject.key.name, "drift", run->drifted, NULL);
    if (metrics)
        metric_add(metrics->drifts, 1, NULL);
}
