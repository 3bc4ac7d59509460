/* convert: from one format to another, on standard output. */

#include "cli/convert/parts.h"
#include "cli/offline/offline.h"
#include "cli/offline/read.h"
#include "engine/base/str.h"

enum format { TO_SPEC, TO_MANIFESTS, TO_KUSION };

#define SPLIT_MAX 1000

static int read_format(const struct cli *cli, enum format *ret, struct error *error)
{
    static const char *const names[] = {"spec", "manifests", "kusion"};
    const char *to = cli->options.to_id;

    *ret = TO_SPEC;
    for (size_t i = 0; to && i < ARRAY_SIZE(names); i++)
        if (str_equal(to, names[i])) {
            *ret = (enum format)i;
            return 0;
        }
    return to ? err_set(error, ERR_INVALID, "InvalidOption",
                        "--to: \"%s\" is none of spec, manifests and kusion", to)
              : 0;
}

static int check_options(const struct cli *cli, enum format format, struct error *error)
{
    const struct options *options = &cli->options;

    if (options->from && !str_equal(options->from, "tfstate"))
        return err_set(error, ERR_INVALID, "InvalidOption", "--from: \"%s\" is not tfstate",
                       options->from);
    if (options->schemas && !options->from)
        return err_set(error, ERR_INVALID, "InvalidOption", "--schemas goes with --from tfstate");
    if (options->split < 0 || options->split > SPLIT_MAX)
        return err_set(error, ERR_INVALID, "InvalidOption", "--split takes a number from 1 to %d",
                       SPLIT_MAX);
    if (format != TO_SPEC && (options->split > 1 || options->preview))
        return err_set(error, ERR_INVALID, "InvalidOption", "--split and --preview are of Specs");
    return 0;
}

static void write_documents(struct output *out, const struct value *list, bool is_yaml)
{
    for (size_t i = 0; i < value_count(list); i++) {
        _cleanup_buf_ struct buf text = BUF_INIT;

        if (!is_yaml) {
            output_json(out, value_at(list, i), true);
            continue;
        }
        if (value_count(list) > 1)
            output_line(out, "---");
        yaml_write(&text, value_at(list, i));
        output_lines(out, text.data);
    }
}

/* An array of what is to be written. */
static int make_documents(const struct cli *cli, enum format format,
                          const struct convert_source *source, const struct conversion *made,
                          struct findings *findings, const struct value **ret, struct error *error)
{
    _cleanup_value_ const struct value *specs = NULL, *one = NULL;
    int r;

    if (format == TO_MANIFESTS) {
        *ret = convert_to_manifests(made, findings);
        return 0;
    }
    if (format == TO_KUSION) {
        one = convert_to_kusion(made->spec, source->n_heads ? &source->heads[0].place : NULL,
                                findings);
        *ret = value_pack("[v]", one);
        return 0;
    }
    r = parts_make(made->spec, (size_t)cli->options.split, &specs, error);
    if (r == 0 && cli->options.preview && value_count(specs) == 1) {
        one = parts_preview(value_at(specs, 0));
        *ret = value_pack("[v]", one);
    } else if (r == 0 && cli->options.preview) {
        r = err_set(error, ERR_INVALID, "InvalidOption",
                    "--preview is of one Spec, without --split");
    } else if (r == 0) {
        *ret = TAKE(specs);
    }
    return r;
}

static int collect(struct cli *cli, const struct input *input, const struct input *schemas,
                   struct convert_source *source, struct findings *findings, struct error *error)
{
    int r = 0;

    if (!cli->options.from) {
        convert_collect(input, source, findings);
        if (!source->n_items && !source->n_heads && !findings->totals[SEVERITY_ERROR])
            return err_set(error, ERR_INVALID, "InvalidInput", "there is no manifest in the input");
        return 0;
    }
    for (size_t i = 0; r == 0 && i < input->count; i++)
        r = convert_add_tfstate(source, &input->documents[i],
                                schemas->count ? schemas->documents[0].value : NULL, findings,
                                error);
    return r;
}

static int convert(struct cli *cli, enum format format, struct convert_source *source,
                   struct findings *findings, struct error *error)
{
    struct convert_options options = {.name = cli->options.name,
                                      .namespace_name = cli->options.namespace_name,
                                      .service_account = cli->options.service_account};
    _cleanup_(conversion_done) struct conversion made = {0};
    _cleanup_value_ const struct value *documents = NULL;
    int r = read_order(cli, &options.order, error);

    if (!options.name && format != TO_SPEC)
        options.name = "spec"; /* which is not written */
    if (r == 0)
        r = convert_make(source, &options, &made, findings, error);
    if (r == 0 && !findings->totals[SEVERITY_ERROR])
        r = make_documents(cli, format, source, &made, findings, &documents, error);
    tell_findings(&cli->err, findings);
    if (r == 0)
        r = check_findings(findings, error);
    if (r == 0)
        write_documents(&cli->out, documents, !str_equal(cli->options.output, "json"));
    return r;
}

int run_convert(struct cli *cli, struct error *error)
{
    _cleanup_(input_done) struct input input = INPUT_INIT, schemas = INPUT_INIT;
    _cleanup_(findings_done) struct findings findings = FINDINGS_INIT;
    _cleanup_(convert_source_done) struct convert_source source = {0};
    enum format format;
    int r = read_format(cli, &format, error);

    if (r == 0)
        r = check_options(cli, format, error);
    if (r == 0)
        r = read_input(cli, &input, error);
    if (r == 0 && cli->options.schemas)
        r = input_add(&schemas, cli->options.schemas, INPUT_FLAT, error);
    if (r == 0)
        r = collect(cli, &input, &schemas, &source, &findings, error);
    if (r == 0)
        r = convert(cli, format, &source, &findings, error);
    return r;
}
