/* What the runtime of things plans. */
#include "engine/base/str.h"
#include "test/unit/engine/operation/fake_cloud_private.h"

static bool differs(const struct fake_thing *thing, const struct value *attributes, const char *key)
{
    const struct value *is = value_get(thing->attributes, key),
                       *wanted = value_get(attributes, key);

    return is && wanted ? !value_equal(is, wanted) : is != wanted;
}

/* As it will be: what is computed is known where it stays as it is. */
static const struct value *planned(const struct fake_thing *thing, const struct value *attributes)
{
    _cleanup_value_ const struct value *now = thing ? fake_cloud_whole(thing) : NULL,
                                       *unknown = value_pack("u"),
                                       *secret = value_sensitive(unknown);

    return value_pack("{s:v?, s:v?, s:v?, s:v?, s:v, s:v, s:v, s:u}", "x",
                      value_get(attributes, "x"), "fixed", value_get(attributes, "fixed"),
                      "swapped", value_get(attributes, "swapped"), "ref",
                      value_get(attributes, "ref"), "id", now ? value_get(now, "id") : unknown,
                      "address", now ? value_get(now, "address") : unknown, "secret",
                      now ? value_get(now, "secret") : secret, "rev");
}

static enum plan_action decide(const struct fake_thing *thing, const struct runtime_target *target,
                               bool *ret_create_first)
{
    const struct value *attributes = target->attributes;
    bool fixed, swapped;

    if (!attributes)
        return thing ? PLAN_DELETE : PLAN_FORGET;
    if (!thing)
        return PLAN_CREATE;
    fixed = differs(thing, attributes, "fixed");
    swapped = differs(thing, attributes, "swapped");
    *ret_create_first = swapped && !fixed;
    if (fixed || swapped || (target->prior && target->prior->status == RECORD_TAINTED))
        return PLAN_REPLACE;
    if (!target->prior)
        return PLAN_ADOPT;
    if (differs(thing, attributes, "x") || differs(thing, attributes, "ref"))
        return PLAN_UPDATE;
    return PLAN_UNCHANGED;
}

static bool is_recorded(const struct fake_thing *thing, const struct runtime_target *target)
{
    _cleanup_value_ const struct value *now = fake_cloud_whole(thing);
    const struct record *prior = target->prior;

    return prior->status == RECORD_APPLIED && prior->result && value_equal(prior->result, now) &&
           value_equal(prior->attributes, target->attributes);
}

static struct cloud_step *plan_thing(struct runtime_session *session,
                                     const struct runtime_target *target,
                                     const struct fake_thing *thing)
{
    bool create_first = false;
    enum plan_action action = decide(thing, target, &create_first);
    struct cloud_step *step = fake_cloud_step_new(session, target, action, thing);

    step->base.create_first = create_first;
    step->base.cannot_create_first =
        action == PLAN_REPLACE && fake_cloud_faults(session->cloud, target->id) & CLOUD_SINGLE;
    step->base.before = thing ? fake_cloud_whole(thing) : NULL;
    if (action == PLAN_UNCHANGED) {
        step->base.after = fake_cloud_whole(thing);
        step->base.is_unrecorded = !is_recorded(thing, target);
        if (step->base.is_unrecorded)
            step->base.memory = fake_cloud_memory(thing->id, ++session->cloud->next_serial);
    } else if (target->attributes) {
        step->base.after = planned(action == PLAN_UPDATE || action == PLAN_ADOPT ? thing : NULL,
                                   target->attributes);
    }
    if (action == PLAN_ADOPT)
        step->base.memory = fake_cloud_memory(thing->id, ++session->cloud->next_serial);
    step->base.result = value_ref(step->base.after);
    if (action == PLAN_REPLACE)
        step->base.reason = target->prior->status == RECORD_TAINTED ? "it was not made to its end"
                            : create_first                          ? "swapped cannot be changed"
                                                                    : "fixed cannot be changed";
    return step;
}

/* ---- What is only read ---- */

static struct cloud_step *step_of_reading(struct runtime_session *session,
                                          const struct runtime_target *target,
                                          const struct value *address)
{
    struct cloud_step *step = fake_cloud_step_new(session, target, PLAN_READ, NULL);

    step->base.is_only_read = true;
    step->base.after = value_pack("{s:v?, s:v?, s:v}", "x", value_get(target->attributes, "x"),
                                  "ref", value_get(target->attributes, "ref"), "address", address);
    step->base.result = value_ref(step->base.after);
    return step;
}

static int plan_reading(struct runtime_session *session, const struct runtime_target *target,
                        struct runtime_step **ret, struct error *error)
{
    struct fake_cloud *cloud = session->cloud;
    bool is_ready = !target->is_too_early && !value_has_unknown(target->attributes);
    _cleanup_value_ const struct value *address = NULL;
    struct cloud_step *step;

    if (!target->attributes || (target->prior && target->prior->is_only_read) ||
        target->part != TARGET_WHOLE)
        fake_world_lie(cloud->world, "a plan of %s, which is only read, as of ours", target->id);
    if (is_ready && !cloud->reading)
        return err_set(error, ERR_INVALID, "Unreadable", "the fake says so");
    address = is_ready ? value_pack("s", cloud->reading) : value_pack("u");
    step = step_of_reading(session, target, address);
    cloud->readings += is_ready;
    if (is_ready) {
        step->base.action = PLAN_UNCHANGED;
        step->base.before = value_ref(step->base.after);
    } else {
        step->base.reason = target->is_too_early ? "too early" : "not known yet";
    }
    *ret = &step->base;
    return 0;
}

/* What is to be adopted has to be there, and is never deleted to be replaced. */
static int import(struct fake_cloud *cloud, const struct runtime_target *target,
                  struct fake_thing **ret, struct error *error)
{
    bool create_first;

    if (target->prior || !target->attributes || target->part != TARGET_WHOLE ||
        !(fake_cloud_faults(cloud, target->id) & CLOUD_IMPORTS))
        return 0;
    *ret = fake_cloud_find(cloud, short_name(target->id));
    return *ret && decide(*ret, target, &create_first) == PLAN_ADOPT
               ? 0
               : err_set(error, ERR_INVALID, "ImportFailed", "the fake says so");
}

/* The engine alone deals with what was begun, and not told. */
static void check_target(struct fake_cloud *cloud, const struct runtime_target *target)
{
    const struct record *prior = target->prior;

    if (prior && prior->status != RECORD_APPLIED && prior->status != RECORD_TAINTED)
        fake_world_lie(cloud->world, "a plan of %s, of which nobody knows whether it is there",
                       target->id);
    if (target->part == TARGET_NEW && prior)
        fake_world_lie(cloud->world, "a plan of %s anew with what there was", target->id);
    if (target->part == TARGET_OLD && target->attributes)
        fake_world_lie(cloud->world, "a plan of the old %s with what is wanted", target->id);
}

static void block_plan(struct fake_cloud *cloud, const char *id)
{
    while (fake_cloud_faults(cloud, id) & CLOUD_PLAN_BLOCKS && !cloud->world->dead) {
        cloud->blocked++;
        pthread_cond_wait(&cloud->world->changed, &cloud->world->lock);
        cloud->blocked--;
    }
}

static int hang(struct fake_cloud *cloud, const struct runtime_call *call, struct error *error)
{
    int64_t now = atomic_load(&cloud->world->now);
    int64_t until = cloud->plan_hangs ? now + cloud->plan_hangs : call->deadline;

    cloud->hung++;
    if (until > now)
        atomic_store(&cloud->world->now, until);
    return err_set(error, ERR_TIMEOUT, "Timeout", "no answer");
}

static int plan_it(struct runtime_session *session, const struct runtime_target *target,
                   const struct runtime_call *call, struct runtime_step **ret, struct error *error)
{
    struct fake_cloud *cloud = session->cloud;
    struct fake_thing *thing = NULL;
    struct cloud_step *step;
    unsigned faults;
    int r;

    check_target(cloud, target);
    if (fake_cloud_faults(cloud, target->id) & CLOUD_PLAN_HANGS)
        return hang(cloud, call, error);
    if (fake_cloud_faults(cloud, target->id) & CLOUD_READS)
        return plan_reading(session, target, ret, error);
    if (!target->attributes && !target->prior)
        fake_world_lie(cloud->world, "a plan of %s with nothing wanted and nothing there",
                       target->id);
    faults = fake_cloud_faults(cloud, target->id);
    if (target->attributes &&
        (value_has_unknown(target->extensions) || faults & CLOUD_DEFERS ||
         (faults & CLOUD_DEFERS_ANEW && fake_cloud_try(cloud, target->id) == 3))) {
        step = fake_cloud_step_new(session, target, PLAN_DEFERRED, NULL);
        step->base.reason = "its region is not known yet";
        *ret = &step->base;
        return 0;
    }
    if (target->part == TARGET_OLD && faults & CLOUD_OLD_FAILS)
        return err_set(error, ERR_UNAVAILABLE, "503", "old");
    block_plan(cloud, target->id);
    if (!target->attributes && faults & CLOUD_DEFERS_REMOVAL &&
        fake_cloud_try(cloud, target->id) > 1) {
        step = fake_cloud_step_new(session, target, PLAN_DEFERRED, NULL);
        *ret = &step->base;
        return 0;
    }
    r = fake_cloud_look_at(cloud, target, &thing, error);
    if (r >= 0)
        r = import(cloud, target, &thing, error);
    if (r >= 0)
        *ret = &plan_thing(session, target, thing)->base;
    if (r >= 0 && faults & CLOUD_WARNS)
        (*ret)->warnings = value_pack("[s]", "old");
    return r;
}

int fake_cloud_plan(struct runtime_session *session, const struct runtime_target *target,
                    const struct observation *hint, const struct runtime_call *call,
                    struct runtime_step **ret, struct error *error)
{
    _cleanup_free_ char *object = fake_cloud_object(target);
    struct fake_world *world = session->cloud->world;
    int r;

    fake_world_call(world, object);
    r = fake_world_enter(world, error);
    if (r >= 0) {
        if (hint && hint->presence != PRESENCE_UNKNOWN)
            fake_world_lie(world, "a hint for %s that was never given", target->id);
        r = plan_it(session, target, call, ret, error);
        fake_world_leave(world);
    }
    fake_world_return(world, object);
    return r;
}
