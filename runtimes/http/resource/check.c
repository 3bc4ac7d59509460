#include "runtimes/http/resource/check.h"

#include <string.h>

#include "engine/base/str.h"
#include "engine/spec/ref.h"
#include "engine/spec/secret_ref.h"
#include "runtimes/http/resource/description.h"
#include "runtimes/io/http_origin.h"

struct reporting {
    struct check *check;
    const struct place *place;
};

static void report(void *arg, const char *field, const char *problem)
{
    const struct reporting *reporting = arg;
    const struct place in = {.above = reporting->place, .key = "extensions"};
    _cleanup_free_ char *copy = str_new(field);
    struct place steps[8] = {{0}};
    const struct place *last = &in;
    char *rest = copy, *step;

    /* A header, or a pointer, is one step. */
    for (size_t i = 0; i < ARRAY_SIZE(steps) && rest; i++) {
        step = i + 1 < ARRAY_SIZE(steps) && *rest != '/' ? strsep(&rest, ".") : TAKE(rest);
        steps[i] = (struct place){.above = last, .key = step};
        last = &steps[i];
    }
    check_problem(reporting->check, INVALID_SPEC, last, "%s", problem);
}

static void check_address(struct reporting *reporting, const struct value *extensions)
{
    const struct value *url = value_path(extensions, "connection", "url", NULL);
    _cleanup_(http_origin_done) struct http_origin origin = {0};
    struct error error = {0};

    if (value_string(url) && *value_string(url) && !ref_is(url) &&
        http_origin_read(value_string(url), &origin, &error) < 0)
        report(reporting, "connection.url", error.message);
}

static void check_secrets(struct reporting *reporting, const struct value *extensions)
{
    const char *member = secret_ref_find_extension(extensions, "connection");

    if (member)
        report(
            reporting, member,
            "a reference to a secret may stand in `connection` and in the attributes alone: State "
            "keeps the other extensions, and would keep the value");
}

void http_resource_check(struct check *check, const struct resource *resource,
                         const struct place *place)
{
    struct reporting reporting = {check, place};

    description_check(resource->extensions, report, &reporting);
    check_address(&reporting, resource->extensions);
    check_secrets(&reporting, resource->extensions);
}

static void check_resource(void *state, struct check *check, size_t index,
                           const struct place *place)
{
    (void)state;
    http_resource_check(check, &check->spec->resources[index], place);
}

const struct spec_checks http_resource_checks = {.resource = check_resource};
