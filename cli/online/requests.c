#include "cli/online/requests.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "cli/online/hidden.h"
#include "cli/online/plan_view.h"
#include "cli/online/rows.h"
#include "engine/base/str.h"
#include "engine/spec/preview_policies.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/client/group.h"
#include "runtimes/kubernetes/client/pause.h"

/* ---- Ctrl-C ---- */

/* Where something is to be put in order before the end. Elsewhere it ends the process as usual. */

static volatile sig_atomic_t was_interrupted;

static void on_signal(int number)
{
    (void)number;
    was_interrupted = 1;
}

/* From now on SIGINT and SIGTERM are remembered, instead of ending the process; the second one ends
 * it. */
static void interrupt_catch(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* As it was before. */
static void interrupt_release(void)
{
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

#define TTL          300    /* seconds in which a Preview goes that this process left behind */
#define TIME         120000 /* ms for a Preview */
#define UNSEEN_AFTER 20000  /* ms in which an operator that is at work has seen it */
#define POLL_LEAST   50     /* ms between two looks */
#define POLL_MOST    1000

int request_create(struct session *session, const struct target *target,
                   const struct release_request *request, const struct value **ret,
                   struct error *error)
{
    bool is_preview = str_equal(request->operation, "Preview");
    _cleanup_free_ char *lower = str_new(request->operation), *prefix = NULL;
    _cleanup_value_ const struct value *revision = NULL, *ttl = NULL, *body = NULL;

    lower[0] = (char)(lower[0] - 'A' + 'a');
    prefix = str_printf("%.200s-%s-", target->name, lower);
    if (request->to_revision)
        revision = value_pack("I", request->to_revision);
    if (is_preview)
        ttl = value_pack("i", TTL);
    body = value_pack(
        "{s:s, s:s, s:{s:s, s:s}, s:{s:{s:s}, s:s, s:v?, s:v?, s:v?, s:v?, s:s?, s:v?}}",
        "apiVersion", API_GROUP_VERSION, "kind", "Release", "metadata", "generateName", prefix,
        "namespace", target->namespace_name, "spec", "specRef", "name", target->name, "operation",
        request->operation, "toRevision", revision, "resources", request->resources,
        "resourcesFrom", request->sources, "policies", request->policies, "serviceAccountName",
        request->service_account, "ttlSecondsAfterFinished", ttl);
    return session_do(session,
                      &(struct kube_request){
                          .method = "POST",
                          .ref = {&kube_releases, target->namespace_name, NULL, NULL},
                          .body = body,
                          .field_manager = "kubectl-kusion",
                          .strict = true,
                      },
                      ret, error);
}

int request_delete(struct session *session, const struct value *release, struct error *error)
{
    _cleanup_value_ const struct value *body = value_pack(
        "{s:{s:v}}", "preconditions", "uid", value_path(release, "metadata", "uid", NULL));
    int r = session_do(
        session,
        &(struct kube_request){
            .method = "DELETE",
            .ref = {&kube_releases, object_namespace(release), object_name(release), NULL},
            .body = body,
            .idempotent = true,
        },
        NULL, error);

    if (r == ERR_NOT_FOUND)
        err_clear(error);
    return r == ERR_NOT_FOUND ? 0 : r;
}

/* ---- Previews ---- */

static int unseen(const struct target *target, struct error *error)
{
    err_set(error, ERR_TIMEOUT, "NotSeen", "%s/%s: no operator has begun with the preview",
            target->namespace_name, target->name);
    err_hint(error, "kubectl kusion doctor");
    return ERR_TIMEOUT;
}

static int too_late(const struct target *target, const struct value *release, struct error *error)
{
    err_set(error, ERR_TIMEOUT, "Timeout", "%s/%s: the preview has not ended in time: %s",
            target->namespace_name, target->name,
            object_text(release, "it waits", "status", "summary", NULL));
    err_hint(error, "kubectl kusion preview %s -n %s --timeout 10m", target->name,
             target->namespace_name);
    return ERR_TIMEOUT;
}

static int await_end(struct session *session, const struct target *target,
                     const struct value **release, struct error *error)
{
    int64_t began = system_clock.monotonic(&system_clock), delay = POLL_LEAST;
    int64_t given = session->cli->options.timeout, time = given ? given : TIME;

    while (!release_has_ended(*release)) {
        const struct value *next = NULL;
        int64_t passed = system_clock.monotonic(&system_clock) - began;
        int r;

        if (was_interrupted)
            return err_set(error, ERR_CANCELLED, "Interrupted", "interrupted: the preview is gone");
        if (passed > (time < UNSEEN_AFTER ? time : UNSEEN_AFTER) &&
            !value_path(*release, "status", "phase", NULL))
            return unseen(target, error);
        if (passed > time)
            return too_late(target, *release, error);
        pause_for(delay, NULL);
        delay = delay * 2 < POLL_MOST ? delay * 2 : POLL_MOST;
        r = release_get(session, target->namespace_name, object_name(*release), &next, error);
        if (r < 0)
            return r;
        value_unref(*release);
        *release = next;
    }
    return 0;
}

/* hidden: what goes with the Release. */
static int make(struct session *session, const struct target *target,
                const struct release_request *request, const struct hidden *hidden,
                const struct value **ret, struct error *error)
{
    _cleanup_value_ const struct value *release = NULL;
    int r = request_create(session, target, request, &release, error);

    if (r < 0)
        return r;
    hidden_belongs_to(session, hidden, release);
    r = await_end(session, target, &release, error);
    request_delete(session, release, NULL);
    if (r == 0)
        *ret = TAKE(release);
    return r;
}

int preview_make(struct session *session, const struct target *target,
                 const struct release_request *request, const struct value **ret,
                 struct error *error)
{
    int r;

    interrupt_catch();
    r = make(session, target, request, &(struct hidden){0}, ret, error);
    interrupt_release();
    return r;
}

int preview_make_destroy(struct session *session, const struct target *target,
                         const struct value *spec, const struct value **ret, struct error *error)
{
    _cleanup_value_ const struct value *policies = preview_policies(value_get(spec, "spec"));
    _cleanup_value_ const struct value *pruned = value_without(policies, "prune");
    _cleanup_value_ const struct value *unbound = value_without(pruned, "maxDeletions");
    _cleanup_value_ const struct value *nothing = value_pack("[]");

    return preview_make(session, target,
                        &(struct release_request){
                            .operation = "Preview", .resources = nothing, .policies = unbound},
                        ret, error);
}

int preview_make_wanted(struct session *session, const struct target *target,
                        const struct value *spec, const struct value **ret, struct error *error)
{
    const struct value *fields = value_get(spec, "spec");
    const char *account = session->cli->options.service_account;
    _cleanup_value_ const struct value *policies = preview_policies(fields);
    struct hidden hidden = {0};
    int r;

    interrupt_catch();
    r = hidden_make(session, target, fields, &hidden, error);
    if (r == 0)
        r = make(session, target,
                 &(struct release_request){
                     .operation = "Preview",
                     .resources = hidden.resources,
                     .sources = hidden.sources,
                     .policies = policies,
                     .service_account =
                         account ? account : value_get_string(fields, "serviceAccountName"),
                 },
                 &hidden, ret, error);
    hidden_drop(session, &hidden);
    interrupt_release();
    return r;
}

/* ---- On the page ---- */

void preview_show_failure(struct cli *cli, const struct value *release)
{
    const struct value *ready = condition_of(release, "Ready");
    const char *message = object_text(ready, "", "message", NULL);
    _cleanup_free_ char *line = first_line(message);
    const char *hint = err_hints(message);

    if (str_equal(object_text(release, "", "status", "phase", NULL), "succeeded"))
        return;
    output_paint(&cli->out, STYLE_BAD, "%s: ", object_text(ready, "Failed", "reason", NULL));
    output_line(&cli->out, "%s", line);
    if (!*hint)
        output_line(&cli->out, "next:  kubectl kusion explain %s",
                    object_text(ready, "", "reason", NULL));
    while (*hint) {
        size_t length = strcspn(++hint, "\n");
        _cleanup_free_ char *text = str_new_n(hint, length);

        output_line(&cli->out, "next:  %s", text);
        hint += length;
    }
}

static int exit_of(const struct cli *cli, const struct value *release)
{
    if (!str_equal(object_text(release, "", "status", "phase", NULL), "succeeded") ||
        !plan_is_complete(release))
        return EXIT_ERROR;
    return cli->options.detailed_exitcode && plan_has_changes(release) ? EXIT_CHANGES : EXIT_DONE;
}

int preview_show(struct cli *cli, const struct value *release, const char *title)
{
    struct plan_view view = {cli->options.full, cli->options.show_unchanged};
    const char *account = object_text(release, NULL, "status", "plan", "serviceAccountName", NULL);

    if (cli_wants_data(cli)) {
        cli_print_data(cli, value_get(release, "status"));
        return exit_of(cli, release);
    }
    output_paint(&cli->out, STYLE_BOLD, "%s", title);
    if (account)
        output_add(&cli->out, "   as ServiceAccount %s", account);
    output_end(&cli->out);
    plan_view_results(&cli->out, release, &view);
    if (value_path(release, "status", "plan", NULL))
        plan_view_summary(&cli->out, release);
    preview_show_failure(cli, release);
    output_flush(&cli->out);
    return exit_of(cli, release);
}
