/* validate: what is wrong with files, without a cluster. */
#include <string.h>

#include "cli/check/check.h"
#include "cli/offline/read.h"
#include "cli/offline/reports.h"
#include "cli/offline/validate.h"
#include "engine/base/str.h"

static void tell_summary(struct output *out, const struct findings *findings, size_t n_resources)
{
    size_t errors = findings->totals[SEVERITY_ERROR];
    size_t warnings = findings->totals[SEVERITY_WARNING];

    if (!errors && !warnings) {
        output_paint(out, STYLE_GOOD, "no problem");
        output_line(out, " in %zu %s", n_resources, n_resources == 1 ? "resource" : "resources");
        return;
    }
    output_line(out, "%zu %s, %zu %s in %zu %s", errors, errors == 1 ? "error" : "errors", warnings,
                warnings == 1 ? "warning" : "warnings", n_resources,
                n_resources == 1 ? "resource" : "resources");
}

static void report(struct cli *cli, struct findings *findings, const struct checked *checked)
{
    const char *format = cli->options.output;

    if (str_equal(format, "json")) {
        report_json(&cli->out, findings, checked->n_resources);
    } else if (str_equal(format, "github")) {
        report_github(&cli->out, findings);
    } else if (str_equal(format, "sarif")) {
        report_sarif(&cli->out, findings);
    } else {
        tell_findings(&cli->out, findings);
        tell_summary(&cli->out, findings, checked->n_resources);
    }
}

int validate(struct cli *cli, validate_more *more, void *arg, struct error *error)
{
    struct convert_options options = {.namespace_name = cli->options.namespace_name};
    _cleanup_(input_done) struct input input = {.keeps_problems = true};
    _cleanup_(findings_done) struct findings findings = FINDINGS_INIT;
    _cleanup_(convert_source_done) struct convert_source source = {0};
    struct checked checked = {0};
    int r = read_order(cli, &options.order, error);

    if (r == 0)
        r = read_input(cli, &input, error);
    if (r < 0)
        return r;
    findings_add_problems(&findings, &input);
    convert_collect(&input, &source, &findings);
    if (!source.n_items && !source.n_heads && !findings.count)
        return err_set(error, ERR_INVALID, "InvalidInput", "there is no manifest in the input");
    check_source(&source, &options, &findings, &checked);
    if (more)
        r = more(arg, &source, &findings, error);
    if (r < 0)
        return r;
    findings_drop(&findings, SEVERITY_NOTE);
    report(cli, &findings, &checked);
    return findings.totals[SEVERITY_ERROR] ? EXIT_ERROR : EXIT_DONE;
}
