#include "runtimes/kubernetes/objects/common_metadata.h"

#include "engine/base/str.h"
#include "engine/value/children.h"
#include "runtimes/kubernetes/objects/marks.h"

static const char *const parts[] = {"labels", "annotations"};

static void check_part(const struct value *part, struct check *check, const struct place *in)
{
    if (!check_is_absent(part) && !value_is(part, VALUE_OBJECT))
        check_problem(check, INVALID_SPEC, in, "must be an object, and is of type %s",
                      value_type_name(part));
    for (size_t i = 0; value_is(part, VALUE_OBJECT) && i < value_count(part); i++) {
        const char *key = value_member_key(part, i, NULL);
        const struct place at = {.above = in, .key = key};

        if (!value_is(value_member(part, i), VALUE_STRING))
            check_problem(check, INVALID_SPEC, &at, "must be a string, and is of type %s",
                          value_type_name(value_member(part, i)));
        if (str_equal(key, KUBE_OWNER_LABEL) || str_equal(key, KUBE_SPEC_ANNOTATION))
            check_problem(check, INVALID_SPEC, &at, "is the operator's own mark");
    }
}

void common_metadata_check(const struct value *common, struct check *check)
{
    const struct place above = {.key = "commonMetadata"};

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        const struct place in = {.above = &above, .key = parts[i]};

        check_part(value_get(common, parts[i]), check, &in);
    }
}

const struct value *common_metadata_add(const struct value *object, const struct value *common)
{
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        const struct value *added = value_get(common, parts[i]);

        for (size_t k = 0; k < value_count(added); k++) {
            const char *const keys[] = {"metadata", parts[i], value_member_key(added, k, NULL)};

            value_move(&object,
                       value_with_path(object, keys, ARRAY_SIZE(keys), value_member(added, k)));
        }
    }
    return object;
}
