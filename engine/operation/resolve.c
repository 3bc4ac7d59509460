/* References: the values that resources take from others. */
#include "engine/base/path.h"
#include "engine/base/value_mark.h"
#include "engine/operation/private.h"
#include "engine/spec/ref.h"

struct resolution {
    struct operation *operation;
    bool is_due;
};

void operation_set_live(struct node *node, const struct value *live)
{
    struct operation *operation = node->operation;
    const struct record *record = operation->plan->changes[node->index].record;
    _cleanup_value_ const struct value *attributes = NULL, *sent = NULL, *both = NULL;

    pthread_mutex_lock(&operation->lock);
    attributes = value_ref(node->attributes);
    pthread_mutex_unlock(&operation->lock);
    sent = value_mark_like(live, attributes);
    both = value_mark_like(sent, record ? record->attributes : NULL);
    pthread_mutex_lock(&operation->lock);
    value_assign(&node->live, both);
    pthread_mutex_unlock(&operation->lock);
}

static const struct value *live_of(struct node *node)
{
    const struct value *live;

    pthread_mutex_lock(&node->operation->lock);
    live = value_ref(node->live);
    pthread_mutex_unlock(&node->operation->lock);
    return live;
}

/* A node is read by one thread at a time; the others wait, and take what that one read. */
static int begin_reading(struct node *node, struct error *error)
{
    struct operation *operation = node->operation;
    int64_t deadline = operation_call(operation).deadline;
    int r;

    pthread_mutex_lock(&operation->lock);
    r = operation_wait_while(operation, &node->is_read, deadline, error);
    if (r >= 0)
        node->is_read = true;
    pthread_mutex_unlock(&operation->lock);
    return r;
}

static void end_reading(struct node *node)
{
    pthread_mutex_lock(&node->operation->lock);
    node->is_read = false;
    pthread_cond_broadcast(&node->operation->changed);
    pthread_mutex_unlock(&node->operation->lock);
}

/* Reads the whole object of a node: planning it may have needed only a part. */
static int read_live(struct node *node, struct error *error)
{
    const struct plan_change *change = operation_change(node);
    _cleanup_target_ struct runtime_target target = operation_target(node, change->record);
    struct runtime_outcome outcome = {0};
    int r = operation_read(node, &target, &outcome, error);

    if (r >= 0 && outcome.now.presence != PRESENCE_PRESENT)
        r = err_set(error, ERR_NOT_FOUND, "DependencyNotReady", "%s is not there", change->id);
    if (r >= 0)
        operation_set_live(node, outcome.now.result);
    outcome_done(&outcome);
    return r;
}

static bool has_released_dependents(struct node *node)
{
    bool has_released;

    pthread_mutex_lock(&node->operation->lock);
    has_released = node->releases_dependents;
    pthread_mutex_unlock(&node->operation->lock);
    return has_released;
}

static int refuse(const struct resolution *resolution, struct node *node, const struct ref *ref,
                  size_t reached, struct error *error)
{
    const char *id = resolution->operation->plan->changes[node->index].id;

    if (has_released_dependents(node))
        return err_set(error, ERR_UNAVAILABLE, "DependencyNotReady", "%s has no field \"%s\" yet",
                       id, ref->path);
    return err_set(error, ERR_INVALID, "InvalidReference",
                   "%s has no field \"%s\" (found up to \"%.*s\")", id, ref->path, (int)reached,
                   ref->path);
}

/* Whether the resource is still to be changed, and may get fields that it does not have yet. */
static bool is_to_change(const struct resolution *resolution, const struct node *node)
{
    return !resolution->is_due &&
           resolution->operation->plan->changes[node->index].action != PLAN_UNCHANGED;
}

/* *ret: a reference; NULL: there is none yet. */
static int find_live(const struct resolution *resolution, struct node *node,
                     const struct value **ret, struct error *error)
{
    int r;

    *ret = live_of(node);
    if (*ret || is_to_change(resolution, node))
        return 0;
    r = begin_reading(node, error);
    if (r < 0)
        return r;
    *ret = live_of(node);
    if (!*ret)
        r = read_live(node, error);
    if (!*ret && r >= 0)
        *ret = live_of(node);
    end_reading(node);
    return r;
}

/* *ret: a reference; NULL: not known yet. */
static int lookup(void *arg, const char *text, const struct value **ret, struct error *error)
{
    const struct resolution *resolution = arg;
    struct operation *operation = resolution->operation;
    _cleanup_value_ const struct value *live = NULL;
    struct node *node;
    size_t reached = 0;
    struct ref ref;
    int r = ref_parse(text, &operation->spec->by_id, &ref, error);

    if (r < 0)
        return r;
    node = &operation->nodes[spec_index(operation->spec, ref.target)];
    r = find_live(resolution, node, &live, error);
    if (r < 0)
        return r;
    *ret = value_ref(path_find(live, ref.path, &reached));
    if (!*ret && !is_to_change(resolution, node))
        return refuse(resolution, node, &ref, reached, error);
    return 0;
}

int operation_resolve(struct operation *operation, const struct value *value, bool is_due,
                      const struct value **ret, struct error *error)
{
    struct resolution resolution = {operation, is_due};
    int r;

    if (!value) {
        *ret = NULL;
        return 0;
    }
    r = ref_resolve(value, lookup, &resolution, ret, error);
    if (r < 0)
        err_wrap(error, "resolving references");
    return r;
}
