#include "runtimes/http/resource/check.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/str.h"
#include "engine/spec/ref.h"
#include "engine/spec/secret_ref.h"
#include "engine/value/path.h"
#include "runtimes/http/resource/description.h"
#include "runtimes/http/resource/fill.h"
#include "runtimes/io/http_origin.h"

struct reporting {
    struct check *check;
    const struct place *place;
};

/* "computed[0]": its index, which is cut off; NULL: it has none. */
static const char *cut_index(char *step)
{
    char *bracket = strrchr(step, '[');

    if (!bracket || !strchr("0123456789", bracket[1]) || step[strlen(step) - 1] != ']')
        return NULL;
    *bracket = '\0';
    return bracket + 1;
}

static void report(void *arg, const char *field, const char *problem)
{
    const struct reporting *reporting = arg;
    const struct place in = {.above = reporting->place, .key = "extensions"};
    _cleanup_free_ char *copy = str_new(field);
    struct place steps[8] = {{0}};
    const struct place *last = &in;
    const char *index;
    char *rest = copy, *step;

    /* A header, or a pointer, is one step. */
    for (size_t i = 0; i + 1 < ARRAY_SIZE(steps) && rest; i++) {
        step = i + 2 < ARRAY_SIZE(steps) && *rest != '/' ? strsep(&rest, ".") : TAKE(rest);
        index = *step != '/' ? cut_index(step) : NULL;
        steps[i] = (struct place){.above = last, .key = step};
        last = &steps[i];
        if (!index)
            continue;
        steps[++i] = (struct place){.above = last, .index = strtoul(index, NULL, 10)};
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

/* What a thing is named by, and what deletes it, State must know without asking a store. */
static void refuse_secret(struct reporting *reporting, const char *field, const char *pointer)
{
    _cleanup_free_ char *problem =
        str_printf("the attribute %s is a reference to a secret, of which State keeps no value: it "
                   "cannot say where the thing is, or delete it",
                   *pointer ? pointer : "\"\"");

    report(reporting, field, problem);
}

static void check_secret_paths(struct reporting *reporting, const struct resource *resource)
{
    static const char *const requests[] = {"read", "create", "update", "delete", "wait"};

    for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
        const struct value *request = value_get(resource->extensions, requests[i]);
        _cleanup_free_ char *pointer =
            fill_find_secret(value_get_string(request, "path"), resource->attributes);
        _cleanup_free_ char *field = str_printf("%s.path", requests[i]);

        if (pointer)
            refuse_secret(reporting, field, pointer);
    }
}

static void check_secret_where(struct reporting *reporting, const struct resource *resource)
{
    const struct value *where = value_path(resource->extensions, "read", "where", NULL);

    for (size_t i = 0; i < value_count(where); i++) {
        const char *pointer = value_string(value_child(where, i));

        if (pointer && secret_ref_is_within(pointer_find(resource->attributes, pointer)))
            refuse_secret(reporting, "read.where", pointer);
    }
}

/* body: of a deletion, or a part of it. */
static void check_secret_body(struct reporting *reporting, const struct resource *resource,
                              const struct value *body)
{
    const char *pointer = value_get_string(body, "$attributes");

    if (pointer && secret_ref_is_within(pointer_find(resource->attributes, pointer)))
        refuse_secret(reporting, "delete.body", pointer);
    for (size_t i = 0; i < value_count(body); i++)
        check_secret_body(reporting, resource, value_child(body, i));
}

void http_resource_check(struct check *check, const struct resource *resource,
                         const struct place *place)
{
    struct reporting reporting = {check, place};

    description_check(resource->extensions, report, &reporting);
    check_address(&reporting, resource->extensions);
    check_secrets(&reporting, resource->extensions);
    check_secret_paths(&reporting, resource);
    check_secret_where(&reporting, resource);
    check_secret_body(&reporting, resource,
                      value_path(resource->extensions, "delete", "body", NULL));
}

static void check_resource(void *state, struct check *check, size_t index,
                           const struct place *place)
{
    (void)state;
    http_resource_check(check, &check->spec->resources[index], place);
}

const struct spec_checks http_resource_checks = {.resource = check_resource};
