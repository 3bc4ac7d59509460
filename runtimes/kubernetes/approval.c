#include "runtimes/kubernetes/approval.h"

#include "engine/base/str.h"

static const struct value *find(const struct value *object, const char *const *path)
{
    for (; *path; path++)
        object = value_get(object, *path);
    return object;
}

/* fieldsV1 names each field as "f:<name>". */
static bool owns(const struct value *fields, const char *const *path)
{
    for (; *path && fields; path++) {
        _cleanup_free_ char *key = str_printf("f:%s", *path);

        fields = value_get(fields, key);
    }
    return fields != NULL;
}

/* Several managers own a field that they applied with the same value: the last one approved. */
static const struct value *find_manager(const struct value *object, const char *const *path)
{
    const struct value *entries = value_path(object, "metadata", "managedFields", NULL);
    const struct value *last = NULL;

    for (size_t i = 0; i < value_count(entries); i++) {
        const struct value *entry = value_at(entries, i);
        const char *time = value_get_string(entry, "time");
        const char *last_time = value_get_string(last, "time");

        if (owns(value_get(entry, "fieldsV1"), path) &&
            (!last_time || (time && strcmp(time, last_time) > 0)))
            last = entry;
    }
    return last;
}

void kube_approval_read(const struct value *object, const char *const *path,
                        struct release_approval *ret)
{
    const char *plan = value_string(find(object, path));
    const struct value *manager = plan ? find_manager(object, path) : NULL;

    *ret = (struct release_approval){
        .plan = str_new(plan),
        .manager = str_new(value_get_string(manager, "manager")),
        .time = str_new(value_get_string(manager, "time")),
    };
}
