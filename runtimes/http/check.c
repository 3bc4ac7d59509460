/* Whether a resource may be described as it is here: its description, and its host. */
#include "runtimes/http/resource/check.h"
#include "engine/spec/ref.h"
#include "runtimes/http/session.h"

static void check_host(const struct http_runtime *runtime, struct check *check,
                       const struct resource *resource, const struct place *place)
{
    const struct value *url = value_path(resource->extensions, "connection", "url", NULL);
    const struct place in = {.above = place, .key = "extensions"};
    const struct place at = {.above = &in, .key = "connection"};
    const struct place at_url = {.above = &at, .key = "url"};
    const struct address_filter *filter;
    struct error error = {0};

    if (value_string(url) && !ref_is(url) &&
        http_hosts_find(runtime->config.hosts, check->spec->namespace_name, value_string(url),
                        &filter, &error) == ERR_FORBIDDEN)
        check_problem(check, UNSUPPORTED, &at_url, "%s", error.message);
}

static void check_resource(void *state, struct check *check, size_t index,
                           const struct place *place)
{
    const struct resource *resource = &check->spec->resources[index];

    http_resource_check(check, resource, place);
    check_host(state, check, resource, place);
}

const struct spec_checks http_checks = {.resource = check_resource};
