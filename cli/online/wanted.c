#include "cli/online/wanted.h"

#include "cli/input/input.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/group.h"

static int add_document(const struct value *document, const char *file, struct objects *ret,
                        struct error *error)
{
    if (!str_equal(value_get_string(document, "apiVersion"), API_GROUP_VERSION) ||
        !str_equal(value_get_string(document, "kind"), "Spec") || !*object_name(document)) {
        err_set(error, ERR_INVALID, "InvalidInput", "%s: not a Spec with a name", file);
        err_hint(error, "kubectl kusion convert -f %s --name NAME", file);
        return ERR_INVALID;
    }
    objects_add(ret, document);
    return 0;
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

    for (size_t i = 0; r == 0 && i < input.count; i++)
        r = add_document(input.documents[i].value, input.documents[i].file, ret, error);
    if (r == 0 && !ret->count)
        return err_set(error, ERR_INVALID, "InvalidInput", "there is no Spec in what -f names");
    return r;
}

void wanted_target(const struct session *session, const struct value *spec, struct target *ret)
{
    const char *own = object_namespace(spec);

    *ret = (struct target){
        .namespace_name = str_new(*own ? own : session->namespace_name),
        .name = str_new(object_name(spec)),
    };
}
