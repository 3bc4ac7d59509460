#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/spec/import_id.h"
#include "engine/spec/ref.h"
#include "runtimes/http/session.h"

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

static void check_host(const struct http_runtime *runtime, struct check *check,
                       const struct resource *resource, const struct place *place)
{
    const struct value *url = value_path(resource->extensions, "connection", "url", NULL);
    const struct place in = {.above = place, .key = "extensions"};
    const struct place at = {.above = &in, .key = "connection"};
    const struct place at_url = {.above = &at, .key = "url"};
    const struct address_filter *filter;
    struct error error = {0};
    int r;

    if (!value_string(url) || ref_is(url))
        return;
    r = http_hosts_find(runtime->config.hosts, check->spec->namespace_name, value_string(url),
                        &filter, &error);
    if (r < 0)
        check_problem(check, r == ERR_FORBIDDEN ? UNSUPPORTED : INVALID_SPEC, &at_url, "%s",
                      error.message);
}

static void *begin(void *arg, struct check *check)
{
    (void)check;
    return arg;
}

static void check_resource(void *state, struct check *check, size_t index,
                           const struct place *place)
{
    const struct resource *resource = &check->spec->resources[index];
    struct reporting reporting = {check, place};

    description_check(resource->extensions, report, &reporting);
    check_host(state, check, resource, place);
}

static void end(void *state, struct check *check)
{
    (void)state, (void)check;
}

const struct spec_checks http_checks = {.begin = begin, .resource = check_resource, .end = end};
