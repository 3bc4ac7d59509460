#include "runtimes/kubernetes/change/verify.h"

#include "engine/base/hash.h"
#include "engine/value/json.h"
#include "runtimes/kubernetes/change/prepare.h"
#include "runtimes/kubernetes/objects/managers.h"
#include "runtimes/kubernetes/objects/object.h"
#include "runtimes/kubernetes/objects/projection.h"
#include "runtimes/kubernetes/session/following.h"

/* What it has of these fields; a reference, or NULL. */
static const struct value *part_of(const struct value *object, const struct value *fields)
{
    _cleanup_value_ const struct value *content = kube_object_project(object);

    return projection_part(content, fields);
}

/* 0: there is nothing of ours. */
static uint64_t print_of(const struct value *values)
{
    _cleanup_(hash_free_p) struct hash *hash = hash_new();
    _cleanup_buf_ struct buf text = BUF_INIT;

    if (!values)
        return 0;
    json_write(&text, values, JSON_CANONICAL);
    hash_add(hash, text.data, text.length);
    return hash_finish_short(hash);
}

bool kube_has_values_of(struct runtime_session *session, const struct kube_ref *ref,
                        const struct value *attributes, const struct value *object,
                        const struct value *fields)
{
    static const struct kube_expected nothing = {NULL, NULL};
    _cleanup_value_ const struct value *sent =
        kube_object_prepare(session, ref, attributes, &nothing);
    _cleanup_value_ const struct value *wanted = part_of(sent, fields),
                                       *live = part_of(object, fields);
    uint64_t confirmed;

    if (!fields || !live)
        return false;
    if (wanted && value_equal(wanted, live))
        return true;
    confirmed = session_verified_values(session, ref);
    return confirmed && confirmed == print_of(live);
}

bool kube_has_values(struct runtime_session *session, const struct kube_ref *ref,
                     const struct value *attributes, const struct value *object)
{
    const struct value *entries = value_path(object, "metadata", "managedFields", NULL);

    return kube_has_values_of(session, ref, attributes, object,
                              managers_own(entries, session->field_manager));
}

void kube_confirm_values(struct runtime_session *session, const struct kube_ref *ref,
                         const struct value *object, const struct value *fields)
{
    _cleanup_value_ const struct value *live = part_of(object, fields);

    session_note_values(session, ref, print_of(live));
}
