#include "cli/online/online.h"
#include "cli/online/requests.h"
#include "cli/online/wanted.h"
#include "engine/base/str.h"

static char *title_of(const struct target *target, const struct options *options)
{
    if (options->destroy)
        return str_printf("%s/%s   destroy", target->namespace_name, target->name);
    if (options->to_revision || target->revision)
        return str_printf(
            "%s/%s   back to revision %lld", target->namespace_name, target->name,
            (long long)(options->to_revision ? options->to_revision : target->revision));
    return str_printf("%s/%s   preview", target->namespace_name, target->name);
}

static int show(const struct session *session, const struct target *target,
                const struct value *release)
{
    _cleanup_free_ char *title = title_of(target, &session->cli->options);

    return preview_show(session->cli, release, title);
}

static int preview_spec(struct session *session, const char *name, struct error *error)
{
    const struct options *options = &session->cli->options;
    _cleanup_(target_done) struct target target = {0};
    _cleanup_value_ const struct value *spec = NULL, *release = NULL;
    int r = target_parse(session, name, &target, error);

    if (r == 0)
        r = spec_find(session, &target, &spec, NULL, error);
    if (r == 0 && options->destroy)
        r = preview_make_destroy(session, &target, spec, &release, error);
    else if (r == 0)
        r = preview_make(session, &target,
                         &(struct release_request){.operation = "Preview",
                                                   .to_revision = options->to_revision
                                                                      ? options->to_revision
                                                                      : target.revision},
                         &release, error);
    return r < 0 ? r : show(session, &target, release);
}

static int preview_wanted(struct session *session, const struct value *spec, struct error *error)
{
    _cleanup_(target_done) struct target target = {0};
    _cleanup_value_ const struct value *release = NULL;
    int r;

    wanted_target(session, spec, &target);
    r = preview_make_wanted(session, &target, spec, &release, error);
    return r < 0 ? r : show(session, &target, release);
}

/* The worst of the exit codes: 1 before 2. */
static int worse(int a, int b)
{
    if (a == EXIT_ERROR || b == EXIT_ERROR)
        return EXIT_ERROR;
    return a > b ? a : b;
}

static int preview_files(struct session *session, struct error *error)
{
    _cleanup_(objects_done) struct objects specs = {0};
    int code = EXIT_DONE, r = wanted_read(session, &specs, error);

    for (size_t i = 0; r >= 0 && i < specs.count; i++) {
        r = preview_wanted(session, specs.items[i], error);
        code = r < 0 ? r : worse(code, r);
    }
    return r < 0 ? r : code;
}

int run_preview(struct cli *cli, struct error *error)
{
    bool has_files = cli->options.files.count || cli->options.kustomize;
    _cleanup_(session_done) struct session session = {0};
    int r;

    if (has_files == (cli->n_arguments > 0)) {
        err_set(error, ERR_INVALID, "InvalidArgument",
                "preview takes either the name of a Spec, or files with -f or -k");
        err_hint(error, "kubectl kusion preview --help");
        return ERR_INVALID;
    }
    r = session_open(cli, &session, error);
    if (r < 0)
        return r;
    return has_files ? preview_files(&session, error)
                     : preview_spec(&session, cli->arguments[0], error);
}
