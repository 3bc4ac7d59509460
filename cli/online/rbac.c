#include "cli/frame/ask.h"
#include "cli/online/names.h"
#include "cli/online/online.h"
#include "cli/online/plan_view.h"
#include "cli/online/requests.h"
#include "cli/online/rights.h"
#include "cli/online/rows.h"
#include "engine/base/str.h"

static const struct kube_kind roles = {"rbac.authorization.k8s.io/v1", "Role", "roles", true};
static const struct kube_kind bindings = {"rbac.authorization.k8s.io/v1", "RoleBinding",
                                          "rolebindings", true};

/* The operator tries each change with the account's rights: what it says is what counts. */
static int look(struct cli *cli, struct session *session, struct target *target,
                const struct value **ret, struct error *error)
{
    _cleanup_value_ const struct value *spec = NULL;
    int r = spec_open(cli, session, target, &spec, error);

    return r < 0 ? r
                 : preview_make(session, target, &(struct release_request){.operation = "Preview"},
                                ret, error);
}

/* The plan was not made, or not of all, for another reason than rights: they are not known then. */
static bool is_unknown(const struct value *release)
{
    return !str_equal(object_text(release, "", "status", "phase", NULL), "succeeded") ||
           !plan_is_complete(release);
}

static void show_unknown(struct cli *cli, const struct value *release)
{
    const struct value *results = value_path(release, "status", "results", NULL);

    output_paint(&cli->out, STYLE_BAD, "✗ ");
    output_line(&cli->out, "whether the ServiceAccount has the rights is not known: not all of it "
                           "can be planned");
    for (size_t i = 0; i < value_count(results); i++) {
        const struct value *result = value_at(results, i);
        _cleanup_free_ char *name = NULL, *line = NULL;

        if (!str_equal(value_get_string(result, "action"), "unknown"))
            continue;
        name = name_of_id(object_text(result, "", "id", NULL), object_namespace(release));
        line = first_line(object_text(result, "", "message", NULL));
        output_line(&cli->out, "  ? %s: %s: %s", name, object_text(result, "", "reason", NULL),
                    line);
    }
    preview_show_failure(cli, release);
}

/* object: a result, or a condition. */
static bool is_refused(const struct value *object)
{
    const char *reason = value_get_string(object, "reason");

    return str_equal(reason, "AccessDenied") || str_equal(reason, "Forbidden");
}

static unsigned show_refused(struct cli *cli, const struct value *release)
{
    const struct value *results = value_path(release, "status", "results", NULL);
    const struct value *ready = condition_of(release, "Ready");
    unsigned count = 0;

    for (size_t i = 0; i < value_count(results); i++) {
        const struct value *result = value_at(results, i);
        const char *message = value_get_string(result, "message");
        const char *id = value_get_string(result, "id");
        _cleanup_free_ char *name = NULL, *line = NULL;

        if (!is_refused(result))
            continue;
        name = name_of_id(id ? id : "", object_namespace(release));
        line = first_line(message ? message : "");
        output_paint(&cli->out, STYLE_BAD, "  ✗ ");
        output_line(&cli->out, "%s: %s", name, line);
        count++;
    }
    if (!count && is_refused(ready)) {
        _cleanup_free_ char *line = first_line(object_text(ready, "", "message", NULL));

        output_line(&cli->out, "%s", line);
        count++;
    }
    return count;
}

int run_rbac_check(struct cli *cli, struct error *error)
{
    _cleanup_(session_done) struct session session = {0};
    _cleanup_(target_done) struct target target = {0};
    _cleanup_(grants_done) struct grants grants = {0};
    _cleanup_value_ const struct value *release = NULL;
    unsigned n_refused;
    int r = look(cli, &session, &target, &release, error);

    if (r < 0)
        return r;
    n_refused = show_refused(cli, release);
    if (!n_refused && is_unknown(release)) {
        show_unknown(cli, release);
        return EXIT_ERROR;
    }
    if (!n_refused) {
        output_paint(&cli->out, STYLE_GOOD, "✓ ");
        output_line(&cli->out, "the ServiceAccount has the rights for all that would be done now");
        return EXIT_DONE;
    }
    grants_find(release, &grants);
    if (grants.count)
        output_line(&cli->out, "next:  kubectl kusion rbac grant %s -n %s", target.name,
                    target.namespace_name);
    else
        output_line(&cli->out, "next:  ask who administers the cluster: these rights are not for "
                               "the namespace to give");
    return EXIT_ERROR;
}

/* ---- grant ---- */

static int create(struct session *session, const struct kube_kind *kind, const struct value *object,
                  struct error *error)
{
    int r = session_do(session,
                       &(struct kube_request){
                           .method = "POST",
                           .ref = {kind, object_namespace(object), NULL, NULL},
                           .body = object,
                           .field_manager = "kubectl-kusion",
                       },
                       NULL, error);

    if (r == ERR_EXISTS)
        err_clear(error);
    return r == ERR_EXISTS ? 0 : r;
}

static int give(struct session *session, const struct grant *grant, struct error *error)
{
    int r;

    if (!grant->role)
        return err_set(error, ERR_UNSUPPORTED, "Unsupported", "this is to be typed: %s",
                       grant->command);
    r = create(session, &roles, grant->role, error);
    if (r == 0)
        r = create(session, &bindings, grant->binding, error);
    if (r == 0)
        output_line(&session->cli->out, "granted: %s", object_name(grant->role));
    return r;
}

int run_rbac_grant(struct cli *cli, struct error *error)
{
    _cleanup_(session_done) struct session session = {0};
    _cleanup_(target_done) struct target target = {0};
    _cleanup_(grants_done) struct grants grants = {0};
    _cleanup_value_ const struct value *release = NULL;
    bool is_wanted;
    int r = look(cli, &session, &target, &release, error);

    if (r < 0)
        return r;
    grants_find(release, &grants);
    if (!grants.count) {
        if (show_refused(cli, release))
            return EXIT_ERROR;
        if (is_unknown(release)) {
            show_unknown(cli, release);
            return EXIT_ERROR;
        }
        output_line(&cli->out, "Nothing is to be granted in the namespace %s.",
                    target.namespace_name);
        return EXIT_DONE;
    }
    for (size_t i = 0; i < grants.count; i++)
        output_line(&cli->out, "  %s", grants.items[i].command);
    r = ask_yes(cli, "Grant this? [yes / no]:", &is_wanted, error);
    if (r < 0 || !is_wanted)
        return r < 0 ? r : EXIT_ERROR;
    for (size_t i = 0; r == 0 && i < grants.count; i++)
        r = give(&session, &grants.items[i], error);
    if (r == 0)
        output_line(&cli->out, "next:  kubectl kusion rbac check %s -n %s", target.name,
                    target.namespace_name);
    return r < 0 ? r : EXIT_DONE;
}
