/* rollback and destroy: what they would do, the request, and its withdrawal. */

#include "cli/frame/ask.h"
#include "cli/online/gitops.h"
#include "cli/online/online.h"
#include "cli/online/requests.h"
#include "cli/online/revisions.h"
#include "cli/online/watch_spec.h"
#include "engine/base/str.h"

enum undo { UNDO_ROLLBACK, UNDO_DESTROY };

static const char *const operations[] = {[UNDO_ROLLBACK] = "Rollback", [UNDO_DESTROY] = "Destroy"};

/* ---- Preview ---- */

static int preview(struct session *session, const struct target *target, const struct value *spec,
                   enum undo undo, int64_t revision, struct error *error)
{
    _cleanup_value_ const struct value *release = NULL;
    _cleanup_free_ char *title =
        undo == UNDO_DESTROY ? str_printf("%s/%s   destroy", target->namespace_name, target->name)
                             : str_printf("%s/%s   back to revision %lld", target->namespace_name,
                                          target->name, (long long)revision);
    int r = undo == UNDO_DESTROY ? preview_make_destroy(session, target, spec, &release, error)
                                 : preview_make(session, target,
                                                &(struct release_request){.operation = "Preview",
                                                                          .to_revision = revision},
                                                &release, error);

    return r < 0 ? r : preview_show(session->cli, release, title);
}

/* ---- Withdrawal ---- */

static int withdraw(struct session *session, const struct target *target, enum undo undo,
                    struct error *error)
{
    _cleanup_(objects_done) struct objects releases = {0};
    unsigned n_withdrawn = 0;
    int r = release_list(session, target, &releases, error);

    for (size_t i = 0; r >= 0 && i < releases.count; i++) {
        const struct value *release = releases.items[i];

        if (release_is_record(release) || release_has_ended(release) ||
            !str_equal(object_text(release, "", "spec", "operation", NULL), operations[undo]))
            continue;
        r = request_delete(session, release, error);
        if (r == 0)
            output_line(&session->cli->out, "withdrawn: %s", object_name(release));
        n_withdrawn++;
    }
    if (r < 0 || n_withdrawn)
        return r < 0 ? r : EXIT_DONE;
    err_set(error, ERR_NOT_FOUND, "NothingWaits", "no %s of %s/%s is under way or waits",
            operations[undo], target->namespace_name, target->name);
    err_hint(error, "kubectl kusion history %s -n %s", target->name, target->namespace_name);
    return ERR_NOT_FOUND;
}

/* ---- The request ---- */

static void tell_what(struct session *session, const struct value *spec, enum undo undo,
                      int64_t revision)
{
    struct output *err = &session->cli->err;

    gitops_warn(err, spec);
    if (undo == UNDO_ROLLBACK)
        output_line(err, "This holds %s at what revision %lld has, until its Spec changes.",
                    object_name(spec), (long long)revision);
    else
        output_line(err,
                    "This deletes all that %s/%s has made (%s objects); the Spec itself stays.",
                    object_namespace(spec), object_name(spec),
                    object_text(spec, "all", "status", "objects", NULL));
    output_flush(err);
}

static int request(struct session *session, const struct target *target, const struct value *spec,
                   enum undo undo, int64_t revision, struct error *error)
{
    _cleanup_value_ const struct value *release = NULL;
    bool is_wanted;
    int r;

    tell_what(session, spec, undo, revision);
    r = ask_word(session->cli, target->name, &is_wanted, error);
    if (r < 0 || !is_wanted)
        return r < 0 ? r : EXIT_ERROR;
    r = request_create(session, target,
                       &(struct release_request){
                           .operation = operations[undo],
                           .to_revision = undo == UNDO_ROLLBACK ? revision : 0,
                       },
                       &release, error);
    if (r < 0)
        return r;
    return watch_spec(session,
                      &(struct watch_spec){
                          .target = target,
                          .goal = WATCH_REQUEST,
                          .request = object_name(release),
                          .generation = object_int(spec, 0, "metadata", "generation", NULL),
                          .timeout = session->cli->options.timeout,
                      },
                      error);
}

static int undo_named(struct session *session, enum undo undo, struct error *error)
{
    const struct options *options = &session->cli->options;
    _cleanup_(target_done) struct target target = {0};
    _cleanup_value_ const struct value *spec = NULL;
    int64_t revision;
    int r = target_parse(session, session->cli->arguments[0], &target, error);

    if (r == 0)
        r = spec_find(session, &target, &spec, NULL, error);
    if (r < 0)
        return r;
    if (options->withdraw)
        return withdraw(session, &target, undo, error);
    revision = options->to_revision ? options->to_revision : target.revision;
    if (undo == UNDO_ROLLBACK)
        r = revision ? revision_check(session, &target, spec, revision, error)
                     : revision_before(session, &target, spec, &revision, error);
    if (r < 0)
        return r;
    return options->preview ? preview(session, &target, spec, undo, revision, error)
                            : request(session, &target, spec, undo, revision, error);
}

static int run(struct cli *cli, enum undo undo, struct error *error)
{
    _cleanup_(session_done) struct session session = {0};
    int r = session_open(cli, &session, error);

    return r < 0 ? r : undo_named(&session, undo, error);
}

int run_rollback(struct cli *cli, struct error *error)
{
    return run(cli, UNDO_ROLLBACK, error);
}

int run_destroy(struct cli *cli, struct error *error)
{
    return run(cli, UNDO_DESTROY, error);
}
