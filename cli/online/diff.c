
#include "engine/plan/diff.h"
#include "cli/online/names.h"
#include "cli/online/online.h"
#include "cli/online/plan_view.h"
#include "cli/online/requests.h"
#include "cli/online/revisions.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"

/* ---- Two revisions ---- */

static const struct diff_bounds whole = {SIZE_MAX, SIZE_MAX, SIZE_MAX};

static const struct value *resources_of(const struct value *release)
{
    return value_path(release, "spec", "resources", NULL);
}

static int needs_resources(const struct target *target, const struct value *release,
                           struct error *error)
{
    int64_t revision = object_int(release, 0, "status", "revision", NULL);

    if (resources_of(release))
        return 0;
    err_set(error, ERR_NOT_FOUND, "NotShown",
            "revision %lld keeps its resources in the operator's namespace, and not in its Release",
            (long long)revision);
    err_hint(error, "kubectl kusion diff %s@%lld live -n %s", target->name, (long long)revision,
             target->namespace_name);
    return ERR_NOT_FOUND;
}

static void show_fields(struct output *out, const struct diff *diff)
{
    for (size_t i = 0; i < diff->n_fields; i++) {
        const struct diff_field *field = &diff->fields[i];
        enum style style = !field->from ? STYLE_GOOD : !field->to ? STYLE_BAD : STYLE_WARN;

        output_add(out, "      ");
        output_paint(out, style, "%s", !field->from ? "+" : !field->to ? "-" : "~");
        output_add(out, " %s = ", field->path);
        if (field->from && field->to)
            output_line(out, "%s -> %s", field->from, field->to);
        else
            output_line(out, "%s", field->from ? field->from : field->to);
    }
}

static void show_difference(struct output *out, const char *id, const struct value *from,
                            const struct value *to, const char *namespace_name)
{
    const char *sign = !from ? "+" : !to ? "-" : "~";
    enum style style = !from ? STYLE_GOOD : !to ? STYLE_BAD : STYLE_WARN;
    _cleanup_free_ char *name = name_of_id(id, namespace_name);
    _cleanup_(diff_done) struct diff diff = DIFF_INIT;

    output_paint(out, style, "  %3s ", sign);
    output_paint(out, STYLE_BOLD, "%s", name);
    output_end(out);
    if (!from || !to)
        return;
    diff_values(from, to, &whole, &diff);
    show_fields(out, &diff);
}

/* id and type are not compared: those are the same. */
static const struct value *content_of(const struct value *resource)
{
    _cleanup_value_ const struct value *without = value_without(resource, "id");

    return value_without(without, "type");
}

static unsigned compare(struct output *out, const struct value *before, const struct value *after,
                        const char *namespace_name)
{
    _cleanup_(strmap_done) struct strmap old = STRMAP_INIT;
    unsigned count = 0;

    for (size_t i = 0; i < value_count(before); i++)
        strmap_put(&old, value_get_string(value_at(before, i), "id"),
                   (void *)(uintptr_t)value_at(before, i));
    for (size_t i = 0; i < value_count(after); i++) {
        const struct value *resource = value_at(after, i);
        const char *id = value_get_string(resource, "id");
        const struct value *was = strmap_remove(&old, id);
        _cleanup_value_ const struct value *from = was ? content_of(was) : NULL;
        _cleanup_value_ const struct value *to = content_of(resource);

        if (was && value_equal(from, to))
            continue;
        show_difference(out, id, from, to, namespace_name);
        count++;
    }
    for (struct strmap_entry *e = NULL; (e = strmap_next(&old, e)); count++)
        show_difference(out, e->key, e->value, NULL, namespace_name);
    return count;
}

static int diff_revisions(struct session *session, const struct target *from,
                          const struct target *to, struct error *error)
{
    struct cli *cli = session->cli;
    _cleanup_value_ const struct value *before = NULL, *after = NULL;
    unsigned count;
    int r = revision_get(session, from, from->revision, &before, error);

    if (r == 0)
        r = revision_get(session, to, to->revision, &after, error);
    if (r == 0)
        r = needs_resources(from, before, error);
    if (r == 0)
        r = needs_resources(to, after, error);
    if (r < 0)
        return r;
    output_paint(&cli->out, STYLE_BOLD, "%s/%s", from->namespace_name, from->name);
    output_line(&cli->out, "   revision %lld -> %lld", (long long)from->revision,
                (long long)to->revision);
    count = compare(&cli->out, resources_of(before), resources_of(after), from->namespace_name);
    if (!count)
        output_line(&cli->out, "No differences.");
    return count && cli->options.detailed_exitcode ? EXIT_CHANGES : EXIT_DONE;
}

/* ---- What is there ---- */

/* The operator says what would have to be changed: it reads what the user may not. */
static int diff_live(struct session *session, const struct target *target, struct error *error)
{
    _cleanup_value_ const struct value *release = NULL;
    _cleanup_free_ char *title =
        target->revision ? str_printf("%s/%s   live -> revision %lld", target->namespace_name,
                                      target->name, (long long)target->revision)
                         : str_printf("%s/%s   live -> Spec", target->namespace_name, target->name);
    int r = preview_make(
        session, target,
        &(struct release_request){.operation = "Preview", .to_revision = target->revision},
        &release, error);

    return r < 0 ? r : preview_show(session->cli, release, title);
}

static int other_target(const struct session *session, const struct target *target,
                        const char *text, struct target *ret, struct error *error)
{
    int r = target_parse(session, text, ret, error);

    if (r < 0)
        return r;
    if (ret->revision && str_equal(ret->name, target->name) &&
        str_equal(ret->namespace_name, target->namespace_name))
        return 0;
    return err_set(error, ERR_INVALID, "InvalidArgument",
                   "\"%s\" is neither live nor another revision of %s, such as %s@7", text,
                   target->name, target->name);
}

static int next_revision(struct session *session, const struct target *target, struct target *ret,
                         struct error *error)
{
    _cleanup_value_ const struct value *spec = NULL;
    int r = spec_get(session, target, &spec, error);

    if (r < 0)
        return r;
    *ret = (struct target){
        .namespace_name = str_new(target->namespace_name),
        .name = str_new(target->name),
        .revision = object_int(spec, 0, "status", "lastAppliedRevision", NULL),
    };
    return 0;
}

int run_diff(struct cli *cli, struct error *error)
{
    _cleanup_(session_done) struct session session = {0};
    _cleanup_(target_done) struct target from = {0}, to = {0};
    const char *second = cli->n_arguments > 1 ? cli->arguments[1] : NULL;
    int r = session_open(cli, &session, error);

    if (r == 0)
        r = target_parse(&session, cli->arguments[0], &from, error);
    if (r < 0)
        return r;
    if (!from.revision || str_equal(second, "live"))
        return diff_live(&session, &from, error);
    r = second ? other_target(&session, &from, second, &to, error)
               : next_revision(&session, &from, &to, error);
    return r < 0 ? r : diff_revisions(&session, &from, &to, error);
}
