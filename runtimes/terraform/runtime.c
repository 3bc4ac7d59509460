#include "runtimes/terraform/runtime.h"

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/terraform/environment.h"
#include "runtimes/terraform/session.h"
#include "runtimes/terraform/tfstate/tfstate.h"

static int open_session(struct runtime *runtime, const struct runtime_scope *scope,
                        const struct runtime_call *call, struct runtime_session **ret,
                        struct error *error)
{
    _cleanup_value_ const struct value *environment = NULL;
    struct runtime_session *session;
    int r;

    (void)call;
    if (scope->context_error.code)
        return err_copy(error, &scope->context_error);
    r = environment_read(scope->context, &environment, error);
    if (r < 0)
        return r;
    session = NEW(struct runtime_session);
    session->runtime = (struct tf_runtime *)runtime;
    session->namespace_name = str_new(scope->key.namespace_name);
    session->account = str_new(value_get_string(scope->identity, "serviceAccountName"));
    session->environment = TAKE(environment);
    session->known = known_new(scope->records, scope->n_records, scope->context);
    session->is_preview = scope->is_foreign;
    session->is_thorough = scope->thorough;
    session->existing = value_ref(scope->existing);
    session->existing_error = scope->existing_error;
    referred_init(&session->referred);
    *ret = session;
    return 0;
}

static void close_session(struct runtime_session *session)
{
    if (!session)
        return;
    free(session->namespace_name);
    free(session->account);
    value_unref(session->environment);
    known_unref(session->known);
    value_unref(session->existing);
    referred_done(&session->referred);
    free(session);
}

struct need *session_need(const struct runtime_session *session, const struct source *source,
                          const struct value *extensions)
{
    const struct need_owner owner = {.namespace_name = session->namespace_name,
                                     .account = session->account,
                                     .environment = session->environment,
                                     .known = session->known,
                                     .is_preview = session->is_preview};

    return need_new(source, &owner, value_get(extensions, "providerMeta"));
}

static void free_runtime(struct runtime *base)
{
    struct tf_runtime *runtime = (struct tf_runtime *)base;

    pool_free(runtime->pool);
    free(runtime);
}

static const struct runtime_foreign tfstate = {.find = tfstate_find, .write = tfstate_write};

const struct runtime_ops tf_runtime_ops = {
    .type = TF_RUNTIME_TYPE,
    .flags = RUNTIME_IS_RECORDED | RUNTIME_CREATES_BLINDLY,
    .free = free_runtime,
    .check = &tf_checks,
    .foreign = &tfstate,
    .open = open_session,
    .close = close_session,
    .read = tf_read,
    .plan = tf_plan,
    .step_free = tf_step_free,
    .apply = tf_apply,
};

struct runtime *tf_runtime_new(const struct tf_runtime_config *config)
{
    struct tf_runtime *runtime = NEW(struct tf_runtime);

    runtime->base.ops = &tf_runtime_ops;
    runtime->pool = pool_new(&(struct pool_config){.finder = config->finder,
                                                   .allowed = config->allowed,
                                                   .n_allowed = config->n_allowed,
                                                   .folder = config->folder,
                                                   .memory = config->memory,
                                                   .allow_unconfined = config->allow_unconfined});
    return &runtime->base;
}
