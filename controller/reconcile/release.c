#include "controller/reconcile/release.h"

#include "controller/reconcile/api.h"
#include "controller/reconcile/report.h"
#include "controller/reconcile/run.h"
#include "engine/base/log.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/plans.h"

/* What a preview holds. */
struct preview {
    struct run run; /* on the Spec */
    struct spec *spec;
    struct operation *operation;
    struct plan *plan;
    char digest[HASH_HEX_SIZE];
};

static int load_spec(struct preview *preview, struct error *error)
{
    struct run *run = &preview->run;
    _cleanup_free_ char *path = api_spec_path(run->namespace_name, run->name, NULL);
    int r = kube_get(run->context->client, path, run->cancel, &run->object, error);

    if (r == ERR_NOT_FOUND)
        return err_set(error, ERR_INVALID, "SpecNotFound",
                       "there is no Spec \"%s\" in namespace %s", run->name, run->namespace_name);
    if (r < 0)
        return r;
    spec_policy_read(run->object, &run->policy);
    r = run_parse(run, &preview->spec, error);
    if (r < 0)
        return r;
    run->generation = preview->spec->generation;
    run->subject = (struct release_subject){run->namespace_name,  run->name,
                                            run->generation,      preview->spec->project,
                                            preview->spec->stack, preview->spec->workspace};
    return 0;
}

static int make_plan(struct preview *preview, struct error *error)
{
    const struct reconcile_context *context = preview->run.context;
    int r = run_operation(&preview->run, &preview->operation, error);

    if (r >= 0)
        r = operation_plan(preview->operation, preview->spec, PLAN_DEEP, &preview->plan, error);
    if (r >= 0)
        plan_digest(preview->plan, context->plan_key, sizeof(context->plan_key), preview->digest);
    return r;
}

/* Resources that could not be planned make a preview that failed, with the plan shown. */
static int plan_problem(const struct plan *plan, struct error *error)
{
    const struct plan_change *first = NULL;
    size_t count = 0;

    for (size_t i = 0; i < plan->n_changes; i++)
        if (plan->changes[i].error.code) {
            first = first ? first : &plan->changes[i];
            count++;
        }
    if (!first)
        return 0;
    return err_set(error, first->error.code, first->error.reason,
                   "%zu of %zu cannot be done: %s: %s", count, plan->n_changes, first->id,
                   first->error.message);
}

static int look(struct preview *preview, struct release *release, struct error *error)
{
    int r = load_spec(preview, error);

    if (r >= 0)
        operation_log_begin(&preview->run, 0, release->phase == PHASE_PREVIEWING);
    if (r >= 0)
        r = release_write(preview->run.context, &preview->run.subject, release, PHASE_PREVIEWING,
                          NULL, NULL, NULL, NULL, error);
    return r < 0 ? r : make_plan(preview, error);
}

/* The API server does not answer: the preview goes on when it does. */
static int put_off(struct preview *preview, struct release *release, const struct error *problem,
                   struct error *error)
{
    const struct value *ready = conditions_find(value_get(release->status, "conditions"), "Ready");
    struct verdict verdict = verdict_of_error(problem);
    bool is_known = str_equal(value_get_string(ready, "message"), problem->message);
    int r = 0;

    operation_log_failure(&preview->run, problem, is_known);
    if (!is_known)
        r = release_write(preview->run.context, &preview->run.subject, release, PHASE_PREVIEWING,
                          NULL, NULL, NULL, &verdict, error);
    return r < 0 ? r : err_copy(error, problem);
}

static void end_log(struct preview *preview, const struct error *problem)
{
    _cleanup_free_ char *summary = NULL;

    if (problem->code) {
        operation_log_failure(&preview->run, problem, false);
        return;
    }
    summary = report_plan_summary(preview->plan);
    operation_log_success(&preview->run, summary);
}

static int show(struct preview *preview, struct release *release, struct error *error)
{
    struct error problem = {0};
    struct verdict verdict = {"True", "ReconciliationSucceeded", "this is what an apply would do",
                              PROGRESS_SETTLED, NULL};
    int r = look(preview, release, &problem);

    if (r == ERR_UNAVAILABLE)
        return put_off(preview, release, &problem, error);
    if (r >= 0)
        r = plan_problem(preview->plan, &problem);
    end_log(preview, &problem);
    if (r == ERR_CANCELLED || r == ERR_FENCED)
        return err_copy(error, &problem);
    if (r < 0)
        verdict = verdict_of_error(&problem);
    return release_write(preview->run.context, &preview->run.subject, release,
                         r < 0 ? PHASE_FAILED : PHASE_SUCCEEDED, preview->plan, preview->digest,
                         NULL, &verdict, error);
}

static int refuse(struct preview *preview, struct release *release, struct error *error)
{
    struct error refusal = {0};
    struct verdict verdict;

    err_set(
        &refusal, ERR_UNSUPPORTED, "Unsupported",
        "a Release of operation %s, made by hand, is not carried out by this version: Preview is",
        release_operation_name(release->operation));
    verdict = verdict_of_error(&refusal);
    operation_log_failure(&preview->run, &refusal, false);
    return release_write(preview->run.context, &preview->run.subject, release, PHASE_FAILED, NULL,
                         NULL, NULL, &verdict, error);
}

static bool is_generated(const struct value *object)
{
    return value_path(object, "metadata", "labels", RELEASE_GENERATED_LABEL, NULL) != NULL;
}

static int reconcile(const struct reconcile_context *context, const char *namespace_name,
                     const char *name, struct cancel *cancel, struct error *error)
{
    _cleanup_free_ char *path = api_release_path(namespace_name, name, NULL);
    _cleanup_value_ const struct value *object = NULL;
    _cleanup_(release_free_p) struct release *release = NULL;
    struct preview preview = {0};
    struct error absent = {0};
    int r = kube_get(context->client, path, cancel, &object, &absent);

    if (r == ERR_NOT_FOUND)
        return plan_remove(context->client, context->state_namespace, namespace_name, name, error);
    if (r < 0)
        return err_copy(error, &absent);
    if (is_generated(object) || api_is_deleting(object))
        return 0;
    release = release_of(object);
    if (release_phase_is_terminal(release->phase))
        return 0;
    preview.run = (struct run){
        .context = context,
        .cancel = cancel,
        .namespace_name = namespace_name,
        .name = value_string(value_path(object, "spec", "specRef", "name", NULL)),
    };
    preview.run.subject.namespace_name = namespace_name;
    preview.run.subject.name = preview.run.name;
    operation_log_start(&preview.run, release->operation);
    operation_log_release(&preview.run, release);
    if (release->operation == RELEASE_PREVIEW)
        r = show(&preview, release, error);
    else
        r = refuse(&preview, release, error);
    plan_free(preview.plan);
    operation_free(preview.operation);
    spec_free(preview.spec);
    value_unref(preview.run.object);
    return r;
}

struct reconcile_result reconcile_release(void *arg, const char *key, struct cancel *cancel)
{
    struct reconcile_result result = {.kind = RECONCILE_DONE};
    _cleanup_free_ char *namespace_name = NULL;
    struct error error = {0};
    const char *name;
    int r;

    if (!api_key_split(key, &namespace_name, &name))
        return result;
    r = reconcile(arg, namespace_name, name, cancel, &error);
    if (r < 0 && r != ERR_CANCELLED) {
        log_error("reconciling a Release failed", "namespace", namespace_name, "release", name,
                  "reason", error.reason, "error", error.message, NULL);
        result.kind = RECONCILE_RETRY;
    }
    return result;
}
