/* The Specs that a Spec waits for: `dependsOn`. */
#include <string.h>

#include "engine/base/limits.h"
#include "engine/base/str.h"
#include "engine/spec/private.h"

/* False: it is none, and a problem says so. */
static bool read_one(struct check *check, const struct value *entry, const char *own_namespace,
                     const struct place *place, struct spec_awaited *ret)
{
    const struct value *namespace_name = value_get(entry, "namespace");
    const struct place at_name = {.above = place, .key = "name"};
    const struct place at_namespace = {.above = place, .key = "namespace"};

    if (!value_is(entry, VALUE_OBJECT)) {
        check_problem(check, INVALID_SPEC, place, "must be an object, and is of type %s",
                      value_type_name(entry));
        return false;
    }
    ret->name = check_text(check, value_get(entry, "name"), &at_name);
    ret->namespace_name = check_is_absent(namespace_name)
                              ? own_namespace
                              : check_text(check, namespace_name, &at_namespace);
    if (ret->name && !str_is_dns_subdomain(ret->name)) {
        check_problem(check, INVALID_SPEC, &at_name, "\"%s\" is not the name of a Spec", ret->name);
        ret->name = NULL;
    }
    if (ret->namespace_name && !str_is_dns_subdomain(ret->namespace_name)) {
        check_problem(check, INVALID_SPEC, &at_namespace, "\"%s\" is not the name of a namespace",
                      ret->namespace_name);
        ret->namespace_name = NULL;
    }
    return ret->name && ret->namespace_name;
}

static bool is_wanted(struct check *check, const struct spec_awaited *awaited,
                      const struct spec *spec, const struct place *place, bool no_cross_namespace)
{
    bool is_foreign = !str_equal(awaited->namespace_name, spec->namespace_name);

    if (!is_foreign && str_equal(awaited->name, spec->name)) {
        check_problem(check, INVALID_SPEC, place, "is this Spec itself");
        return false;
    }
    if (is_foreign && no_cross_namespace) {
        check_problem(check, INVALID_SPEC, place,
                      "is in another namespace, \"%s\": the operator was started with "
                      "--no-cross-namespace-refs",
                      awaited->namespace_name);
        return false;
    }
    return true;
}

void check_awaited(struct check *check, const struct value *fields, bool no_cross_namespace,
                   struct spec *ret)
{
    const struct value *list = value_get(fields, "dependsOn");
    const struct place in = {.key = "dependsOn"};
    size_t count = value_is(list, VALUE_ARRAY) ? value_count(list) : 0;

    if (!check_is_absent(list) && !value_is(list, VALUE_ARRAY))
        check_problem(check, INVALID_SPEC, &in, "must be a list of Specs, and is of type %s",
                      value_type_name(list));
    if (count > LIMIT_AWAITED) {
        check_problem(check, INVALID_SPEC, &in, "holds %zu Specs, %d at most", count,
                      LIMIT_AWAITED);
        count = 0;
    }
    ret->awaited = ARENA_ARRAY(&ret->arena, struct spec_awaited, count);
    for (size_t i = 0; i < count; i++) {
        const struct place place = {.above = &in, .index = i};
        struct spec_awaited *awaited = &ret->awaited[ret->n_awaited];

        if (read_one(check, value_at(list, i), ret->namespace_name, &place, awaited) &&
            is_wanted(check, awaited, ret, &place, no_cross_namespace))
            ret->n_awaited++;
    }
}

size_t spec_awaited_read(const struct value *object, bool no_cross_namespace,
                         struct spec_awaited ret[LIMIT_AWAITED])
{
    const struct value *metadata = value_get(object, "metadata");
    struct spec spec = {.name = value_get_string(metadata, "name"),
                        .namespace_name = value_get_string(metadata, "namespace")};
    struct check unreported = {.spec = &spec};

    check_awaited(&unreported, value_get(object, "spec"), no_cross_namespace, &spec);
    if (spec.n_awaited)
        memcpy(ret, spec.awaited, spec.n_awaited * sizeof(*ret));
    arena_done(&spec.arena);
    return spec.n_awaited;
}
