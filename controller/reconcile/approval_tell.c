/* Who is told of plans that wait, and are approved: approval.h. */
#include "controller/reconcile/api.h"
#include "controller/reconcile/approval.h"
#include "engine/base/str.h"
#include "engine/log/log.h"

/* Tools find an event by the uid of its object. A Release that cannot be read has none. */
static void tell_release(const struct attempt *attempt, const struct release *release,
                         const char *type, const char *reason, const char *message)
{
    const struct reconcile_context *context = attempt->run.context;
    const struct spec_key key = {attempt->object.namespace_name, release->name};
    _cleanup_value_ const struct value *object = NULL;
    struct event_subject subject = {.api_version = API_GROUP_VERSION,
                                    .kind = "Release",
                                    .namespace_name = key.namespace_name,
                                    .name = key.name};

    if (!context->history->ops->is_in_api || attempt->run.is_namespace_terminating ||
        api_get_metadata(context, api_release_ref(&key, NULL), attempt->run.cancel, &object, NULL) <
            0)
        return;
    subject.uid = value_string(value_path(object, "metadata", "uid", NULL));
    event_emit(context->events, &subject, type, reason, "Approve", "%s", message);
}

void approval_tell(const struct attempt *attempt, const struct release *release, const char *type,
                   const char *reason, const char *message)
{
    run_event(&attempt->run, type, reason, message);
    tell_release(attempt, release, type, reason, message);
}

void approval_tell_approved(const struct attempt *attempt)
{
    const struct release_approval *approval = &attempt->apply.approval;
    _cleanup_free_ char *message =
        str_printf("the plan of Release %s was approved%s%s", attempt->release->name,
                   approval->approver ? " by " : "", approval->approver ? approval->approver : "");

    log_info("plan approved", "namespace", attempt->object.namespace_name, "spec",
             attempt->object.name, "release", attempt->release->name, "plan", approval->plan,
             "approver", approval->approver, "approvedAt", approval->time, NULL);
    approval_tell(attempt, attempt->release, EVENT_NORMAL, "PlanApproved", message);
}
