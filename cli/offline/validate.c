/* validate: what is wrong with files, without a cluster. */

#include "cli/offline/validate.h"
#include "cli/check/check.h"
#include "cli/frame/output.h"
#include "cli/input/finding.h"
#include "cli/offline/read.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"

/* ---- Reports ---- */

/* {"findings": [{"severity", "reason", "resource", "file", "line", "column", "message"}], "errors",
 * "warnings", "resources"} */
static void report_json(struct output *out, struct findings *findings, size_t n_resources)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *made = NULL;

    findings_place(findings);
    value_begin_array(b);
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        bool is_placed = finding->mark.line;
        _cleanup_value_ const struct value *one = value_pack(
            "{s:s, s:s, s:s?, s:s?, s:V?, s:V?, s:s}", "severity", severity_name(finding->severity),
            "reason", finding->reason, "resource", finding->label, "file", finding->file, "line",
            is_placed ? value_pack("I", (int64_t)finding->mark.line) : NULL, "column",
            is_placed ? value_pack("I", (int64_t)finding->mark.column) : NULL, "message",
            finding->text);

        value_add(b, one);
    }
    value_end_array(b);
    made =
        value_pack("{s:V, s:I, s:I, s:I}", "findings", value_finish(b), "errors",
                   (int64_t)findings->totals[SEVERITY_ERROR], "warnings",
                   (int64_t)findings->totals[SEVERITY_WARNING], "resources", (int64_t)n_resources);
    if (made)
        output_json(out, made, true);
}

/* ---- GitHub ---- */

/* %, CR and LF are escaped everywhere; : and , in properties, too. */
static char *escape_command(const char *text, bool is_property)
{
    struct buf to = BUF_INIT;

    for (; *text; text++)
        if (*text == '%' || *text == '\r' || *text == '\n' ||
            (is_property && (*text == ':' || *text == ',')))
            buf_printf(&to, "%%%02X", (unsigned char)*text);
        else
            buf_add_char(&to, *text);
    return buf_take(&to);
}

/* ::error file=FILE,line=LINE,col=COLUMN,title=TITLE::MESSAGE
 * (docs.github.com: workflow commands) */
static void report_github(struct output *out, struct findings *findings)
{
    static const char *const commands[] = {"error", "warning", "notice"};

    findings_place(findings);
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        _cleanup_free_ char *title =
            escape_command(finding->label ? finding->label : finding->reason, true);
        _cleanup_free_ char *text = escape_command(finding->text, false);
        _cleanup_free_ char *file = escape_command(finding->file ? finding->file : "", true);

        output_add(out, "::%s ", commands[finding->severity]);
        if (finding->file)
            output_add(out, "file=%s,", file);
        if (finding->mark.line)
            output_add(out, "line=%zu,col=%zu,", finding->mark.line, finding->mark.column);
        output_line(out, "title=%s::%s", title, text);
    }
}

/* ---- SARIF ---- */

static const struct value *sarif_result(const struct finding *finding)
{
    _cleanup_free_ char *text = str_printf("%s%s%s", finding->label ? finding->label : "",
                                           finding->label ? ": " : "", finding->text);
    _cleanup_value_ const struct value *region =
        finding->mark.line ? value_pack("{s:I, s:I}", "startLine", (int64_t)finding->mark.line,
                                        "startColumn", (int64_t)finding->mark.column)
                           : NULL;
    _cleanup_value_ const struct value *locations =
        finding->file ? value_pack("[{s:{s:{s:s}, s:v?}}]", "physicalLocation", "artifactLocation",
                                   "uri", finding->file, "region", region)
                      : NULL;

    return value_pack("{s:s, s:s, s:{s:s}, s:v?}", "ruleId", finding->reason, "level",
                      severity_name(finding->severity), "message", "text", text, "locations",
                      locations);
}

/* Each reason once. */
static const struct value *sarif_rules(const struct findings *findings)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    struct strmap seen = STRMAP_INIT;

    value_begin_array(b);
    for (size_t i = 0; i < findings->count; i++) {
        _cleanup_value_ const struct value *rule =
            value_pack("{s:s}", "id", findings->items[i].reason);

        if (!strmap_put(&seen, findings->items[i].reason, &seen))
            value_add(b, rule);
    }
    value_end_array(b);
    strmap_done(&seen);
    return value_finish(b);
}

static void report_sarif(struct output *out, struct findings *findings)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *made = NULL;

    findings_place(findings);
    value_begin_array(b);
    for (size_t i = 0; i < findings->count; i++) {
        _cleanup_value_ const struct value *result = sarif_result(&findings->items[i]);

        value_add(b, result);
    }
    value_end_array(b);
    made = value_pack("{s:s, s:s, s:[{s:{s:{s:s, s:s, s:V}}, s:V}]}", "$schema",
                      "https://json.schemastore.org/sarif-2.1.0.json", "version", "2.1.0", "runs",
                      "tool", "driver", "name", "kubectl-kusion", "version", KUSION_VERSION,
                      "rules", sarif_rules(findings), "results", value_finish(b));
    if (made)
        output_json(out, made, true);
}

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
