#include "engine/spec/check.h"

#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/similar.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "engine/spec/moved.h"
#include "engine/spec/not_created.h"
#include "engine/spec/ref.h"
#include "runtimes/terraform/data.h"
#include "runtimes/terraform/import.h"
#include "runtimes/terraform/lifecycle.h"
#include "runtimes/terraform/session.h"
#include "runtimes/terraform/tfstate/address.h"

#define EPHEMERAL_PREFIX "ephemeral." /* as Terraform has it in addresses */

/* The checks of one Spec. */
struct checks {
    const struct tf_runtime *runtime;
    struct strmap addresses; /* in Terraform's state -> the first resource that has it. Empty where
                                no resource says its own */
};

/* ---- Addresses in Terraform's state ---- */

static bool says_address(const struct resource *resource)
{
    return !check_is_absent(value_get(resource->extensions, STATE_ADDRESS));
}

/* free(); NULL: it has none. */
static char *address_of(const struct resource *resource)
{
    _cleanup_(tf_address_done) struct tf_address address = {0};

    if (!resource->id || tf_address_of(resource->id, resource->extensions, &address, NULL) < 0)
        return NULL;
    return tf_address_text(&address);
}

static void note_addresses(struct checks *checks, const struct spec *spec)
{
    for (size_t i = 0; i < spec->n_resources; i++) {
        const struct resource *resource = &spec->resources[i];
        char *address = str_equal(resource->type, TF_RUNTIME_TYPE) ? address_of(resource) : NULL;

        if (!address || strmap_get(&checks->addresses, address))
            free(address);
        else
            strmap_put(&checks->addresses, address, (void *)(uintptr_t)resource);
    }
}

static void *begin(void *arg, struct check *check)
{
    struct checks *checks = NEW(struct checks);
    bool is_said = false;

    checks->runtime = arg;
    for (size_t i = 0; i < check->spec->n_resources && !is_said; i++)
        is_said = str_equal(check->spec->resources[i].type, TF_RUNTIME_TYPE) &&
                  says_address(&check->spec->resources[i]);
    if (is_said)
        note_addresses(checks, check->spec);
    return checks;
}

/* Two resources that have one object would each change it. */
static void check_is_alone(const struct checks *checks, struct check *check,
                           const struct resource *resource, const struct place *at)
{
    _cleanup_free_ char *address = checks->addresses.count ? address_of(resource) : NULL;
    const struct resource *first = address ? strmap_get(&checks->addresses, address) : NULL;

    if (first && first != resource && (says_address(first) || says_address(resource)))
        check_problem(check, INVALID_SPEC, at,
                      "the resource \"%s\" has the same address in Terraform's state, %s",
                      first->id, address);
}

static bool is_written_out(struct check *check, const struct value *extensions, const char *key,
                           const struct place *in);

static void check_address(const struct checks *checks, struct check *check,
                          const struct resource *resource, const struct place *in)
{
    const struct place at = {.above = in, .key = STATE_ADDRESS};
    _cleanup_(tf_address_done) struct tf_address address = {0};
    struct error error = {0};

    if (!is_written_out(check, resource->extensions, STATE_ADDRESS, in))
        return;
    if (!says_address(resource)) {
        check_is_alone(checks, check, resource, &at);
        return;
    }
    if (tf_address_read(value_get_string(resource->extensions, STATE_ADDRESS), &address, &error) <
        0)
        check_problem(check, INVALID_SPEC, &at, "%s", error.message);
    else if (!check_is_absent(value_get(resource->extensions, IMPORT_ID)))
        check_problem(check, INVALID_SPEC, &at,
                      "cannot be there beside " IMPORT_ID ": the object is taken over from the one "
                      "or by the other");
    else
        check_is_alone(checks, check, resource, &at);
}

/* ---- Providers ---- */

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
    _cleanup_free_ char *refusal = NULL;
    struct error error = {0};

    if (target_source(resource->id, resource->extensions, &source, &error) < 0)
        check_problem(check, INVALID_SPEC, &at, "%s", error.message);
    else if (!pool_find_allowed(runtime->pool, &source))
        check_problem(check, UNSUPPORTED, &at, "%s",
                      refusal = pool_refusal(runtime->pool, &source));
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

/* What a data source cannot have. */
static void check_data(struct check *check, const struct value *extensions, const struct place *in,
                       const char *type)
{
    static const char *const others[] = {"lifecycle", IMPORT_ID, STATE_ADDRESS, MOVED_FROM};
    const struct place at_type = {.above = in, .key = "resourceType"};

    if (!type[strlen(DATA_PREFIX)])
        check_problem(check, INVALID_SPEC, &at_type,
                      "the type of a data source is required after \"" DATA_PREFIX
                      "\", as in \"data.aws_ami\"");
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        const struct place at = {.above = in, .key = others[i]};

        if (!check_is_absent(value_get(extensions, others[i])))
            check_problem(check, INVALID_SPEC, &at,
                          "means nothing for a data source, which is only read: remove it");
    }
}

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

/* A key that is mistyped would be passed over, and what it says would not be done: with another key
 * than IMPORT_ID, a second object is made. */
static void check_keys(struct check *check, const struct value *extensions, const struct place *in)
{
    static const char *const known[] = {"provider", "providerMeta", "resourceType", "lifecycle",
                                        IMPORT_ID,  MOVED_FROM,     NOT_CREATED,    STATE_ADDRESS};

    for (size_t i = 0; value_is(extensions, VALUE_OBJECT) && i < value_count(extensions); i++) {
        const char *key = value_member_key(extensions, i, NULL);
        const struct place at = {.above = in, .key = key};
        struct similar similar;
        bool is_known = false;

        similar_begin(&similar, key);
        for (size_t k = 0; k < ARRAY_SIZE(known); k++) {
            is_known = is_known || str_equal(key, known[k]);
            similar_offer(&similar, known[k]);
        }
        if (!is_known)
            check_problem(check, INVALID_SPEC, &at, "means nothing for a Terraform resource%s%s%s",
                          similar.found ? "; did you mean \"" : "",
                          similar.found ? similar.found : "", similar.found ? "\"?" : "");
    }
}

static void check_resource(void *state, struct check *check, size_t index,
                           const struct place *place)
{
    const struct checks *checks = state;
    const struct resource *resource = &check->spec->resources[index];
    const struct place in = {.above = place, .key = "extensions"};
    const struct place in_attributes = {.above = place, .key = "attributes"};
    const struct place at_type = {.above = &in, .key = "resourceType"};
    _cleanup_free_ char *type = NULL;
    struct error error = {0};

    check_keys(check, resource->extensions, &in);
    check_import(check, resource->extensions, &in);
    check_address(checks, check, resource, &in);
    check_not_created(check, resource->extensions, &in);
    check_lifecycle(check, resource->extensions, &in);
    place_each_string(resource->attributes, &in_attributes, check_string, check, NULL);
    if (!resource->id || !is_written_out(check, resource->extensions, "provider", &in) ||
        !is_written_out(check, resource->extensions, "resourceType", &in))
        return;
    check_provider(check, checks->runtime, resource, &in);
    if (target_type(resource->id, resource->extensions, &type, &error) < 0)
        check_problem(check, INVALID_SPEC, &at_type, "%s", error.message);
    else if (data_is(type))
        check_data(check, resource->extensions, &in, type);
    else if (str_has_prefix(type, EPHEMERAL_PREFIX))
        check_problem(
            check, UNSUPPORTED, &at_type,
            "ephemeral resources are not supported: use the resource itself, whose secret "
            "values State keeps in Secrets, or a Secret that the cluster has");
}

static void end(void *state, struct check *check)
{
    struct checks *checks = state;

    (void)check;
    for (struct strmap_entry *e = NULL; (e = strmap_next(&checks->addresses, e));)
        free((void *)(uintptr_t)e->key);
    strmap_done(&checks->addresses);
    free(checks);
}

const struct spec_checks tf_checks = {.begin = begin, .resource = check_resource, .end = end};
