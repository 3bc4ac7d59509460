#include "controller/reconcile/spec_context.h"

#include <string.h>

#include "engine/base/base64.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"

#define READ_TIMEOUT 10000 /* ms */
#define MOST_VALUES  1000  /* of all that contextFrom names */

/* One of `contextFrom`. */
struct origin {
    size_t index;
    const struct kube_kind *kind;
    const char *name;
    bool is_optional;
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
static int load(const struct run *run, const struct origin *origin, const struct value **ret,
                struct error *error)
{
    const char *account = run_account(run);
    _cleanup_free_ char *user = account ? str_printf("system:serviceaccount:%s:%s",
                                                     run->subject.key.namespace_name, account)
                                        : NULL;
    const struct kube_request request = {
        .method = "GET",
        .ref = {origin->kind, run->subject.key.namespace_name, origin->name, NULL},
        .impersonate = user,
        .for_tenant = true,
        .timeout = READ_TIMEOUT,
        .cancel = run->cancel,
    };
    struct error problem = {0};
    int r = kube_do(run->context->client, &request, ret, &problem);

    if (r == ERR_NOT_FOUND && origin->is_optional)
        return 0;
    return r < 0 ? say_why(run, origin, &problem, error) : 0;
}

/* ---- Its values ---- */

static void set(const struct value **context, const char *key, const struct value *value)
{
    const struct value *before = *context;

    *context = value_with(before, key, value);
    value_unref(before);
}

static int not_text(const struct origin *origin, const char *key, struct error *error)
{
    return err_set(error, ERR_INVALID, "InvalidContext",
                   "contextFrom[%zu]: key \"%s\" of %s \"%s\" is not text in UTF-8", origin->index,
                   key, origin->kind->kind, origin->name);
}

/* Data of a Secret is Base64. */
static int add_secret(const struct origin *origin, const char *key, const struct value *data,
                      const struct value **context, struct error *error)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    _cleanup_value_ const struct value *plain = NULL, *secret = NULL;
    const char *encoded = value_string(data);
    bool is_text = encoded && base64_decode(&text, encoded, strlen(encoded)) &&
                   utf8_valid(text.data, text.length) == text.length &&
                   !memchr(text.data ? text.data : "", '\0', text.length);

    if (is_text)
        plain = value_pack("s", text.length ? text.data : "");
    secret = value_sensitive(plain);
    if (secret)
        set(context, key, secret);
    explicit_bzero(text.data, text.length);
    return secret ? 0 : not_text(origin, key, error);
}

static int add_values(const struct origin *origin, const struct value *object,
                      const struct value **context, struct error *error)
{
    const struct value *data = value_get(object, "data");
    size_t length;
    int r = 0;

    if (value_count(data) + value_count(*context) > MOST_VALUES)
        return err_set(error, ERR_INVALID, "InvalidContext",
                       "contextFrom[%zu]: with %s \"%s\" there are more than %d values",
                       origin->index, origin->kind->kind, origin->name, MOST_VALUES);
    for (size_t i = 0; i < value_count(data) && r >= 0; i++) {
        const char *key = value_member_key(data, i, &length);

        if (origin->kind == &kube_secrets)
            r = add_secret(origin, key, value_member(data, i), context, error);
        else
            set(context, key, value_member(data, i));
    }
    return r;
}

static void add_context(const struct value *from, const struct value **context)
{
    size_t length;

    for (size_t i = 0; i < value_count(from); i++)
        set(context, value_member_key(from, i, &length), value_member(from, i));
}

int spec_context_read(const struct run *run, const struct value **ret, struct error *error)
{
    const struct value *list = value_path(run->object, "spec", "contextFrom", NULL);
    const struct value *own = value_path(run_source(run), "spec", "context", NULL);
    _cleanup_value_ const struct value *context = NULL;
    int r = 0;

    *ret = NULL;
    if (!value_count(list)) {
        *ret = value_ref(own);
        return 0;
    }
    context = value_pack("{}");
    for (size_t i = 0; i < value_count(list) && r >= 0; i++) {
        const struct origin origin = origin_of(list, i);
        _cleanup_value_ const struct value *object = NULL;

        r = load(run, &origin, &object, error);
        if (r >= 0)
            r = add_values(&origin, object, &context, error);
    }
    if (r < 0)
        return r;
    add_context(own, &context);
    if (!context)
        return err_set(error, ERR_TOO_LARGE, "TooLarge", "the Spec's context is too large");
    *ret = TAKE(context);
    return 0;
}
