#include "runtimes/kubernetes/client/watch_event.h"

#include <string.h>

#include "engine/base/str.h"
#include "runtimes/kubernetes/client/api_error.h"

static const struct {
    const char *name;
    enum watch_event_type type;
} types[] = {
    {"ADDED", WATCH_EVENT_UPSERT},
    {"MODIFIED", WATCH_EVENT_UPSERT},
    {"DELETED", WATCH_EVENT_DELETED},
    {"BOOKMARK", WATCH_EVENT_BOOKMARK},
};

static bool find_type(const char *name, enum watch_event_type *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (strcmp(types[i].name, name) == 0) {
            *ret = types[i].type;
            return true;
        }
    return false;
}

int watch_event_read(const struct value *value, struct watch_event *ret, struct error *error)
{
    const char *type = value_get_string(value, "type");
    struct watch_event event = {.object = value_get(value, "object")};
    const struct value *metadata = value_get(event.object, "metadata");

    if (str_equal(type, "ERROR"))
        return api_error_from_status(event.object, error);
    event.version = value_get_string(metadata, "resourceVersion");
    if (!type || !event.version)
        return err_set(error, ERR_INTERNAL, "UnexpectedAnswer", "that is no event of a watch");
    if (!find_type(type, &event.type))
        return err_set(error, ERR_INTERNAL, "UnexpectedAnswer", "an event of type \"%s\"", type);
    if (event.type != WATCH_EVENT_BOOKMARK && !value_get_string(metadata, "name"))
        return err_set(error, ERR_INTERNAL, "UnexpectedAnswer", "an object without a name");
    *ret = event;
    return 0;
}
