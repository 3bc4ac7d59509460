/* Plans the change of an object that the Spec wants. */
#include "engine/base/redaction.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/change/step.h"
#include "runtimes/kubernetes/change/verify.h"
#include "runtimes/kubernetes/objects/fields.h"
#include "runtimes/kubernetes/objects/managers.h"
#include "runtimes/kubernetes/objects/object.h"
#include "runtimes/kubernetes/objects/object_ref.h"

/* ---- Whose it is ---- */

/* True if another Spec has it; or another tool, and State does not say that it is ours. */
static bool is_foreign(const struct runtime_target *target, const struct observation *seen)
{
    const char *recorded = target->prior ? target->prior->uid : NULL;
    enum kube_owner owner = kube_detail_of(seen)->owner;

    return owner == OWNER_SPEC || (owner == OWNER_OTHER && !str_equal(recorded, seen->uid));
}

static int check_owner(struct runtime_session *session, const struct runtime_target *target,
                       const struct observation *seen, const struct runtime_call *call,
                       struct error *error)
{
    if (is_foreign(target, seen))
        return kube_refuse_foreign(session, target->attributes, kube_detail_of(seen)->foreign, call,
                                   error);
    if (seen->terminating)
        return err_set(error, ERR_UNAVAILABLE, "Terminating",
                       "it is being deleted%s%s%s; it is created again afterwards",
                       seen->held_by ? " (" : "", seen->held_by ? seen->held_by : "",
                       seen->held_by ? ")" : "");
    return 0;
}

/* ---- Looking ---- */

/* The kind is not served and State has no record of the object. The object counts as absent: its
 * CRD may be part of the same Spec, and a create never overwrites an existing object. */
static bool is_of_new_kind(struct runtime_session *session, const struct runtime_target *target,
                           const struct runtime_call *call)
{
    struct kube_ref ref;

    return !target->prior &&
           kube_ref_at_any_version(session, target->attributes, call, &ref, NULL) == ERR_NOT_FOUND;
}

static int look(struct runtime_session *session, const struct runtime_target *target,
                const struct runtime_call *call, struct observation *ret, struct error *error)
{
    int r;

    if (is_of_new_kind(session, target, call)) {
        *ret = (struct observation){.presence = PRESENCE_ABSENT};
        return 0;
    }
    r = kube_look(session, target->attributes, true, call, ret, error);
    if (r >= 0 && ret->presence == PRESENCE_PRESENT)
        session_note_definition(session, target->attributes);
    return r;
}

/* ---- Refusals ---- */

/* The message of a refused dry-run may quote any value of the object: as it is planned, as it is
 * now (a webhook gets both), or as it was recorded. All are hidden at once, because the rest of one
 * is not recognised after a similar one was hidden. live: the object; or NULL. */
static void hide_secrets(const struct runtime_target *target, const struct value *live,
                         struct error *problem)
{
    const struct record *prior = target->prior;
    _cleanup_value_ const struct value *marked = kube_object_mark(target->attributes);
    const struct value *const values[] = {marked, live, prior ? prior->attributes : NULL};

    redact_error(problem, values, ARRAY_SIZE(values));
}

static void step_set_reason(struct kube_step *step, char *taken)
{
    step->base.reason = step->reason = taken;
}

/* ---- Creates ---- */

/* Why a dry-run is of no use, to free(): the Namespace or the CRD of the object does not exist yet,
 * and the same plan creates it. NULL: that is not the problem. */
static char *find_missing(struct runtime_session *session, const struct value *attributes,
                          const struct error *problem)
{
    const struct object_ref ref = object_ref_of(attributes);

    if (str_equal(problem->reason, "NamespaceNotFound"))
        return session_wants_namespace_of(session, attributes)
                   ? str_printf("not tried: namespace %s does not exist yet", ref.namespace_name)
                   : NULL;
    if (str_equal(problem->reason, "KindNotFound") || str_equal(problem->reason, "NotServed"))
        return session_wants_kind_of(session, attributes)
                   ? str_printf("not tried: kind %s (%s) does not exist yet", ref.kind,
                                ref.api_version)
                   : NULL;
    return NULL;
}

/* A thorough plan tries the create: it shows what would become of what is sent, or why it would be
 * refused. */
static int try_create(struct runtime_session *session, const struct runtime_target *target,
                      const struct runtime_call *call, struct kube_step *step, struct error *error)
{
    _cleanup_value_ const struct value *made = NULL, *own = NULL;
    _cleanup_(projection_done) struct projection ours = {NULL, NULL};
    struct kube_change change = {.attributes = target->attributes};
    struct error problem = {0};
    char *why = NULL;
    int r;

    if (!session->thorough || target->was_unknown)
        return 0;
    if (value_has_unknown(target->attributes)) {
        step_set_reason(step, str_new("not tried: some of its values are known after apply"));
        return 0;
    }
    r = target->part == TARGET_NEW
            ? kube_try_anew(session, target, NULL, call, &made, &problem)
            : kube_dry_run(session, target->attributes, KUBE_APPLY_CREATE, call, &made, &problem);
    if (r < 0)
        why = find_missing(session, target->attributes, &problem);
    if (why) {
        step_set_reason(step, why);
        return 0;
    }
    change.object = made;
    if (r >= 0 && target->part != TARGET_NEW) {
        change.own = own = kube_own_fields(session, made);
        r = kube_project_change(session, &change, call, &ours, &problem);
    }
    if (r < 0) {
        hide_secrets(target, NULL, &problem);
        return err_copy(error, &problem);
    }
    if (!made)
        return 0;
    value_assign(&step->base.result, NULL);
    step->base.result = kube_foresee_result(&change);
    step->base.shown_after = TAKE(ours.after);
    return 0;
}

static int plan_create(struct runtime_session *session, const struct runtime_target *target,
                       const struct runtime_call *call, struct runtime_step **ret,
                       struct error *error)
{
    struct kube_step *step = kube_step_new(session, PLAN_CREATE, target);
    int r;

    step->base.result = value_ref(step->base.attributes);
    step->base.after = kube_object_project(step->base.attributes);
    r = try_create(session, target, call, step, error);
    if (r < 0) {
        kube_step_free(&step->base);
        return r;
    }
    *ret = &step->base;
    return 0;
}

/* ---- What is there ---- */

/* True if neither the Spec nor our managed fields changed since the last apply. */
static bool is_as_recorded(const struct runtime_target *target, const struct observation *seen)
{
    const struct record *prior = target->prior;

    return prior && prior->status == RECORD_APPLIED && str_equal(prior->uid, seen->uid) &&
           prior->fields_digest && str_equal(prior->fields_digest, seen->fields_digest) &&
           value_equal(prior->attributes, target->attributes);
}

/* The object itself, where it is to be looked at; else its metadata is enough. */
static bool has_values(struct runtime_session *session, const struct runtime_target *target,
                       const struct observation *seen)
{
    const struct kube_detail *detail = kube_detail_of(seen);
    struct kube_ref ref;

    if (session->look != RUNTIME_LOOK_VALUES || detail->has_values)
        return true;
    return seen->result && kube_ref_if_known(session, target->attributes, &ref) &&
           kube_has_values_of(session, &ref, target->attributes, seen->result, detail->fields);
}

/* A dry-run has shown that its values are right, though they are written in another way. */
static void confirm_values(struct runtime_session *session, const struct runtime_target *target,
                           const struct observation *seen)
{
    struct kube_ref ref;

    if (session->look == RUNTIME_LOOK_VALUES &&
        kube_ref_if_known(session, target->attributes, &ref))
        kube_confirm_values(session, &ref, seen->result, kube_detail_of(seen)->fields);
}

static struct runtime_step *plan_unchanged(struct runtime_session *session,
                                           const struct runtime_target *target,
                                           const struct observation *seen)
{
    struct kube_step *step = kube_step_new(session, PLAN_UNCHANGED, target);

    kube_step_see(step, seen);
    step->base.result = value_ref(seen->result);
    step->base.before = value_ref(step->base.attributes);
    step->base.after = value_ref(step->base.attributes);
    return &step->base;
}

/* Without a dry-run of what is wanted: what is ours now, and what is sent. It is the same whether
 * values are unknown or, later, known. */
static void compare_unknown(struct kube_step *step, const struct observation *seen,
                            const struct runtime_call *call)
{
    struct projection shown;

    kube_expect_change(step->session, step->base.attributes, seen, call, &shown);
    step->base.before = kube_project_ours(seen);
    step->base.after = kube_object_project(step->base.attributes);
    step->base.shown_before = shown.before;
    step->base.shown_after = shown.after;
}

/* No value changes, but others have fields of ours: somebody changed one, and put it back. It is
 * applied, so that the fields are ours again: else a later change of them would not be noticed. */
static bool is_only_disowned(const struct kube_change *change)
{
    const struct value *now = kube_detail_of(change->seen)->fields;
    _cleanup_value_ const struct value *both = fields_union(now, change->own);

    return change->own && !value_equal(both, now);
}

/* Whoever approves it sees which object it is, also where nothing of it changes. */
static char *describe_adoption(const struct observation *seen)
{
    const struct value *metadata = value_get(seen->result, "metadata");
    const char *created = value_get_string(metadata, "creationTimestamp");

    return str_printf("takes over the object with uid %s, created %s", seen->uid,
                      created ? created : "at an unknown time");
}

/* "changed by kube-controller-manager (scale)", of an object that the Spec wants as it was
 * recorded; to free(). NULL: it is not known who did, or it is the Spec that changed. */
static char *describe_rival(const struct runtime_session *session,
                            const struct runtime_target *target, const struct kube_change *change)
{
    const struct record *prior = target->prior;
    const struct kube_detail *detail = kube_detail_of(change->seen);
    const struct value *rival;
    const char *subresource;

    if (!prior || !change->own || !value_equal(prior->attributes, target->attributes))
        return NULL;
    rival = managers_rival(detail->managers, session->field_manager, change->own);
    if (!rival)
        return NULL;
    subresource = value_get_string(rival, "subresource");
    return str_printf("changed by %s%s%s%s", value_get_string(rival, "manager"),
                      subresource ? " (" : "", subresource ? subresource : "",
                      subresource ? ")" : "");
}

/* ours: what the dry-run changes of it; NULL: there was none. */
static struct runtime_step *plan_update(struct runtime_session *session,
                                        const struct runtime_target *target,
                                        const struct kube_change *change, struct projection *ours,
                                        const struct runtime_call *call)
{
    enum plan_action action = target->prior ? PLAN_UPDATE : PLAN_ADOPT;
    struct kube_step *step = kube_step_new(session, action, target);
    const struct kube_detail *detail = kube_detail_of(change->seen);
    bool is_tried = change->object != NULL;

    kube_step_see(step, change->seen);
    step->base.hides_before = !target->prior && step->owner == OWNER_SELF;
    if (is_tried && action == PLAN_UPDATE && value_equal(ours->before, ours->after) &&
        !is_only_disowned(change)) {
        step->base.action = PLAN_UNCHANGED;
        step->base.is_unrecorded = !is_as_recorded(target, change->seen);
        step->base.result = value_ref(change->seen->result);
        confirm_values(session, target, change->seen);
    } else if (action == PLAN_UPDATE && is_tried && !detail->taken &&
               value_equal(ours->before, ours->after)) {
        step_set_reason(step,
                        str_new("others changed fields of it and put them back: it is applied "
                                "again, so that they are the operator's"));
    } else if (is_tried && detail->taken) {
        step->after_digest = kube_foreseen_digest(change->object, change->own, detail->fields);
        step->fields = value_ref(detail->fields);
    }
    if (action == PLAN_ADOPT)
        step_set_reason(step, describe_adoption(change->seen));
    else if (step->base.action == PLAN_UPDATE && !step->reason)
        step_set_reason(step, describe_rival(session, target, change));
    if (step->base.action != PLAN_UNCHANGED)
        kube_step_see_content(step, change->seen);
    if (!step->base.result)
        step->base.result =
            is_tried ? kube_foresee_result(change) : value_ref(step->base.attributes);
    if (is_tried && !target->was_unknown) {
        step->base.before = TAKE(ours->before);
        step->base.after = TAKE(ours->after);
    } else {
        compare_unknown(step, change->seen, call);
    }
    return &step->base;
}

static int compare(struct runtime_session *session, const struct runtime_target *target,
                   const struct observation *seen, const struct runtime_call *call,
                   struct runtime_step **ret, struct error *error)
{
    _cleanup_value_ const struct value *changed = NULL, *own = NULL, *causes = NULL;
    _cleanup_(projection_done) struct projection ours = {NULL, NULL};
    struct kube_change change = {.attributes = target->attributes, .seen = seen};
    struct error problem = {0};
    int r = 0;

    if (!value_has_unknown(target->attributes))
        r = kube_dry_run_explained(session, target->attributes, KUBE_APPLY_TAKE, call, &changed,
                                   &causes, &problem);
    if (r < 0 && causes &&
        kube_plan_replacement(session, target, seen, causes, call, ret, &problem) >= 0)
        return 0;
    if (r >= 0 && changed) {
        change.own = own = kube_own_fields(session, changed);
        r = kube_foresee_takeover(session, target->attributes, seen, call, &changed, &problem);
    }
    if (r >= 0 && changed) {
        change.object = changed;
        r = kube_project_change(session, &change, call, &ours, &problem);
    }
    if (r >= 0) {
        *ret = plan_update(session, target, &change, &ours, call);
        return 0;
    }
    hide_secrets(target, seen->result, &problem);
    return err_copy(error, &problem);
}

static int plan_present(struct runtime_session *session, const struct runtime_target *target,
                        const struct observation *seen, const struct runtime_call *call,
                        struct runtime_step **ret, struct error *error)
{
    int r = check_owner(session, target, seen, call, error);

    if (r < 0)
        return r;
    if (!value_has_unknown(target->attributes) && is_as_recorded(target, seen) &&
        has_values(session, target, seen)) {
        *ret = plan_unchanged(session, target, seen);
        return 0;
    }
    return compare(session, target, seen, call, ret, error);
}

/* ---- All of them ---- */

/* A hint is enough if the object is as recorded, or if it is absent: a create fails if the object
 * exists after all. */
static bool is_enough(struct runtime_session *session, const struct runtime_target *target,
                      const struct observation *hint)
{
    if (!hint || hint->presence == PRESENCE_UNKNOWN)
        return false;
    return hint->presence == PRESENCE_ABSENT || hint->terminating || is_foreign(target, hint) ||
           (!value_has_unknown(target->attributes) && is_as_recorded(target, hint) &&
            has_values(session, target, hint));
}

/* The object was applied as it is wanted now, and has removed itself: a Job with a time to live. */
static bool has_done_its_work(const struct runtime_target *target)
{
    const struct record *prior = target->prior;

    return prior && prior->status == RECORD_APPLIED && prior->is_done &&
           !value_has_unknown(target->attributes) &&
           value_equal(prior->attributes, target->attributes);
}

static struct runtime_step *plan_done(struct runtime_session *session,
                                      const struct runtime_target *target)
{
    struct kube_step *step = kube_step_new(session, PLAN_UNCHANGED, target);

    step->base.is_done = true;
    step->base.result = value_ref(step->base.attributes);
    step->base.before = value_ref(step->base.attributes);
    step->base.after = value_ref(step->base.attributes);
    return &step->base;
}

static int plan_seen(struct runtime_session *session, const struct runtime_target *target,
                     const struct observation *seen, const struct runtime_call *call,
                     struct runtime_step **ret, struct error *error)
{
    if (seen->presence == PRESENCE_ABSENT && has_done_its_work(target)) {
        *ret = plan_done(session, target);
        return 0;
    }
    if (seen->presence == PRESENCE_ABSENT)
        return plan_create(session, target, call, ret, error);
    return plan_present(session, target, seen, call, ret, error);
}

int kube_plan_object(struct runtime_session *session, const struct runtime_target *target,
                     const struct observation *hint, const struct runtime_call *call,
                     struct runtime_step **ret, struct error *error)
{
    struct observation seen = {0};
    int r;

    if (target->part == TARGET_NEW)
        return plan_create(session, target, call, ret, error);
    if (is_enough(session, target, hint))
        return plan_seen(session, target, hint, call, ret, error);
    r = look(session, target, call, &seen, error);
    if (r >= 0)
        r = plan_seen(session, target, &seen, call, ret, error);
    observation_done(&seen);
    return r;
}
