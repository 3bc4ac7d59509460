#include "controller/reconcile/run.h"

#include <stdio.h>

#include "controller/core/finalizer.h"
#include "controller/reconcile/report.h"
#include "engine/base/log.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/spec/check.h"

static void set(const struct value **object, const char *key, const struct value *taken)
{
    const struct value *next = value_with(*object, key, taken);

    value_unref(*object);
    value_unref(taken);
    *object = next;
}

static void add_duration(struct value_builder *b, const char *key, int64_t ms)
{
    value_key(b, key);
    value_add_printf(b, "%llds", (long long)(ms / 1000));
}

/* The defaults that were taken, since the schema has none. */
static const struct value *policy_value(const struct run *run)
{
    static const char *const deletion[] = {"MirrorPrune", "Delete", "WaitForTermination", "Orphan"};
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const struct spec_policy *policy = &run->policy;
    const struct value *value = NULL;
    const char *account = policy->service_account           ? policy->service_account
                          : run->context->act_as_controller ? NULL
                                                            : run->context->default_service_account;

    value_begin_object(b);
    if (account) {
        value_key(b, "serviceAccountName");
        value_add_string(b, account);
    }
    value_key(b, "suspend");
    value_add_bool(b, policy->suspend);
    value_key(b, "prune");
    value_add_bool(b, policy->prune);
    value_key(b, "wait");
    value_add_bool(b, policy->wait);
    value_key(b, "deletionPolicy");
    value_add_string(b, deletion[policy->deletion]);
    add_duration(b, "interval", policy->interval);
    add_duration(b, "retryInterval", policy->retry_interval);
    add_duration(b, "timeout", policy->timeout);
    value_end_object(b);
    value_builder_finish(b, &value, NULL);
    return value;
}

static const struct value *next_status(const struct run *run, const struct run_status *status)
{
    const struct value *old = value_get(run->object, "status");
    const struct value *next = value_ref(old);

    set(&next, "observedGeneration", value_pack("I", run->generation));
    set(&next, "conditions",
        conditions_make(value_get(old, "conditions"), &status->verdict, run->generation,
                        run->context->clock->now(run->context->clock)));
    if (!run->unreadable)
        set(&next, "policy", policy_value(run));
    if (status->attempted)
        set(&next, "lastAttemptedRevision", value_pack("I", status->attempted));
    if (status->applied)
        set(&next, "lastAppliedRevision", value_pack("I", status->applied));
    if (status->plan)
        set(&next, "plan", report_plan(status->plan, status->digest));
    if (status->deletions)
        set(&next, "plan", report_deletions(status->deletions));
    if (status->results)
        set(&next, "resources", report_resources(status->results, status->n_resources));
    return next;
}

static bool says_something_new(const struct value *old, const struct verdict *verdict)
{
    const struct value *ready = conditions_find(value_get(old, "conditions"), "Ready");

    return !str_equal(value_get_string(ready, "status"), verdict->ready) ||
           !str_equal(value_get_string(ready, "reason"), verdict->reason) ||
           !str_equal(value_get_string(ready, "message"), verdict->message);
}

bool run_says_already(const struct run *run, const struct error *failure)
{
    const struct value *status = value_get(run->object, "status");
    struct verdict verdict = verdict_of_error(failure);

    return value_int(value_get(status, "observedGeneration"), -1) == run->generation &&
           !says_something_new(status, &verdict);
}

void run_begin_finalizer(struct run *run)
{
    const struct value *metadata = value_get(run->object, "metadata");

    if (!finalizer_is_set(metadata))
        run->write = spec_write_finalizer(run->context, metadata, run->cancel);
}

void run_begin_status(struct run *run, const struct run_status *status)
{
    const struct verdict *verdict = &status->verdict;
    const struct value *old;

    run_settle(run, NULL);
    old = value_get(run->object, "status");
    run->next_status = next_status(run, status);
    /* What an unreadable object's status says is not known: it is then written each time. */
    if (!run->unreadable && value_equal(old, run->next_status)) {
        value_unref(TAKE(run->next_status));
        return;
    }
    run->write =
        spec_write_status(run->context, value_get(run->object, "metadata"), run->next_status);
    if (says_something_new(old, verdict))
        run_event(run, str_equal(verdict->ready, "False") ? "Warning" : "Normal", verdict->reason,
                  verdict->message);
}

int run_settle(struct run *run, struct error *error)
{
    _cleanup_value_ const struct value *metadata = NULL, *status = TAKE(run->next_status);
    struct error problem = {0};
    int r;

    if (!run->write)
        return 0;
    r = spec_write_end(TAKE(run->write), &metadata, &problem);
    if (r == ERR_NOT_FOUND && status)
        return 0;
    if (r == ERR_TOO_LARGE && status) {
        log_warn("a Spec has no room left for its status", "namespace", run->namespace_name, "spec",
                 run->name, "error", problem.message, NULL);
        return 0;
    }
    if (r < 0) {
        err_wrap(&problem, "writing the Spec's %s", status ? "status" : "finalizer");
        return err_copy(error, &problem);
    }
    set(&run->object, "metadata", TAKE(metadata));
    if (status)
        set(&run->object, "status", TAKE(status));
    return 0;
}

int run_write_status(struct run *run, const struct run_status *status, struct error *error)
{
    run_begin_status(run, status);
    return run_settle(run, error);
}

int run_fail(struct run *run, const struct error *failure, struct error *error)
{
    return run_write_status(run, &(struct run_status){.verdict = verdict_of_error(failure)}, error);
}

void run_event(const struct run *run, const char *type, const char *reason, const char *message)
{
    struct event_subject subject = {
        .api_version = API_GROUP_VERSION,
        .kind = "Spec",
        .namespace_name = run->namespace_name,
        .name = run->name,
        .uid = value_string(value_path(run->object, "metadata", "uid", NULL)),
    };

    if (!run->namespace_terminating)
        event_emit(run->context->events, &subject, type, reason, "Reconcile", "%s", message);
}

int run_parse(struct run *run, struct spec **ret, struct error *error)
{
    const struct reconcile_context *context = run->context;
    _cleanup_free_ struct spec_type *types = NEW_ARRAY(struct spec_type, context->n_runtimes + 1);
    struct problems problems = PROBLEMS_INIT;
    int r;

    for (size_t i = 0; i < context->n_runtimes; i++) {
        struct runtime *runtime = context->runtimes[i];

        types[i] = (struct spec_type){runtime->ops->type, runtime->ops->check, runtime};
    }
    r = spec_parse(run->object, &(struct spec_options){types, context->n_runtimes}, ret, &problems,
                   error);
    problems_done(&problems);
    return r;
}

int run_operation(struct run *run, struct operation **ret, struct error *error)
{
    const struct reconcile_context *context = run->context;
    const char *account = run->policy.service_account;
    _cleanup_value_ const struct value *identity = NULL;
    struct operation_config config;

    if (!account && !context->act_as_controller)
        account = context->default_service_account;
    if (account)
        identity = value_pack("{s:s}", "serviceAccountName", account);
    config = (struct operation_config){
        .clock = context->clock,
        .cancel = run->cancel,
        .store = context->store,
        .runtimes = context->runtimes,
        .n_runtimes = context->n_runtimes,
        .scope = {.spec_namespace = run->namespace_name,
                  .spec_name = run->name,
                  .spec_uid = value_string(value_path(run->object, "metadata", "uid", NULL)),
                  .identity = identity,
                  .spec_namespace_terminating = run->namespace_terminating},
        .parallelism = context->parallelism,
        .timeout = run->policy.timeout,
        .epoch = context->epoch(context->epoch_arg),
        .on_pending = progress_on_pending,
        .arg = run,
        .on_wait = run->is_small ? context->on_wait : NULL,
        .on_wait_arg = context->on_wait_arg,
    };
    return operation_new(&config, ret, error);
}

int run_cancel_release(struct run *run, struct release *release, const char *why,
                       struct error *error)
{
    struct verdict verdict = {"False", "Superseded", why, PROGRESS_SETTLED, NULL};

    return release_write(run->context, &run->subject, release, PHASE_CANCELLED, NULL, NULL, NULL,
                         &verdict, error);
}

int run_cancel_latest(struct run *run, const char *why, struct error *error)
{
    _cleanup_(release_free_p) struct release *latest = NULL;
    int64_t highest = 0;
    int r = releases_latest(run->context, &run->subject, run->cancel, &latest, &highest, error);

    return r < 0 ? r : run_cancel_release(run, latest, why, error);
}

int run_supersede(struct run *run, struct error *refusal)
{
    struct error problem = {0};

    if (!run_says_already(run, refusal) &&
        run_cancel_latest(run, "a newer generation of the Spec came", &problem) < 0)
        *refusal = problem;
    return refusal->code;
}

bool run_lacks_state(const struct run *run, const struct operation *operation)
{
    const struct value *status = value_get(run->object, "status");

    return !operation_has_state(operation) &&
           value_int(value_get(status, "lastAppliedRevision"), 0) > 0 &&
           value_int(value_path(status, "resources", "total", NULL), 0) > 0;
}

bool run_says(const struct run *run, const char *ready, const char *reason)
{
    const struct value *status = value_get(run->object, "status");
    const struct value *condition = conditions_find(value_get(status, "conditions"), "Ready");

    return value_int(value_get(status, "observedGeneration"), -1) == run->generation &&
           str_equal(value_get_string(condition, "status"), ready) &&
           (!reason || str_equal(value_get_string(condition, "reason"), reason));
}
