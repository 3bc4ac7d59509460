#include "engine/operation/operation.h"

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/operation/private.h"

/* ms between two saves of State while results come in. */
#define SAVE_INTERVAL 1000

static struct state_key key_of(const struct operation *operation)
{
    return (struct state_key){operation->config.scope.spec_namespace,
                              operation->config.scope.spec_name};
}

static int load_state(struct operation *operation, struct error *error)
{
    const struct runtime_scope *scope = &operation->config.scope;
    struct state_store *store = operation->config.store;
    struct state_key key = key_of(operation);
    int r = store->ops->load(store, &key, operation->config.cancel, &operation->state,
                             &operation->version, error);

    if (r == ERR_NOT_FOUND) {
        operation->state = state_new(scope->spec_namespace, scope->spec_name, scope->spec_uid);
        err_clear(error);
        return 0;
    }
    if (r < 0)
        return err_wrap(error, "loading State");
    if (operation->state->epoch > operation->config.epoch && operation->config.epoch > 0)
        return err_set(
            error, ERR_CONFLICT, "StateOfLaterLeader",
            "State was written by a later leader (epoch %lld, ours is %lld): does another "
            "controller keep State here? If not, delete the controller's Lease",
            (long long)operation->state->epoch, (long long)operation->config.epoch);
    operation->inherited = !str_equal(operation->state->spec_uid, scope->spec_uid);
    return 0;
}

/* Sessions are opened later, when the caller's strings may be gone. */
static void copy_scope(struct operation *operation, const struct runtime_scope *scope)
{
    struct runtime_scope *copy = &operation->config.scope;

    copy->spec_namespace = arena_str(&operation->arena, scope->spec_namespace);
    copy->spec_name = arena_str(&operation->arena, scope->spec_name);
    copy->spec_uid = arena_str(&operation->arena, scope->spec_uid);
    copy->owner = arena_str(&operation->arena, scope->owner);
    copy->service_account = arena_str(&operation->arena, scope->service_account);
    copy->cancel = operation->config.cancel;
}

int operation_new(const struct operation_config *config, struct operation **ret,
                  struct error *error)
{
    _cleanup_(operation_free_p) struct operation *operation = NEW(struct operation);
    int r;

    operation->config = *config;
    arena_init(&operation->arena);
    copy_scope(operation, &config->scope);
    operation->sessions = NEW_ARRAY(struct runtime_session *, config->n_runtimes);
    operation->deadline = config->clock->monotonic(config->clock) + config->timeout;
    pthread_mutex_init(&operation->lock, NULL);
    r = load_state(operation, error);
    if (r < 0)
        return r;
    *ret = TAKE(operation);
    return 0;
}

static void nodes_free(struct operation *operation)
{
    for (size_t i = 0; i < operation->n_nodes; i++) {
        observation_done(&operation->nodes[i].seen);
        value_unref(operation->nodes[i].live);
        value_unref(operation->nodes[i].attributes);
    }
    free(operation->nodes);
}

void operation_free(struct operation *operation)
{
    if (!operation)
        return;
    nodes_free(operation);
    graph_free(operation->graph);
    for (size_t i = 0; operation->sessions && i < operation->config.n_runtimes; i++)
        if (operation->sessions[i])
            operation->config.runtimes[i]->ops->close(operation->sessions[i]);
    free(operation->sessions);
    state_free(operation->state);
    free(operation->version);
    arena_done(&operation->arena);
    pthread_mutex_destroy(&operation->lock);
    free(operation);
}

void operation_limit(struct operation *operation, int64_t ms)
{
    const struct clock_source *clock = operation->config.clock;
    int64_t deadline = clock->monotonic(clock) + ms;

    if (deadline < operation->deadline)
        operation->deadline = deadline;
}

const struct state *operation_state(const struct operation *operation)
{
    return operation->state;
}

bool operation_has_state(const struct operation *operation)
{
    return operation->version;
}

bool operation_is_inherited(const struct operation *operation)
{
    return operation->inherited;
}

int operation_bind(struct operation *operation, const char *type, struct runtime_binding *ret,
                   struct error *error)
{
    const struct operation_config *config = &operation->config;
    int r = 0;

    for (size_t i = 0; i < config->n_runtimes; i++) {
        struct runtime *runtime = config->runtimes[i];

        if (!str_equal(runtime->ops->type, type))
            continue;
        pthread_mutex_lock(&operation->lock);
        if (!operation->sessions[i])
            r = runtime->ops->open(runtime, &config->scope, &operation->sessions[i], error);
        if (r >= 0)
            *ret = (struct runtime_binding){runtime->ops, operation->sessions[i]};
        pthread_mutex_unlock(&operation->lock);
        return r < 0 ? r : 0;
    }
    return err_set(error, ERR_UNSUPPORTED, "Unsupported", "there is no runtime for the type \"%s\"",
                   type);
}

/* The targets of one runtime, looked at together. */
static int observe_type(struct operation *operation, const struct runtime_binding *binding,
                        const struct runtime_target *targets, const char *const *types, size_t n,
                        struct observation *ret, struct error *error)
{
    _cleanup_free_ struct runtime_target *of_type = NEW_ARRAY(struct runtime_target, n + 1);
    _cleanup_free_ struct observation *seen = NEW_ARRAY(struct observation, n + 1);
    size_t count = 0, next = 0;
    int r;

    (void)operation;
    for (size_t i = 0; i < n; i++)
        if (str_equal(types[i], binding->ops->type))
            of_type[count++] = targets[i];
    r = count ? binding->ops->observe(binding->session, of_type, count, seen, error) : 0;
    for (size_t i = 0; i < n; i++)
        if (str_equal(types[i], binding->ops->type))
            ret[i] = seen[next++];
    return r;
}

int operation_observe(struct operation *operation, const struct runtime_target *targets,
                      const char *const *types, size_t n, struct observation *ret,
                      struct error *error)
{
    const struct operation_config *config = &operation->config;

    for (size_t i = 0; i < config->n_runtimes && n; i++) {
        struct runtime_binding binding;
        int r = operation_bind(operation, config->runtimes[i]->ops->type, &binding, error);

        if (r >= 0)
            r = observe_type(operation, &binding, targets, types, n, ret, error);
        if (r < 0)
            return err_wrap(error, "looking at what is there");
    }
    return 0;
}

/* With the lock held, which is let go of while the store works. */
static int save_copy(struct operation *operation, struct error *error)
{
    struct state_store *store = operation->config.store;
    struct state_key key = key_of(operation);
    _cleanup_(state_free_p) struct state *copy = NULL;
    struct error problem = {0};

    if (operation->save_error.code)
        return err_copy(error, &operation->save_error);
    operation->state->epoch = operation->config.epoch;
    copy = state_copy(operation->state);
    operation->saving = true;
    pthread_mutex_unlock(&operation->lock);
    /* Not cancellable: what is done in the world is to be known to those who come after. */
    store->ops->save(store, &key, copy, NULL, &operation->version, &problem);
    pthread_mutex_lock(&operation->lock);
    operation->saving = false;
    operation->saved_at = operation->config.clock->monotonic(operation->config.clock);
    operation->save_error = problem;
    return err_copy(error, &problem);
}

int operation_save(struct operation *operation, struct error *error)
{
    int r;

    pthread_mutex_lock(&operation->lock);
    r = save_copy(operation, error);
    pthread_mutex_unlock(&operation->lock);
    return r < 0 ? err_wrap(error, "saving State") : 0;
}

void operation_save_soon(struct operation *operation)
{
    int64_t now = operation->config.clock->monotonic(operation->config.clock);

    if (!operation->saving && now - operation->saved_at >= SAVE_INTERVAL)
        save_copy(operation, NULL);
}

int operation_may_change(struct operation *operation, struct error *error)
{
    int r = 0;

    pthread_mutex_lock(&operation->lock);
    if (operation->save_error.code)
        r = err_copy(error, &operation->save_error);
    pthread_mutex_unlock(&operation->lock);
    return r < 0 ? err_wrap(error, "saving State") : 0;
}

void operation_wait(struct operation *operation, bool waits)
{
    if (operation->config.on_wait)
        operation->config.on_wait(operation->config.on_wait_arg, waits);
}

/* Also where there is none: a save or a removal that was killed may have left parts of it. */
int operation_orphan(struct operation *operation, struct error *error)
{
    struct state_store *store = operation->config.store;
    struct state_key key = key_of(operation);

    return store->ops->remove(store, &key, operation->version, operation->config.cancel, error);
}
