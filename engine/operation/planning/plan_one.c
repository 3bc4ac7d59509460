/* Plans one change. */
#include "engine/operation/planning/doubt.h"
#include "engine/operation/planning/planning.h"
#include "engine/operation/planning/target.h"
#include "engine/operation/secrets.h"
#include "engine/spec/moved.h"

void planned_done(struct planned *planned)
{
    plan_step_free(planned->step);
    plan_step_free(planned->removal);
    plan_step_free(planned->answer);
    value_unref(planned->secrets);
    *planned = (struct planned){0};
}

static int ask_runtime(struct node *node, const struct runtime_target *target,
                       const struct observation *hint, struct runtime_step **ret,
                       struct error *error)
{
    struct runtime_call call = operation_call(node->operation, node->large);
    struct runtime_session *session = NULL;
    int r = operation_session(node, &session, error);

    return r < 0 ? r : operation_ops(node)->plan(session, target, hint, &call, ret, error);
}

int64_t operation_asked_at(const struct node *node, bool is_due)
{
    return !is_due && node->hint.presence != PRESENCE_UNKNOWN
               ? node->hinted_at
               : operation_wall_clock(node->operation);
}

/* ---- Removals ---- */

/* Plans the deletion of a recorded object. */
static int plan_removal(struct node *node, enum target_part part, const struct record *record,
                        const struct observation *hint, struct runtime_step **ret,
                        struct error *error)
{
    struct runtime_target target = operation_removal_target(record);

    target.part = part;
    return ask_runtime(node, &target, hint, ret, error);
}

/* ERR_UNAVAILABLE OutcomeUnknown: there is no object of ours, but a create that was not answered,
 * or whose answer an earlier process got, may still make it. State keeps the record until that
 * cannot happen any more. Another object of the name does not rule it out: somebody may delete that
 * one. asked_at: before anybody looked, because the create may come between the look and its
 * answer. */
static int expect_late_create(const struct operation *operation, const struct record *record,
                              const struct runtime_step *step, int64_t asked_at,
                              struct error *error)
{
    int64_t left = record->call.until - operation_wall_clock(operation);

    if (step->action != PLAN_FORGET || step->cannot_appear || record->call.until <= asked_at)
        return 0;
    if (left < 0)
        left = 0;
    return err_set(error, ERR_UNAVAILABLE, "OutcomeUnknown",
                   "a request to create it was not answered, and may still be carried out within "
                   "%lld s%s",
                   (long long)(left + 999) / 1000,
                   step->uid ? ", once the object that has its name now is gone" : "");
}

static int plan_leaving(struct node *node, const struct record *record, bool is_due,
                        struct planned *ret, struct error *error)
{
    struct operation *operation = node->operation;
    int64_t asked_at = operation_asked_at(node, is_due);
    bool prunes = !operation->spec || operation->spec->policy.prune;
    int r;

    if (!record)
        return 0; /* its object was never made */
    if (record->is_only_read) {
        ret->action = PLAN_FORGET;
        ret->is_only_read = true;
        return 0;
    }
    if (!prunes && !record->deposed && /* what was replaced is deleted all the same */
        (!operation_is_doubtful(record) || record->lost_revision)) {
        ret->action = PLAN_FORGET;
        return 0;
    }
    if (operation_is_doubtful(record)) {
        ret->action = PLAN_UNKNOWN;
        return operation_hold_doubtful(record, error);
    }
    ret->action = PLAN_UNKNOWN;
    r = plan_removal(node, TARGET_WHOLE, record, is_due ? NULL : &node->hint, &ret->step, error);
    if (r >= 0)
        r = expect_late_create(operation, record, ret->step, asked_at, error);
    if (r >= 0)
        r = operation_check_lost(node, record, ret->step, error);
    if (r >= 0)
        ret->action = ret->step->action;
    return r;
}

/* ---- Resources of the Spec ---- */

/* Plans the two halves of a replacement. If the old object has just gone, and may come back, its
 * deletion is planned again when it is due. */
static int plan_replacement(struct node *node, const struct runtime_target *target,
                            struct planned *ret, struct error *error)
{
    struct operation *operation = node->operation;
    int64_t asked_at = operation_wall_clock(operation);
    struct runtime_target anew = *target;
    struct runtime_step *step = NULL;
    int r = plan_removal(node, TARGET_OLD, target->prior, NULL, &ret->removal, error);

    if (r >= 0 && expect_late_create(operation, target->prior, ret->removal, asked_at, NULL) < 0)
        node_move(node, STEP_DELETE, NODE_OUTDATED);
    anew.part = TARGET_NEW;
    anew.prior = NULL;
    if (r >= 0)
        r = ask_runtime(node, &anew, NULL, &step, error);
    if (r < 0) {
        err_wrap(error, "planning its replacement");
        return r;
    }
    ret->create_first = ret->step->create_first && !ret->step->cannot_create_first;
    ret->cannot_create_first = ret->step->cannot_create_first;
    ret->answer = ret->step;
    ret->step = step;
    return 0;
}

static void remember_resolved(struct node *node, const struct runtime_target *target,
                              const struct runtime_step *step)
{
    struct operation *operation = node->operation;
    pthread_mutex_lock(&operation->lock);
    value_assign(&node->attributes,
                 step && step->attributes ? step->attributes : target->attributes);
    value_assign(&node->extensions,
                 step && step->extensions ? step->extensions : target->extensions);
    pthread_mutex_unlock(&operation->lock);
    if (step && step->result)
        operation_set_live(node, step->result);
}

/* TARGET_NEW if the object that State had when planning began is gone, deleted for a replacement,
 * say. A runtime that finds objects by State alone would else look for another one to adopt. */
static enum target_part target_part_of(const struct node *node, const struct record *prior)
{
    bool is_blind = operation_ops(node)->flags & RUNTIME_CREATES_BLINDLY;

    return is_blind && operation_change(node)->record && !prior ? TARGET_NEW : TARGET_WHOLE;
}

static int plan_resource(struct node *node, const struct record *record, bool is_due,
                         struct planned *ret, struct error *error)
{
    struct operation *operation = node->operation;
    const struct record *prior = operation_prior(record);
    _cleanup_(record_unref_p) const struct record *opened = NULL;
    const struct plan_change *change = operation_change(node);
    const struct resource *resource = change->resource;
    _cleanup_value_ const struct value *attributes = NULL, *written = NULL, *extensions = NULL;
    const struct approved_plan *approved = operation->config.approved;
    struct runtime_target target = {
        .id = change->id,
        .part = target_part_of(node, record),
        .written = resource->attributes,
        .was_unknown = approved && approved_plan_has_unknown(approved, change),
        .is_too_early = !is_due && operation_is_too_early(node),
    };
    int r;

    slot_give_back(node->large); /* others may have to be read first */
    ret->action = PLAN_UNKNOWN;
    r = operation_resolve(operation, resource->attributes, NULL, is_due, &attributes, error);
    if (r >= 0)
        r = operation_resolve(operation, resource->extensions, operation_ops(node)->own_secrets,
                              is_due, &written, error);
    if (r < 0)
        return r;
    opened = operation_open_record(operation, prior); /* what it is marked with is known by now */
    target.prior = operation_is_doubtful(prior) ? NULL : opened;
    extensions = moved_strip(written);
    target.attributes = attributes;
    target.extensions = extensions;
    ret->has_unknown = value_has_unknown(attributes) || value_has_unknown(extensions);
    r = ask_runtime(node, &target, is_due ? NULL : &node->hint, &ret->step, error);
    if (r >= 0 && target.prior && prior->lost_revision && ret->step->action == PLAN_CREATE) {
        /* State is older than the Spec, and the object that it knows is gone. Only the Spec can
         * name the one that took its place: it is planned as if State knew none. */
        plan_step_free(TAKE(ret->step));
        target.prior = NULL;
        r = ask_runtime(node, &target, NULL, &ret->step, error);
    }
    if (r >= 0 && prior && !target.prior)
        r = operation_check_doubtful(prior, resource->extensions, ret->step, error);
    remember_resolved(node, &target, r >= 0 ? ret->step : NULL);
    if (r >= 0)
        operation_note_former(node, opened, ret->step);
    if (r < 0)
        return r;
    ret->action = ret->step->action;
    ret->secrets = operation_list_secrets(operation, ret->step);
    ret->is_only_read = ret->step->is_only_read;
    ret->has_unknown = ret->has_unknown || ret->action == PLAN_READ;
    if (ret->is_only_read)
        return operation_check_reading(record, error);
    return ret->action == PLAN_REPLACE ? plan_replacement(node, &target, ret, error) : 0;
}

int operation_plan_one(struct node *node, const struct record *prior, bool is_due,
                       struct planned *ret, struct error *error)
{
    const struct plan_change *change = operation_change(node);

    if (!change->resource)
        return plan_leaving(node, change->record, is_due, ret, error);
    return plan_resource(node, prior, is_due, ret, error);
}

int operation_plan_removal(struct node *node, const struct record *old, struct planned *ret,
                           struct error *error)
{
    struct operation *operation = node->operation;
    int64_t asked_at = operation_wall_clock(operation);
    int r = plan_removal(node, TARGET_OLD, old, NULL, &ret->removal, error);

    return r < 0 ? r : expect_late_create(operation, old, ret->removal, asked_at, error);
}
