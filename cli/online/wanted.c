#include "cli/online/wanted.h"

#include "cli/offline/read.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/client/group.h"

static bool is_spec(const struct value *document)
{
    return str_equal(value_get_string(document, "apiVersion"), API_GROUP_VERSION) &&
           str_equal(value_get_string(document, "kind"), "Spec") && *object_name(document);
}

static bool are_specs(const struct input *input)
{
    for (size_t i = 0; i < input->count; i++)
        if (!is_spec(input->documents[i].value))
            return false;
    return input->count > 0;
}

/* Manifests, or a Kusion spec: one Spec, as `convert` makes it. */
static int convert(struct session *session, const struct input *input, struct objects *ret,
                   struct error *error)
{
    struct cli *cli = session->cli;
    struct convert_options options = {
        .name = cli->options.name,
        .namespace_name = session->namespace_name,
        .service_account = cli->options.service_account,
    };
    _cleanup_(convert_source_done) struct convert_source source = {0};
    _cleanup_(conversion_done) struct conversion made = {0};
    _cleanup_(findings_done) struct findings findings = {0};
    int r = read_order(cli, &options.order, error);

    if (r < 0)
        return r;
    convert_collect(input, &source, &findings);
    r = convert_make(&source, &options, &made, &findings, error);
    tell_findings(&cli->err, &findings);
    output_flush(&cli->err);
    if (r == 0)
        r = check_findings(&findings, error);
    if (r == 0)
        objects_add(ret, made.spec);
    return r;
}

static int read_all(struct session *session, struct input *input, struct error *error)
{
    const struct options *options = &session->cli->options;
    int r = 0;

    for (size_t i = 0; r == 0 && i < options->files.count; i++)
        r = input_add(input, options->files.items[i], INPUT_FLAT, error);
    if (r == 0 && options->kustomize)
        r = input_add_kustomization(input, options->kustomize, error);
    return r;
}

int wanted_read(struct session *session, struct objects *ret, struct error *error)
{
    _cleanup_(input_done) struct input input = INPUT_INIT;
    int r = read_all(session, &input, error);

    if (r < 0)
        return r;
    if (!are_specs(&input))
        return convert(session, &input, ret, error);
    for (size_t i = 0; i < input.count; i++)
        objects_add(ret, input.documents[i].value);
    return 0;
}

void wanted_target(const struct session *session, const struct value *spec, struct target *ret)
{
    const char *own = object_namespace(spec);

    *ret = (struct target){
        .namespace_name = str_new(*own ? own : session->namespace_name),
        .name = str_new(object_name(spec)),
    };
}
