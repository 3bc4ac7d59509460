/* reconcile, suspend and resume: small changes of a Spec that it is at once asked for. */

#include "cli/online/follow.h"
#include "cli/online/gitops.h"
#include "cli/online/online.h"
#include "cli/online/standing.h"
#include "cli/online/watch_spec.h"
#include "engine/base/str.h"
#include "engine/base/timestamp.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/client/group.h"
#include "runtimes/kubernetes/runtime.h"

#define TIME 300000 /* ms that --watch takes at most, without --timeout */

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

/* *ret: the Spec with the wish, a reference. */
static int ask(struct session *session, const struct target *target, const char *time,
               const struct value **ret, struct error *error)
{
    _cleanup_value_ const struct value *body =
        value_pack("{s:{s:{s:s}}}", "metadata", "annotations", KUBE_RECONCILE_ANNOTATION, time);
    int r = object_patch(session,
                         (struct kube_ref){&kube_specs, target->namespace_name, target->name, NULL},
                         body, ret, error);

    if (r < 0)
        return r;
    output_line(&session->cli->out, "%s/%s: a reconcile is asked for", target->namespace_name,
                target->name);
    output_flush(&session->cli->out);
    return 0;
}

static int reconcile_one(struct cli *cli, const char *time, struct error *error)
{
    _cleanup_(session_done) struct session session = {0};
    _cleanup_(target_done) struct target target = {0};
    _cleanup_value_ const struct value *spec = NULL, *after = NULL;
    int r = spec_open(cli, &session, &target, &spec, error);

    if (r == 0)
        r = ask(&session, &target, time, &after, error);
    if (r < 0 || !cli->options.watch)
        return r < 0 ? r : EXIT_DONE;
    r = await_handled(&session, &target, time, error);
    return r < 0 ? r : watch(&session, &target, after, error);
}

/* Also one that is retried: its next try may be minutes away. */
static bool has_failed(const struct value *spec)
{
    struct standing standing = standing_of(spec, system_clock.now(&system_clock));

    return standing.rank == STANDING_FAILED ||
           (standing.rank == STANDING_BUSY && str_equal(standing.ready, "False"));
}

/* One that cannot be asked for does not keep the others from it. */
static int reconcile_failed(struct cli *cli, const char *time, struct error *error)
{
    _cleanup_(session_done) struct session session = {0};
    _cleanup_(objects_done) struct objects specs = {0};
    int code = EXIT_DONE, r = session_open(cli, &session, error);
    size_t count = 0;

    if (r == 0)
        r = spec_list(&session, cli->options.all_namespaces ? NULL : session.namespace_name,
                      cli->options.selector, &specs, error);
    for (size_t i = 0; r == 0 && i < specs.count; i++) {
        const struct value *spec = specs.items[i];
        const struct target target = {.namespace_name = (char *)(uintptr_t)object_namespace(spec),
                                      .name = (char *)(uintptr_t)object_name(spec)};
        _cleanup_value_ const struct value *after = NULL;
        struct error problem = {0};

        if (!has_failed(spec))
            continue;
        count++;
        if (ask(&session, &target, time, &after, &problem) == 0)
            continue;
        output_line(&cli->err, "%s/%s: %s", target.namespace_name, target.name, problem.message);
        code = EXIT_ERROR;
    }
    if (r == 0 && !count)
        output_line(&cli->err, "No Spec has failed.");
    return r < 0 ? r : code;
}

int run_reconcile(struct cli *cli, struct error *error)
{
    char time[TIMESTAMP_SIZE];

    if (cli->options.failed == (cli->n_arguments > 0) ||
        (cli->options.failed && cli->options.watch)) {
        err_set(error, ERR_INVALID, "InvalidArgument",
                "reconcile takes either the name of a Spec, or --failed, which has no --watch");
        err_hint(error, "kubectl kusion reconcile --help");
        return ERR_INVALID;
    }
    timestamp_format_milli(system_clock.now(&system_clock), time);
    return cli->options.failed ? reconcile_failed(cli, time, error)
                               : reconcile_one(cli, time, error);
}

/* ---- suspend, resume ---- */

static int set_suspend(struct cli *cli, bool is_suspended, struct error *error)
{
    _cleanup_(session_done) struct session session = {0};
    _cleanup_(target_done) struct target target = {0};
    _cleanup_value_ const struct value *spec = NULL, *after = NULL, *body = NULL, *suspend = NULL;
    int r = spec_open(cli, &session, &target, &spec, error);

    if (r < 0)
        return r;
    gitops_warn(&cli->err, spec);
    suspend = is_suspended ? value_pack("b", 1) : NULL;
    body = value_pack("{s:{s:v}}", "spec", "suspend", suspend); /* null removes it */
    r = object_patch(&session,
                     (struct kube_ref){&kube_specs, target.namespace_name, target.name, NULL}, body,
                     &after, error);
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
