#include "cli/online/wanted.h"

#include <string.h>

#include "engine/base/str.h"
#include "engine/base/yaml.h"
#include "runtimes/kubernetes/client/file.h"
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

static int add_file(const char *file, struct objects *ret, struct error *error)
{
    const char *path = str_equal(file, "-") ? "/dev/stdin" : file;
    _cleanup_free_ char *text = NULL;
    const struct value **documents = NULL;
    size_t count = 0;
    int r = file_read_text(path, &text, error);

    if (r < 0)
        return r;
    r = yaml_read_all(text, strlen(text), &documents, &count, error);
    if (r < 0) {
        err_wrap(error, "%s", file);
        return r;
    }
    for (size_t i = 0; r == 0 && i < count; i++)
        r = add_document(documents[i], file, ret, error);
    yaml_free_all(documents, count);
    return r;
}

int wanted_read(struct session *session, struct objects *ret, struct error *error)
{
    const struct option_words *files = &session->cli->options.files;
    int r = 0;

    for (size_t i = 0; r == 0 && i < files->count; i++)
        r = add_file(files->items[i], ret, error);
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
