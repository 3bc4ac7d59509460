#include "controller/reconcile/inputs/spec_context.h"

#include <string.h>

#include "engine/base/base64.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"
#include "engine/value/children.h"

#define READ_TIMEOUT 10000       /* ms, for all */
#define MOST_BYTES   (64u << 10) /* of all keys and values */

/* One of `contextFrom`. */
struct origin {
    size_t index;
    const struct kube_kind *kind;
    const char *name;
    bool is_optional;
};

/* What was read so far. */
struct reading {
    const struct run *run;
    const struct value *context; /* a reference */
    size_t bytes;
    int64_t deadline; /* ms, monotonic */
};

static const struct {
    const char *field;
    const struct kube_kind *kind;
} kinds[] = {{"secretRef", &kube_secrets}, {"configMapRef", &kube_config_maps}};

/* The CRD's rules see to it that there is one. */
static struct origin origin_of(const struct value *list, size_t index)
{
    const struct value *item = value_at(list, index);
    struct origin origin = {.index = index};

    for (size_t i = 0; i < ARRAY_SIZE(kinds) && !origin.name; i++) {
        const struct value *ref = value_get(item, kinds[i].field);

        origin.kind = kinds[i].kind;
        origin.name = value_get_string(ref, "name");
        origin.is_optional = value_bool(value_get(ref, "optional"), false);
    }
    return origin;
}

/* ---- Reading one ---- */

static int say_why(const struct run *run, const struct origin *origin, const struct error *problem,
                   struct error *error)
{
    const char *namespace_name = run->subject.key.namespace_name;

    if (problem->code == ERR_NOT_FOUND)
        return err_set(error, ERR_INVALID, "ContextNotFound",
                       "contextFrom[%zu]: there is no %s \"%s\" in namespace \"%s\"", origin->index,
                       origin->kind->kind, origin->name, namespace_name);
    if (problem->code == ERR_FORBIDDEN)
        return err_set(error, ERR_FORBIDDEN, "AccessDenied", "contextFrom[%zu]: %s", origin->index,
                       problem->message);
    err_copy(error, problem);
    err_wrap(error, "contextFrom[%zu]: %s \"%s\"", origin->index, origin->kind->kind, origin->name);
    return problem->code;
}

/* *ret: NULL if it is not there, and need not be. */
static int load(const struct reading *reading, const struct origin *origin,
                const struct value **ret, struct error *error)
{
    const struct run *run = reading->run;
    const struct kube_request request = {.ref = {.kind = origin->kind, .name = origin->name},
                                         .timeout = context_left(run->context, reading->deadline)};
    struct error problem = {0};
    int r = run_read(run, request, ret, &problem);

    if (r == ERR_NOT_FOUND && origin->is_optional)
        return 0;
    return r < 0 ? say_why(run, origin, &problem, error) : 0;
}

/* ---- Its values ---- */

static int set(struct reading *reading, const struct origin *origin, const char *key,
               const struct value *value, struct error *error)
{
    const struct value *before = reading->context;

    reading->bytes += strlen(key) + strlen(value_string(value));
    if (reading->bytes > MOST_BYTES)
        return err_set(error, ERR_INVALID, "InvalidContext",
                       "contextFrom[%zu]: with %s \"%s\" there are more than %u KiB of variables",
                       origin->index, origin->kind->kind, origin->name, MOST_BYTES >> 10);
    reading->context = value_with(before, key, value);
    value_unref(before);
    return 0;
}

static bool is_text(const char *text, size_t length)
{
    return utf8_valid(text, length) == length && !memchr(text, '\0', length);
}

/* Data of a Secret is Base64. *ret: a copy, a reference; NULL: it is not text. */
static const struct value *text_of(const struct origin *origin, const struct value *data)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    _cleanup_value_ const struct value *plain = NULL;
    size_t length;
    const char *string = value_string_n(data, &length);

    if (origin->kind != &kube_secrets)
        return string && is_text(string, length) ? value_pack("s", string) : NULL;
    if (string && base64_decode(&text, string, length) &&
        is_text(text.data ? text.data : "", text.length))
        plain = value_pack("s", text.data ? text.data : "");
    if (text.data)
        explicit_bzero(text.data, text.length);
    return value_sensitive(plain);
}

static int add_values(struct reading *reading, const struct origin *origin,
                      const struct value *object, struct error *error)
{
    const struct value *data = value_get(object, "data");
    size_t length;
    int r = 0;

    for (size_t i = 0; i < value_count(data) && r >= 0; i++) {
        const char *key = value_member_key(data, i, &length);
        _cleanup_value_ const struct value *text = NULL;

        if (!str_is_variable(key))
            continue;
        text = text_of(origin, value_member(data, i));
        r = text ? set(reading, origin, key, text, error)
                 : err_set(error, ERR_INVALID, "InvalidContext",
                           "contextFrom[%zu]: key \"%s\" of %s \"%s\" is not text in UTF-8",
                           origin->index, key, origin->kind->kind, origin->name);
    }
    return r;
}

static int read_all(struct reading *reading, const struct value *list, struct error *error)
{
    int r = 0;

    for (size_t i = 0; i < value_count(list) && r >= 0; i++) {
        const struct origin origin = origin_of(list, i);
        _cleanup_value_ const struct value *object = NULL;

        r = load(reading, &origin, &object, error);
        if (r >= 0)
            r = add_values(reading, &origin, object, error);
    }
    return r;
}

/* What was read, under the Spec's own. A reference. */
static const struct value *merged(const struct value *read, const struct value *own)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    size_t length;

    value_begin_object(b);
    for (size_t i = 0; i < value_count(read); i++) {
        const char *key = value_member_key(read, i, &length);

        if (value_get_n(own, key, length))
            continue;
        value_key_n(b, key, length);
        value_add_copy(b, value_member(read, i));
    }
    for (size_t i = 0; i < value_count(own); i++) {
        value_key_like(b, own, i);
        value_add_copy(b, value_member(own, i));
    }
    value_end_object(b);
    return value_finish(b);
}

int spec_context_read(const struct run *run, struct runtime_scope *scope, struct error *error)
{
    const struct value *list = value_path(run->object, "spec", "contextFrom", NULL);
    const struct value *own = value_path(run_source(run), "spec", "context", NULL);
    struct reading reading = {.run = run,
                              .deadline = context_monotonic(run->context) + READ_TIMEOUT};
    struct error problem = {0};
    int r;

    if (value_count(list) && run->has_own_resources)
        r = err_set(&problem, ERR_UNSUPPORTED, "Unsupported",
                    "contextFrom: a Preview with resources of its own gets none of its values, "
                    "since the right to create Releases is not the right to use them; suspend the "
                    "Spec, change it, and preview that");
    else
        r = read_all(&reading, list, &problem);
    if (!run_may_pass(r))
        scope->context_error = problem;
    scope->context = r >= 0 && reading.context ? merged(reading.context, own) : value_ref(own);
    value_unref(reading.context);
    return run_may_pass(r) ? err_copy(error, &problem) : 0;
}
