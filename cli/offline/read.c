#include "cli/offline/read.h"

#include "engine/base/str.h"

int read_order(const struct cli *cli, enum convert_order *ret, struct error *error)
{
    static const char *const names[] = {"waves", "refs", "none"};
    const char *order = cli->options.order;

    *ret = ORDER_WAVES;
    for (size_t i = 0; order && i < ARRAY_SIZE(names); i++)
        if (str_equal(order, names[i])) {
            *ret = (enum convert_order)i;
            return 0;
        }
    return order ? err_set(error, ERR_INVALID, "InvalidOption",
                           "--order: \"%s\" is none of waves, refs and none", order)
                 : 0;
}

int read_input(struct cli *cli, struct input *ret, struct error *error)
{
    const struct options *options = &cli->options;
    enum input_depth depth = options->recursive ? INPUT_RECURSIVE : INPUT_FLAT;
    int r = 0;

    if (!options->files.count && !options->kustomize && !cli->n_arguments) {
        err_set(error, ERR_INVALID, "InvalidOption", "%s needs -f FILE or -k FOLDER",
                cli->command->name);
        err_hint(error, "kubectl kusion %s --help", cli->command->name);
        return ERR_INVALID;
    }
    for (size_t i = 0; r == 0 && i < options->files.count; i++)
        r = input_add(ret, options->files.items[i], depth, error);
    for (size_t i = 0; r == 0 && i < cli->n_arguments; i++)
        r = input_add(ret, cli->arguments[i], depth, error);
    if (r == 0 && options->kustomize)
        r = input_add_kustomization(ret, options->kustomize, error);
    return r;
}

/* ---- Findings ---- */

static void tell_finding(struct output *out, const struct finding *finding)
{
    static const enum style styles[] = {STYLE_BAD, STYLE_WARN, STYLE_DIM};

    if (finding->file && finding->mark.line)
        output_add(out, "%s:%zu:%zu  ", finding->file, finding->mark.line, finding->mark.column);
    else if (finding->file)
        output_add(out, "%s  ", finding->file);
    output_paint(out, styles[finding->severity], "%s", severity_name(finding->severity));
    if (finding->label)
        output_add(out, "  %s", finding->label);
    output_line(out, "  %s", finding->text);
}

void tell_findings(struct output *out, struct findings *findings)
{
    findings_place(findings);
    for (size_t i = 0; i < findings->count; i++)
        tell_finding(out, &findings->items[i]);
    for (int severity = 0; severity < SEVERITIES; severity++)
        if (findings->totals[severity] > FINDINGS_MAX)
            output_line(out, "and %zu more of severity %s",
                        findings->totals[severity] - FINDINGS_MAX, severity_name(severity));
}

int check_findings(const struct findings *findings, struct error *error)
{
    size_t n = findings->totals[SEVERITY_ERROR];

    if (!n)
        return 0;
    err_set(error, ERR_INVALID, "InvalidInput", "%zu %s in the input: nothing was made of it", n,
            n == 1 ? "error" : "errors");
    err_hint(error, "kubectl kusion validate -f FILE");
    return ERR_INVALID;
}

/* ---- One Spec ---- */

static int make_spec(struct cli *cli, const struct input *input,
                     const struct convert_options *options, const struct value **ret,
                     struct error *error)
{
    _cleanup_(convert_source_done) struct convert_source source = {0};
    _cleanup_(findings_done) struct findings findings = FINDINGS_INIT;
    _cleanup_(conversion_done) struct conversion made = {0};
    int r = 0;

    convert_collect(input, &source, &findings);
    if (!source.n_items && !source.n_heads && !findings.count)
        r = err_set(error, ERR_INVALID, "InvalidInput", "there is no manifest in the input");
    if (r == 0)
        r = convert_make(&source, options, &made, &findings, error);
    findings_drop(&findings, SEVERITY_NOTE);
    findings_drop(&findings, SEVERITY_WARNING);
    tell_findings(&cli->err, &findings);
    if (r == 0)
        r = check_findings(&findings, error);
    if (r == 0)
        *ret = value_ref(made.spec);
    return r;
}

int read_spec(struct cli *cli, const struct value **ret, struct error *error)
{
    struct convert_options options = {
        .name = "spec",
        .namespace_name = cli->options.namespace_name ? cli->options.namespace_name : "default"};
    _cleanup_(input_done) struct input input = INPUT_INIT;
    int r = read_order(cli, &options.order, error);

    if (r == 0)
        r = read_input(cli, &input, error);
    return r == 0 ? make_spec(cli, &input, &options, ret, error) : r;
}
