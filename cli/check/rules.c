#include "cli/check/rules.h"

#include "engine/base/str.h"

struct checker {
    struct path *path;
    schema_problem *fn;
    void *arg;
};

static void report(struct checker *c, const char *key, const char *message)
{
    path_push_key(c->path, key);
    c->fn(c->arg, path_text(c->path), message);
    path_pop(c->path);
}

static void check_sources(struct checker *c, const struct value *list)
{
    path_push_key(c->path, "contextFrom");
    for (size_t i = 0; value_is(list, VALUE_ARRAY) && i < value_count(list); i++) {
        const struct value *source = value_at(list, i);

        path_push_index(c->path, i);
        if (value_is(source, VALUE_OBJECT) &&
            !value_get(source, "secretRef") == !value_get(source, "configMapRef"))
            c->fn(c->arg, path_text(c->path), "one of secretRef and configMapRef is required");
        path_pop(c->path);
    }
    path_pop(c->path);
}

static const char *secret_name(const struct value *state, const char *key)
{
    return value_get_string(value_path(state, key, "secretRef", NULL), "name");
}

void rules_check(const struct value *fields, struct path *path, schema_problem *fn, void *arg)
{
    struct checker c = {path, fn, arg};
    const struct value *approval = value_get(fields, "approval");
    const struct value *state = value_get(fields, "terraformState");
    const char *from = secret_name(state, "from");

    check_sources(&c, value_get(fields, "contextFrom"));
    if (from && str_equal(from, secret_name(state, "to")))
        report(&c, "terraformState", "from and to must be different Secrets");
    if (value_get(approval, "approvedPlan") &&
        !str_equal(value_get_string(approval, "mode"), "Manual"))
        report(
            &c, "approval",
            "approvedPlan is allowed only with mode: Manual; with mode: Automatic, plans need no "
            "approval");
}
