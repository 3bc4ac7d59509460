/* reconcile, suspend and resume: small changes of a Spec that it is at once asked for. */
#include <string.h>

#include "cli/online/follow.h"
#include "cli/online/gitops.h"
#include "cli/online/online.h"
#include "cli/online/watch_spec.h"
#include "engine/base/str.h"
#include "engine/base/timestamp.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/client/group.h"
#include "runtimes/kubernetes/runtime.h"

#define TIME 300000 /* ms that --watch takes at most, without --timeout */

static int find(struct cli *cli, struct session *session, struct target *target,
                const struct value **ret, struct error *error)
{
    int r = session_open(cli, session, error);

    if (r == 0)
        r = target_parse(session, cli->arguments[0], target, error);
    return r < 0 ? r : spec_find(session, target, ret, NULL, error);
}

static int patch(struct session *session, const struct target *target, const struct value *body,
                 const struct value **ret, struct error *error)
{
    return session_do(session,
                      &(struct kube_request){
                          .method = "PATCH",
                          .ref = {&kube_specs, target->namespace_name, target->name, NULL},
                          .body = body,
                          .content_type = KUBE_MERGE_PATCH,
                          .field_manager = "kubectl-kusion",
                          .idempotent = true,
                      },
                      ret, error);
}

static int64_t timeout_of(const struct cli *cli)
{
    return cli->options.timeout ? cli->options.timeout : TIME;
}

static int watch(struct session *session, const struct target *target, const struct value *spec,
                 struct error *error)
{
    return watch_spec(session,
                      &(struct watch_spec){
                          .target = target,
                          .goal = WATCH_APPLIED,
                          .generation = object_int(spec, 0, "metadata", "generation", NULL),
                          .timeout = timeout_of(session->cli),
                      },
                      error);
}

/* ---- reconcile ---- */

/* Until the reconcile that was asked for has ended: what is told before is of an earlier one. */
static int await_handled(struct session *session, const struct target *target, const char *wanted,
                         struct error *error)
{
    int64_t deadline = follow_now() + timeout_of(session->cli);
    _cleanup_(follow_free_p) struct follow *follow = NULL;
    _cleanup_(snapshot_done) struct snapshot snapshot = {0};
    int r = follow_new(session, target, NULL, &follow, error);

    while (r == 0) {
        bool is_changed = false;

        r = follow_next(follow, deadline, &snapshot, &is_changed, error);
        if (r == 0 &&
            str_equal(object_text(snapshot.spec, "", "status", "lastHandledReconcileAt", NULL),
                      wanted))
            return 0;
        if (r == 0 && follow_now() >= deadline) {
            err_set(error, ERR_TIMEOUT, "Timeout", "%s/%s: the reconcile has not ended in time",
                    target->namespace_name, target->name);
            err_hint(error, "kubectl kusion status %s -n %s", target->name, target->namespace_name);
            return ERR_TIMEOUT;
        }
    }
    return r;
}

int run_reconcile(struct cli *cli, struct error *error)
{
    _cleanup_(session_done) struct session session = {0};
    _cleanup_(target_done) struct target target = {0};
    _cleanup_value_ const struct value *spec = NULL, *after = NULL, *body = NULL;
    char time[TIMESTAMP_SIZE];
    int r = find(cli, &session, &target, &spec, error);

    if (r < 0)
        return r;
    timestamp_format_milli(system_clock.now(&system_clock), time);
    body = value_pack("{s:{s:{s:s}}}", "metadata", "annotations", KUBE_RECONCILE_ANNOTATION, time);
    r = patch(&session, &target, body, &after, error);
    if (r < 0)
        return r;
    output_line(&cli->out, "%s/%s: a reconcile is asked for", target.namespace_name, target.name);
    output_flush(&cli->out);
    if (!cli->options.watch)
        return EXIT_DONE;
    r = await_handled(&session, &target, time, error);
    return r < 0 ? r : watch(&session, &target, after, error);
}

/* ---- suspend, resume ---- */

static int set_suspend(struct cli *cli, bool is_suspended, struct error *error)
{
    _cleanup_(session_done) struct session session = {0};
    _cleanup_(target_done) struct target target = {0};
    _cleanup_value_ const struct value *spec = NULL, *after = NULL, *body = NULL, *suspend = NULL;
    int r = find(cli, &session, &target, &spec, error);

    if (r < 0)
        return r;
    gitops_warn(&cli->err, spec);
    suspend = is_suspended ? value_pack("b", 1) : NULL;
    body = value_pack("{s:{s:v}}", "spec", "suspend", suspend); /* null removes it */
    r = patch(&session, &target, body, &after, error);
    if (r < 0)
        return r;
    output_line(&cli->out, "%s/%s %s", target.namespace_name, target.name,
                is_suspended ? "suspended: it is neither applied nor corrected, and deleting it "
                               "keeps its resources"
                             : "resumed");
    output_flush(&cli->out);
    return cli->options.watch ? watch(&session, &target, after, error) : EXIT_DONE;
}

int run_suspend(struct cli *cli, struct error *error)
{
    return set_suspend(cli, true, error);
}

int run_resume(struct cli *cli, struct error *error)
{
    return set_suspend(cli, false, error);
}
