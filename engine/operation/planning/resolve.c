/* References: the values that resources take from others. */
#include "engine/operation/planning/planning.h"
#include "engine/operation/planning/target.h"
#include "engine/operation/secrets.h"
#include "engine/spec/ref.h"
#include "engine/threads/locked.h"

struct resolution {
    struct operation *operation;
    bool is_due;
};

/* A node is read by one thread at a time; the others wait, and take what that one read. */
static int begin_reading(struct node *node, struct error *error)
{
    struct operation *operation = node->operation;
    int64_t deadline = operation_call(operation, NULL).deadline;
    int r;
    LOCKED(&operation->lock);

    r = operation_wait_while(operation, &node->is_being_read, deadline, error);
    if (r >= 0)
        node->is_being_read = true;
    return r;
}

static void end_reading(struct node *node)
{
    LOCKED(&node->operation->lock);
    node->is_being_read = false;
    pthread_cond_broadcast(&node->operation->changed);
}

/* Reads the whole object of a node: planning it may have needed only a part. */
static int read_live(struct node *node, struct error *error)
{
    const struct plan_change *change = operation_change(node);
    _cleanup_target_ struct runtime_target target = operation_target(node, change->record);
    struct slot large = operation_slot(node->operation); /* the node itself may be visited */
    struct runtime_outcome outcome = {0};
    int r = operation_read(node, &target, &large, &outcome, error);

    if (r >= 0 && outcome.now.presence != PRESENCE_PRESENT)
        r = err_set(error, ERR_NOT_FOUND, "DependencyNotReady", "%s is not there", change->id);
    if (r >= 0)
        operation_set_live(node, outcome.now.result);
    outcome_done(&outcome);
    slot_give_back(&large);
    return r;
}

static int refuse_missing_field(const struct output *output, const struct seen *seen,
                                struct error *error)
{
    struct operation *operation = output->node->operation;
    const char *id = operation_change(output->node)->id;
    bool may_come;

    pthread_mutex_lock(&operation->lock);
    may_come = output->node->releases_dependents;
    pthread_mutex_unlock(&operation->lock);
    if (may_come)
        return err_set(error, ERR_UNAVAILABLE, "DependencyNotReady", "%s has no field \"%s\" yet",
                       id, output->path);
    return err_set(error, ERR_INVALID, "InvalidReference",
                   "%s has no field \"%s\" (found up to \"%.*s\")", id, output->path,
                   (int)seen->reached, output->path);
}

/* Whether the resource is still to be changed, and may get fields that it does not have yet. */
static bool may_get_fields(const struct resolution *resolution, const struct node *node)
{
    return !resolution->is_due && operation_change(node)->action != PLAN_UNCHANGED;
}

/* The value is the caller's. */
static int find_output(const struct resolution *resolution, const struct output *output,
                       struct seen *ret, struct error *error)
{
    int r;

    *ret = operation_seen(output);
    if (ret->is_seen || may_get_fields(resolution, output->node))
        return 0;
    r = begin_reading(output->node, error);
    if (r < 0)
        return r;
    *ret = operation_seen(output);
    if (!ret->is_seen)
        r = read_live(output->node, error);
    if (!ret->is_seen && r >= 0)
        *ret = operation_seen(output);
    end_reading(output->node);
    return r;
}

/* Of what cannot be planned, nobody can say whether its fields are secret. */
static const struct value *unknown_of(const struct output *output)
{
    enum plan_action action = operation_change(output->node)->action;
    _cleanup_value_ const struct value *unknown = NULL;

    if (action != PLAN_UNKNOWN && action != PLAN_DEFERRED)
        return NULL;
    unknown = value_pack("u");
    return value_sensitive(unknown);
}

/* *ret: a reference; NULL: not known yet. */
static int look_up_reference(void *arg, const char *text, const struct value **ret,
                             struct error *error)
{
    const struct resolution *resolution = arg;
    const struct output *output = strmap_get(&resolution->operation->outputs, text);
    struct seen seen = {0};
    struct ref ref;
    int r;

    if (!output) {
        r = ref_parse(text, &resolution->operation->spec->by_id, &ref, error);
        return r < 0 ? r : err_set(error, ERR_INTERNAL, "UnknownReference", "%s", text);
    }
    r = find_output(resolution, output, &seen, error);
    if (r < 0)
        return r;
    *ret = seen.value;
    if (*ret)
        return 0;
    if (!may_get_fields(resolution, output->node))
        return refuse_missing_field(output, &seen, error);
    *ret = unknown_of(output);
    return 0;
}

/* Where nobody may know it: unknown. */
static int look_up_secret(void *arg, const char *text, const struct value **ret,
                          struct error *error)
{
    const struct resolution *resolution = arg;
    _cleanup_value_ const struct value *unknown = NULL;
    int r = operation_find_secret(resolution->operation, text, ret, error);

    if (r < 0 || *ret)
        return r;
    unknown = value_pack("u");
    *ret = value_sensitive(unknown);
    return 0;
}

int operation_resolve(struct operation *operation, const struct value *value, const char *kept,
                      bool is_due, const struct value **ret, struct error *error)
{
    struct resolution resolution = {operation, is_due};
    const struct ref_lookups lookups = {.reference = look_up_reference,
                                        .secret = operation->spec->has_secret_store ? look_up_secret
                                                                                    : NULL,
                                        .arg = &resolution,
                                        .has_data = secret_ref_has_data(value),
                                        .kept = kept};
    int r;

    if (!value) {
        *ret = NULL;
        return 0;
    }
    r = ref_resolve_all(value, &lookups, ret, error);
    if (r < 0)
        err_wrap(error, "resolving references");
    return r;
}
