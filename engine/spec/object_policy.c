/* Reads the fields of a Spec that are about objects in which others have a part. */
#include "engine/spec/object_policy.h"

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
    const struct place at_conflict = {.key = "conflictPolicy"};
    const struct place at_adoption = {.key = "adoptionPolicy"};

    *ret = (struct object_policy){
        .yields =
            check_choice(check, value_get(fields, at_conflict.key), &at_conflict, conflict, 0, 0),
        .adoption = (enum adoption_policy)check_choice(check, value_get(fields, at_adoption.key),
                                                       &at_adoption, adoption, ADOPT_IF_UNOWNED,
                                                       ADOPT_IF_UNOWNED),
        .ignore = read_container(check, fields, "ignore", VALUE_ARRAY),
        .common_metadata = read_container(check, fields, "commonMetadata", VALUE_OBJECT),
    };
}
