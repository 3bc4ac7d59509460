/*
 * Values that the API server, or an admission webhook, assigns anew each time an object is
 * admitted: the uid that a Job puts into its labels, the name of a Pod's token volume, an
 * annotation with a random number. A dry-run shows other ones than the create or update will, so
 * they count as unknown. Else a plan that is made again would never be the one that was approved.
 *
 * They are found by a second dry-run: what differs is assigned.
 */
#include "engine/base/str.h"
#include "runtimes/kubernetes/object_ref.h"
#include "runtimes/kubernetes/step.h"

/* ---- What differs ---- */

static bool has_same_members(const struct value *a, const struct value *b)
{
    if (value_type(a) != value_type(b) || value_count(a) != value_count(b))
        return false;
    if (value_is(a, VALUE_ARRAY))
        return true;
    for (size_t i = 0; i < value_count(a); i++) {
        size_t length;
        const char *key = value_member_key(a, i, &length);

        if (!value_get_n(b, key, length))
            return false;
    }
    return value_is(a, VALUE_OBJECT);
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
        size_t length = 0;
        const char *key = value_is(one, VALUE_OBJECT) ? value_member_key(one, i, &length) : NULL;

        if (key)
            value_key_n(b, key, length);
        add_common(b, value_child(one, i),
                   key ? value_get_n(other, key, length) : value_at(other, i));
    }
    value_end(b);
}

const struct value *kube_common(const struct value *one, const struct value *other)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    const struct value *result = NULL;

    add_common(b, one, other);
    value_builder_finish(b, &result, NULL);
    return result;
}

/* ---- The second dry-run ---- */

/* The object is as it was sent: nothing was assigned to it. */
static bool is_as_sent(struct runtime_session *session, const struct value *attributes,
                       const struct value *object, const struct runtime_call *call)
{
    static const struct kube_expected nothing = {NULL, NULL};
    _cleanup_value_ const struct value *sent = NULL, *content = kube_object_project(object);
    struct kube_ref ref;

    if (kube_ref_of(session, attributes, call, &ref, NULL) < 0)
        return false;
    sent = kube_object_prepare(session, &ref, attributes, &nothing);
    return value_equal(sent, content);
}

int kube_forget_assigned(struct runtime_session *session, const struct value *attributes,
                         enum kube_apply_mode mode, const struct runtime_call *call,
                         const struct value **object, struct error *error)
{
    _cleanup_value_ const struct value *again = NULL, *rest = NULL;
    int r;

    if (!session->thorough || is_as_sent(session, attributes, *object, call))
        return 0;
    r = kube_dry_run(session, attributes, mode, call, &again, error);
    if (r < 0)
        return r;
    rest = kube_common(*object, again);
    if (rest)
        value_assign(object, rest);
    return 0;
}
