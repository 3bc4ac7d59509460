
#include "cli/frame/ask.h"
#include "cli/online/gitops.h"
#include "cli/online/online.h"
#include "cli/online/requests.h"
#include "cli/online/wanted.h"
#include "cli/online/watch_spec.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/client/group.h"

/* What is sent: the Spec as it is written, with its namespace, and without what is not the
 * author's. */
static const struct value *body_of(const struct value *spec, const struct target *target,
                                   const struct options *options)
{
    static const char *const place[] = {"metadata", "namespace"};
    static const char *const account[] = {"spec", "serviceAccountName"};
    static const char *const managed[] = {"metadata", "managedFields"};
    _cleanup_value_ const struct value *without = value_without(spec, "status");
    _cleanup_value_ const struct value *plain = value_without_path(without, managed, 2);
    _cleanup_value_ const struct value *name = value_pack("s", target->namespace_name);
    _cleanup_value_ const struct value *placed = value_with_path(plain, place, 2, name),
                                       *text = NULL;

    if (!options->service_account)
        return TAKE(placed);
    text = value_pack("s", options->service_account);
    return value_with_path(placed, account, 2, text);
}

static int patch(struct session *session, const struct value *spec, const struct target *target,
                 const struct value **ret, struct error *error)
{
    const struct options *options = &session->cli->options;
    _cleanup_value_ const struct value *body = body_of(spec, target, options);
    int r = session_do(
        session,
        &(struct kube_request){
            .method = "PATCH",
            .ref = {&kube_specs, target->namespace_name, target->name, NULL},
            .body = body,
            .content_type = KUBE_APPLY_PATCH,
            .field_manager = options->field_manager ? options->field_manager : "kubectl-kusion",
            .force = options->force_conflicts,
            .dry_run = str_equal(options->dry_run, "server"),
            .strict = true,
            .idempotent = true,
        },
        ret, error);

    if (r == ERR_CONFLICT)
        err_hint(error, "kubectl kusion apply -f %s --force-conflicts",
                 options->files.count ? options->files.items[0] : "FILE");
    return r;
}

static int confirm(struct session *session, const struct value *spec, const struct target *target,
                   bool *ret, struct error *error)
{
    struct cli *cli = session->cli;
    _cleanup_value_ const struct value *release = NULL;
    _cleanup_free_ char *title =
        str_printf("%s/%s   preview", target->namespace_name, target->name);
    int r = preview_make_wanted(session, target, spec, &release, error);

    *ret = false;
    if (r < 0)
        return r;
    if (preview_show(cli, release, title) == EXIT_ERROR && !cli->options.yes)
        output_line(&cli->err, "Not all of it can be planned.");
    return ask_yes(cli, "Apply it? [yes / no]:", ret, error);
}

static void tell(struct cli *cli, const struct target *target, const struct value *before,
                 const struct value *after)
{
    bool is_dry = str_equal(cli->options.dry_run, "server");
    int64_t old = object_int(before, 0, "metadata", "generation", NULL);
    int64_t new = object_int(after, 0, "metadata", "generation", NULL);
    const char *what = !before ? "created" : old == new ? "unchanged" : "configured";

    if (cli->options.output)
        return;
    output_line(&cli->out, "%s/%s %s%s", target->namespace_name, target->name, what,
                is_dry ? " (server dry run)" : "");
    output_flush(&cli->out);
}

static bool is_watched(const struct cli *cli)
{
    return !str_equal(cli->options.dry_run, "server") &&
           (cli->options.watch || cli->out.is_terminal);
}

static int follow(struct session *session, const struct target *target, const struct value *after,
                  struct error *error)
{
    return watch_spec(session,
                      &(struct watch_spec){
                          .target = target,
                          .goal = WATCH_APPLIED,
                          .generation = object_int(after, 0, "metadata", "generation", NULL),
                          .timeout = session->cli->options.timeout,
                      },
                      error);
}

static int apply_one(struct session *session, const struct value *spec, struct error *error)
{
    _cleanup_(target_done) struct target target = {0};
    _cleanup_value_ const struct value *before = NULL, *after = NULL;
    bool is_wanted = true;
    int r;

    wanted_target(session, spec, &target);
    if (session->cli->options.preview)
        r = confirm(session, spec, &target, &is_wanted, error);
    else
        r = 0;
    if (r < 0 || !is_wanted)
        return r < 0 ? r : EXIT_ERROR;
    r = spec_get(session, &target, &before, NULL);
    if (r < 0 && r != ERR_NOT_FOUND)
        before = NULL;
    if (before)
        gitops_warn(&session->cli->err, before);
    r = patch(session, spec, &target, &after, error);
    if (r < 0)
        return r;
    tell(session->cli, &target, before, after);
    return is_watched(session->cli) ? follow(session, &target, after, error) : EXIT_DONE;
}

int run_apply(struct cli *cli, struct error *error)
{
    _cleanup_(objects_done) struct objects specs = {0};
    _cleanup_(session_done) struct session session = {0};
    int code = EXIT_DONE, r;

    if (!cli->options.files.count && !cli->options.kustomize) {
        err_set(error, ERR_INVALID, "InvalidArgument", "apply needs files, with -f or -k");
        err_hint(error, "kubectl kusion apply --help");
        return ERR_INVALID;
    }
    r = session_open(cli, &session, error);
    if (r == 0)
        r = wanted_read(&session, &specs, error);
    for (size_t i = 0; r >= 0 && i < specs.count; i++) {
        r = apply_one(&session, specs.items[i], error);
        code = r != EXIT_DONE ? r : code;
    }
    return r < 0 ? r : code;
}
