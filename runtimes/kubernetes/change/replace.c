/*
 * Replacement: an object whose change the API server refuses is deleted, and created as it is
 * wanted.
 *
 * No mark in the refusal tells that a field is immutable: what is plainly invalid is refused in the
 * same form. So the object is created by a dry-run (trial.c): if that is refused as well, the
 * object is invalid, and if not, it can only be replaced.
 *
 * An object that is replaced loses what it holds. So it must be allowed: by the object's own
 * annotation, or by the Spec's `force`, which does not reach kinds that hold data or other objects,
 * nor objects that an annotation keeps from deletion (treatment.h).
 * Of a Job that has ended only the logs of its Pods are lost: it needs no permission.
 */
#include <string.h>

#include "engine/base/str.h"
#include "runtimes/kubernetes/change/step.h"
#include "runtimes/kubernetes/objects/health_set.h"
#include "runtimes/kubernetes/objects/marks.h"
#include "runtimes/kubernetes/objects/object.h"
#include "runtimes/kubernetes/objects/object_ref.h"
#include "runtimes/kubernetes/objects/treatment.h"

/* Fields that a message names, and bytes of each. */
#define NAMED_FIELDS 3
#define FIELD_BYTES  120

/* ---- What the API server says ---- */

static const char *field_of(const struct value *causes, size_t i)
{
    return value_get_string(value_at(causes, i), "field");
}

static bool names_fields(const struct value *causes)
{
    for (size_t i = 0; i < value_count(causes); i++) {
        const char *field = field_of(causes, i);

        if (!field || !*field)
            return false;
    }
    return value_count(causes) > 0;
}

/* The name of such an object follows from its fields, so that there is no trial of it: the words of
 * the API server have to do. */
static bool says_immutable(const struct value *causes)
{
    for (size_t i = 0; i < value_count(causes); i++) {
        const char *message = value_get_string(value_at(causes, i), "message");

        if (!message || !str_has_suffix(message, ": field is immutable"))
            return false;
    }
    return true;
}

bool kube_is_named_by_content(const struct value *attributes)
{
    const struct object_ref ref = object_ref_of(attributes);

    return object_ref_is_definition(&ref) ||
           object_ref_is(&ref, "apiregistration.k8s.io", "APIService");
}

static bool is_named_before(const struct value *causes, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (str_equal(field_of(causes, k), field_of(causes, i)))
            return true;
    return false;
}

/* "spec.selector, spec.template" */
static void name_fields(const struct value *causes, struct buf *to)
{
    size_t named = 0;

    for (size_t i = 0; i < value_count(causes); i++) {
        char field[FIELD_BYTES];

        if (is_named_before(causes, i) || named++ >= NAMED_FIELDS)
            continue;
        str_copy(field, sizeof(field), field_of(causes, i));
        buf_printf(to, "%s%s", named > 1 ? ", " : "", field);
    }
    if (named > NAMED_FIELDS)
        buf_printf(to, " and %zu more", named - NAMED_FIELDS);
}

/* ---- What is allowed ---- */

enum permission {
    PERMITTED,
    NOT_PERMITTED,
    NOT_BY_SPEC,    /* only its own annotation permits it */
    FORBIDDEN,      /* its own annotation forbids it */
    PERMITTED_LATER /* a Job that has not ended */
};

static bool holds_content(const struct object_ref *ref)
{
    static const char *const kinds[][2] = {{"", "Namespace"},
                                           {"", "PersistentVolume"},
                                           {"", "PersistentVolumeClaim"},
                                           {"apps", "StatefulSet"},
                                           {"apiextensions.k8s.io", "CustomResourceDefinition"}};

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (object_ref_is(ref, kinds[i][0], kinds[i][1]))
            return true;
    return false;
}

static const char *annotation_of(const struct value *object)
{
    return value_string(value_path(object, "metadata", "annotations", KUBE_FORCE_ANNOTATION, NULL));
}

static bool has_ended(const struct value *job)
{
    return str_equal(health_condition(job, "Complete", NULL), "True") ||
           str_equal(health_condition(job, "Failed", NULL), "True");
}

static enum permission permission_of(const struct runtime_session *session,
                                     const struct value *attributes, const struct value *live)
{
    const struct object_ref ref = object_ref_of(attributes);
    const char *own = annotation_of(attributes);

    if (!own)
        own = annotation_of(live);
    if (own)
        return str_equal(own, "enabled") ? PERMITTED : FORBIDDEN;
    if (holds_content(&ref) || treatment_keeps(live))
        return NOT_BY_SPEC;
    if (session->force)
        return PERMITTED;
    if (!object_ref_is(&ref, "batch", "Job"))
        return NOT_PERMITTED;
    return has_ended(live) ? PERMITTED : PERMITTED_LATER;
}

/* ---- Refusals ---- */

static int refuse(struct error *problem, const char *words)
{
    kube_add_words(problem, words);
    str_copy(problem->reason, sizeof(problem->reason), KUBE_IMMUTABLE_FIELD);
    return problem->code;
}

/* As in hint.c, a command concerns nothing but the Spec's own namespace. */
static void add_command(struct runtime_session *session, const struct value *attributes,
                        struct error *problem)
{
    const char *own = session->spec_namespace;
    _cleanup_free_ char *resource = NULL, *again = session_reconcile_command(session);
    struct kube_ref ref;

    if (!kube_ref_if_known(session, attributes, &ref) || !str_equal(ref.namespace_name, own))
        return;
    resource = kube_kind_resource(ref.kind);
    if (!kube_is_plain(resource) || !kube_is_plain(ref.name) || !kube_is_plain(own) ||
        kube_is_system(own))
        return;
    err_hint(problem, "to allow it: kubectl annotate %s %s --namespace=%s %s=enabled%s%s", resource,
             ref.name, own, KUBE_FORCE_ANNOTATION, again ? " && " : "", again ? again : "");
}

/* ERR_INVALID ImmutableField. */
static int refuse_permission(struct runtime_session *session, const struct value *attributes,
                             enum permission permission, struct error *problem)
{
    if (permission == FORBIDDEN)
        return refuse(problem, "; it cannot be changed in place, and its annotation "
                               "" KUBE_FORCE_ANNOTATION " forbids to replace it");
    refuse(problem, permission == NOT_BY_SPEC
                        ? "; it cannot be changed in place: give the resource another name, or, to "
                          "delete it with all that it holds and create it again, the annotation "
                          "" KUBE_FORCE_ANNOTATION ": enabled"
                        : "; it cannot be changed in place: give the resource another name, or, to "
                          "delete it and create it again, the annotation " KUBE_FORCE_ANNOTATION
                          ": enabled, or the Spec force: true");
    add_command(session, attributes, problem);
    return problem->code;
}

static bool may_pass(const struct error *error)
{
    return err_is_transient(error->code) || error->code == ERR_CANCELLED;
}

/* The trial was refused for another reason than its content. */
static int refuse_untried(const struct error *trial, struct error *problem)
{
    _cleanup_free_ char *words = NULL;

    if (may_pass(trial))
        return err_copy(problem, trial);
    words =
        str_printf("; whether it can be replaced is not known, because a trial was refused: %.*s",
                   (int)strcspn(trial->message, "\n"), trial->message);
    kube_add_words(problem, words);
    err_add_hints(problem, trial->message);
    return problem->code;
}

/* ---- The trial ---- */

static bool is_invalid(const struct error *error)
{
    return error->code == ERR_INVALID && str_equal(error->reason, "Invalid");
}

/* 0: it can be created as it is wanted, and cannot be changed: its fields are immutable. *ret: the
 * new object, or NULL. */
static int check_immutable(struct runtime_session *session, const struct runtime_target *target,
                           const struct value *live, const struct value *causes,
                           const struct runtime_call *call, const struct value **ret,
                           struct error *problem)
{
    struct error trial = {0};

    if (!names_fields(causes) ||
        (kube_is_named_by_content(target->attributes) && !says_immutable(causes)))
        return problem->code;
    if (kube_try_anew(session, target, live, call, ret, &trial) >= 0)
        return 0;
    if (is_invalid(&trial))
        return problem->code;
    return refuse_untried(&trial, problem);
}

/* ---- Steps ---- */

/* Takes the reason over. */
static struct kube_step *step_new(struct runtime_session *session, enum plan_action action,
                                  const struct runtime_target *target,
                                  const struct observation *seen, char *reason)
{
    struct kube_step *step = kube_step_new(session, action, target);

    kube_step_see(step, seen);
    step->base.reason = step->reason = reason;
    return step;
}

static struct runtime_step *wait_for_end(struct runtime_session *session,
                                         const struct runtime_target *target,
                                         const struct observation *seen, const struct value *causes)
{
    _cleanup_buf_ struct buf fields = BUF_INIT;

    name_fields(causes, &fields);
    return &step_new(session, PLAN_DEFERRED, target, seen,
                     str_printf("the Job has not ended: when it has, it is replaced, because %s "
                                "cannot be changed in place; to replace it now, give it the "
                                "annotation " KUBE_FORCE_ANNOTATION ": enabled",
                                fields.data))
                ->base;
}

/* What the diff shows. Of a POST the API server does not say which fields of the object are ours,
 * and nothing is known if there was no trial. */
static int show(struct runtime_session *session, const struct kube_change *change,
                const struct runtime_call *call, struct projection *ret, struct error *error)
{
    if (change->own)
        return kube_project_change(session, change, call, ret, error);
    kube_expect_change(session, change->attributes, change->seen, call, ret);
    return 0;
}

/* made: the new object; NULL: there was no trial. */
static int replace(struct runtime_session *session, const struct runtime_target *target,
                   const struct observation *seen, const struct value *causes,
                   const struct value *made, const struct runtime_call *call,
                   struct runtime_step **ret, struct error *problem)
{
    _cleanup_value_ const struct value *own = kube_own_fields(session, made);
    const struct kube_change change = {
        .attributes = target->attributes, .seen = seen, .anew = target, .object = made, .own = own};
    struct projection shown = {NULL, NULL};
    _cleanup_buf_ struct buf fields = BUF_INIT;
    struct error trial = {0};
    struct kube_step *step;

    if (show(session, &change, call, &shown, &trial) < 0) {
        projection_done(&shown);
        return refuse_untried(&trial, problem);
    }
    name_fields(causes, &fields);
    step = step_new(session, PLAN_REPLACE, target, seen,
                    str_printf("%s cannot be changed in place", fields.data));
    step->base.result = made ? kube_foresee_result(&change) : value_ref(step->base.attributes);
    step->base.before = kube_project_ours(seen);
    step->base.after = kube_object_project(step->base.attributes);
    step->base.shown_before = shown.before;
    step->base.shown_after = shown.after;
    *ret = &step->base;
    return 0;
}

int kube_plan_replacement(struct runtime_session *session, const struct runtime_target *target,
                          const struct observation *seen, const struct value *causes,
                          const struct runtime_call *call, struct runtime_step **ret,
                          struct error *problem)
{
    _cleanup_value_ const struct value *made = NULL;
    enum permission permission = permission_of(session, target->attributes, seen->result);
    int r = check_immutable(session, target, seen->result, causes, call, &made, problem);

    if (r < 0)
        return r;
    if (!target->prior || !kube_is_ours(session, target->prior, seen))
        return refuse(problem, "; it cannot be changed in place, and it is not replaced, because "
                               "this Spec did not create it: if nobody needs it, delete it, and it "
                               "is created");
    if (permission != PERMITTED && permission != PERMITTED_LATER)
        return refuse_permission(session, target->attributes, permission, problem);
    if (permission == PERMITTED)
        return replace(session, target, seen, causes, made, call, ret, problem);
    *ret = wait_for_end(session, target, seen, causes);
    return 0;
}
