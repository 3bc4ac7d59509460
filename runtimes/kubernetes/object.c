/* Builds the objects that are sent, and observations from the objects that are read. */
#include "engine/base/base64.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/value_mark.h"
#include "runtimes/kubernetes/health_set.h"
#include "runtimes/kubernetes/managers.h"
#include "runtimes/kubernetes/object_ref.h"
#include "runtimes/kubernetes/session.h"

static const struct value *without(const struct value *taken, const char *a, const char *b,
                                   const char *c)
{
    const char *keys[] = {a, b, c};
    const struct value *next = value_without_path(taken, keys, c ? 3 : b ? 2 : 1);

    value_unref(taken);
    return next;
}

static const struct value *with_string(const struct value *taken, const char *b, const char *c,
                                       const char *s)
{
    const char *keys[] = {"metadata", b, c};
    _cleanup_value_ const struct value *value = value_pack("s", s);
    const struct value *next = value_with_path(taken, keys, c ? 3 : 2, value);

    value_unref(taken);
    return next;
}

const struct value *kube_object_project(const struct value *object)
{
    static const char *const server_filled[] = {
        "resourceVersion", "creationTimestamp", "selfLink", "uid", "generation", "managedFields"};
    const struct value *result = value_without(object, "status");

    for (size_t i = 0; i < ARRAY_SIZE(server_filled); i++)
        if (value_path(result, "metadata", server_filled[i], NULL))
            result = without(result, "metadata", server_filled[i], NULL);
    if (value_path(result, "metadata", "annotations",
                   "kubectl.kubernetes.io/last-applied-configuration", NULL))
        result = without(result, "metadata", "annotations",
                         "kubectl.kubernetes.io/last-applied-configuration");
    return result;
}

static bool is_secret(const struct value *object)
{
    return str_equal(value_get_string(object, "kind"), "Secret") &&
           str_equal(value_get_string(object, "apiVersion"), "v1");
}

const struct value *kube_object_mark(const struct value *object)
{
    _cleanup_value_ const struct value *pointers = NULL;

    if (!is_secret(object))
        return value_ref(object);
    pointers =
        value_pack("[s, s, s]", "/data", "/stringData",
                   "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration");
    return value_mark_paths(object, pointers);
}

/* ---- The object that is sent ---- */

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
    const struct value *all = NULL;
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
        const char *key = value_member_key(plain, i, &length);

        value_key_n(b, key, length);
        add_encoded(b, value_member(plain, i));
    }
    value_end_object(b);
    value_builder_finish(b, &all, NULL);
    return all;
}

/* The API server puts a Secret's stringData into its data, of which our manager would then have
 * nothing: what leaves the Spec would stay, and what others change there would not be seen. */
static const struct value *fold_string_data(const struct value *taken)
{
    const struct value *data = value_get(taken, "data"), *plain = value_get(taken, "stringData");
    _cleanup_value_ const struct value *all = NULL, *folded = NULL;

    if (!is_secret(taken) || !are_strings(plain) ||
        (data && !value_is(data, VALUE_OBJECT) && !value_is(data, VALUE_NULL)))
        return taken;
    all = all_data(data, plain);
    folded = value_with(taken, "data", all);
    value_unref(taken);
    return value_without(folded, "stringData");
}

const struct value *kube_object_prepare(const struct runtime_session *session,
                                        const struct kube_ref *ref, const struct value *attributes,
                                        const struct kube_expected *expected)
{
    const struct value *object = fold_string_data(kube_object_project(attributes));

    if (ref->namespace_name)
        object = with_string(object, "namespace", NULL, ref->namespace_name);
    else if (value_path(object, "metadata", "namespace", NULL))
        object = without(object, "metadata", "namespace", NULL);
    if (expected->uid)
        object = with_string(object, "uid", NULL, expected->uid);
    if (expected->version)
        object = with_string(object, "resourceVersion", NULL, expected->version);
    object = with_string(object, "labels", KUBE_OWNER_LABEL, session->owner);
    return with_string(object, "annotations", KUBE_SPEC_ANNOTATION, session->spec);
}

/* ---- Observations ---- */

static void detail_free(void *arg)
{
    struct kube_detail *detail = arg;

    kube_marks_free(detail->foreign);
    value_unref(detail->taken);
    value_unref(detail->fields);
    value_unref(detail->managers);
    free(detail->version);
    free(detail);
}

static const struct value *managed_fields(const struct value *object)
{
    return value_path(object, "metadata", "managedFields", NULL);
}

/* A copy, which does not keep the object in memory. */
static const struct value *copy_of(const struct value *value)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = NULL;
    const struct value *copy = NULL;

    if (!value)
        return NULL;
    b = value_builder_new();
    value_add_copy(b, value);
    value_builder_finish(b, &copy, NULL);
    return copy;
}

/* Who has which fields, by the object's managedFields. */
static void read_managers(const struct runtime_session *session, const struct value *object,
                          struct kube_detail *ret)
{
    const struct value *entries = managed_fields(object);
    _cleanup_value_ const struct value *taken = managers_take(entries, session->field_manager);

    ret->managers = copy_of(entries);
    ret->taken = copy_of(taken);
    ret->fields = ret->taken ? value_ref(managers_own(ret->taken, session->field_manager))
                             : copy_of(managers_own(entries, session->field_manager));
}

/* ---- Why it still exists ---- */

/* Finalizers that a message names. */
#define NAMED_FINALIZERS 3

/* The API server's own: the garbage collector deletes the dependents, or lets them go. */
static bool is_for_dependents(const char *finalizer)
{
    return str_equal(finalizer, "foregroundDeletion") || str_equal(finalizer, "orphan");
}

/* "it has the finalizer a.io/b"; of the API server's own ones only if there are no others. */
static char *name_finalizers(const struct value *finalizers)
{
    struct buf text = BUF_INIT;
    size_t named = 0;

    for (size_t i = 0; i < value_count(finalizers); i++) {
        const char *finalizer = value_string(value_at(finalizers, i));

        if (!finalizer || is_for_dependents(finalizer))
            continue;
        if (named < NAMED_FINALIZERS)
            buf_printf(&text, "%s%s", named ? ", " : "it has the finalizer ", finalizer);
        named++;
    }
    if (named > NAMED_FINALIZERS)
        buf_printf(&text, ", and %zu more", named - NAMED_FINALIZERS);
    if (!named)
        buf_add_str(&text, "the objects that it owns are deleted first");
    return buf_take(&text);
}

/* The namespace controller says what it cannot delete. */
static char *name_content(const struct value *namespace)
{
    static const char *const types[] = {
        "NamespaceFinalizersRemaining", "NamespaceDeletionContentFailure",
        "NamespaceDeletionDiscoveryFailure", "NamespaceContentRemaining"};

    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        const char *message;

        if (str_equal(health_condition(namespace, types[i], &message), "True"))
            return str_printf("its content is deleted first: %s", message);
    }
    return str_new("its content is deleted first");
}

/* NULL: it is not being deleted, or it says nothing. */
static char *held_by(const struct value *object)
{
    const struct value *metadata = value_get(object, "metadata");
    const struct value *finalizers = value_get(metadata, "finalizers");
    const struct object_ref ref = object_ref_of(object);
    int64_t grace = value_int(value_get(metadata, "deletionGracePeriodSeconds"), 0);

    if (!value_get(metadata, "deletionTimestamp"))
        return NULL;
    if (value_count(finalizers))
        return name_finalizers(finalizers);
    if (object_ref_is_namespace(&ref))
        return name_content(object);
    return grace > 0 ? str_printf("it has %lld s to end", (long long)grace) : NULL;
}

/* ---- What was seen ---- */

static struct kube_detail *detail_new(const struct runtime_session *session,
                                      const struct value *object, bool whole)
{
    struct kube_detail *detail = NEW(struct kube_detail);

    detail->owner = kube_owner_of(session, object);
    detail->foreign = kube_marks_of(session, object);
    if (whole)
        read_managers(session, object, detail);
    detail->version =
        str_new(value_string(value_path(object, "metadata", "resourceVersion", NULL)));
    return detail;
}

const struct kube_detail *kube_detail_of(const struct observation *observation)
{
    return observation->presence == PRESENCE_PRESENT ? observation->detail : NULL;
}

/* Without who manages which of its fields: of a small object that is more than all else of it, and
 * results are kept for as long as something waits. */
static const struct value *result_of(const struct value *object)
{
    static const char *const managed[] = {"metadata", "managedFields"};
    _cleanup_value_ const struct value *marked = kube_object_mark(object);

    return value_copy_without(marked, managed, ARRAY_SIZE(managed));
}

void kube_observe_object(const struct runtime_session *session, const struct value *object,
                         bool whole, struct observation *ret)
{
    *ret = (struct observation){
        .presence = PRESENCE_PRESENT,
        .terminating = value_path(object, "metadata", "deletionTimestamp", NULL) != NULL,
        .held_by = held_by(object),
        .uid = str_new(value_string(value_path(object, "metadata", "uid", NULL))),
        .fields_digest = managers_digest(managed_fields(object), session->field_manager),
        .result = whole ? result_of(object) : NULL,
        .detail = detail_new(session, object, whole),
        .detail_free = detail_free,
    };
}
