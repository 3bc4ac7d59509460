/* Reads the fields of a Spec that are about objects in which others have a part. */
#include "engine/spec/object_policy.h"

#include <string.h>

#include "engine/spec/private.h"

void object_policy_ref(struct object_policy *policy)
{
    value_ref(policy->ignore);
    value_ref(policy->common_metadata);
}

void object_policy_done(struct object_policy *policy)
{
    value_unref(policy->ignore);
    value_unref(policy->common_metadata);
    *policy = (struct object_policy){0};
}

/* The index of the field's text among the names, which NULL ends; the first one by default. */
static size_t read_choice(struct check *check, const struct value *fields, const char *name,
                          const char *const *names)
{
    const struct value *value = value_get(fields, name);
    const struct place place = {.key = name};
    _cleanup_buf_ struct buf all = BUF_INIT;
    const char *text;

    if (check_is_absent(value))
        return 0;
    text = check_text(check, value, &place);
    for (size_t i = 0; text && names[i]; i++)
        if (strcmp(text, names[i]) == 0)
            return i;
    for (size_t i = 0; names[i]; i++)
        buf_printf(&all, "%s%s", i ? ", " : "", names[i]);
    if (text)
        check_problem(check, INVALID_SPEC, &place, "\"%s\" is none of %s", text, all.data);
    return 0;
}

static const struct value *read_container(struct check *check, const struct value *fields,
                                          const char *name, enum value_type type)
{
    const struct value *value = value_get(fields, name);
    const struct place place = {.key = name};

    if (check_is_absent(value) || value_is(value, type))
        return value_count(value) ? value : NULL;
    check_problem(check, INVALID_SPEC, &place, "must be %s, and is of type %s",
                  type == VALUE_ARRAY ? "a list" : "an object", value_type_name(value));
    return NULL;
}

void check_object_policy(struct check *check, const struct value *fields, struct object_policy *ret)
{
    static const char *const conflict[] = {"Force", "Fail", NULL};
    static const char *const adoption[] = {[ADOPT_IF_UNOWNED] = "AdoptIfUnowned",
                                           [ADOPT_MATCHING] = "MustMatch",
                                           [ADOPT_ALL] = "AdoptAll",
                                           NULL};

    *ret = (struct object_policy){
        .yields = read_choice(check, fields, "conflictPolicy", conflict) == 1,
        .adoption = (enum adoption_policy)read_choice(check, fields, "adoptionPolicy", adoption),
        .ignore = read_container(check, fields, "ignore", VALUE_ARRAY),
        .common_metadata = read_container(check, fields, "commonMetadata", VALUE_OBJECT),
    };
}
