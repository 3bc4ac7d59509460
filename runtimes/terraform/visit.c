#include "engine/base/str.h"
#include "engine/value/value_mark.h"
#include "runtimes/terraform/session.h"

/* ---- Which provider, which type ---- */

/* Kusion's ids are NAMESPACE:PROVIDER:TYPE:NAME. free(); NULL: there are fewer parts. */
static char *part_of_id(const char *id, int index)
{
    while (index-- && id)
        id = (id = strchr(id, ':')) ? id + 1 : NULL;
    return id && strchr(id, ':') ? str_new_n(id, strcspn(id, ":")) : NULL;
}

int target_source(const char *id, const struct value *extensions, struct source *ret,
                  struct error *error)
{
    const char *written = value_get_string(extensions, "provider");
    _cleanup_free_ char *namespace_name = part_of_id(id, 0), *name = part_of_id(id, 1);
    _cleanup_free_ char *by_id = NULL;

    if (written)
        return source_read(written, '/', ret, error);
    if (!namespace_name || !name)
        return err_set(error, ERR_INVALID, "InvalidProvider",
                       "a provider is required, such as \"hashicorp/random\"");
    by_id = str_printf("%s/%s", namespace_name, name);
    return source_read(by_id, '/', ret, error);
}

int target_type(const char *id, const struct value *extensions, char **ret, struct error *error)
{
    const char *written = value_get_string(extensions, "resourceType");
    char *by_id = written ? NULL : part_of_id(id, 2);

    if (!written && !by_id)
        return err_set(error, ERR_INVALID, "InvalidProvider",
                       "a type is required, such as \"random_password\"");
    *ret = written ? str_new(written) : by_id;
    return 0;
}

int target_kind(const struct runtime_target *target, struct source *ret_source, char **ret_type,
                struct error *error)
{
    const struct value *memory =
        target->attributes || !target->prior ? NULL : target->prior->memory;
    const char *provider = value_get_string(memory, "provider");
    const char *type = value_get_string(memory, "type");
    int r = provider && !value_get_string(target->extensions, "provider")
                ? source_read(provider, '/', ret_source, error)
                : target_source(target->id, target->extensions, ret_source, error);

    if (r < 0)
        return r;
    if (!type)
        return target_type(target->id, target->extensions, ret_type, error);
    *ret_type = str_new(type);
    return 0;
}

/* ---- A visit ---- */

int visit_begin(struct visit *visit, struct pool *pool, struct need *need, const char *type,
                const struct runtime_call *call, struct error *error)
{
    int r;

    *visit = (struct visit){.pool = pool, .need = need};
    visit->call = (struct plugin_call){
        .deadline = call->deadline, .cancel = call->cancel, .permit = call->permit};
    r = pool_take(pool, need, &visit->call, &visit->instance, error);
    if (r >= 0)
        r = provider_schema(visit->instance->provider, visit->instance->plugin, type, &visit->call,
                            &visit->schema, &visit->warnings, error);
    visit->type = (struct resource_type){.instance = visit->instance,
                                         .name = type,
                                         .schema = visit->schema,
                                         .call = &visit->call,
                                         .warnings = &visit->warnings};
    return r;
}

void visit_end(struct visit *visit)
{
    tf_schema_unref(visit->schema);
    warnings_done(&visit->warnings);
    pool_give_back(visit->pool, visit->instance);
}

void visit_note_warnings(struct visit *visit, const struct runtime_session *session,
                         enum plan_action action)
{
    if (action != PLAN_UNCHANGED || session->is_thorough)
        warnings_add(&visit->warnings, &visit->instance->warnings);
}

const struct value *visit_warnings(const struct visit *visit,
                                   void (*hide)(const void *arg, struct error *warning),
                                   const void *arg)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    if (!visit->warnings.count)
        return NULL;
    value_begin_array(b);
    for (size_t i = 0; i < visit->warnings.count; i++) {
        struct error warning = {0};

        err_set(&warning, ERR_INVALID, NULL, "%s", visit->warnings.items[i]);
        hide(arg, &warning);
        value_add_string(b, warning.message);
    }
    if (visit->warnings.left_out)
        value_add_printf(b, "and %zu more", visit->warnings.left_out);
    value_end_array(b);
    return value_finish(b);
}

/* What Go's library and Kubernetes' client say when a program is not started. */
static bool wants_program(const char *message)
{
    static const char *const words[] = {"fork/exec ", "exec: executable ", " in $PATH",
                                        " on $PATH"};

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strstr(message, words[i]))
            return true;
    return false;
}

void visit_blame(const struct visit *visit, struct error *error)
{
    bool says_who = str_has_prefix(error->message, "the provider ") ||
                    str_has_prefix(error->message, "attributes");

    if (error->code && wants_program(error->message) && !*err_hints(error->message))
        err_hint(error, "providers start no programs here: use a token, or another way to log in "
                        "(docs/terraform.md, \"Clouds without programs\")");
    if (!str_equal(error->reason, "ProviderFailed") || *err_hints(error->message))
        return;
    if (visit->instance && !says_who)
        err_wrap(error, "the provider %s", visit->instance->provider->name);
    err_hint(error, PLUGIN_DEFECT_HINT);
}

int visit_decode(const struct visit *visit, const struct buf *state, const struct value *like,
                 const struct value **ret, struct error *error)
{
    const struct tf_block *block = visit->schema->block;
    _cleanup_value_ const struct value *plain = NULL, *marked = NULL;
    int r = tf_decode(state->data, state->length, block->type, TF_PLAIN, &plain, error);

    if (r < 0)
        return r;
    *ret = NULL;
    if (value_is(plain, VALUE_NULL))
        return 0;
    marked = tf_mark(block, plain);
    *ret = like ? value_mark_like(marked, like) : value_ref(marked);
    return *ret ? 0 : err_set(error, ERR_TOO_LARGE, NULL, "the resource's state is too large");
}

int visit_observe(const struct visit *visit, const struct tf_state *state, const struct value *like,
                  const struct value *sensitive, struct runtime_outcome *ret, struct error *error)
{
    int r = visit_decode(visit, &state->value, like, &ret->now.result, error);

    ret->now.presence = PRESENCE_ABSENT;
    if (r < 0 || !ret->now.result)
        return r;
    ret->now.presence = PRESENCE_PRESENT;
    return memory_make(&visit->type, state, sensitive, &ret->memory, error);
}
