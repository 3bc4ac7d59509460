/* How the runtime of objects plans: by mark and uid whose an object is, by dry-run what changes. */
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/plan/plan.h"
#include "engine/spec/ref.h"
#include "engine/value/json.h"
#include "test/unit/engine/operation/fake_objects.h"

struct planning {
    struct runtime_session *session;
    struct fake_objects *objects;
    const struct runtime_target *target;
    const struct value *attributes; /* of the object that is meant */
    const char *recorded_uid;
    struct observation seen; /* the hint's fields, borrowed, or a look's own */
    bool is_hint;
};

static int refuse(const struct fake_objects *objects, int code, const char *reason,
                  struct error *error)
{
    return err_set(error, code, reason, "%s", objects->words ? objects->words : "the fake says so");
}

static struct fake_look look_of(const struct observation *seen)
{
    return seen->detail ? *(const struct fake_look *)seen->detail : (struct fake_look){0};
}

/* Reads it whole. */
static int look_closer(struct planning *planning, struct error *error)
{
    struct fake_objects *objects = planning->objects;
    const char *id = planning->target->id;

    objects->reads++;
    if (fake_objects_faults(objects, id) & FAKE_PLAN_503_ONCE && fake_objects_try(objects, id) == 1)
        return refuse(objects, ERR_UNAVAILABLE, "503", error);
    if (fake_objects_faults(objects, id) & FAKE_UNSEEN || !fake_objects_may(objects))
        return refuse(objects, ERR_FORBIDDEN, "Forbidden", error);
    if (!planning->is_hint)
        observation_done(&planning->seen);
    planning->is_hint = false;
    fake_objects_look(objects, fake_objects_read(objects, id, planning->attributes), true,
                      &planning->seen);
    return 0;
}

static int check_owner(const struct planning *planning, struct error *error)
{
    const struct observation *seen = &planning->seen;
    enum owner_kind owner = look_of(seen).owner;

    if (seen->presence != PRESENCE_PRESENT)
        return 0;
    if (owner == OWNER_SPEC ||
        (owner == OWNER_OTHER && !str_equal(planning->recorded_uid, seen->uid)))
        return refuse(planning->objects, ERR_CONFLICT, "ConflictDetected", error);
    if (seen->terminating)
        return refuse(planning->objects, ERR_UNAVAILABLE, "Terminating", error);
    return 0;
}

/* Only what is certainly ours goes: the object that was applied, or, where its uid is not known
 * (an intent) or State came from elsewhere, one that carries our mark. */
static bool is_ours_to_delete(const struct planning *planning)
{
    bool inherited = planning->session->inherited;
    bool same = planning->recorded_uid && str_equal(planning->recorded_uid, planning->seen.uid);
    enum owner_kind owner = look_of(&planning->seen).owner;

    if (owner == OWNER_SELF)
        return same || !inherited;
    return same && !inherited && owner != OWNER_SPEC;
}

static bool is_as_recorded(const struct planning *planning)
{
    const struct record *prior = planning->target->prior;

    return prior && prior->status == RECORD_APPLIED && str_equal(prior->uid, planning->seen.uid) &&
           prior->fields_digest && str_equal(prior->fields_digest, planning->seen.fields_digest) &&
           value_equal(prior->attributes, planning->target->attributes);
}

static struct fake_step *step_new(struct planning *planning, enum plan_action action)
{
    struct fake_step *step = NEW(struct fake_step);
    const struct observation *seen = &planning->seen;

    step->session = planning->session;
    step->session->refs++;
    planning->objects->steps++;
    step->id = str_new(planning->target->id);
    step->seen = look_of(seen);
    step->text_uid = str_new(seen->presence == PRESENCE_PRESENT ? seen->uid : NULL);
    step->base = (struct runtime_step){
        .ops = &fake_objects_ops,
        .action = action,
        .uid = step->text_uid,
        .extensions = value_ref(planning->target->extensions),
        .attributes =
            planning->target->attributes ? fake_objects_mark(planning->target->attributes) : NULL,
    };
    return step;
}

/* ---- What is wanted ---- */

/* As references see it before it is applied: the server fills in the rest. */
static const struct value *result_of(const struct planning *planning, const struct value *after)
{
    static const char *const uid_path[] = {"metadata", "uid"};
    _cleanup_value_ const struct value *unknown = value_pack("u"), *uid = NULL, *named = NULL;

    uid = planning->seen.uid ? value_pack("s", planning->seen.uid) : value_ref(unknown);
    named = value_with_path(after, uid_path, 2, uid);
    return value_with(named, "status", unknown);
}

static int dry_run(struct planning *planning, struct error *error)
{
    const struct value *attributes = planning->target->attributes;
    _cleanup_free_ char *text = NULL;

    if (value_has_unknown(attributes))
        return 0;
    planning->objects->previews++;
    text = json_to_str(attributes);
    if (strstr(text, REF_PREFIX))
        fake_world_lie(planning->objects->world, "a dry-run of %s with a reference",
                       short_name(planning->target->id));
    if (fake_objects_faults(planning->objects, planning->target->id) & FAKE_REFUSED_DRY)
        return refuse(planning->objects, ERR_FORBIDDEN, "Forbidden", error);
    return 0;
}

/* What a webhook makes of the attributes. A reference. */
static const struct value *rewrite(const struct fake_objects *objects,
                                   const struct value *attributes)
{
    static const char *const x_path[] = {"data", "x"};
    _cleanup_value_ const struct value *x = NULL;

    if (!objects->rewrites)
        return value_ref(attributes);
    x = str_equal(objects->rewrites, "?") ? value_pack("u") : value_pack("s", objects->rewrites);
    return value_with_path(attributes, x_path, 2, x);
}

static int plan_creation(struct planning *planning, struct runtime_step **ret, struct error *error)
{
    struct fake_step *step;
    int r = planning->session->thorough ? dry_run(planning, error) : 0;

    if (r < 0)
        return r;
    step = step_new(planning, PLAN_CREATE);
    step->base.after = value_ref(step->base.attributes);
    if (planning->session->thorough && !planning->target->was_unknown &&
        !value_has_unknown(step->base.attributes))
        step->base.shown_after = rewrite(planning->objects, step->base.attributes);
    step->base.result = result_of(planning, step->base.after);
    *ret = &step->base;
    return 0;
}

static int compare(struct planning *planning, struct runtime_step **ret, struct error *error)
{
    const struct fake_object *object;
    struct fake_step *step;
    int r = look_closer(planning, error);

    if (r >= 0)
        r = check_owner(planning, error);
    if (r < 0)
        return r;
    if (planning->seen.presence != PRESENCE_PRESENT)
        return plan_creation(planning, ret, error);
    r = dry_run(planning, error);
    if (r < 0)
        return r;
    object = fake_objects_at(planning->objects, planning->attributes);
    step = step_new(planning, planning->target->prior ? PLAN_UPDATE : PLAN_ADOPT);
    step->base.hides_before = !planning->target->prior && step->seen.owner == OWNER_SELF;
    step->base.before = fake_objects_mark(object->attributes);
    step->base.after = value_ref(step->base.attributes);
    if (planning->target->prior && value_equal(step->base.before, step->base.after)) {
        step->base.action = PLAN_UNCHANGED;
        step->base.is_unrecorded = !is_as_recorded(planning);
        step->base.result = value_ref(planning->seen.result);
    } else {
        step->base.result = result_of(planning, step->base.after);
    }
    *ret = &step->base;
    return 0;
}

static int plan_wanted(struct planning *planning, struct runtime_step **ret, struct error *error)
{
    int r = check_owner(planning, error);

    if (r < 0)
        return r;
    if (planning->seen.presence == PRESENCE_ABSENT)
        return plan_creation(planning, ret, error);
    if (value_has_unknown(planning->target->attributes) || !is_as_recorded(planning))
        return compare(planning, ret, error);
    *ret = &step_new(planning, PLAN_UNCHANGED)->base;
    return 0;
}

/* ---- What is to go ---- */

/* It is in the Spec's own namespace, which is being deleted, and goes with that. */
static bool goes_with_namespace(const struct planning *planning)
{
    const char *name =
        value_string(value_path(planning->attributes, "metadata", "namespace", NULL));

    return planning->session->terminating && !planning->target->attributes &&
           str_equal(name, "team");
}

static int plan_removal(struct planning *planning, struct runtime_step **ret, struct error *error)
{
    struct fake_step *step;
    enum plan_action action = PLAN_FORGET;

    (void)error;
    if (planning->seen.presence == PRESENCE_PRESENT && is_ours_to_delete(planning))
        action = PLAN_DELETE;
    step = step_new(planning, action);
    step->base.before = fake_objects_mark(planning->attributes);
    step->base.cannot_appear = goes_with_namespace(planning);
    *ret = &step->base;
    return 0;
}

static int plan_it(struct planning *planning, const struct observation *hint,
                   struct runtime_step **ret, struct error *error)
{
    int r = 0;

    if (goes_with_namespace(planning)) {
        planning->seen = (struct observation){.presence = PRESENCE_ABSENT};
    } else if (hint && hint->presence != PRESENCE_UNKNOWN) {
        planning->seen = *hint;
        planning->is_hint = true;
    } else {
        r = look_closer(planning, error);
    }
    if (r < 0)
        return r;
    return planning->target->attributes ? plan_wanted(planning, ret, error)
                                        : plan_removal(planning, ret, error);
}

int fake_objects_plan(struct runtime_session *session, const struct runtime_target *target,
                      const struct observation *hint, const struct runtime_call *call,
                      struct runtime_step **ret, struct error *error)
{
    struct planning planning = {.session = session,
                                .objects = session->objects,
                                .target = target,
                                .attributes = target->attributes ? target->attributes
                                                                 : target->prior->attributes,
                                .recorded_uid = target->prior ? target->prior->uid : NULL};
    struct fake_world *world = session->objects->world;
    int r;

    (void)call;
    fake_world_call(world, target->id);
    r = fake_objects_enter(session->objects, error);
    if (r >= 0) {
        r = plan_it(&planning, hint, ret, error);
        fake_world_leave(world);
    }
    if (!planning.is_hint)
        observation_done(&planning.seen);
    fake_world_return(world, target->id);
    return r;
}

/* ---- The order among them ---- */

static const struct value *content_of(const struct runtime_target *target)
{
    return target->attributes ? target->attributes : target->prior->attributes;
}

static const char *name_of(const struct value *attributes)
{
    return value_string(value_path(attributes, "metadata", "name", NULL));
}

/* In the order in which they go: the account that we act as, what binds its rights, roles. */
static unsigned carries_rights(const struct value *attributes, const char *account)
{
    if (fake_objects_is(attributes, "ServiceAccount"))
        return account && str_equal(name_of(attributes), account) ? 1 : 0;
    return fake_objects_is(attributes, "RoleBinding") ? 2
           : fake_objects_is(attributes, "Role")      ? 3
                                                      : 0;
}

static uint16_t rank_of(const struct value *attributes)
{
    static const char *const kinds[] = {"Namespace", "ServiceAccount", "Role", "RoleBinding",
                                        "Secret"};

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (fake_objects_is(attributes, kinds[i]))
            return (uint16_t)i;
    return ARRAY_SIZE(kinds);
}

static void relate_content(const struct runtime_target *targets, size_t n, size_t space,
                           struct relations *ret)
{
    const char *name = name_of(content_of(&targets[space]));

    for (size_t i = 0; i < n; i++) {
        const struct value *attributes = content_of(&targets[i]);

        if (str_equal(value_string(value_path(attributes, "metadata", "namespace", NULL)), name))
            relations_add(ret, i, space, RELATION_IN);
    }
}

int fake_objects_relate(struct runtime *runtime, const struct runtime_scope *scope,
                        const struct runtime_target *targets, size_t n, struct relations *ret,
                        struct error *error)
{
    const char *account = value_get_string(scope->identity, "serviceAccountName");
    uint32_t place = 0;

    if (((struct fake_objects *)runtime)->relate_fails)
        return refuse((struct fake_objects *)runtime, ERR_INVALID, "Invalid", error);
    for (size_t i = 0; i < n; i++) {
        ret->ranks[i] = rank_of(content_of(&targets[i]));
        if (fake_objects_is(content_of(&targets[i]), "Namespace"))
            relate_content(targets, n, i, ret);
    }
    for (unsigned kind = 1; kind <= 3; kind++)
        for (size_t i = 0; i < n; i++)
            if (carries_rights(content_of(&targets[i]), account) == kind)
                ret->last[i] = ++place;
    return 0;
}
