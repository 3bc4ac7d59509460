/* The table of the runtime of objects. */
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/spec/ref.h"
#include "engine/value/json.h"
#include "test/unit/engine/operation/fake_objects.h"

/* ---- Sessions and steps ---- */

void fake_objects_session_unref(struct runtime_session *session)
{
    if (--session->refs)
        return;
    session->objects->sessions--;
    free(session);
}

static int open_session(struct runtime *base, const struct runtime_scope *scope,
                        const struct runtime_call *call, struct runtime_session **ret,
                        struct error *error)
{
    struct fake_objects *objects = (struct fake_objects *)base;
    const char *account = value_get_string(scope->identity, "serviceAccountName");
    struct runtime_session *session;
    int r = fake_objects_enter(objects, error);

    (void)call;
    if (r < 0)
        return r;
    if (objects->account_must_exist && !scope->identity_leaves && !fake_find(objects, account)) {
        fake_world_leave(objects->world);
        return err_set(error, ERR_INVALID, "ServiceAccountNotFound", "the fake says so");
    }
    session = NEW(struct runtime_session);
    *session = (struct runtime_session){.objects = objects,
                                        .refs = 1,
                                        .terminating = scope->terminating,
                                        .inherited = scope->is_inherited,
                                        .thorough = scope->thorough};
    objects->sessions++;
    fake_world_leave(objects->world);
    *ret = session;
    return 0;
}

static void close_session(struct runtime_session *session)
{
    struct fake_world *world;

    if (!session)
        return;
    world = session->objects->world;
    pthread_mutex_lock(&world->lock);
    fake_objects_session_unref(session);
    pthread_mutex_unlock(&world->lock);
}

static void free_step(struct runtime_step *base)
{
    struct fake_step *step = (struct fake_step *)base;
    struct fake_objects *objects;

    if (!step)
        return;
    objects = step->session->objects;
    pthread_mutex_lock(&objects->world->lock);
    objects->steps--;
    fake_objects_session_unref(step->session);
    pthread_mutex_unlock(&objects->world->lock);
    runtime_step_done(base);
    free(step->id);
    free(step->text_uid);
    free(step);
}

/* ---- Looks ---- */

static const struct value *content_of(const struct runtime_target *target)
{
    return target->attributes ? target->attributes : target->prior->attributes;
}

static int prefetch(struct runtime_session *session, const struct runtime_target *targets, size_t n,
                    const struct runtime_call *call, struct observation *ret, struct error *error)
{
    struct fake_objects *objects = session->objects;
    int r = fake_objects_enter(objects, error);

    (void)call;
    if (r < 0)
        return r;
    for (size_t i = 0; i < n && fake_objects_may(objects); i++)
        if (!(fake_objects_faults(objects, targets[i].id) & (FAKE_UNSEEN | FAKE_PLAN_503_ONCE)))
            fake_objects_look(objects, fake_objects_at(objects, content_of(&targets[i])), false,
                              &ret[i]);
    fake_world_leave(objects->world);
    return 0;
}

/* All that carry the mark, whatever their kind. */
static int list_own(struct runtime_session *session, const struct value *ids,
                    const struct runtime_call *call, const struct value **ret, struct error *error)
{
    struct fake_objects *objects = session->objects;
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    int r = fake_objects_enter(objects, error);

    (void)ids;
    (void)call;
    if (r < 0)
        return r;
    value_begin_array(b);
    for (size_t i = 0; i < objects->n_objects; i++) {
        const struct fake_object *object = &objects->objects[i];
        _cleanup_free_ char *id = str_printf("v1:ConfigMap:team:%s", object->name);

        if (object->owner != OWNER_SELF)
            continue;
        value_begin_object(b);
        value_key(b, "id");
        value_add_string(b, id);
        value_key(b, "attributes");
        value_add(b, object->attributes);
        value_key(b, "listed");
        value_add_bool(b, true);
        value_end_object(b);
    }
    value_end_array(b);
    fake_world_leave(objects->world);
    return value_builder_finish(b, ret, error);
}

/* Whoever waits for it is told: it may be another since the look before this one. */
static void tell(struct fake_objects *objects, const struct value *attributes)
{
    const struct fake_object *object = fake_objects_at(objects, attributes);

    for (size_t i = 0; objects->hints && object && i < objects->n_subscriptions; i++)
        if (str_equal(objects->subscriptions[i]->key, object->key))
            objects->subscriptions[i]->on_event(objects->subscriptions[i]->arg);
}

static int read_locked(struct fake_objects *objects, const struct runtime_target *target,
                       struct runtime_outcome *ret, struct error *error)
{
    objects->reads++;
    if (fake_objects_faults(objects, target->id) & FAKE_UNSEEN || !fake_objects_may(objects))
        return err_set(error, ERR_FORBIDDEN, "Forbidden", "%s",
                       objects->words ? objects->words : "the fake says so");
    if (fake_objects_faults(objects, target->id) & FAKE_EDITED)
        fake_drift(objects, short_name(target->id), "edited");
    fake_objects_look(objects, fake_objects_read(objects, target->id, content_of(target)), true,
                      &ret->now);
    ret->certainty = OUTCOME_KNOWN;
    tell(objects, content_of(target));
    return 0;
}

static int read_one(struct runtime_session *session, const struct runtime_target *target,
                    const struct runtime_call *call, struct runtime_outcome *ret,
                    struct error *error)
{
    struct fake_world *world = session->objects->world;
    int r;

    (void)call;
    fake_world_call(world, target->id);
    r = fake_objects_enter(session->objects, error);
    if (r >= 0) {
        r = read_locked(session->objects, target, ret, error);
        fake_world_leave(world);
    }
    fake_world_return(world, target->id);
    return r;
}

static int health(struct runtime_session *session, const struct runtime_target *target,
                  const struct observation *seen, const struct runtime_call *call,
                  struct health *ret, struct error *error)
{
    const char *phase = value_string(value_path(seen->result, "status", "phase", NULL));
    const char *words = session->objects->words;

    (void)target, (void)call, (void)error;
    *ret = (struct health){
        .status = str_equal(phase, "ready")    ? HEALTH_CURRENT
                  : str_equal(phase, "failed") ? HEALTH_FAILED
                                               : HEALTH_PROGRESSING,
        .may_wait_for_consumer = str_equal(phase, "unbound"),
        .dependents_must_wait =
            value_bool(value_path(seen->result, "status", "holds", NULL), false),
    };
    snprintf(ret->message, sizeof(ret->message), "phase %s%s%s", phase ? phase : "unknown",
             words ? ": " : "", words ? words : "");
    return 0;
}

/* ---- Apply. With the world's lock, which ends with the step. ---- */

static int refuse(struct fake_objects *objects, int code, const char *reason,
                  struct runtime_outcome *ret, struct error *error)
{
    ret->certainty = OUTCOME_NOT_SENT;
    fake_world_leave(objects->world);
    return err_set(error, code, reason, "%s", objects->words ? objects->words : "the fake says so");
}

/* What is sent must be what was meant: nothing that stands for another value. */
static void check_sent(struct fake_objects *objects, const struct fake_step *step)
{
    _cleanup_free_ char *text = json_to_str(step->base.attributes);

    if (value_has_unknown(step->base.attributes) || strstr(text, REF_PREFIX))
        fake_world_lie(objects->world, "an apply of %s with a value that is none",
                       short_name(step->id));
}

static void let_appear(struct fake_objects *objects, const struct fake_step *step, unsigned faults)
{
    static const struct {
        unsigned fault;
        enum owner_kind owner;
    } rows[] = {{FAKE_OURS_APPEARS, OWNER_SELF},
                {FAKE_NOBODYS_APPEARS, OWNER_NONE},
                {FAKE_OTHERS_APPEARS, OWNER_OTHER}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (faults & rows[i].fault && !fake_objects_at(objects, step->base.attributes))
            fake_objects_add(objects, step->base.attributes, rows[i].owner);
}

static void let_change(struct fake_object *object, unsigned faults)
{
    if (!object)
        return;
    if (faults & FAKE_TAKEN) {
        object->owner = OWNER_SPEC;
        object->version++;
    }
    if ((faults & FAKE_CHANGES && object->version == 0) ||
        (faults & FAKE_CHANGES_OFTEN && object->version < 7))
        object->version++;
}

/* What was ours when it was planned may have changed; else it must be as it was seen. */
static bool is_as_planned(const struct fake_step *step, const struct fake_object *object)
{
    if (step->base.action == PLAN_CREATE || !object)
        return !object;
    if (object->owner == OWNER_SPEC)
        return false;
    return str_equal(object->uid, step->base.uid) &&
           (step->seen.owner == OWNER_SELF || step->seen.version == object->version);
}

/* The answer is known, but for a kill or a fault. */
static int answer(struct fake_objects *objects, const struct fake_object *object, unsigned faults,
                  const char *verb, const char *id, struct runtime_outcome *ret,
                  struct error *error)
{
    int r;

    fake_objects_look(objects, object, true, &ret->now);
    r = fake_world_step(objects->world, error, "%s %s", verb, short_name(id));
    if (r == 0 && faults & FAKE_LOST)
        r = err_set(error, ERR_TIMEOUT, "Timeout", "no answer in time");
    if (r < 0) {
        observation_done(&ret->now);
        ret->now = (struct observation){0};
    }
    ret->certainty = r < 0 ? OUTCOME_IN_DOUBT : OUTCOME_KNOWN;
    return r;
}

static int make_so(struct fake_objects *objects, const struct fake_step *step, unsigned faults,
                   struct runtime_outcome *ret, struct error *error)
{
    const struct value *attributes = step->base.attributes;
    struct fake_object *object = fake_objects_at(objects, attributes);
    const char *verb = object ? "patch" : "create";
    bool changes =
        !object || object->owner != OWNER_SELF || !value_equal(object->attributes, attributes);

    if (!object) {
        object = fake_objects_add(objects, attributes, OWNER_SELF);
        objects->creates++;
    }
    value_unref(object->attributes);
    object->attributes = fake_without_marks(attributes);
    object->owner = OWNER_SELF;
    object->version += changes;
    object->made = true;
    object->looks = changes ? 1 : object->looks + 1;
    if (changes)
        return answer(objects, object, faults, verb, step->id, ret, error);
    fake_objects_look(objects, object, true, &ret->now);
    ret->certainty = OUTCOME_KNOWN;
    fake_world_leave(objects->world);
    return 0;
}

/* The process does not see what becomes of it. */
static int be_killed(struct fake_objects *objects, const struct fake_step *step,
                     struct runtime_outcome *ret, struct error *error)
{
    fake_objects_send_late(objects, step->base.attributes);
    refuse(objects, ERR_TIMEOUT, "Killed", ret, error);
    ret->certainty = OUTCOME_IN_DOUBT;
    fake_world_kill(objects->world);
    return ERR_TIMEOUT;
}

static int apply_wanted(struct fake_objects *objects, const struct fake_step *step, unsigned faults,
                        struct runtime_outcome *ret, struct error *error)
{
    struct fake_object *object;

    check_sent(objects, step);
    if (faults & FAKE_REFUSED)
        return refuse(objects, ERR_FORBIDDEN, "Forbidden", ret, error);
    let_appear(objects, step, faults);
    object = fake_objects_at(objects, step->base.attributes);
    let_change(object, faults);
    if (!is_as_planned(step, object))
        return refuse(objects, ERR_CONFLICT, "Conflict", ret, error);
    if (!object && faults & FAKE_HELD)
        return be_killed(objects, step, ret, error);
    if (!object && faults & FAKE_TWICE) {
        fake_objects_send_late(objects, step->base.attributes);
        ret->until = objects->world->now + FAKE_EFFECT_TIME;
    }
    return make_so(objects, step, faults, ret, error);
}

static struct fake_object *of_uid(struct fake_objects *objects, const char *uid)
{
    for (size_t i = 0; i < objects->n_objects; i++)
        if (str_equal(objects->objects[i].uid, uid))
            return &objects->objects[i];
    return NULL;
}

static void replace(struct fake_objects *objects, struct fake_object *object)
{
    _cleanup_value_ const struct value *attributes = value_ref(object->attributes);

    fake_objects_drop(objects, object);
    fake_objects_add(objects, attributes, OWNER_NONE);
}

/* What carries rights is known to be gone at once; the rest is looked at later. */
static int begin_deletion(struct fake_objects *objects, const struct fake_step *step,
                          struct fake_object *object, unsigned faults, struct runtime_outcome *ret,
                          struct error *error)
{
    bool goes = !(faults & (FAKE_STUCK | FAKE_SLOW));
    bool is_told = goes && (fake_objects_is(object->attributes, "ServiceAccount") ||
                            fake_objects_is(object->attributes, "Role") ||
                            fake_objects_is(object->attributes, "RoleBinding"));
    int r;

    object->terminating = true;
    object->looks = 0;
    fake_objects_look(objects, is_told ? NULL : object, true, &ret->now);
    if (goes)
        fake_objects_drop(objects, object);
    r = fake_world_step(objects->world, error, "delete %s", short_name(step->id));
    ret->certainty = r < 0 ? OUTCOME_IN_DOUBT : OUTCOME_KNOWN;
    return r;
}

static int apply_removal(struct fake_objects *objects, const struct fake_step *step,
                         unsigned faults, struct runtime_outcome *ret, struct error *error)
{
    struct fake_object *object = of_uid(objects, step->base.uid);
    bool is_going = object && object->terminating;

    if (!step->base.uid)
        fake_world_lie(objects->world, "a delete of %s without its uid", short_name(step->id));
    if (!is_going)
        objects->guards++;
    if (!is_going && faults & FAKE_GUARDED)
        return refuse(objects, ERR_INVALID, "DeletionGuardTripped", ret, error);
    if (faults & FAKE_KEPT || !fake_objects_may(objects))
        return refuse(objects, ERR_FORBIDDEN, "Forbidden", ret, error);
    if (object && faults & FAKE_REPLACED) {
        replace(objects, object);
        return refuse(objects, ERR_CONFLICT, "Conflict", ret, error);
    }
    if (object && !is_going)
        return begin_deletion(objects, step, object, faults, ret, error);
    fake_objects_look(objects, object, true, &ret->now);
    ret->certainty = OUTCOME_KNOWN;
    fake_world_leave(objects->world);
    return 0;
}

/* Locks, unless it may not be sent. */
static int may_send(struct fake_objects *objects, const struct fake_step *step,
                    const struct runtime_call *call, struct runtime_outcome *ret,
                    struct error *error)
{
    unsigned faults;
    int r;

    ret->certainty = OUTCOME_NOT_SENT;
    if (cancel_fired(call->cancel))
        return err_set(error, ERR_CANCELLED, "Cancelled", "%s", cancel_reason(call->cancel));
    r = permit_ask(call->permit, PERMIT_ACT, error);
    if (r >= 0)
        r = fake_objects_enter(objects, error);
    if (r < 0)
        return r;
    faults = fake_objects_faults(objects, step->id);
    if (faults & FAKE_LATE && fake_objects_try(objects, step->id) == 1) {
        refuse(objects, ERR_TIMEOUT, "Timeout", ret, error);
        ret->certainty = OUTCOME_IN_DOUBT;
        ret->until = objects->world->now + 60000;
        return ERR_TIMEOUT;
    }
    if (faults & FAKE_LATE)
        return refuse(objects, ERR_FORBIDDEN, "Forbidden", ret, error);
    if (faults & FAKE_BUSY || (faults & FAKE_BUSY_ONCE && fake_objects_try(objects, step->id) <= 2))
        return refuse(objects, ERR_UNAVAILABLE, "Busy", ret, error);
    return 0;
}

static int apply(struct runtime_step *base, const struct runtime_call *call,
                 struct runtime_outcome *ret, struct error *error)
{
    struct fake_step *step = (struct fake_step *)base;
    struct fake_objects *objects = step->session->objects;
    unsigned faults;
    int r;

    fake_world_call(objects->world, step->id);
    r = may_send(objects, step, call, ret, error);
    if (r >= 0) {
        if (step->is_applied)
            fake_world_lie(objects->world, "%s: a step applied twice", step->id);
        faults = fake_objects_faults(objects, step->id);
        r = base->action == PLAN_DELETE ? apply_removal(objects, step, faults, ret, error)
                                        : apply_wanted(objects, step, faults, ret, error);
        step->is_applied = ret->certainty == OUTCOME_KNOWN && r == 0;
    }
    fake_world_return(objects->world, step->id);
    return r;
}

/* ---- Subscriptions ---- */

struct runtime_subscription {
    struct fake_subscription base;
    struct fake_objects *objects;
};

static int subscribe(struct runtime_session *session, const struct runtime_target *target,
                     runtime_on_event *on_event, void *arg, struct runtime_subscription **ret,
                     struct error *error)
{
    struct fake_objects *objects = session->objects;
    const struct value *attributes = content_of(target);
    struct runtime_subscription *subscription;
    int r = fake_objects_enter(objects, error);

    if (r < 0)
        return r;
    if (!objects->hints) {
        fake_world_leave(objects->world);
        return err_set(error, ERR_UNSUPPORTED, "Unsupported", "no watches");
    }
    subscription = NEW(struct runtime_subscription);
    *subscription = (struct runtime_subscription){
        {str_printf("%s/%s", value_get_string(attributes, "kind"),
                    value_string(value_path(attributes, "metadata", "name", NULL))),
         on_event, arg},
        objects};
    objects->subscriptions =
        mem_grow(objects->subscriptions, objects->n_subscriptions, &objects->subscriptions_capacity,
                 sizeof(*objects->subscriptions));
    objects->subscriptions[objects->n_subscriptions++] = &subscription->base;
    on_event(arg); /* in force */
    fake_world_leave(objects->world);
    *ret = subscription;
    return 0;
}

static void unsubscribe(struct runtime_subscription *subscription)
{
    struct fake_objects *objects;

    if (!subscription)
        return;
    objects = subscription->objects;
    pthread_mutex_lock(&objects->world->lock);
    for (size_t i = 0; i < objects->n_subscriptions; i++)
        if (objects->subscriptions[i] == &subscription->base) {
            objects->subscriptions[i] = objects->subscriptions[--objects->n_subscriptions];
            break;
        }
    pthread_mutex_unlock(&objects->world->lock);
    free(subscription->base.key);
    free(subscription);
}

const struct runtime_ops fake_objects_ops = {
    .type = FAKE_OBJECTS_TYPE,
    .relate = fake_objects_relate,
    .open = open_session,
    .close = close_session,
    .prefetch = prefetch,
    .list_own = list_own,
    .read = read_one,
    .plan = fake_objects_plan,
    .step_free = free_step,
    .apply = apply,
    .health = health,
    .subscribe = subscribe,
    .unsubscribe = unsubscribe,
};
