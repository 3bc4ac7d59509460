#include "cli/offline/read.h"
#include "cli/online/online.h"
#include "cli/online/operation.h"
#include "cli/online/plan_view.h"
#include "cli/online/revisions.h"
#include "cli/online/rows.h"
#include "engine/base/str.h"

/* Of a plan that waits: what an approval covers unseen, and how it is given. */
static void show_verdict_commands(struct cli *cli, const struct value *release)
{
    const char *spec = object_text(release, "", "spec", "specRef", "name", NULL);
    const char *place = object_namespace(release);
    _cleanup_free_ char *digest = plan_short_digest(release);

    if (!str_equal(object_text(release, "", "status", "phase", NULL), "awaitingApproval"))
        return;
    plan_view_unseen(&cli->out, release);
    output_line(&cli->out, "next:  kubectl kusion approve %s -n %s --digest %s", spec, place,
                digest);
    output_line(&cli->out, "next:  kubectl kusion reject %s -n %s --reason WHY", spec, place);
}

/* The versions of the Spec's sources that it is about. */
static void show_sources(struct cli *cli, const struct value *list)
{
    for (size_t i = 0; i < value_count(list); i++) {
        const struct value *source = value_at(list, i);

        output_line(&cli->out, "from %s %s, key %s, resourceVersion %s",
                    object_text(source, "", "kind", NULL), object_text(source, "", "name", NULL),
                    object_text(source, "", "key", NULL),
                    object_text(source, "", "resourceVersion", NULL));
    }
}

static void show_release(struct cli *cli, const struct value *release)
{
    struct plan_view view = {cli->options.full, cli->options.show_unchanged};
    const struct value *ready = condition_of(release, "Ready");
    const char *message = object_text(ready, "", "message", NULL);
    _cleanup_free_ char *line = first_line(message), *operation = operation_name(release);
    _cleanup_free_ char *took = operation_took(release);
    const char *account = object_text(release, NULL, "status", "plan", "serviceAccountName", NULL);
    int64_t revision = object_int(release, 0, "status", "revision", NULL);
    const char *approver = object_text(release, NULL, "status", "approval", "approver", NULL);

    output_paint(&cli->out, STYLE_BOLD, "%s/%s", object_namespace(release), object_name(release));
    output_add(&cli->out, "   %s", operation);
    if (revision)
        output_add(&cli->out, "   revision %lld   of generation %lld", (long long)revision,
                   (long long)object_int(release, 0, "status", "specGeneration", NULL));
    if (account)
        output_add(&cli->out, "   as ServiceAccount %s", account);
    output_paint(&cli->out, operation_style(object_text(release, "", "status", "phase", NULL)),
                 "   %s", object_text(release, "not begun", "status", "phase", NULL));
    if (!str_equal(took, "-"))
        output_add(&cli->out, "   took %s", took);
    if (approver)
        output_add(&cli->out, "   approved by %s", approver);
    output_end(&cli->out);
    show_sources(cli, value_path(release, "status", "sources", NULL));
    plan_view_results(&cli->out, release, &view);
    if (value_path(release, "status", "plan", NULL))
        plan_view_summary(&cli->out, release);
    if (value_count(value_path(release, "status", "conditions", NULL)))
        output_line(&cli->out, "%s", line);
    show_verdict_commands(cli, release);
}

/* NAME is a Release, NAME@N a revision of a Spec, a Spec's name its latest. */
static int find_release(struct session *session, const struct target *target,
                        const struct value **ret, struct error *error)
{
    _cleanup_(objects_done) struct objects releases = {0};
    _cleanup_value_ const struct value *spec = NULL;
    int r;

    if (target->revision)
        return revision_get(session, target, target->revision, ret, error);
    if (release_get(session, target->namespace_name, target->name, ret, NULL) == 0)
        return 0;
    spec_get(session, target, &spec, NULL);
    r = release_list(session, target, &releases, error);
    if (r >= 0 && revisions_are_stored(spec, &releases))
        return revisions_stored_error(target, spec, error);
    for (size_t i = releases.count; r == 0 && i-- > 0;)
        if (release_is_record(releases.items[i])) {
            *ret = value_ref(releases.items[i]);
            return 0;
        }
    if (r < 0)
        return r;
    err_set(error, ERR_NOT_FOUND, "NotFound",
            "there is no Release \"%s\" in the namespace %s, and "
            "no Spec of that name that has one",
            target->name, target->namespace_name);
    err_hint(error, "kubectl kusion status -n %s", target->namespace_name);
    return ERR_NOT_FOUND;
}

static int print(struct cli *cli, const struct value *release)
{
    if (cli_wants_data(cli))
        cli_print_data(cli, release);
    else
        show_release(cli, release);
    return EXIT_DONE;
}

/* ---- From files ---- */

static int show_document(struct cli *cli, const struct value *document, const char *file,
                         struct error *error)
{
    const struct value *items = value_get(document, "items");
    bool is_list = str_has_suffix(object_text(document, "", "kind", NULL), "List");
    int r = EXIT_DONE;

    if (str_equal(value_get_string(document, "kind"), "Release"))
        return print(cli, document);
    if (!is_list) {
        err_set(error, ERR_INVALID, "InvalidInput", "%s: not a Release", file);
        err_hint(error, "kubectl get releases -o json | kubectl kusion show -f -");
        return ERR_INVALID;
    }
    for (size_t i = 0; r == EXIT_DONE && i < value_count(items); i++)
        r = show_document(cli, value_at(items, i), file, error);
    return r;
}

static int show_files(struct cli *cli, struct error *error)
{
    _cleanup_(input_done) struct input input = INPUT_INIT;
    int r = read_input(cli, &input, error);

    for (size_t i = 0; r == EXIT_DONE && i < input.count; i++)
        r = show_document(cli, input.documents[i].value, input.documents[i].file, error);
    return r;
}

/* ---- The command ---- */

int run_show(struct cli *cli, struct error *error)
{
    _cleanup_(session_done) struct session session = {0};
    _cleanup_(target_done) struct target target = {0};
    _cleanup_value_ const struct value *release = NULL;
    int r;

    if (cli->options.files.count)
        return show_files(cli, error);
    if (!cli->n_arguments)
        return err_set(error, ERR_INVALID, "InvalidArgument",
                       "show needs NAME@N, a Release, or -f FILE");
    r = session_open(cli, &session, error);
    if (r == 0)
        r = target_parse(&session, cli->arguments[0], &target, error);
    if (r == 0)
        r = find_release(&session, &target, &release, error);
    return r < 0 ? r : print(cli, release);
}
