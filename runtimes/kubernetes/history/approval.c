#include "runtimes/kubernetes/history/approval.h"

#include <string.h>

#include "engine/base/str.h"
#include "runtimes/kubernetes/objects/fields.h"

static const struct value *find(const struct value *object, const char *const *path)
{
    for (; *path; path++)
        object = value_get(object, *path);
    return object;
}

/* The manager that owns the field; of several with the same value, the one that wrote last. */
static const struct value *find_manager(const struct value *object, const char *const *path)
{
    const struct value *entries = value_path(object, "metadata", "managedFields", NULL);
    const struct value *last = NULL;

    for (size_t i = 0; i < value_count(entries); i++) {
        const struct value *entry = value_at(entries, i);
        const char *time = value_get_string(entry, "time");
        const char *last_time = value_get_string(last, "time");

        if (fields_has(value_get(entry, "fieldsV1"), path) &&
            (!last_time || (time && strcmp(time, last_time) > 0)))
            last = entry;
    }
    return last;
}

static const char *approver(const struct value *decision, const struct value *manager)
{
    const char *named = value_get_string(decision, "approvedBy");

    return named ? named : value_get_string(manager, "manager");
}

void kube_approval_read(const struct value *object, const char *const *path,
                        struct release_approval *ret)
{
    const char *plan = value_string(find(object, path));
    const struct value *all = object;
    const struct value *manager = plan ? find_manager(object, path) : NULL;

    for (; plan && path[1]; path++)
        all = value_get(all, *path);
    *ret = (struct release_approval){
        .plan = str_new(plan),
        .approver = plan ? str_new(approver(all, manager)) : NULL,
        .manager = str_new(value_get_string(manager, "manager")),
        .time = str_new(value_get_string(manager, "time")),
        .covers_unseen = plan && value_bool(value_get(all, "approvedUnseen"), false),
    };
}

void kube_rejection_read(const struct value *object, struct release_rejection *ret)
{
    static const char *const path[] = {"spec", "rejected", NULL};
    bool is_rejected = value_bool(find(object, path), false);
    const struct value *manager = is_rejected ? find_manager(object, path) : NULL;
    const struct value *spec = value_get(object, "spec");

    *ret = (struct release_rejection){.is_rejected = is_rejected};
    if (is_rejected) {
        ret->reason = str_new(value_get_string(spec, "reason"));
        ret->approver = str_new(approver(spec, manager));
    }
}

const char *kube_field_time(const struct value *object, const char *const *path)
{
    return value_get_string(find_manager(object, path), "time");
}
