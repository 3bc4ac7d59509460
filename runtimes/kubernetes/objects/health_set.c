#include "runtimes/kubernetes/objects/health_set.h"

#include <stdarg.h>
#include <stdio.h>

#include "engine/base/str.h"

void health_set(struct health *health, enum health_status status, const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    health->status = status;
    str_copy(health->message, sizeof(health->message), text);
}

const struct value *health_find_condition(const struct value *object, const char *type)
{
    const struct value *conditions = value_path(object, "status", "conditions", NULL);

    for (size_t i = 0; i < value_count(conditions); i++)
        if (str_equal(value_get_string(value_at(conditions, i), "type"), type))
            return value_at(conditions, i);
    return NULL;
}

const char *health_condition(const struct value *object, const char *type, const char **ret_message)
{
    const struct value *condition = health_find_condition(object, type);
    const char *status = value_get_string(condition, "status");
    const char *message = value_get_string(condition, "message");

    if (ret_message)
        *ret_message = message ? message : "";
    return status ? status : "";
}
