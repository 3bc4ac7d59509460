/* version: of this program, and of the operators in the cluster. */
#include <string.h>

#include "cli/online/objects.h"
#include "cli/online/online.h"
#include "engine/base/str.h"

#define OPERATORS "app.kubernetes.io/name=kusion-operator"

static const struct kube_kind deployments = {"apps/v1", "Deployment", "deployments", true};

static const char *version_of(const struct value *deployment)
{
    return object_text(deployment, "?", "metadata", "labels", "app.kubernetes.io/version", NULL);
}

static int find_operators(struct cli *cli, struct objects *ret, struct error *error)
{
    _cleanup_(session_done) struct session session = {0};
    int r = session_open(cli, &session, error);

    if (r < 0)
        return r;
    return object_list(&session, (struct kube_ref){.kind = &deployments},
                       (struct kube_selector){.labels = OPERATORS}, ret, error);
}

static void show_operator(struct output *out, const struct value *deployment)
{
    const char *version = version_of(deployment);
    bool is_same = str_equal(version, KUSION_VERSION);

    output_add(out, "operator  %s   %s/%s   ", version, object_namespace(deployment),
               object_name(deployment));
    output_paint(out, is_same ? STYLE_GOOD : STYLE_WARN, "%s",
                 is_same ? "the same" : "not that of this program: docs/upgrade.md");
    output_end(out);
}

static void show_json(struct output *out, const struct objects *operators)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *made = NULL;

    value_begin_array(b);
    for (size_t i = 0; i < operators->count; i++) {
        const struct value *each = operators->items[i];
        _cleanup_value_ const struct value *one =
            value_pack("{s:s, s:s, s:s}", "namespace", object_namespace(each), "name",
                       object_name(each), "version", version_of(each));

        value_add(b, one);
    }
    value_end_array(b);
    made = value_pack("{s:s, s:V}", "client", KUSION_VERSION, "operators", value_finish(b));
    if (made)
        output_json(out, made, true);
}

/* The own version is told in any case: people ask for it where no cluster is. */
int run_version(struct cli *cli, struct error *error)
{
    _cleanup_(objects_done) struct objects operators = {0};
    struct error problem = {0};
    int r = find_operators(cli, &operators, &problem);

    (void)error;
    if (str_equal(cli->options.output, "json")) {
        show_json(&cli->out, &operators);
        return EXIT_DONE;
    }
    output_line(&cli->out, "client    " KUSION_VERSION);
    for (size_t i = 0; i < operators.count; i++)
        show_operator(&cli->out, operators.items[i]);
    if (r < 0)
        output_line(&cli->out, "operator  not known: %.*s", (int)strcspn(problem.message, "\n"),
                    problem.message);
    else if (!operators.count)
        output_line(&cli->out, "operator  no Deployment with the label %s", OPERATORS);
    return EXIT_DONE;
}
