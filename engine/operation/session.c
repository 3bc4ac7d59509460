/* Sessions with runtimes, clocks, and how an operation's calls are made. */
#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/operation/private.h"
#include "engine/operation/session.h"
#include "engine/threads/locked.h"

#define REOPEN_AFTER 1000 /* ms, from one open() that failed to the next */

/* ---- Bindings ---- */

const struct runtime_ops *operation_ops(const struct node *node)
{
    return node->binding->runtime->ops;
}

struct binding *operation_binding(const struct operation *operation, const char *type)
{
    for (size_t i = 0; i < operation->config.n_runtimes; i++)
        if (str_equal(operation->bindings[i].runtime->ops->type, type))
            return &operation->bindings[i];
    return NULL;
}

void operation_free_bindings(struct operation *operation)
{
    for (size_t i = 0; i < operation->config.n_runtimes; i++) {
        struct binding *binding = &operation->bindings[i];

        if (binding->session)
            binding->runtime->ops->close(binding->session);
        free(binding->error);
    }
    free(operation->bindings);
}

/* ---- Followings ---- */

/* Also before there is anything of the operation but its arena. */
void operation_ref_followings(struct operation *operation,
                              struct runtime_following *const *followings)
{
    struct operation_config *config = &operation->config;
    struct runtime_following **copy;

    config->followings = NULL;
    if (!followings)
        return;
    copy = arena_alloc_array(&operation->arena, config->n_runtimes, sizeof(*copy));
    for (size_t i = 0; i < config->n_runtimes; i++)
        copy[i] = followings[i] ? config->runtimes[i]->ops->follow->ref(followings[i]) : NULL;
    config->followings = copy;
}

static struct runtime_following *following_of(const struct operation *operation, size_t i)
{
    return operation->config.followings ? operation->config.followings[i] : NULL;
}

void operation_unref_followings(struct operation *operation)
{
    for (size_t i = 0; i < operation->config.n_runtimes; i++)
        if (following_of(operation, i))
            operation->config.runtimes[i]->ops->follow->unref(following_of(operation, i));
}

/* A runtime whose session was not needed has nothing of the Spec. */
void operation_settle_followings(struct operation *operation)
{
    _cleanup_(ledger_records_done) struct ledger_records records =
        ledger_records(operation->ledger);

    for (size_t i = 0; i < operation->config.n_runtimes; i++) {
        struct runtime_following *following = following_of(operation, i);
        struct runtime_session *session;

        pthread_mutex_lock(&operation->lock);
        session = operation->bindings[i].session;
        pthread_mutex_unlock(&operation->lock);
        if (following)
            operation->config.runtimes[i]->ops->follow->settle(
                following, session, (const struct record *const *)records.items,
                session ? records.count : 0);
    }
}

/* ---- Calls ---- */

int64_t operation_now(const struct operation *operation)
{
    return operation->config.clock->monotonic(operation->config.clock);
}

int64_t operation_wall_clock(const struct operation *operation)
{
    return operation->config.clock->now(operation->config.clock);
}

const char *operation_text(struct operation *operation, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    _cleanup_free_ char *text = str_vprintf(format, args);
    va_end(args);
    LOCKED(&operation->lock);
    return arena_str(&operation->plan->arena, text);
}

/* The deadline counts from when this operation was active last, not from the last progress: an
 * operation that continues another may be late already, and its calls have their time all the same.
 */
struct runtime_call operation_call(struct operation *operation, struct slot *large)
{
    struct runtime_call call = {
        .cancel = operation->cancel, .permit = operation->config.permit, .large = large};
    LOCKED(&operation->lock);

    call.deadline = operation->active_at + operation->excused + operation->config.timeout;
    call.is_early = operation->stage == STAGE_PLANNING;
    return call;
}

bool operation_may_heal(const struct error *error)
{
    return error->code == ERR_UNAVAILABLE || error->code == ERR_TIMEOUT;
}

struct slot operation_slot(const struct operation *operation)
{
    return (struct slot){.slots = operation->config.slots,
                         .namespace_name = operation->config.scope.key.namespace_name};
}

/* ---- Sessions ---- */

int operation_wait_while(struct operation *operation, const bool *is_busy, int64_t deadline,
                         struct error *error)
{
    const struct clock_source *clock = operation->config.clock;

    while (*is_busy) {
        if (cancel_fired(operation->cancel))
            return err_set(error, ERR_CANCELLED, "Cancelled", "%s",
                           cancel_reason(operation->cancel));
        if (operation_now(operation) >= deadline)
            return err_set(error, ERR_TIMEOUT, "Timeout",
                           "no answer yet to a call that others wait for, too");
        clock->wait(clock, &operation->changed, &operation->lock, deadline);
    }
    return 0;
}

/* Under the lock, which is released during the call. */
static void open_session(struct operation *operation, struct binding *binding,
                         const struct runtime_call *call)
{
    struct runtime_scope scope = operation->config.scope;
    struct runtime_session *session = NULL;
    struct ledger_records records;
    struct arena arena = ARENA_INIT;
    struct state_head head;
    struct error error = {0};
    int r;

    binding->is_opening = true;
    pthread_mutex_unlock(&operation->lock);
    ledger_head(operation->ledger, &arena, &head);
    scope.place = head.place;
    records = ledger_records(operation->ledger);
    scope.secrets = operation->secret_source;
    scope.records = records.items;
    scope.n_records = records.count;
    scope.following = following_of(operation, (size_t)(binding - operation->bindings));
    r = binding->runtime->ops->open(binding->runtime, &scope, call, &session, &error);
    ledger_records_done(&records);
    arena_done(&arena);
    pthread_mutex_lock(&operation->lock);
    binding->is_opening = false;
    binding->failed_at = operation_now(operation);
    free(binding->error);
    binding->error = r < 0 ? err_new(&error) : NULL;
    binding->session = session;
    pthread_cond_broadcast(&operation->changed);
}

static bool is_open_due(const struct operation *operation, const struct binding *binding)
{
    if (!binding->error)
        return !binding->session;
    return operation_may_heal(binding->error) &&
           operation_now(operation) >= binding->failed_at + REOPEN_AFTER;
}

int operation_open_session(struct operation *operation, struct binding *binding,
                           struct runtime_session **ret, struct error *error)
{
    struct runtime_call call = operation_call(operation, NULL);
    int r;
    LOCKED(&operation->lock);

    r = operation_wait_while(operation, &binding->is_opening, call.deadline, error);
    if (r >= 0 && is_open_due(operation, binding))
        open_session(operation, binding, &call);
    if (r >= 0 && binding->session)
        *ret = binding->session;
    else if (r >= 0)
        r = err_copy(error, binding->error);
    return r;
}

int operation_session(const struct node *node, struct runtime_session **ret, struct error *error)
{
    if (!node->binding)
        return err_set(error, ERR_UNSUPPORTED, "Unsupported",
                       "there is no runtime for the type \"%s\"", operation_change(node)->type);
    return operation_open_session(node->operation, node->binding, ret, error);
}

int operation_read(struct node *node, const struct runtime_target *target, struct slot *large,
                   struct runtime_outcome *ret, struct error *error)
{
    struct runtime_call call = operation_call(node->operation, large);
    struct runtime_session *session;
    int r = operation_session(node, &session, error);

    return r < 0 ? r : operation_ops(node)->read(session, target, &call, ret, error);
}
