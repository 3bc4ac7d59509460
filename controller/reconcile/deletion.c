#include "controller/reconcile/deletion.h"

#include "controller/core/finalizer.h"
#include "controller/reconcile/api.h"
#include "controller/reconcile/report.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/client/path.h"

static int release_finalizer(struct run *run, struct error *error)
{
    _cleanup_free_ char *path = api_spec_path(run->namespace_name, run->name, NULL);
    _cleanup_value_ const struct value *now = NULL;
    int r = api_get_metadata(run->context, path, NULL, &now, error);

    if (r == ERR_NOT_FOUND) {
        err_clear(error);
        return 0;
    }
    if (r >= 0)
        r = finalizer_remove(run->context->client, path, value_get(now, "metadata"), NULL, error);
    return r < 0 ? err_wrap(error, "removing the finalizer") : 0;
}

static bool is_to_be_orphaned(const struct spec_policy *policy)
{
    return policy->suspend || policy->deletion == DELETION_ORPHAN ||
           (policy->deletion == DELETION_MIRROR_PRUNE && !policy->prune);
}

/* While the CRD itself goes, every Spec is deleted by the API server: surely nobody meant
 * everything that they hold. */
static int check_definition(struct run *run, struct error *error)
{
    _cleanup_free_ char *path = kube_path("apiextensions.k8s.io/v1", NULL,
                                          "customresourcedefinitions", "specs.api.kusion.io", NULL);
    _cleanup_value_ const struct value *definition = NULL;
    int r = api_get_metadata(run->context, path, run->cancel, &definition, error);

    if (r < 0)
        return r;
    if (api_is_deleting(definition))
        return err_set(error, ERR_CONFLICT, "DeletionGuardTripped",
                       "held: the CRD specs.api.kusion.io is being deleted, and with it every "
                       "Spec. To let this one's resources go: set deletionPolicy to Orphan");
    return 0;
}

/* A retry saves State under the revision that it will have if it succeeds: of one that did not
 * there is nothing to be seen, and the number goes to the next. */
static int64_t last_revision(const struct run *run, const struct state *state)
{
    const struct value *status = value_get(run->object, "status");
    int64_t attempted = value_int(value_get(status, "lastAttemptedRevision"), 0);

    return attempted > state->applied_revision ? attempted : state->applied_revision;
}

static int begin_release(struct run *run, const struct state *state, struct release **ret,
                         struct error *error)
{
    struct release *latest = NULL;
    int64_t highest = 0;
    int r;

    if (run->namespace_terminating)
        return 0;
    r = releases_latest(run->context, &run->subject, run->cancel, &latest, &highest, error);
    if (r < 0)
        return r;
    if (latest && latest->operation == RELEASE_DESTROY &&
        !release_phase_is_terminal(latest->phase)) {
        *ret = latest;
        return 0;
    }
    r = run_cancel_release(run, latest, "the Spec was deleted", error);
    release_free(latest);
    if (r < 0)
        return r;
    return release_begin(run->context, &run->subject, RELEASE_DESTROY,
                         release_next_revision(last_revision(run, state), highest), ret, error);
}

static int state_lost(const struct run *run, struct error *error)
{
    struct state_key key = {run->namespace_name, run->name};
    char name[STATE_NAME_SIZE];

    state_key_name(&key, name);
    return err_set(
        error, ERR_CORRUPT, "StateLost",
        "held: State is gone (ConfigMap %s/%s, and what has the label "
        "api.kusion.io/state=%s), so it is not known what there is to delete. Restore it; "
        "or set deletionPolicy to Orphan, and delete what has the label "
        "api.kusion.io/owner=%s",
        run->context->state_namespace, name, name, name);
}

static int destroyed(struct run *run, struct release *release,
                     const struct operation_results *results, struct error *error)
{
    struct verdict verdict = {"True", "ReconciliationSucceeded", "destroyed", PROGRESS_SETTLED,
                              NULL};

    return release_write(run->context, &run->subject, release, PHASE_SUCCEEDED, NULL, NULL, results,
                         &verdict, error);
}

static bool is_end_of_destroy(const struct release *latest)
{
    return latest && latest->operation == RELEASE_DESTROY &&
           (latest->phase == PHASE_DESTROYING || latest->phase == PHASE_SUCCEEDED);
}

static int orphan(struct run *run, struct operation *operation, struct error *error)
{
    int r = operation_orphan(operation, error);

    if (r >= 0)
        operation_log_success(run, is_to_be_orphaned(&run->policy) ? "nothing is deleted: orphaned"
                                                                   : "nothing to delete");
    return r;
}

/* Without anything to delete: nothing was made, or all is deleted, or left. (We may have been
 * killed after State went, and before the Release said so.) In a namespace that goes there are no
 * Releases. */
static int forget(struct run *run, struct operation *operation, struct error *error)
{
    _cleanup_(release_free_p) struct release *latest = NULL;
    int64_t highest = 0;
    int r;

    if (run->namespace_terminating)
        return orphan(run, operation, error);
    r = releases_latest(run->context, &run->subject, run->cancel, &latest, &highest, error);
    if (r < 0)
        return r;
    if (run_lacks_state(run, operation) && !is_to_be_orphaned(&run->policy) &&
        !is_end_of_destroy(latest))
        return state_lost(run, error);
    r = orphan(run, operation, error);
    if (r < 0)
        return r;
    return is_end_of_destroy(latest) && !is_to_be_orphaned(&run->policy)
               ? destroyed(run, latest, NULL, error)
               : run_cancel_release(run, latest, "the Spec was deleted", error);
}

/* The Release, and the status, say what begins; but in a try after one that failed, what that one
 * said stands until this one knows better. */
static int begin_destroy(struct run *run, const struct state *state, bool is_retry,
                         struct run_status *status, struct release **ret, struct error *error)
{
    int r = begin_release(run, state, ret, error);
    struct release *release = *ret;

    if (r < 0)
        return r;
    status->verdict =
        (struct verdict){"Unknown", "Progressing", "destroying", PROGRESS_RECONCILING, NULL};
    status->attempted = release ? release->revision : 0;
    status->deletions = state->n_records;
    if (!is_retry)
        r = run_write_status(run, status, error);
    if (r >= 0 && release && release->phase != PHASE_DESTROYING)
        r = release_write(run->context, &run->subject, release, PHASE_DESTROYING, NULL, NULL, NULL,
                          NULL, error);
    return r;
}

static int end_well(struct run *run, struct release *release,
                    const struct operation_results *results, struct error *error)
{
    _cleanup_free_ char *summary = report_summary(results);
    int r = destroyed(run, release, results, error);

    if (r < 0)
        return r;
    operation_log_success(run, summary);
    run_event(run, "Normal", "ReconciliationSucceeded", "everything of the Spec is destroyed");
    return 0;
}

static int destroy(struct run *run, struct operation *operation, struct run_status *status,
                   struct operation_results *results, struct error *error)
{
    const struct state *state = operation_state(operation);
    _cleanup_(release_free_p) struct release *release = NULL;
    bool is_retry = run_says(run, "False", NULL);
    struct verdict verdict;
    int64_t revision;
    int r;

    if (!state->n_records)
        return forget(run, operation, error);
    r = begin_destroy(run, state, is_retry, status, &release, error);
    if (r < 0)
        return r;
    status->results = results;
    revision = release ? release->revision : state->revision + 1;
    operation_log_release(run, release);
    operation_log_begin(run, revision, is_retry);
    if (!is_retry)
        progress_begin(run, "destroying");
    r = operation_destroy(operation, revision, results, error);
    progress_end(run);
    if (r < 0) {
        /* The Release goes on at the next try: it ends when everything is gone. */
        verdict = verdict_of_error(error);
        release_write(run->context, &run->subject, release, PHASE_DESTROYING, NULL, NULL, results,
                      &verdict, NULL);
        return r;
    }
    return end_well(run, release, results, error);
}

/* Of a Spec that cannot be read, what it said when it was last applied. */
static int recall_policy(struct run *run, struct error *error)
{
    struct state_store *store = run->context->store;
    struct state_key key = {run->namespace_name, run->name};
    _cleanup_(state_free_p) struct state *state = NULL;
    _cleanup_free_ char *version = NULL;
    const struct value *object;
    struct error problem = {0};
    int r = store->ops->load(store, &key, run->cancel, &state, &version, &problem);

    if (r < 0 && r != ERR_NOT_FOUND) {
        err_wrap(&problem, "loading State");
        return err_copy(error, &problem);
    }
    object = value_with(run->object, "spec", state ? state->policy : NULL);
    value_unref(run->object);
    run->object = object;
    spec_policy_read(run->object, &run->policy);
    return 0;
}

/* status, results: of what was begun. */
static int take_down(struct run *run, struct run_status *status, struct operation_results *results,
                     struct error *error)
{
    _cleanup_(operation_free_p) struct operation *operation = NULL;
    int r = run->unreadable ? recall_policy(run, error) : 0;

    if (r < 0)
        return r;
    if (!is_to_be_orphaned(&run->policy)) {
        r = check_definition(run, error);
        if (r < 0)
            return r;
    }
    r = api_namespace_terminating(run->context, run->namespace_name, run->cancel,
                                  &run->namespace_terminating, error);
    if (r >= 0)
        r = run_operation(run, &operation, error);
    if (r < 0)
        return r;
    if (is_to_be_orphaned(&run->policy))
        return forget(run, operation, error);
    return destroy(run, operation, status, results, error);
}

/* Rights may be gone for good, with what was deleted: there is a way out without them. */
static void tell_way_out(struct error *failure)
{
    if (str_equal(failure->reason, "AccessDenied") ||
        str_equal(failure->reason, "ServiceAccountNotFound"))
        err_wrap(failure, "held (deletionPolicy Orphan would leave what remains)");
}

static int hold(struct run *run, struct run_status *status, struct error *failure, int64_t *after,
                struct error *error)
{
    tell_way_out(failure);
    operation_log_failure(run, failure, run_says_already(run, failure));
    if (failure->code == ERR_CANCELLED || failure->code == ERR_FENCED)
        return err_copy(error, failure);
    *after = run->policy.retry_interval;
    status->verdict = verdict_of_error(failure);
    return run_write_status(run, status, error);
}

int reconcile_deletion(struct run *run, int64_t *after, struct error *error)
{
    struct operation_results results = {0};
    struct run_status status = {0};
    struct error failure = {0};
    int r;

    if (!finalizer_is_set(value_get(run->object, "metadata")))
        return 0;
    operation_log_start(run, RELEASE_DESTROY);
    r = take_down(run, &status, &results, &failure);
    if (r >= 0)
        r = release_finalizer(run, error);
    else
        r = hold(run, &status, &failure, after, error);
    operation_results_done(&results);
    return r;
}
