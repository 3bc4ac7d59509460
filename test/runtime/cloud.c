#include "test/runtime/cloud.h"

#include <string.h>
#include <unistd.h>

#include "engine/base/duration.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/value_mark.h"
#include "test/runtime/things.h"

#define LOOK   20    /* ms between two checks whether a create may end */
#define GRACE  10000 /* ms that an apply takes at most, beyond its delay */
#define MICROS 1000

struct cloud {
    struct runtime base;
    char *directory; /* NULL: none */
};

struct runtime_session {
    const struct cloud *cloud;
};

struct cloud_step {
    struct runtime_step base;
    const char *directory; /* the runtime's, which lives longer */
    char *name;
    const struct value *thing; /* the thing as of the plan; NULL: none */
};

static const struct runtime_ops cloud_ops;

static const char *short_name(const char *id)
{
    const char *colon = strrchr(id, ':');

    return colon ? colon + 1 : id;
}

/* ---- Things ---- */

static const struct value *memory_of(const char *id)
{
    _cleanup_free_ char *token = str_printf("memory-%s", id);

    return value_pack("{s:s, s:s}", "id", id, "token", token);
}

static const struct value *mark_password(const struct value *attributes)
{
    _cleanup_value_ const struct value *pointers = value_pack("[s]", "/password");

    return value_mark_paths(attributes, pointers);
}

static void put(const struct value **object, const char *key, const struct value *taken)
{
    const struct value *next = value_with(*object, key, taken);

    value_unref(*object);
    value_unref(taken);
    *object = next;
}

static const struct value *secretly(const struct value *taken)
{
    const struct value *secret = value_sensitive(taken);

    value_unref(taken);
    return secret;
}

/* The result of a thing: for references and State. */
static const struct value *whole(const struct value *thing)
{
    const struct value *all = mark_password(value_get(thing, "attributes"));
    const char *id = value_get_string(thing, "id");
    _cleanup_free_ char *address = str_printf("%s.cloud", id),
                        *secret = str_printf("secret-%s", id);

    put(&all, "id", value_pack("s", id));
    put(&all, "address", value_pack("s", address));
    put(&all, "secret", secretly(value_pack("s", secret)));
    put(&all, "revision", value_ref(value_get(thing, "revision")));
    return all;
}

/* The thing after the change. thing: the one to update; NULL: a new one. */
static const struct value *planned(const struct value *thing, const struct value *attributes)
{
    const struct value *all = mark_password(attributes);
    _cleanup_value_ const struct value *now = thing ? whole(thing) : NULL;

    put(&all, "id", now ? value_ref(value_get(now, "id")) : value_pack("u"));
    put(&all, "address", now ? value_ref(value_get(now, "address")) : value_pack("u"));
    put(&all, "secret", now ? value_ref(value_get(now, "secret")) : secretly(value_pack("u")));
    put(&all, "revision", value_pack("u"));
    return all;
}

static void observe(const struct value *thing, struct observation *ret)
{
    *ret = (struct observation){.presence = PRESENCE_ABSENT};
    if (thing)
        *ret = (struct observation){.presence = PRESENCE_PRESENT, .result = whole(thing)};
}

/* ---- Sessions ---- */

static int open_session(struct runtime *runtime, const struct runtime_scope *scope,
                        const struct runtime_call *call, struct runtime_session **ret,
                        struct error *error)
{
    struct cloud *cloud = (struct cloud *)runtime;
    int r;

    (void)scope, (void)call;
    if (!cloud->directory)
        return err_set(error, ERR_INVALID, "NoCloud", "%s names no directory", CLOUD_DIRECTORY);
    r = things_init(cloud->directory, error);
    if (r < 0)
        return r;
    *ret = NEW(struct runtime_session);
    (*ret)->cloud = cloud;
    return 0;
}

static void close_session(struct runtime_session *session)
{
    free(session);
}

/* ---- Looks ---- */

/* Reads the thing that a record's memory names; it may be absent. *ret: a reference, or NULL. */
static int find(const struct runtime_session *session, const struct record *prior,
                const struct value **ret, struct error *error)
{
    const char *id = prior ? value_get_string(prior->memory, "id") : NULL;
    _cleanup_value_ const struct value *given = id ? memory_of(id) : NULL;
    struct error absent = {0};
    int r;

    *ret = NULL;
    if (!prior)
        return 0;
    if (!id)
        return err_set(error, ERR_UNSUPPORTED, "CannotBeFound", "its id is not known");
    if (!value_equal(given, prior->memory))
        return err_set(error, ERR_INTERNAL, "AlteredMemory", "memory is not as it was given");
    r = thing_read(session->cloud->directory, id, ret, &absent);
    return r < 0 && r != ERR_NOT_FOUND ? err_copy(error, &absent) : 0;
}

static int read_one(struct runtime_session *session, const struct runtime_target *target,
                    const struct runtime_call *call, struct runtime_outcome *ret,
                    struct error *error)
{
    _cleanup_value_ const struct value *thing = NULL;
    int r = find(session, target->prior, &thing, error);

    (void)call;
    if (r < 0)
        return r;
    ret->certainty = OUTCOME_KNOWN;
    observe(thing, &ret->now);
    ret->memory = thing ? value_ref(target->prior->memory) : NULL;
    return 0;
}

/* ---- Plan ---- */

static bool differs(const struct value *a, const struct value *b, const char *key)
{
    const struct value *in_a = value_get(a, key), *in_b = value_get(b, key);

    return in_a && in_b ? !value_equal(in_a, in_b) : in_a != in_b;
}

static enum plan_action decide(const struct runtime_target *target, const struct value *thing)
{
    const struct value *is = value_get(thing, "attributes"), *wanted = target->attributes;

    if (!wanted)
        return thing ? PLAN_DELETE : PLAN_FORGET;
    if (value_has_unknown(target->extensions))
        return PLAN_DEFERRED;
    if (!thing)
        return PLAN_CREATE;
    if (target->prior->status == RECORD_TAINTED || differs(is, wanted, "fixed") ||
        differs(is, wanted, "swapped"))
        return PLAN_REPLACE;
    return value_equal(is, wanted) ? PLAN_UNCHANGED : PLAN_UPDATE;
}

static bool is_recorded(const struct runtime_step *step, const struct record *prior)
{
    return prior->status == RECORD_APPLIED && prior->result &&
           value_equal(prior->result, step->result) &&
           value_equal(prior->attributes, step->attributes);
}

static const char *reason_of(const struct runtime_step *step, const struct runtime_target *target)
{
    if (step->action == PLAN_DEFERRED)
        return "where it is to be made is not known yet";
    if (step->action != PLAN_REPLACE)
        return NULL;
    return target->prior->status == RECORD_TAINTED ? "it was not made to its end"
           : step->create_first                    ? "swapped cannot be changed"
                                                   : "fixed cannot be changed";
}

/* ms that a create takes. */
static int64_t delay_of(const struct value *attributes)
{
    const char *text = value_get_string(attributes, "delay");
    int64_t delay = text ? duration_parse(text) : 0;

    return delay < 0 ? 0 : delay;
}

static void fill_step(struct runtime_step *step, const struct runtime_target *target,
                      const struct value *thing)
{
    const struct value *is = value_get(thing, "attributes"), *wanted = target->attributes;

    step->ops = &cloud_ops;
    step->action = decide(target, thing);
    step->create_first = step->action == PLAN_REPLACE && differs(is, wanted, "swapped") &&
                         !differs(is, wanted, "fixed");
    step->reason = reason_of(step, target);
    step->limit = delay_of(wanted) + GRACE;
    step->attributes = mark_password(wanted);
    step->extensions = value_ref(target->extensions);
    step->before = thing ? whole(thing) : NULL;
    if (step->action == PLAN_UNCHANGED)
        step->after = whole(thing);
    else if (wanted && step->action != PLAN_DEFERRED)
        step->after = planned(step->action == PLAN_UPDATE ? thing : NULL, wanted);
    step->result = value_ref(step->after);
    if (step->action == PLAN_UNCHANGED && !is_recorded(step, target->prior)) {
        step->is_unrecorded = true;
        step->memory = value_ref(target->prior->memory);
    }
}

static int plan(struct runtime_session *session, const struct runtime_target *target,
                const struct observation *hint, const struct runtime_call *call,
                struct runtime_step **ret, struct error *error)
{
    _cleanup_value_ const struct value *thing = NULL;
    struct cloud_step *step;
    int r = find(session, target->prior, &thing, error);

    (void)hint, (void)call;
    if (things_have_fault(session->cloud->directory, short_name(target->id), "crash"))
        abort();
    if (r < 0)
        return r;
    step = NEW(struct cloud_step);
    fill_step(&step->base, target, thing);
    step->directory = session->cloud->directory;
    step->name = str_new(short_name(target->id));
    step->thing = TAKE(thing);
    *ret = &step->base;
    return 0;
}

static void free_step(struct runtime_step *base)
{
    struct cloud_step *step = (struct cloud_step *)base;

    if (!step)
        return;
    runtime_step_done(base);
    value_unref(step->thing);
    free(step->name);
    free(step);
}

/* ---- Apply ---- */

static bool has_fault(const struct cloud_step *step, const char *fault)
{
    return things_have_fault(step->directory, step->name, fault);
}

static int write_thing(const struct cloud_step *step, const char *id,
                       const struct value *attributes, int64_t revision, const char *status,
                       const struct value **ret, struct error *error)
{
    const struct value *thing =
        value_pack("{s:s, s:s, s:v, s:I, s:s}", "id", id, "name", step->name, "attributes",
                   attributes, "revision", revision, "status", status);
    int r = thing_write(step->directory, thing, error);

    value_assign(ret, thing);
    value_unref(thing);
    return r;
}

/* Sets the outcome, unless the fault "lost" is set. */
static int answer(const struct cloud_step *step, const char *verb, const struct value *thing,
                  struct runtime_outcome *ret, struct error *error)
{
    things_log(step->directory, verb, step->name);
    if (has_fault(step, "lost")) {
        ret->certainty = OUTCOME_IN_DOUBT;
        return err_set(error, ERR_TIMEOUT, "Timeout", "no answer in time");
    }
    ret->certainty = OUTCOME_KNOWN;
    observe(thing, &ret->now);
    ret->memory = thing ? memory_of(value_get_string(thing, "id")) : NULL;
    return 0;
}

static void take_time(const struct cloud_step *step)
{
    int64_t delay = delay_of(step->base.attributes);

    for (int64_t took = 0; took < delay && !things_hurry(step->directory); took += LOOK)
        usleep(LOOK * MICROS);
}

static int create(const struct cloud_step *step, struct runtime_outcome *ret, struct error *error)
{
    const struct value *attributes = step->base.attributes;
    _cleanup_value_ const struct value *thing = NULL;
    bool is_partial = has_fault(step, "partial");
    char id[THING_ID_SIZE];
    int r = thing_new_id(id, error);

    if (r >= 0)
        r = write_thing(step, id, attributes, 1, "creating", &thing, error);
    if (r < 0)
        return r;
    ret->certainty = OUTCOME_IN_DOUBT;
    things_log(step->directory, "begin", step->name);
    take_time(step);
    r = write_thing(step, id, attributes, 1, is_partial ? "broken" : "ready", &thing, error);
    if (r >= 0)
        r = answer(step, "create", thing, ret, error);
    if (r < 0 || !is_partial)
        return r;
    ret->tainted = true;
    return err_set(error, ERR_INVALID, "Partial", "it was made, and could not be set up");
}

static int update(const struct cloud_step *step, struct runtime_outcome *ret, struct error *error)
{
    const struct value *wanted = step->base.attributes;
    _cleanup_value_ const struct value *half =
        value_with(value_get(step->thing, "attributes"), "x", value_get(wanted, "x"));
    bool is_half = has_fault(step, "half");
    int64_t revision = value_int(value_get(step->thing, "revision"), 0) + 1;
    _cleanup_value_ const struct value *thing = NULL;
    int r = write_thing(step, value_get_string(step->thing, "id"), is_half ? half : wanted,
                        revision, "ready", &thing, error);

    if (r >= 0)
        r = answer(step, "update", thing, ret, error);
    if (r < 0 || !is_half)
        return r;
    return err_set(error, ERR_INVALID, "Partial", "it was changed in part");
}

static int destroy(const struct cloud_step *step, struct runtime_outcome *ret, struct error *error)
{
    int r = thing_remove(step->directory, value_get_string(step->thing, "id"), error);

    return r < 0 ? r : answer(step, "delete", NULL, ret, error);
}

static int apply(struct runtime_step *base, const struct runtime_call *call,
                 struct runtime_outcome *ret, struct error *error)
{
    const struct cloud_step *step = (const struct cloud_step *)base;
    int r;

    ret->certainty = OUTCOME_NOT_SENT;
    if (cancel_fired(call->cancel))
        return err_set(error, ERR_CANCELLED, "Cancelled", "%s", cancel_reason(call->cancel));
    r = permit_ask(call->permit, PERMIT_ACT, error);
    if (r < 0)
        return r;
    if (has_fault(step, "refused"))
        return err_set(error, ERR_FORBIDDEN, "Forbidden", "the cloud refuses it");
    if (value_has_unknown(base->attributes))
        return err_set(error, ERR_INTERNAL, "UnknownValue", "a value is not known");
    switch (base->action) {
    case PLAN_CREATE:
        return create(step, ret, error);
    case PLAN_UPDATE:
        return update(step, ret, error);
    case PLAN_DELETE:
        return destroy(step, ret, error);
    default:
        return err_set(error, ERR_INTERNAL, "UnexpectedAction", "nothing to be applied");
    }
}

/* ---- The runtime ---- */

static void free_runtime(struct runtime *runtime)
{
    struct cloud *cloud = (struct cloud *)runtime;

    free(cloud->directory);
    free(cloud);
}

static const struct runtime_ops cloud_ops = {
    .type = "Cloud",
    .flags = RUNTIME_IS_RECORDED | RUNTIME_CREATES_BLINDLY,
    .free = free_runtime,
    .open = open_session,
    .close = close_session,
    .read = read_one,
    .plan = plan,
    .step_free = free_step,
    .apply = apply,
};

struct runtime *cloud_runtime_new(const struct connection *connection)
{
    struct cloud *cloud = NEW(struct cloud);

    (void)connection;
    cloud->base.ops = &cloud_ops;
    cloud->directory = str_new(getenv(CLOUD_DIRECTORY));
    return &cloud->base;
}
