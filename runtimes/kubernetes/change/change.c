/*
 * What an apply changes, by a dry-run of it: of our fields (projection.h), and of the object that
 * references see.
 *
 * A dry-run also shows values that will be others when the change is made: node ports, addresses,
 * the uid that a Job has in its labels, whatever a webhook makes up. As a rule they are not ours,
 * so the plan does not have them, and references do not see them. But a webhook may also write such
 * a value into a field of ours. It is found by a second dry-run: what differs is unknown. Else a
 * plan that is made again would never be the one that was approved. Of an object that is replaced,
 * both are trials (trial.c), because the API server refuses to apply it under its own name.
 */
#include "engine/base/hash.h"
#include "engine/base/str.h"
#include "engine/value/children.h"
#include "engine/value/json.h"
#include "runtimes/kubernetes/change/prepare.h"
#include "runtimes/kubernetes/change/step.h"
#include "runtimes/kubernetes/objects/managers.h"
#include "runtimes/kubernetes/objects/object.h"

/* ---- Our fields ---- */

const struct value *kube_own_fields(const struct runtime_session *session,
                                    const struct value *object)
{
    return value_ref(managers_own(value_path(object, "metadata", "managedFields", NULL),
                                  session->field_manager));
}

enum kube_apply_mode kube_apply_mode(const struct runtime_session *session)
{
    return session->objects.yields ? KUBE_APPLY_YIELD : KUBE_APPLY_TAKE;
}

/* The object as it is sent, secrets marked. */
static const struct value *sent_of(struct runtime_session *session, const struct value *attributes,
                                   const struct runtime_call *call)
{
    static const struct kube_expected nothing = {NULL, NULL};
    _cleanup_value_ const struct value *sent = NULL;
    struct kube_ref ref;

    if (kube_ref_of(session, attributes, call, &ref, NULL) >= 0)
        sent = kube_object_prepare(session, &ref, attributes, &nothing);
    else
        sent = kube_object_project(attributes);
    return kube_object_mark(sent);
}

static const struct value *or_empty(const struct value *taken)
{
    return taken ? taken : value_pack("{}");
}

/* object: of one of the dry-runs. */
static void project(const struct kube_change *change, const struct value *sent,
                    const struct value *object, struct projection *ret)
{
    _cleanup_value_ const struct value *live =
        change->seen ? kube_object_project(change->seen->result) : NULL;
    _cleanup_value_ const struct value *after = kube_object_project(object);
    const struct kube_detail *detail = change->seen ? kube_detail_of(change->seen) : NULL;
    const struct projection_input input = {.live = live,
                                           .after = after,
                                           .own = change->own,
                                           .was = detail ? detail->fields : NULL,
                                           .sent = sent};

    if (change->own)
        projection_of(&input, ret);
    else
        *ret = (struct projection){TAKE(live), TAKE(after)};
    ret->before = change->seen ? or_empty(ret->before) : NULL;
    ret->after = or_empty(ret->after);
}

const struct value *kube_project_ours(const struct observation *seen)
{
    _cleanup_value_ const struct value *live = kube_object_project(seen->result);

    return or_empty(projection_part(live, kube_detail_of(seen)->fields));
}

/* ---- What is assigned ---- */

static bool has_same_members(const struct value *a, const struct value *b)
{
    if (value_type(a) != value_type(b) || value_count(a) != value_count(b))
        return false;
    for (size_t i = 0; i < value_count(a); i++)
        if (!value_counterpart(b, a, i))
            return false;
    return value_is(a, VALUE_OBJECT) || value_is(a, VALUE_ARRAY);
}

/* Adds a, with what is another value in b as unknown. Of containers whose members are not the same
 * all is unknown. Recursion: bounded by LIMIT_DEPTH. */
static void add_common(struct value_builder *b, const struct value *one, const struct value *other)
{
    if (value_equal(one, other)) {
        value_add(b, one);
        return;
    }
    if (!has_same_members(one, other)) {
        value_add_unknown(b);
        return;
    }
    value_begin_like(b, one);
    for (size_t i = 0; i < value_count(one); i++) {
        value_key_like(b, one, i);
        add_common(b, value_child(one, i), value_counterpart(other, one, i));
    }
    value_end(b);
}

static const struct value *common(const struct value *one, const struct value *other)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    add_common(b, one, other);
    return value_finish(b);
}

/* Our fields are as they were sent: nothing was assigned to them. */
static bool is_as_sent(const struct kube_change *change, const struct value *sent,
                       const struct value *after)
{
    _cleanup_value_ const struct value *ours =
        change->own ? projection_part(sent, change->own) : value_ref(sent);

    return ours && value_equal(ours, after);
}

static bool may_be_assigned(const struct runtime_session *session, const struct kube_change *change,
                            const struct value *sent, const struct projection *ours)
{
    if (!session->thorough || is_as_sent(change, sent, ours->after))
        return false;
    return !change->seen || change->anew ||
           (!kube_detail_of(change->seen)->taken && !value_equal(ours->before, ours->after));
}

static int dry_run_again(struct runtime_session *session, const struct kube_change *change,
                         const struct runtime_call *call, const struct value **ret,
                         struct error *error)
{
    if (change->anew)
        return kube_try_anew(session, change->anew, change->seen->result, call, ret, error);
    return kube_dry_run(session, change->attributes,
                        change->seen ? KUBE_APPLY_TAKE : KUBE_APPLY_CREATE, call, ret, NULL, error);
}

static int forget_assigned(struct runtime_session *session, const struct kube_change *change,
                           const struct value *sent, const struct runtime_call *call,
                           struct projection *ours, struct error *error)
{
    _cleanup_value_ const struct value *again = NULL, *rest = NULL;
    _cleanup_(projection_done) struct projection other = {NULL, NULL};
    int r = dry_run_again(session, change, call, &again, error);

    if (r < 0)
        return r;
    project(change, sent, again, &other);
    rest = common(ours->after, other.after);
    if (rest)
        value_assign(&ours->after, rest);
    return 0;
}

int kube_project_change(struct runtime_session *session, const struct kube_change *change,
                        const struct runtime_call *call, struct projection *ret,
                        struct error *error)
{
    _cleanup_value_ const struct value *sent = sent_of(session, change->attributes, call);

    project(change, sent, change->object, ret);
    return may_be_assigned(session, change, sent, ret)
               ? forget_assigned(session, change, sent, call, ret, error)
               : 0;
}

void kube_expect_change(struct runtime_session *session, const struct value *attributes,
                        const struct observation *seen, const struct runtime_call *call,
                        struct projection *ret)
{
    _cleanup_value_ const struct value *sent = sent_of(session, attributes, call);
    _cleanup_value_ const struct value *live = kube_object_project(seen->result);

    projection_expect(live, kube_detail_of(seen)->fields, sent, ret);
}

char *kube_foreseen_digest(const struct value *object, const struct value *own,
                           const struct value *fields)
{
    _cleanup_value_ const struct value *content = kube_object_project(object);
    const struct projection_input input = {.after = content, .own = own, .was = fields};
    _cleanup_(projection_done) struct projection ours = {NULL, NULL};
    _cleanup_buf_ struct buf text = BUF_INIT;
    char hex[HASH_HEX_SIZE];

    if (own)
        projection_of(&input, &ours);
    else
        ours.after = TAKE(content);
    if (ours.after)
        json_write(&text, ours.after, JSON_CANONICAL);
    hash_hex(text.data, text.length, hex);
    return str_new(hex);
}

/* ---- What references see ---- */

static void add_known(struct value_builder *b, const struct value *value, const struct value *live,
                      const struct value *wanted);

/* Only of a list that is as long as the wanted one it is known which item is which. */
static void add_known_children(struct value_builder *b, const struct value *value,
                               const struct value *live, const struct value *wanted)
{
    bool is_told = value_is(value, VALUE_OBJECT) || value_count(value) == value_count(wanted);

    value_begin_like(b, value);
    for (size_t i = 0; i < value_count(value); i++) {
        value_key_like(b, value, i);
        add_known(b, value_child(value, i), value_counterpart(live, value, i),
                  is_told ? value_counterpart(wanted, value, i) : NULL);
    }
    value_end(b);
}

/* Recursion: bounded by LIMIT_DEPTH. */
static void add_known(struct value_builder *b, const struct value *value, const struct value *live,
                      const struct value *wanted)
{
    if (live && value_equal(live, value))
        value_add(b, value);
    else if (value_count(value))
        add_known_children(b, value, live, wanted);
    else if (wanted)
        value_add(b, value);
    else
        value_add_unknown(b);
}

const struct value *kube_foresee_result(const struct kube_change *change)
{
    static const char *const managed[] = {"metadata", "managedFields"};
    _cleanup_value_ const struct value *unknown = value_pack("u"), *known = NULL;
    _cleanup_value_ const struct value *object =
        value_without_path(change->object, managed, ARRAY_SIZE(managed));
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    bool is_changed = change->seen && !change->anew;

    add_known(b, object, is_changed ? change->seen->result : NULL, change->attributes);
    value_builder_finish(b, &known, NULL);
    return value_get(known, "status") ? value_with(known, "status", unknown) : TAKE(known);
}
