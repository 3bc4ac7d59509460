#include "runtimes/http/thing.h"

#include "engine/base/str.h"
#include "engine/value/path.h"
#include "engine/value/value_mark.h"
#include "runtimes/http/resource/select.h"

void rest_thing_done(struct rest_thing *thing)
{
    value_unref(thing->object);
    free(thing->etag);
    *thing = (struct rest_thing){0};
}

int rest_thing_path(const struct http_description *description, const struct fill *from, char **ret,
                    struct error *error)
{
    int r = fill_path(value_get_string(description->read, "path"), from, ret, error);

    if (r < 0)
        err_wrap(error, "extensions.read.path");
    return r;
}

char *rest_thing_place(const struct http_description *description, const struct value *attributes,
                       const char *path)
{
    _cleanup_free_ char *key = select_key(description->read, attributes);

    return key ? str_printf("%s %s", path, key) : str_new(path);
}

int rest_thing_find(const struct http_description *description, const struct value *attributes,
                    const struct answer *answer, struct rest_thing *ret, struct error *error)
{
    const struct value *object;
    bool is_known;
    int r;

    if (!answer->document)
        return 0;
    r = select_thing(description->read, answer->document, attributes, &object, &is_known, error);
    if (r < 0)
        return r;
    ret->object = value_ref(object);
    /* That of a list, or of what is around the thing, changes with other things. */
    if (!value_get(description->read, "where") && !value_get(description->read, "select"))
        ret->etag = str_new(answer->etag);
    return 0;
}

int rest_thing_read(struct rest_server *server, const struct http_description *description,
                    const struct value *attributes, const char *path,
                    const struct runtime_call *call, struct rest_thing *ret, struct error *error)
{
    const struct exchange exchange = {.server = server, .request = description->read, .path = path};
    _cleanup_(answer_done) struct answer answer = {0};
    int r = exchange_do(&exchange, call, &answer, error);

    if (r >= 0 && !description_has_status(description->read, "absent", answer.status)) {
        if (!exchange_is_success(answer.status) || !answer.document)
            r = exchange_refuse(&exchange, &answer, error);
        else if ((r = rest_thing_find(description, attributes, &answer, ret, error)) < 0)
            err_wrap(error, "GET %s", path);
    }
    return r;
}

char *rest_thing_id(const struct http_description *description, const struct value *object)
{
    const struct value *id = description->id ? pointer_find(object, description->id) : NULL;
    const char *text = value_string(id);

    if (!text)
        text = value_number(id);
    return text && *text ? str_new(text) : NULL;
}

const struct value *rest_thing_memory(const char *place, const char *id, bool is_unseen)
{
    _cleanup_value_ const struct value *unseen = is_unseen ? value_pack("b", 1) : NULL;

    return value_pack("{s:s, s:s?, s:v?}", "place", place, "id", id, "unseen", unseen);
}

const struct value *rest_thing_mark(const struct value *extensions, const struct value *value)
{
    return value_mark_paths(value, value_get(extensions, "sensitive"));
}
