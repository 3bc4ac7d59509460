/* The table of the runtime of things. */
#include <stdio.h>
#include <string.h>

#include "engine/base/hash.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/spec/ref.h"
#include "engine/value/json.h"
#include "test/unit/engine/operation/fake_cloud_private.h"

#define LOOKS_OF_LINGERING 3

/* ---- Memory: values that are easily altered on the way ---- */

const struct value *fake_cloud_memory(const char *id, unsigned serial)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_free_ char *seal = str_printf("%s#%u", id, serial);
    const struct value *memory = NULL;
    char hex[HASH_HEX_SIZE];

    hash_hex(seal, strlen(seal), hex);
    value_begin_object(b);
    value_key(b, "id");
    value_add_string(b, id);
    value_key(b, "serial");
    value_add_int(b, serial);
    value_key(b, "seal");
    value_add_string(b, hex);
    value_key(b, "bytes");
    value_add_string_n(b, "\0\x01\xc3\xa9 ${x} (sensitive)", 22);
    value_key(b, "number");
    value_add_number(b, "12345678901234567890.10", 23);
    value_key(b, "");
    value_begin_array(b);
    value_add_null(b);
    value_add_string(b, "");
    value_begin_object(b);
    value_end_object(b);
    value_end_array(b);
    value_end_object(b);
    value_builder_finish(b, &memory, NULL);
    return memory;
}

static void check_memory(struct fake_cloud *cloud, const struct record *record)
{
    const struct value *memory = record->memory;
    int64_t serial = value_int(value_get(memory, "serial"), 0);
    _cleanup_value_ const struct value *given = NULL;

    if (!memory)
        return;
    given = fake_cloud_memory(value_get_string(memory, "id"), (unsigned)serial);
    if (!value_equal(memory, given) ||
        !str_equal(value_number(value_get(memory, "number")), "12345678901234567890.10"))
        fake_world_lie(cloud->world, "the memory of %s is not what was given", record->id);
}

/* What State has must be what was told, and what is secret of it still so. */
static void check_prior(struct fake_cloud *cloud, const struct record *prior)
{
    const struct value *result = prior->result;

    check_memory(cloud, prior);
    if (prior->status != RECORD_APPLIED && prior->status != RECORD_TAINTED)
        return;
    if (prior->action == PLAN_ADOPT && !result)
        return; /* its adoption was begun */
    if (!str_equal(value_get_string(result, "id"), fake_cloud_id(prior)))
        fake_world_lie(cloud->world, "the result of %s is not what was told", prior->id);
    if (!value_is_sensitive(value_get(result, "secret")))
        fake_world_lie(cloud->world, "the secret of %s is none any more", prior->id);
}

static struct fake_thing *thing_of(struct fake_cloud *cloud, const struct runtime_target *target)
{
    const char *id;

    if (!target->prior)
        return NULL;
    check_prior(cloud, target->prior);
    id = fake_cloud_id(target->prior);
    if (!id && fake_cloud_faults(cloud, target->id) & CLOUD_FINDABLE)
        return fake_cloud_find(cloud, short_name(target->id));
    return fake_cloud_by_id(cloud, id);
}

/* Without an id, and no name to find it by. */
static bool can_be_found(const struct fake_cloud *cloud, const struct runtime_target *target)
{
    return target->prior &&
           (fake_cloud_id(target->prior) || fake_cloud_faults(cloud, target->id) & CLOUD_FINDABLE);
}

/* A resource may have several, one call about each at a time. */
char *fake_cloud_object(const struct runtime_target *target)
{
    const char *deposed = target->prior ? target->prior->deposed : NULL;

    return str_printf("%s%s%s", target->id, deposed ? "'" : "", deposed ? deposed : "");
}

/* ---- Sessions and steps ---- */

static int open_session(struct runtime *base, const struct runtime_scope *scope,
                        const struct runtime_call *call, struct runtime_session **ret,
                        struct error *error)
{
    struct fake_cloud *cloud = (struct fake_cloud *)base;
    int r = fake_world_enter(cloud->world, error);
    unsigned number;

    (void)call;
    if (r < 0)
        return r;
    cloud->given = 0;
    for (size_t i = 0; i < scope->n_records; i++)
        cloud->given += *scope->records[i]->id != '\0';
    number = ++cloud->opens;
    while (number == cloud->open_blocks) {
        cloud->blocked++;
        pthread_cond_wait(&cloud->world->changed, &cloud->world->lock);
        cloud->blocked--;
    }
    if (number <= cloud->open_failures) {
        fake_world_leave(cloud->world);
        return err_set(error, ERR_UNAVAILABLE, "CloudBusy", "cannot be reached");
    }
    *ret = NEW(struct runtime_session);
    **ret = (struct runtime_session){cloud, 1};
    cloud->sessions++;
    fake_world_leave(cloud->world);
    return 0;
}

/* With the world's lock. */
static void unref(struct runtime_session *session)
{
    if (--session->refs)
        return;
    session->cloud->sessions--;
    free(session);
}

static void close_session(struct runtime_session *session)
{
    struct fake_world *world;

    if (!session)
        return;
    world = session->cloud->world;
    pthread_mutex_lock(&world->lock);
    unref(session);
    pthread_mutex_unlock(&world->lock);
}

struct cloud_step *fake_cloud_step_new(struct runtime_session *session,
                                       const struct runtime_target *target, enum plan_action action,
                                       const struct fake_thing *thing)
{
    struct cloud_step *step = NEW(struct cloud_step);

    step->alive = STEP_ALIVE;
    step->session = session;
    session->refs++;
    session->cloud->steps++;
    step->id = str_new(target->id);
    step->object = fake_cloud_object(target);
    step->thing_id = str_new(thing ? thing->id : NULL);
    step->base = (struct runtime_step){
        .ops = &fake_cloud_ops,
        .action = action,
        .limit = session->cloud->no_limit ? 0 : FAKE_CLOUD_LIMIT,
        .attributes = value_ref(target->attributes),
        .extensions = value_ref(target->extensions),
    };
    return step;
}

static void free_step(struct runtime_step *base)
{
    struct cloud_step *step = (struct cloud_step *)base;
    struct fake_cloud *cloud;

    if (!step)
        return;
    cloud = step->session->cloud;
    pthread_mutex_lock(&cloud->world->lock);
    if (step->alive != STEP_ALIVE)
        fake_world_lie(cloud->world, "a step freed twice");
    step->alive = 0;
    cloud->steps--;
    unref(step->session);
    pthread_mutex_unlock(&cloud->world->lock);
    runtime_step_done(base);
    free(step->id);
    free(step->object);
    free(step->thing_id);
    free(step);
}

/* ---- Looks ---- */

const struct value *fake_cloud_whole(const struct fake_thing *thing)
{
    const char *x = thing->quotes ? value_string(value_get(thing->attributes, "x")) : NULL;
    _cleanup_free_ char *address = x ? str_printf("https://me:%s@%s", x, thing->name)
                                     : str_printf("addr-%s", thing->name),
                        *secret = str_printf("hunter-%s", thing->name);
    const struct value *at = thing->attributes;
    const char *key = thing->quotes_as_key ? value_get_string(at, "x") : NULL;
    _cleanup_value_ const struct value *plain = value_pack("s", secret),
                                       *secretly = value_sensitive(plain),
                                       *keys = key ? value_pack("{s:b}", key, 1) : NULL;

    return value_pack("{s:v?, s:v?, s:v?, s:v?, s:s, s:s, s:v, s:v?, s:i}", "x", value_get(at, "x"),
                      "fixed", value_get(at, "fixed"), "swapped", value_get(at, "swapped"), "ref",
                      value_get(at, "ref"), "id", thing->id, "address", address, "secret", secretly,
                      "keys", keys, "rev", (int)thing->rev);
}

static void look(const struct fake_thing *thing, struct observation *ret)
{
    *ret = (struct observation){.presence = PRESENCE_ABSENT};
    if (!thing)
        return;
    *ret = (struct observation){.presence = PRESENCE_PRESENT,
                                .terminating = thing->terminating,
                                .result = fake_cloud_whole(thing)};
}

int fake_cloud_look_at(struct fake_cloud *cloud, const struct runtime_target *target,
                       struct fake_thing **ret, struct error *error)
{
    unsigned faults = fake_cloud_faults(cloud, target->id);
    struct fake_thing *thing = thing_of(cloud, target);

    cloud->reads++;
    if (faults & CLOUD_UNSEEN)
        return err_set(error, ERR_FORBIDDEN, "Forbidden", "the fake says so");
    if (thing)
        thing->looks++;
    if (thing && thing->terminating &&
        (!(faults & CLOUD_LINGERS) || thing->looks >= LOOKS_OF_LINGERING)) {
        fake_cloud_remove(cloud, thing);
        thing = NULL;
    }
    *ret = thing;
    return 0;
}

static int read_one(struct runtime_session *session, const struct runtime_target *target,
                    const struct runtime_call *call, struct runtime_outcome *ret,
                    struct error *error)
{
    _cleanup_free_ char *object = fake_cloud_object(target);
    struct fake_cloud *cloud = session->cloud;
    struct fake_thing *thing = NULL;
    int r;

    (void)call;
    fake_world_call(cloud->world, object);
    r = fake_world_enter(cloud->world, error);
    if (r >= 0) {
        _cleanup_free_ char *text = json_to_str(target->extensions);
        if (text && strstr(text, REF_PREFIX))
            fake_world_lie(cloud->world, "a read of %s with extensions %s", target->id, text);
        if (fake_cloud_faults(cloud, target->id) & CLOUD_READS)
            fake_world_lie(cloud->world, "a read of %s, which plan() reads", target->id);
        r = can_be_found(cloud, target)
                ? fake_cloud_look_at(cloud, target, &thing, error)
                : err_set(error, ERR_UNSUPPORTED, "CannotBeFound", "nobody knows its id");
        if (r >= 0) {
            ret->certainty = OUTCOME_KNOWN;
            look(thing, &ret->now);
            ret->memory = thing ? fake_cloud_memory(thing->id, ++cloud->next_serial) : NULL;
        }
        fake_world_leave(cloud->world);
    }
    fake_world_return(cloud->world, object);
    return r;
}

static int health(struct runtime_session *session, const struct runtime_target *target,
                  const struct observation *seen, const struct runtime_call *call,
                  struct health *ret, struct error *error)
{
    int r = fake_world_enter(session->cloud->world, error);

    (void)seen, (void)call;
    if (r < 0)
        return r;
    *ret = (struct health){.status = HEALTH_CURRENT};
    if (fake_cloud_faults(session->cloud, target->id) & (CLOUD_UNHEALTHY | CLOUD_UNBOUND)) {
        ret->may_wait_for_consumer = fake_cloud_faults(session->cloud, target->id) & CLOUD_UNBOUND;
        ret->status = HEALTH_PROGRESSING;
        snprintf(ret->message, sizeof(ret->message), "still starting");
    }
    if (fake_cloud_faults(session->cloud, target->id) & CLOUD_UNBOUND) {
        *ret = (struct health){.status = HEALTH_PROGRESSING, .may_wait_for_consumer = true};
        snprintf(ret->message, sizeof(ret->message), "unbound");
    }
    fake_world_leave(session->cloud->world);
    return 0;
}

/* ---- Apply. With the world's lock, which ends with the step. ---- */

static int refuse(struct cloud_step *step, enum certainty certainty, int code, const char *reason,
                  struct runtime_outcome *ret, struct error *error)
{
    ret->certainty = certainty;
    fake_world_leave(step->session->cloud->world);
    return err_set(error, code, reason, "the fake says so");
}

static void check_step(struct fake_cloud *cloud, const struct cloud_step *step)
{
    _cleanup_free_ char *text = json_to_str(step->base.attributes);
    enum plan_action action = step->base.action;

    if (step->alive != STEP_ALIVE)
        fake_world_lie(cloud->world, "%s: an apply of a step that was freed", step->id);
    if (step->is_sent)
        fake_world_lie(cloud->world, "%s: a step applied twice", step->id);
    if (action != PLAN_CREATE && action != PLAN_UPDATE && action != PLAN_DELETE &&
        action != PLAN_ADOPT)
        fake_world_lie(cloud->world, "%s: an apply of what is none", step->id);
    if (value_has_unknown(step->base.attributes) || (text && strstr(text, REF_PREFIX)))
        fake_world_lie(cloud->world, "%s: an apply with a value that is none", step->id);
    if (action != PLAN_CREATE && !step->thing_id)
        fake_world_lie(cloud->world, "%s: an apply to nothing", step->id);
}

static int in_doubt(struct fake_cloud *cloud, struct runtime_outcome *ret, struct error *error)
{
    *ret = (struct runtime_outcome){.certainty = OUTCOME_IN_DOUBT,
                                    .until = cloud->world->now + FAKE_CLOUD_DOUBT};
    return err_set(error, ERR_TIMEOUT, "Timeout", "no answer in time");
}

/* What became of it is told, but for a kill or a fault. Unlocks. */
static void forget_rev(struct observation *now)
{
    _cleanup_value_ const struct value *unknown = value_pack("u"),
                                       *seen = value_with(now->result, "rev", unknown);

    value_assign(&now->result, seen);
}

static int answer(struct fake_cloud *cloud, const struct cloud_step *step,
                  const struct fake_thing *thing, unsigned faults, struct runtime_outcome *ret,
                  struct error *error)
{
    const char *verb = step->base.action == PLAN_CREATE   ? "create"
                       : step->base.action == PLAN_DELETE ? "delete"
                                                          : "update";
    const struct value *memory = thing ? fake_cloud_memory(thing->id, ++cloud->next_serial) : NULL;
    struct observation now;
    int r;

    look(thing, &now);
    if (faults & CLOUD_UNKNOWN)
        forget_rev(&now);
    r = fake_world_step(cloud->world, error, "%s %s", verb, short_name(step->id));
    if (r < 0 || faults & CLOUD_LOST) {
        observation_done(&now);
        value_unref(memory);
        return in_doubt(cloud, ret, error);
    }
    *ret = (struct runtime_outcome){.certainty = OUTCOME_KNOWN, .now = now, .memory = memory};
    return 0;
}

static int create(struct fake_cloud *cloud, const struct cloud_step *step, unsigned faults,
                  struct runtime_outcome *ret, struct error *error)
{
    struct fake_thing *thing = fake_cloud_add(cloud, short_name(step->id), step->base.attributes);
    int r;

    cloud->creates++;
    r = answer(cloud, step, thing, faults, ret, error);
    if (r >= 0 && faults & CLOUD_TWICE)
        ret->until = cloud->world->now + FAKE_CLOUD_DOUBT;
    if (r < 0 || !(faults & CLOUD_PARTIAL))
        return r;
    ret->tainted = true;
    return err_set(error, ERR_INVALID, "Partial", "it was made, and could not be set up");
}

static int update(struct fake_cloud *cloud, const struct cloud_step *step, unsigned faults,
                  struct runtime_outcome *ret, struct error *error)
{
    struct fake_thing *thing = fake_cloud_by_id(cloud, step->thing_id);
    _cleanup_value_ const struct value *half = NULL;
    int r;

    if (!thing) {
        ret->certainty = OUTCOME_KNOWN;
        look(NULL, &ret->now);
        fake_world_leave(cloud->world);
        return err_set(error, ERR_CONFLICT, "Gone", "it is not there any more");
    }
    if (faults & CLOUD_HALF)
        half = value_with(thing->attributes, "x", value_get(step->base.attributes, "x"));
    value_unref(thing->attributes);
    thing->attributes = fake_without_marks(half ? half : step->base.attributes);
    thing->rev++;
    thing->is_foreign = false;
    cloud->updates++;
    r = answer(cloud, step, thing, faults, ret, error);
    if (r < 0 || !half)
        return r;
    return err_set(error, ERR_INVALID, "Partial", "it was changed in part");
}

static int remove_thing(struct fake_cloud *cloud, const struct cloud_step *step, unsigned faults,
                        struct runtime_outcome *ret, struct error *error)
{
    struct fake_thing *thing = fake_cloud_by_id(cloud, step->thing_id);

    cloud->deletes++;
    if (thing && faults & CLOUD_LINGERS) {
        thing->terminating = true;
        thing->looks = 0;
    } else if (thing) {
        fake_cloud_remove(cloud, thing);
        thing = NULL;
    }
    return answer(cloud, step, thing, faults, ret, error);
}

static int send(struct fake_cloud *cloud, struct cloud_step *step, unsigned faults,
                struct runtime_outcome *ret, struct error *error)
{
    step->is_sent = true;
    switch (step->base.action) {
    case PLAN_CREATE:
        return create(cloud, step, faults, ret, error);
    case PLAN_UPDATE:
    case PLAN_ADOPT:
        return update(cloud, step, faults, ret, error);
    default:
        return remove_thing(cloud, step, faults, ret, error);
    }
}

/* Waits for the test, where it says so. Not 0: the process was killed meanwhile. Unlocks then. */
static int take_time(struct fake_cloud *cloud, struct cloud_step *step, struct runtime_outcome *ret,
                     struct error *error)
{
    struct fake_world *world = cloud->world;

    atomic_fetch_add(&world->now, cloud->takes);
    while (fake_cloud_faults(cloud, step->id) & CLOUD_BLOCKS && !world->dead) {
        step->is_sent = true;
        cloud->blocked++;
        pthread_cond_wait(&world->changed, &world->lock);
        cloud->blocked--;
    }
    if (!world->dead)
        return 0;
    if (cloud->makes_when_killed && step->base.action == PLAN_CREATE) {
        fake_cloud_add(cloud, short_name(step->id), step->base.attributes);
        cloud->creates++;
    }
    fake_world_leave(world);
    return in_doubt(cloud, ret, error);
}

static int apply_locked(struct fake_cloud *cloud, struct cloud_step *step,
                        struct runtime_outcome *ret, struct error *error)
{
    unsigned faults = fake_cloud_faults(cloud, step->id);
    bool is_delete = step->base.action == PLAN_DELETE;
    int r;

    check_step(cloud, step);
    if (faults & CLOUD_READS)
        fake_world_lie(cloud->world, "%s: an apply of what is only read", step->id);
    if (is_delete && faults & CLOUD_DELETE_CONFLICTS)
        return refuse(step, OUTCOME_NOT_SENT, ERR_CONFLICT, "Conflict", ret, error);
    if (faults & CLOUD_HANGS && cloud->hung < 300) {
        cloud->hung++;
        atomic_fetch_add(&cloud->world->now, 10000);
        return refuse(step, OUTCOME_NOT_SENT, ERR_UNAVAILABLE, "Busy", ret, error);
    }
    if (faults & CLOUD_BUSY || (faults & CLOUD_BUSY_ONCE && fake_cloud_try(cloud, step->id) <= 2))
        return refuse(step, OUTCOME_NOT_SENT, ERR_UNAVAILABLE, "Busy", ret, error);
    if (is_delete ? faults & CLOUD_KEPT : faults & CLOUD_REFUSED)
        return refuse(step, OUTCOME_NOT_SENT, ERR_FORBIDDEN, "Forbidden", ret, error);
    r = take_time(cloud, step, ret, error);
    if (r < 0)
        return r;
    faults = fake_cloud_faults(cloud, step->id); /* again */
    if (!is_delete && faults & CLOUD_REFUSED)
        return refuse(step, OUTCOME_NOT_SENT, ERR_FORBIDDEN, "Forbidden", ret, error);
    if (faults & CLOUD_UNMADE) {
        step->is_sent = true;
        fake_world_leave(cloud->world);
        return in_doubt(cloud, ret, error);
    }
    return send(cloud, step, faults, ret, error);
}

static int apply(struct runtime_step *base, const struct runtime_call *call,
                 struct runtime_outcome *ret, struct error *error)
{
    struct cloud_step *step = (struct cloud_step *)base;
    struct fake_cloud *cloud = step->session->cloud;
    int r;

    ret->certainty = OUTCOME_NOT_SENT;
    if (cancel_fired(call->cancel))
        return err_set(error, ERR_CANCELLED, "Cancelled", "%s", cancel_reason(call->cancel));
    r = permit_ask(call->permit, PERMIT_ACT, error);
    if (r < 0)
        return r;
    fake_world_call(cloud->world, step->object);
    r = fake_world_enter(cloud->world, error);
    if (r >= 0)
        r = apply_locked(cloud, step, ret, error);
    if (fake_cloud_faults(cloud, step->id) & CLOUD_WARNS)
        ret->warnings = value_pack("[s, s]", "old", "it is hunter-d");
    fake_world_return(cloud->world, step->object);
    return r;
}

const struct runtime_ops fake_cloud_ops = {
    .type = FAKE_CLOUD_TYPE,
    .flags = RUNTIME_IS_RECORDED | RUNTIME_CREATES_BLINDLY,
    .open = open_session,
    .close = close_session,
    .read = read_one,
    .plan = fake_cloud_plan,
    .step_free = free_step,
    .apply = apply,
    .health = health,
};
