#include "controller/reconcile/spec.h"

#include "controller/reconcile/api.h"
#include "controller/reconcile/apply.h"
#include "controller/reconcile/deletion.h"
#include "controller/reconcile/run.h"
#include "engine/base/json.h"
#include "engine/base/limits.h"
#include "engine/base/log.h"
#include "engine/base/str.h"

/* What a reconcile of such a Spec holds (it, its State, its objects) is no matter while it waits.
 */
#define SMALL_SPEC_BYTES (64u << 10)

/* A Spec that our readers refuse (nested too deep, too large) is still there, can be told so,
 * and can be deleted: its metadata is enough for that. */
static int load_unreadable(struct run *run, const char *path, const struct error *why,
                           struct error *error)
{
    int r = api_get_metadata(run->context, path, run->cancel, &run->object, error);

    if (r < 0)
        return r;
    run->unreadable = true;
    log_warn("the Spec cannot be read", "spec", run->name, "namespace", run->namespace_name,
             "error", why->message, NULL);
    return 0;
}

static void measure(struct run *run)
{
    _cleanup_buf_ struct buf text;

    buf_init(&text, LIMIT_SPEC_BYTES);
    json_write(&text, value_get(run->object, "spec"), JSON_COMPACT);
    run->is_too_large = buf_overflowed(&text);
    run->is_small = text.length <= SMALL_SPEC_BYTES && !run->is_too_large;
}

static int load(struct run *run, struct error *why_unreadable, struct error *error)
{
    _cleanup_free_ char *path = api_spec_path(run->namespace_name, run->name, NULL);
    int r = kube_get(run->context->client, path, run->cancel, &run->object, why_unreadable);

    run->subject =
        (struct release_subject){.namespace_name = run->namespace_name, .name = run->name};
    if (r == ERR_TOO_LARGE || r == ERR_INVALID) {
        r = load_unreadable(run, path, why_unreadable, error);
    } else if (r < 0) {
        return err_copy(error, why_unreadable);
    } else {
        err_clear(why_unreadable);
        measure(run);
    }
    if (r < 0)
        return r;
    run->generation = value_int(value_path(run->object, "metadata", "generation", NULL), 0);
    spec_policy_read(run->object, &run->policy);
    run->subject.generation = run->generation;
    return 0;
}

/* One that was never applied gets no finalizer: there is nothing to be done at its end. */
static int refuse(struct run *run, const char *what, const char *why, struct error *error)
{
    struct error refusal = {0};

    err_set(&refusal, ERR_INVALID, "InvalidSpec", "%s: %s", what, why);
    operation_log_start(run, RELEASE_APPLY);
    operation_log_failure(run, &refusal, run_says_already(run, &refusal));
    run_supersede(run, &refusal);
    return run_fail(run, &refusal, error);
}

/* Nothing is done, which is said; and what was under way is not any more. */
static int suspend(struct run *run, struct error *error)
{
    struct run_status suspended = {.verdict = {"Unknown", "Suspended",
                                               "nothing is done while spec.suspend is true",
                                               PROGRESS_SETTLED, NULL}};
    int r = 0;

    if (!run_says(run, "Unknown", "Suspended"))
        r = run_cancel_latest(run, "the Spec was suspended", error);
    return r < 0 ? r : run_write_status(run, &suspended, error);
}

/* 0, or what is to be tried again. Failures that were told in the status are 0 too, with *after
 * set where something is to be tried later. */
static int reconcile(struct run *run, int64_t *after, struct error *error)
{
    struct error why_unreadable = {0};
    int r = load(run, &why_unreadable, error);

    if (r == ERR_NOT_FOUND) {
        err_clear(error);
        return run_cancel_latest(run, "the Spec was deleted", error);
    }
    if (r < 0)
        return r;
    if (api_is_deleting(run->object))
        return reconcile_deletion(run, after, error);
    if (run->policy.suspend)
        return suspend(run, error);
    if (run->unreadable)
        return refuse(run, "the Spec cannot be read", why_unreadable.message, error);
    if (run->is_too_large)
        return refuse(run, "the Spec is too large",
                      "its fields have more than 1 MiB as JSON, so that its status may not fit "
                      "beside them. Make several Specs of it",
                      error);
    run_begin_finalizer(run);
    return reconcile_apply(run, after, error);
}

/* A conflict, or an API server that does not answer, is a matter of course. */
static void log_failure(const struct run *run, const struct error *error)
{
    (err_is_transient(error->code) ? log_warn : log_error)(
        "reconciling a Spec failed", "namespace", run->namespace_name, "spec", run->name, "reason",
        error->reason, "error", error->message, NULL);
}

struct reconcile_result reconcile_spec(void *arg, const char *key, struct cancel *cancel)
{
    struct run run = {.context = arg, .cancel = cancel};
    struct reconcile_result result = {.kind = RECONCILE_DONE};
    _cleanup_free_ char *namespace_name = NULL;
    struct error error = {0};
    int64_t after = 0;
    int r;

    if (!api_key_split(key, &namespace_name, &run.name))
        return result;
    run.namespace_name = namespace_name;
    r = reconcile(&run, &after, &error);
    run_settle(&run, NULL);
    value_unref(run.object);
    if (r == ERR_NOT_FOUND || r == ERR_CANCELLED)
        return result; /* gone, or a newer generation is on its way */
    if (r < 0) {
        log_failure(&run, &error);
        result.kind = RECONCILE_RETRY;
        return result;
    }
    if (after > 0) {
        result.kind = RECONCILE_AFTER;
        result.after = after;
    }
    return result;
}
