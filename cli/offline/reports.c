#include "cli/offline/reports.h"

#include <string.h>

#include "engine/base/str.h"
#include "engine/base/strmap.h"

static void add_member(struct value_builder *b, const char *key, const char *text)
{
    if (!text)
        return;
    value_key(b, key);
    value_add_string(b, text);
}

static void add_number(struct value_builder *b, const char *key, size_t number)
{
    value_key(b, key);
    value_add_int(b, (int64_t)number);
}

static void write_built(struct output *out, struct value_builder *b)
{
    _cleanup_value_ const struct value *made = NULL;

    if (value_builder_finish(b, &made, NULL) == 0)
        output_json(out, made, true);
}

void report_json(struct output *out, struct findings *findings, size_t n_resources)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    findings_place(findings);
    value_begin_object(b);
    value_key(b, "findings");
    value_begin_array(b);
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];

        value_begin_object(b);
        add_member(b, "severity", severity_name(finding->severity));
        add_member(b, "reason", finding->reason);
        add_member(b, "resource", finding->label);
        add_member(b, "file", finding->file);
        if (finding->mark.line) {
            add_number(b, "line", finding->mark.line);
            add_number(b, "column", finding->mark.column);
        }
        add_member(b, "message", finding->text);
        value_end_object(b);
    }
    value_end_array(b);
    add_number(b, "errors", findings->totals[SEVERITY_ERROR]);
    add_number(b, "warnings", findings->totals[SEVERITY_WARNING]);
    add_number(b, "resources", n_resources);
    value_end_object(b);
    write_built(out, b);
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

void report_github(struct output *out, struct findings *findings)
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

static void add_location(struct value_builder *b, const struct finding *finding)
{
    value_key(b, "locations");
    value_begin_array(b);
    value_begin_object(b);
    value_key(b, "physicalLocation");
    value_begin_object(b);
    value_key(b, "artifactLocation");
    value_begin_object(b);
    add_member(b, "uri", finding->file);
    value_end_object(b);
    if (finding->mark.line) {
        value_key(b, "region");
        value_begin_object(b);
        add_number(b, "startLine", finding->mark.line);
        add_number(b, "startColumn", finding->mark.column);
        value_end_object(b);
    }
    value_end_object(b);
    value_end_object(b);
    value_end_array(b);
}

static void add_result(struct value_builder *b, const struct finding *finding)
{
    value_begin_object(b);
    add_member(b, "ruleId", finding->reason);
    add_member(b, "level", severity_name(finding->severity));
    value_key(b, "message");
    value_begin_object(b);
    value_key(b, "text");
    value_add_printf(b, "%s%s%s", finding->label ? finding->label : "", finding->label ? ": " : "",
                     finding->text);
    value_end_object(b);
    if (finding->file)
        add_location(b, finding);
    value_end_object(b);
}

/* Each reason once. */
static void add_rules(struct value_builder *b, const struct findings *findings)
{
    struct strmap seen = STRMAP_INIT;

    value_key(b, "rules");
    value_begin_array(b);
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];

        if (strmap_put(&seen, finding->reason, &seen))
            continue;
        value_begin_object(b);
        add_member(b, "id", finding->reason);
        value_end_object(b);
    }
    value_end_array(b);
    strmap_done(&seen);
}

void report_sarif(struct output *out, struct findings *findings)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    findings_place(findings);
    value_begin_object(b);
    add_member(b, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    add_member(b, "version", "2.1.0");
    value_key(b, "runs");
    value_begin_array(b);
    value_begin_object(b);
    value_key(b, "tool");
    value_begin_object(b);
    value_key(b, "driver");
    value_begin_object(b);
    add_member(b, "name", "kubectl-kusion");
    add_member(b, "version", KUSION_VERSION);
    add_rules(b, findings);
    value_end_object(b);
    value_end_object(b);
    value_key(b, "results");
    value_begin_array(b);
    for (size_t i = 0; i < findings->count; i++)
        add_result(b, &findings->items[i]);
    value_end_array(b);
    value_end_object(b);
    value_end_array(b);
    value_end_object(b);
    write_built(out, b);
}
