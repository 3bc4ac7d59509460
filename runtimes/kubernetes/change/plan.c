/* Plans the change of an object that the Spec wants. */
#include "engine/base/str.h"
#include "engine/value/redaction.h"
#include "engine/value/value_mark.h"
#include "runtimes/kubernetes/change/conflict.h"
#include "runtimes/kubernetes/change/match.h"
#include "runtimes/kubernetes/change/step.h"
#include "runtimes/kubernetes/change/verify.h"
#include "runtimes/kubernetes/objects/fields.h"
#include "runtimes/kubernetes/objects/object.h"
#include "runtimes/kubernetes/objects/object_ref.h"
#include "runtimes/kubernetes/objects/treatment.h"

/* ---- Whose it is ---- */

/* True if another Spec has it; or another tool, and State does not say that it is ours. Where all
 * are adopted, an object of ours that another Spec has adopted since then is that Spec's: the two
 * would take it from each other for ever. */
static bool is_foreign(const struct runtime_session *session, const struct runtime_target *target,
                       const struct observation *seen)
{
    const char *recorded = target->prior ? target->prior->uid : NULL;
    enum kube_owner owner = kube_detail_of(seen)->owner;
    bool was_ours = str_equal(recorded, seen->uid);

    if (session->objects.adoption == ADOPT_ALL)
        return owner == OWNER_SPEC && was_ours;
    return owner == OWNER_SPEC || (owner == OWNER_OTHER && !was_ours);
}

static int check_owner(struct runtime_session *session, const struct runtime_target *target,
                       const struct observation *seen, const struct runtime_call *call,
                       struct error *error)
{
    if (is_foreign(session, target, seen))
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
 * now (a webhook gets both), or as it was recorded (State may have a mark in place of a value). All
 * are hidden at once, because the rest of one is not recognised after a similar one was hidden.
 * live: the object; or NULL. */
static void hide_secrets(const struct runtime_target *target, const struct value *live,
                         struct error *problem)
{
    const struct record *prior = target->prior;
    const struct value *recorded = prior ? prior->attributes : NULL;
    _cleanup_value_ const struct value *marked = kube_object_mark(target->attributes);
    _cleanup_value_ const struct value *now = value_mark_like(live, recorded);
    const struct value *const values[] = {marked, now, recorded};

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
    r = target->part == TARGET_NEW ? kube_try_anew(session, target, NULL, call, &made, &problem)
                                   : kube_dry_run(session, target->attributes, KUBE_APPLY_CREATE,
                                                  call, &made, NULL, &problem);
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

/* Which fields there are the API server alone can tell. What it refuses now, it refuses in the
 * create, too. */
static int check_ignored(struct runtime_session *session, const struct desired *desired,
                         const struct runtime_call *call, struct error *error)
{
    _cleanup_value_ const struct value *made = NULL, *own = NULL;

    if (value_has_unknown(desired->initial) || desired->target.part == TARGET_NEW ||
        kube_dry_run(session, desired->initial, KUBE_APPLY_CREATE, call, &made, NULL, NULL) < 0)
        return 0;
    own = kube_own_fields(session, made);
    return kube_check_ignored(&desired->ignored, desired->initial, own, error);
}

static int plan_create(struct runtime_session *session, const struct desired *desired,
                       const struct runtime_call *call, struct runtime_step **ret,
                       struct error *error)
{
    struct kube_step *step = kube_step_new(session, PLAN_CREATE, &desired->target);
    _cleanup_value_ const struct value *initial = kube_object_mark(desired->initial);
    struct runtime_target target = desired->target;
    int r;

    target.attributes = desired->initial;
    if (!value_equal(desired->initial, desired->target.attributes))
        step->initial = value_ref(initial);
    step->base.result = value_ref(initial);
    step->base.after = kube_object_project(initial);
    r = step->initial ? check_ignored(session, desired, call, error) : 0;
    if (r >= 0)
        r = try_create(session, &target, call, step, error);
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

/* "does not manage spec.replicas any more"; to free(). NULL: it gives nothing up. */
static char *describe_hand_back(const struct runtime_session *session,
                                const struct desired *desired, const struct observation *seen)
{
    const struct value *own = managers_own(kube_detail_of(seen)->managers, session->field_manager);
    _cleanup_free_ char *named = own ? ignored_name(&desired->ignored, own) : NULL;

    return named ? str_printf("gives up %s, which is ignored: the value stays", named) : NULL;
}

/* Whoever approves it sees which object it is, also where nothing of it changes. */
static char *describe_adoption(const struct observation *seen)
{
    const struct value *metadata = value_get(seen->result, "metadata");
    const char *created = value_get_string(metadata, "creationTimestamp");
    enum kube_owner owner = kube_detail_of(seen)->owner;

    return str_printf("takes over the object with uid %s, created %s%s", seen->uid,
                      created ? created : "at an unknown time",
                      owner == OWNER_SPEC    ? ", from another Spec"
                      : owner == OWNER_OTHER ? ", from another tool"
                                             : "");
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
                                        const struct desired *desired,
                                        const struct managers_taking *taking,
                                        const struct kube_change *change, struct projection *ours,
                                        const struct runtime_call *call)
{
    const struct runtime_target *target = &desired->target;
    enum plan_action action = target->prior ? PLAN_UPDATE : PLAN_ADOPT;
    struct kube_step *step = kube_step_new(session, action, target);
    const struct kube_detail *detail = kube_detail_of(change->seen);
    _cleanup_free_ char *given_up = describe_hand_back(session, desired, change->seen);
    bool is_tried = change->object != NULL;

    kube_step_see(step, change->seen);
    step->from = taking->from;
    step->base.hides_before = !target->prior && step->owner == OWNER_SELF;
    if (is_tried && action == PLAN_UPDATE && value_equal(ours->before, ours->after) &&
        !is_only_disowned(change) && !given_up) {
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
    else if (step->base.action == PLAN_UPDATE && !step->reason && given_up)
        step_set_reason(step, TAKE(given_up));
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

/* As the object is sent in a dry-run: our manager may have fields that it is about to give up, and
 * without their values the API server would reset them. */
static const struct value *sent_in_trial(const struct runtime_session *session,
                                         const struct desired *desired,
                                         const struct observation *seen)
{
    const struct value *own = managers_own(kube_detail_of(seen)->managers, session->field_manager);
    _cleanup_value_ const struct value *held =
        own ? ignored_keep_fields(&desired->ignored, own) : NULL;

    return held ? ignored_fill_in(&desired->ignored, desired->target.attributes, seen->result)
                : value_ref(desired->target.attributes);
}

/* The dry-run of the apply. If others have fields in the way, and the Spec yields: ERR_CONFLICT
 * ConflictDetected. */
static int try_apply(struct runtime_session *session, const struct value *attributes,
                     const struct managers_taking *taking, const struct runtime_call *call,
                     const struct value **ret, const struct value **ret_causes, struct error *error)
{
    struct error problem = {0};
    int r = kube_dry_run(session, attributes, kube_apply_mode(session), call, ret, ret_causes,
                         &problem);

    if (r != ERR_CONFLICT || !*ret_causes)
        return r < 0 ? err_copy(error, &problem) : 0;
    r = kube_judge_conflicts(*ret_causes, session->field_manager, taking, error);
    value_assign(ret_causes, NULL);
    return r < 0 ? r
                 : kube_dry_run(session, attributes, KUBE_APPLY_TAKE, call, ret, ret_causes, error);
}

/* Fields of ours in the answer to the dry-run. */
static const struct value *own_of(const struct runtime_session *session,
                                  const struct desired *desired, const struct value *object)
{
    _cleanup_value_ const struct value *own = kube_own_fields(session, object);

    return own ? ignored_leave_out_fields(&desired->ignored, own) : NULL;
}

static int compare(struct runtime_session *session, const struct desired *desired,
                   const struct managers_taking *taking, const struct observation *seen,
                   const struct runtime_call *call, struct runtime_step **ret, struct error *error)
{
    _cleanup_value_ const struct value *changed = NULL, *own = NULL, *causes = NULL;
    _cleanup_value_ const struct value *sent = sent_in_trial(session, desired, seen);
    _cleanup_(projection_done) struct projection ours = {NULL, NULL};
    struct kube_change change = {.attributes = sent, .seen = seen};
    struct runtime_target anew = desired->target;
    struct error problem = {0};
    int r = 0;

    anew.attributes = desired->initial;
    if (!value_has_unknown(sent))
        r = try_apply(session, sent, taking, call, &changed, &causes, &problem);
    if (r == ERR_INVALID && causes &&
        kube_plan_replacement(session, &anew, seen, causes, call, ret, &problem) >= 0)
        return 0;
    if (r >= 0 && changed) {
        change.own = own = own_of(session, desired, changed);
        r = kube_check_ignored(&desired->ignored, desired->initial, own, &problem);
    }
    if (r >= 0 && changed)
        r = kube_foresee_takeover(session, desired->target.attributes, seen, taking, call, &changed,
                                  &problem);
    if (r >= 0 && changed) {
        change.object = changed;
        r = kube_project_change(session, &change, call, &ours, &problem);
    }
    if (r >= 0 && changed && !desired->target.prior)
        r = kube_check_match(session, seen, &ours, &problem);
    if (r >= 0) {
        *ret = plan_update(session, desired, taking, &change, &ours, call);
        return 0;
    }
    hide_secrets(&anew, seen->result, &problem);
    return err_copy(error, &problem);
}

/* Whose fields are taken over. Who yields to the managers of an object takes only what was the
 * object's before it was ours. */
static enum managers_from managers_to_take(const struct runtime_session *session,
                                           const struct runtime_target *target,
                                           enum treatment treatment)
{
    if (treatment == TREAT_MERGE || (session->objects.yields && target->prior))
        return MANAGERS_OURS;
    return target->prior ? MANAGERS_PEOPLE : MANAGERS_TOOLS;
}

static int plan_present(struct runtime_session *session, const struct desired *desired,
                        enum treatment treatment, struct observation *seen,
                        const struct runtime_call *call, struct runtime_step **ret,
                        struct error *error)
{
    const struct runtime_target *target = &desired->target;
    const struct managers_taking taking = {.from = managers_to_take(session, target, treatment),
                                           .ignored = desired->ignored};
    int r = check_owner(session, target, seen, call, error);

    if (r < 0)
        return r;
    if (!value_has_unknown(target->attributes) && is_as_recorded(target, seen) &&
        has_values(session, target, seen)) {
        *ret = plan_unchanged(session, target, seen);
        return 0;
    }
    kube_observe_managers(session, &taking, seen);
    return compare(session, desired, &taking, seen, call, ret, error);
}

/* ---- What is left alone ---- */

/* An annotation says so. An object that is not ours stays nobody's, and one that we made is
 * recorded. */
static struct runtime_step *plan_nothing(struct runtime_session *session,
                                         const struct runtime_target *target,
                                         const struct observation *seen, const char *why)
{
    bool is_there = seen->presence == PRESENCE_PRESENT;
    bool is_recorded = is_there && target->prior && str_equal(target->prior->uid, seen->uid);
    bool is_ours = is_recorded || (is_there && kube_detail_of(seen)->owner == OWNER_SELF);
    struct kube_step *step = kube_step_new(session, PLAN_UNCHANGED, target);

    if (is_there)
        kube_step_see(step, seen);
    step->base.is_done = !is_ours;
    step->base.is_unrecorded = is_ours && !is_recorded;
    step->base.result = value_ref(is_there ? seen->result : step->base.attributes);
    step->base.before = value_ref(step->base.attributes);
    step->base.after = value_ref(step->base.attributes);
    step_set_reason(step, str_printf("it is left alone: %s", why));
    return &step->base;
}

/* ---- All of them ---- */

/* A hint is enough if the object is as recorded, or if it is absent: a create fails if the object
 * exists after all. */
static bool is_enough(struct runtime_session *session, const struct runtime_target *target,
                      const struct observation *hint)
{
    if (!hint || hint->presence == PRESENCE_UNKNOWN)
        return false;
    return hint->presence == PRESENCE_ABSENT ||
           (!value_has_unknown(target->attributes) && is_as_recorded(target, hint) &&
            has_values(session, target, hint));
}

/* The object was applied as it is wanted now, and removes itself: a Job with a time to live. */
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

static int plan_seen(struct runtime_session *session, const struct desired *desired,
                     struct observation *seen, const struct runtime_call *call,
                     struct runtime_step **ret, struct error *error)
{
    const struct runtime_target *target = &desired->target;
    bool is_absent = seen->presence == PRESENCE_ABSENT;
    const char *why;
    enum treatment treatment = treatment_of(desired->initial, seen->result, &why);

    if (treatment == TREAT_NOT || (treatment == TREAT_IF_ABSENT && !is_absent))
        *ret = plan_nothing(session, target, seen, why);
    else if ((is_absent || seen->terminating) && has_done_its_work(target))
        *ret = plan_done(session, target);
    else if (is_absent)
        return plan_create(session, desired, call, ret, error);
    else
        return plan_present(session, desired, treatment, seen, call, ret, error);
    return 0;
}

/* The hint has what is needed, though not the whole object. */
static int plan_hinted(struct runtime_session *session, const struct desired *desired,
                       const struct observation *hint, const struct runtime_call *call,
                       struct runtime_step **ret, struct error *error)
{
    struct observation seen = {.presence = PRESENCE_ABSENT};

    if (hint->presence == PRESENCE_ABSENT)
        return plan_seen(session, desired, &seen, call, ret, error);
    *ret = plan_unchanged(session, &desired->target, hint);
    return 0;
}

/* A hint of an object that is not ours, or that goes: it is planned by that alone. */
static bool is_refused(const struct runtime_session *session, const struct desired *desired,
                       const struct observation *hint)
{
    const char *why;

    return hint && hint->presence == PRESENCE_PRESENT &&
           ((hint->terminating && !has_done_its_work(&desired->target)) ||
            is_foreign(session, &desired->target, hint)) &&
           treatment_of(desired->initial, NULL, &why) < TREAT_IF_ABSENT;
}

int kube_plan_object(struct runtime_session *session, const struct desired *desired,
                     const struct observation *hint, const struct runtime_call *call,
                     struct runtime_step **ret, struct error *error)
{
    const struct runtime_target *target = &desired->target;
    _cleanup_(observation_done) struct observation seen = {0};
    int r;

    if (target->part == TARGET_NEW)
        return plan_create(session, desired, call, ret, error);
    if (is_refused(session, desired, hint))
        return check_owner(session, target, hint, call, error);
    if (is_enough(session, target, hint))
        return plan_hinted(session, desired, hint, call, ret, error);
    r = look(session, target, call, &seen, error);
    return r < 0 ? r : plan_seen(session, desired, &seen, call, ret, error);
}
