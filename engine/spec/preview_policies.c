#include "engine/spec/preview_policies.h"

static const char *const names[] = {"prune",  "force",        "conflictPolicy", "adoptionPolicy",
                                    "ignore", "maxDeletions", "commonMetadata"};

const struct value *preview_policies(const struct value *fields)
{
    const struct value *none = value_pack("{}"), *found = preview_with_policies(none, fields);

    value_unref(none);
    return found;
}

const struct value *preview_with_policies(const struct value *fields, const struct value *policies)
{
    const struct value *changed = value_ref(fields);

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const struct value *policy = value_get(policies, names[i]), *next;

        if (!policy && !value_get(changed, names[i]))
            continue;
        next = policy ? value_with(changed, names[i], policy) : value_without(changed, names[i]);
        value_unref(changed);
        changed = next;
    }
    return changed;
}
