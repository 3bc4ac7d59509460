#include "engine/spec/check.h"
#include <string.h>

#include "engine/base/str.h"
#include "engine/spec/ref.h"
#include "runtimes/terraform/import.h"
#include "runtimes/terraform/lifecycle.h"
#include "runtimes/terraform/session.h"

#define NOT_CREATED "kusionstack.io/not-created"

static void *begin(void *arg, struct check *check)
{
    (void)check;
    return arg;
}

/* These choose the provider, before any resource is made. */
static bool is_written_out(struct check *check, const struct value *extensions, const char *key,
                           const struct place *in)
{
    const struct place at = {.above = in, .key = key};
    const struct value *value = value_get(extensions, key);

    if (check_is_absent(value))
        return true;
    if (!check_text(check, value, &at))
        return false;
    if (ref_is(value))
        check_problem(check, INVALID_SPEC, &at, "must be written out, and cannot be a reference");
    return !ref_is(value);
}

static void check_provider(struct check *check, const struct tf_runtime *runtime,
                           const struct resource *resource, const struct place *in)
{
    const struct place at = {.above = in, .key = "provider"};
    _cleanup_(source_done) struct source source = {0};
    struct error error = {0};

    if (target_source(resource->id, resource->extensions, &source, &error) < 0)
        check_problem(check, INVALID_SPEC, &at, "%s", error.message);
    else if (!pool_find_allowed(runtime->pool, &source))
        check_problem(check, UNSUPPORTED, &at,
                      "the provider %s is not one that the operator may run: its flag "
                      "--terraform-provider names those",
                      source.shown);
}

/* In Terraform's own files these are evaluated. */
static int check_string(void *arg, const struct value *string, const struct place *place,
                        struct error *error)
{
    static const char *const openings[] = {"${", "%{"};
    struct check *check = arg;

    (void)error;
    for (size_t i = 0; i < ARRAY_SIZE(openings); i++)
        if (strstr(value_string(string), openings[i]))
            check_problem(
                check, INVALID_SPEC, place,
                "has \"%s\": expressions of Terraform are not evaluated; to use a value of "
                "another resource, make the whole string a reference, $kusion_path.ID.PATH "
                "(one to a ConfigMap, if these characters themselves are meant)",
                openings[i]);
    return 0;
}

static void check_import(struct check *check, const struct value *extensions,
                         const struct place *in)
{
    const struct place at = {.above = in, .key = IMPORT_ID};
    const struct value *id = value_get(extensions, IMPORT_ID);

    if (!check_is_absent(id))
        check_text(check, id, &at);
}

/* A revision, by which one creation is meant (engine/operation/doubt.c). */
static void check_not_created(struct check *check, const struct value *extensions,
                              const struct place *in)
{
    const struct place at = {.above = in, .key = NOT_CREATED};
    const struct value *revision = value_get(extensions, NOT_CREATED);

    if (!check_is_absent(revision) && value_int(revision, 0) <= 0)
        check_problem(check, INVALID_SPEC, &at,
                      "must be the number of the revision that the condition names");
}

static void check_lifecycle(struct check *check, const struct value *extensions,
                            const struct place *in)
{
    const struct place at = {.above = in, .key = "lifecycle"};
    const struct value *lifecycle = value_get(extensions, "lifecycle");
    struct error error = {0};

    if (!check_is_absent(lifecycle) && lifecycle_check(lifecycle, &error) < 0)
        check_problem(check, INVALID_SPEC, &at, "%s", error.message);
}

static void check_resource(void *state, struct check *check, size_t index,
                           const struct place *place)
{
    const struct resource *resource = &check->spec->resources[index];
    const struct place in = {.above = place, .key = "extensions"};
    const struct place in_attributes = {.above = place, .key = "attributes"};
    const struct place at_type = {.above = &in, .key = "resourceType"};
    _cleanup_free_ char *type = NULL;
    struct error error = {0};

    check_import(check, resource->extensions, &in);
    check_not_created(check, resource->extensions, &in);
    check_lifecycle(check, resource->extensions, &in);
    place_each_string(resource->attributes, &in_attributes, check_string, check, NULL);
    if (!resource->id || !is_written_out(check, resource->extensions, "provider", &in) ||
        !is_written_out(check, resource->extensions, "resourceType", &in))
        return;
    check_provider(check, state, resource, &in);
    if (target_type(resource->id, resource->extensions, &type, &error) < 0)
        check_problem(check, INVALID_SPEC, &at_type, "%s", error.message);
}

static void end(void *state, struct check *check)
{
    (void)state, (void)check;
}

const struct spec_checks tf_checks = {.begin = begin, .resource = check_resource, .end = end};
