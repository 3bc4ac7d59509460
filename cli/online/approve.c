#include <string.h>

#include "cli/frame/ask.h"
#include "cli/online/names.h"
#include "cli/online/online.h"
#include "cli/online/plan_view.h"
#include "cli/online/revisions.h"
#include "cli/online/spec_table.h"
#include "cli/online/watch_spec.h"
#include "engine/base/str.h"
#include "engine/base/timestamp.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/client/group.h"

#define MOST_CHANGES 5 /* of a plan while it is looked at: then somebody else is at work */

static const struct kube_kind self_reviews = {"authentication.k8s.io/v1", "SelfSubjectReview",
                                              "selfsubjectreviews", false};

enum verdict { APPROVE, REJECT };

/* ---- Which plan ---- */

static bool is_waiting(const struct value *release)
{
    return release_is_record(release) &&
           str_equal(object_text(release, "", "status", "phase", NULL), "awaitingApproval");
}

static const struct value *waiting_of(const struct objects *releases)
{
    for (size_t i = releases->count; i-- > 0;)
        if (is_waiting(releases->items[i]))
            return releases->items[i];
    return NULL;
}

static bool waits_somewhere(const struct value *spec)
{
    return str_equal(object_text(condition_of(spec, "Ready"), "", "reason", NULL),
                     "AwaitingApproval");
}

/* The command takes back that an earlier plan was approved unseen. If this one has what is not
 * shown, the Spec says so then, with the command for that. */
static int waits_in_store(const struct target *target, const struct value *spec,
                          enum verdict verdict, struct error *error)
{
    const char *digest = object_text(spec, "", "status", "plan", "digest", NULL);

    err_set(error, ERR_NOT_FOUND, "ReleasesStored",
            "the plan of %s/%s waits in a store of the operator, not at the API server: %s",
            target->namespace_name, target->name,
            verdict == APPROVE ? "look at a preview, and approve it in the Spec"
                               : "it cannot be rejected there; change the Spec instead");
    err_hint(error, "kubectl kusion preview %s -n %s", target->name, target->namespace_name);
    if (verdict == APPROVE && *digest && !digest[strspn(digest, "0123456789abcdef")])
        err_hint(error,
                 "kubectl patch spec %s -n %s --type=merge -p "
                 "'{\"spec\":{\"approval\":{\"approvedPlan\":\"%s\",\"approvedUnseen\":false}}}'",
                 target->name, target->namespace_name, digest);
    return ERR_NOT_FOUND;
}

static int nothing_waits(const struct target *target, const struct value *spec,
                         const struct objects *releases, enum verdict verdict, struct error *error)
{
    if (waits_somewhere(spec) && revisions_are_stored(spec, releases))
        return waits_in_store(target, spec, verdict, error);
    err_set(error, ERR_NOT_FOUND, "NothingWaits", "no plan of %s/%s waits for approval",
            target->namespace_name, target->name);
    err_hint(error, "kubectl kusion status %s -n %s", target->name, target->namespace_name);
    return ERR_NOT_FOUND;
}

/* spec: as it was read before; NULL: only Releases are looked at. */
static int find_waiting(struct session *session, const struct target *target,
                        const struct value *spec, enum verdict verdict, const struct value **ret,
                        struct error *error)
{
    _cleanup_(objects_done) struct objects releases = {0};
    int r = release_list(session, target, &releases, error);

    if (r < 0)
        return r;
    if (!waiting_of(&releases))
        return nothing_waits(target, spec, &releases, verdict, error);
    *ret = value_ref(waiting_of(&releases));
    return 0;
}

static const char *digest_of(const struct value *release)
{
    return object_text(release, "", "status", "plan", "digest", NULL);
}

/* --digest may be cut short, to eight characters at least. */
static int check_digest(const struct cli *cli, const struct value *release, struct error *error)
{
    const char *given = cli->options.digest;

    if (!given)
        return 0;
    if (strlen(given) < 8)
        return err_set(error, ERR_INVALID, "InvalidOption",
                       "--digest: at least 8 characters of it are needed");
    if (str_has_prefix(digest_of(release), given))
        return 0;
    err_set(error, ERR_CONFLICT, "PlanChanged", "the plan that waits has another digest: %.12s",
            digest_of(release));
    err_hint(error, "kubectl kusion approve %s -n %s",
             object_text(release, "", "spec", "specRef", "name", NULL), object_namespace(release));
    return ERR_CONFLICT;
}

/* ---- On the page ---- */

static void show(struct cli *cli, const struct value *release)
{
    struct plan_view view = {cli->options.full, cli->options.show_unchanged};
    int64_t made = timestamp_parse(object_text(release, "", "metadata", "creationTimestamp", NULL));
    _cleanup_free_ char *age = age_since(made, system_clock.now(&system_clock));
    const char *account = object_text(release, NULL, "status", "plan", "serviceAccountName", NULL);

    output_paint(&cli->out, STYLE_BOLD, "%s/%s", object_namespace(release), object_name(release));
    output_add(&cli->out, "   %s, revision %lld, of generation %lld",
               object_text(release, "", "spec", "operation", NULL),
               (long long)object_int(release, 0, "status", "revision", NULL),
               (long long)object_int(release, 0, "status", "specGeneration", NULL));
    output_add(&cli->out, "   waits for %s", age);
    if (account)
        output_add(&cli->out, "   as ServiceAccount %s", account);
    output_end(&cli->out);
    plan_view_results(&cli->out, release, &view);
    plan_view_summary(&cli->out, release);
    plan_view_unseen(&cli->out, release);
}

/* The user's own name, as whom they approve, where the API server tells it; free(). */
static char *own_name(struct session *session)
{
    _cleanup_value_ const struct value *body = NULL, *answer = NULL;
    struct kube_request request = {
        .method = "POST", .ref = {&self_reviews, NULL, NULL, NULL}, .idempotent = true};
    int r;

    body = value_pack("{s:s, s:s}", "apiVersion", self_reviews.group_version, "kind",
                      self_reviews.kind);
    request.body = body;
    request.path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    r = session_do(session, &request, &answer, NULL);
    return r < 0 ? NULL
                 : str_new(object_text(answer, NULL, "status", "userInfo", "username", NULL));
}

/* ---- The verdict ---- */

static int send_verdict(struct session *session, const struct value *release, enum verdict verdict,
                        const char *reason, struct error *error)
{
    _cleanup_free_ char *user = own_name(session);
    bool is_unseen = object_int(release, 0, "status", "plan", "unseen", NULL) > 0;
    _cleanup_value_ const struct value *unseen = is_unseen ? value_pack("b", 1) : NULL;
    _cleanup_value_ const struct value *body =
        verdict == APPROVE
            ? value_pack("{s:{s:v}, s:{s:s, s:v?, s:s?}}", "metadata", "uid",
                         value_path(release, "metadata", "uid", NULL), "spec", "approvedPlan",
                         digest_of(release), "approvedUnseen", unseen, "approvedBy", user)
            : value_pack("{s:{s:v}, s:{s:b, s:s?, s:s?}}", "metadata", "uid",
                         value_path(release, "metadata", "uid", NULL), "spec", "rejected", 1,
                         "reason", reason, "approvedBy", user);

    return object_patch(
        session,
        (struct kube_ref){&kube_releases, object_namespace(release), object_name(release), NULL},
        body, NULL, error);
}

/* What the person says to the plan on the page. */
static int ask_verdict(struct session *session, enum verdict *verdict, char **reason,
                       bool *is_given, struct error *error)
{
    struct cli *cli = session->cli;
    _cleanup_free_ char *user = NULL, *question = NULL, *answer = NULL;
    int r;

    *is_given = true;
    if (cli->options.yes || cli->options.digest)
        return 0;
    user = own_name(session);
    if (*verdict == APPROVE)
        question = str_printf("Approve as %s? [yes / no / reject WHY]:", user ? user : "yourself");
    else
        question = str_printf("Reject as %s? [yes / no]:", user ? user : "yourself");
    r = ask(cli, question, &answer, error);
    if (r < 0)
        return r;
    if (*verdict == APPROVE && str_has_prefix(answer, "reject")) {
        *verdict = REJECT;
        free(*reason);
        *reason = str_new(answer + strlen("reject") + strspn(answer + strlen("reject"), " :"));
        return 0;
    }
    *is_given = str_equal(answer, "yes") || str_equal(answer, "y");
    return 0;
}

/* Whether the API server refused because the plan is another one by now. */
static bool may_have_changed(int r)
{
    return r == ERR_INVALID || r == ERR_CONFLICT || r == ERR_NOT_FOUND;
}

static void tell_changed(struct cli *cli, const struct value *before, const struct value *release)
{
    unsigned others = plan_count_other(before, release);

    output_line(&cli->err, "The plan is not the one you saw (%.4s -> %.4s): %u other change%s.",
                digest_of(before), digest_of(release), others, others == 1 ? "" : "s");
    output_flush(&cli->err);
}

/* *release: as it is approved or rejected. EXIT_ERROR: the person says no. */
static int decide(struct session *session, const struct target *target, enum verdict *verdict,
                  char **reason, const struct value **release, struct error *error)
{
    for (unsigned n = 0; n < MOST_CHANGES; n++) {
        _cleanup_value_ const struct value *next = NULL;
        struct error why = {0};
        bool is_given;
        int r = check_digest(session->cli, *release, error);

        if (r < 0)
            return r;
        show(session->cli, *release);
        r = ask_verdict(session, verdict, reason, &is_given, error);
        if (r < 0 || !is_given)
            return r < 0 ? r : EXIT_ERROR;
        r = send_verdict(session, *release, *verdict, *reason, &why);
        if (r == 0)
            return EXIT_DONE;
        if (!may_have_changed(r) ||
            find_waiting(session, target, NULL, *verdict, &next, NULL) < 0 ||
            str_equal(digest_of(next), digest_of(*release)))
            return err_copy(error, &why);
        tell_changed(session->cli, *release, next);
        value_assign(release, next);
    }
    return err_set(error, ERR_CONFLICT, "PlanChanged", "the plan changes all the time");
}

static int end(struct session *session, const struct target *target, enum verdict verdict,
               const struct value *release, struct error *error)
{
    struct cli *cli = session->cli;

    output_paint(&cli->out, verdict == APPROVE ? STYLE_GOOD : STYLE_WARN, "%s %.12s",
                 verdict == APPROVE ? "approved" : "rejected", digest_of(release));
    output_end(&cli->out);
    output_flush(&cli->out);
    if (verdict == REJECT || (!cli->options.watch && !cli->out.is_terminal))
        return EXIT_DONE;
    return watch_spec(session,
                      &(struct watch_spec){
                          .target = target,
                          .goal = WATCH_APPROVED,
                          .request = object_name(release),
                          .timeout = cli->options.timeout,
                      },
                      error);
}

static int decide_one(struct session *session, const struct target *target, enum verdict verdict,
                      const struct value **release, struct error *error)
{
    char *reason = str_new(session->cli->options.reason);
    int r = decide(session, target, &verdict, &reason, release, error);

    free(reason);
    return r == EXIT_DONE ? end(session, target, verdict, *release, error) : r;
}

/* ---- The commands ---- */

static int decide_named(struct session *session, const char *name, enum verdict verdict,
                        struct error *error)
{
    _cleanup_(target_done) struct target target = {0};
    _cleanup_value_ const struct value *spec = NULL, *release = NULL;
    int r = target_parse(session, name, &target, error);

    if (r == 0)
        r = spec_find(session, &target, &spec, NULL, error);
    if (r == 0)
        r = find_waiting(session, &target, spec, verdict, &release, error);
    return r < 0 ? r : decide_one(session, &target, verdict, &release, error);
}

/* At the API server. In a store, each is looked at by itself. */
static void tell_none_waits(struct session *session)
{
    struct output *err = &session->cli->err;
    _cleanup_(objects_done) struct objects specs = {0};
    bool is_stored = false;

    spec_list_table(session, session->namespace_name, NULL, &specs, NULL);
    for (size_t i = 0; i < specs.count; i++)
        if (waits_somewhere(specs.items[i])) {
            output_line(err, "The plan of %s waits in a store of the operator.",
                        object_name(specs.items[i]));
            output_line(err, "next:  kubectl kusion %s %s -n %s", session->cli->command->name,
                        object_name(specs.items[i]), session->namespace_name);
            is_stored = true;
        }
    if (!is_stored)
        output_line(err, "No plan waits for approval in the namespace %s.",
                    session->namespace_name);
}

static int decide_all(struct session *session, enum verdict verdict, struct error *error)
{
    _cleanup_(objects_done) struct objects releases = {0};
    int code = EXIT_DONE;
    int r = object_list(
        session, (struct kube_ref){&kube_releases, session->namespace_name, NULL, NULL},
        (struct kube_selector){.fields = "status.phase=awaitingApproval"}, &releases, error);

    for (size_t i = 0; r >= 0 && i < releases.count; i++) {
        struct target target = {
            .namespace_name = str_new(session->namespace_name),
            .name = str_new(object_text(releases.items[i], "", "spec", "specRef", "name", NULL)),
        };

        if (is_waiting(releases.items[i])) {
            r = decide_one(session, &target, verdict, &releases.items[i], error);
            code = r != EXIT_DONE ? r : code;
        }
        target_done(&target);
    }
    if (r >= 0 && !releases.count)
        tell_none_waits(session);
    return r < 0 ? r : code;
}

static int run(struct cli *cli, enum verdict verdict, struct error *error)
{
    _cleanup_(session_done) struct session session = {0};
    int r;

    if (cli->options.all == (cli->n_arguments > 0)) {
        err_set(error, ERR_INVALID, "InvalidArgument",
                "%s takes either the name of a Spec, or --all", cli->command->name);
        err_hint(error, "kubectl kusion %s --help", cli->command->name);
        return ERR_INVALID;
    }
    r = session_open(cli, &session, error);
    if (r < 0)
        return r;
    return cli->options.all ? decide_all(&session, verdict, error)
                            : decide_named(&session, cli->arguments[0], verdict, error);
}

int run_approve(struct cli *cli, struct error *error)
{
    return run(cli, APPROVE, error);
}

int run_reject(struct cli *cli, struct error *error)
{
    return run(cli, REJECT, error);
}
