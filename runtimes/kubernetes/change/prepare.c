#include "runtimes/kubernetes/change/prepare.h"

#include "engine/base/base64.h"
#include "engine/value/children.h"
#include "runtimes/kubernetes/objects/marks.h"
#include "runtimes/kubernetes/objects/object.h"

static const struct value *with_string(const struct value *taken, const char *b, const char *c,
                                       const char *s)
{
    const char *keys[] = {"metadata", b, c};
    _cleanup_value_ const struct value *value = value_pack("s", s);

    value_move(&taken, value_with_path(taken, keys, c ? 3 : 2, value));
    return taken;
}

static bool are_strings(const struct value *object)
{
    for (size_t i = 0; i < value_count(object); i++)
        if (!value_is(value_member(object, i), VALUE_STRING) &&
            !value_is(value_member(object, i), VALUE_UNKNOWN))
            return false;
    return value_is(object, VALUE_OBJECT);
}

static void add_encoded(struct value_builder *b, const struct value *plain)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    size_t length;
    const char *bytes = value_string_n(plain, &length);

    if (!bytes) {
        value_add_unknown(b);
        return;
    }
    base64_encode(&text, bytes, length);
    value_add_string_n(b, text.data, text.length);
}

/* A Secret's data, with its stringData in it. */
static const struct value *all_data(const struct value *data, const struct value *plain)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    size_t length;

    value_begin_object(b);
    for (size_t i = 0; i < value_count(data); i++) {
        const char *key = value_member_key(data, i, &length);

        if (value_get_n(plain, key, length))
            continue;
        value_key_n(b, key, length);
        value_add(b, value_member(data, i));
    }
    for (size_t i = 0; i < value_count(plain); i++) {
        value_key_like(b, plain, i);
        add_encoded(b, value_member(plain, i));
    }
    value_end_object(b);
    return value_finish(b);
}

/* The API server puts a Secret's stringData into its data, of which our manager would then have
 * nothing: what leaves the Spec would stay, and what others change there would not be seen. */
static const struct value *fold_string_data(const struct value *taken)
{
    const struct value *data = value_get(taken, "data"), *plain = value_get(taken, "stringData");
    _cleanup_value_ const struct value *all = NULL;

    if (!kube_object_is_secret(taken) || !are_strings(plain) ||
        (data && !value_is(data, VALUE_OBJECT) && !value_is(data, VALUE_NULL)))
        return taken;
    all = all_data(data, plain);
    value_move(&taken, value_with(taken, "data", all));
    value_move(&taken, value_without(taken, "stringData"));
    return taken;
}

const struct value *kube_object_prepare(const struct runtime_session *session,
                                        const struct kube_ref *ref, const struct value *attributes,
                                        const struct kube_expected *expected)
{
    static const char *const namespace[] = {"metadata", "namespace"};
    const struct value *object = fold_string_data(kube_object_project(attributes));

    if (ref->namespace_name)
        object = with_string(object, "namespace", NULL, ref->namespace_name);
    else if (value_path(object, "metadata", "namespace", NULL))
        value_move(&object, value_without_path(object, namespace, ARRAY_SIZE(namespace)));
    if (expected->uid)
        object = with_string(object, "uid", NULL, expected->uid);
    if (expected->version)
        object = with_string(object, "resourceVersion", NULL, expected->version);
    object = with_string(object, "labels", KUBE_OWNER_LABEL, session->owner);
    return with_string(object, "annotations", KUBE_SPEC_ANNOTATION, session->spec);
}
