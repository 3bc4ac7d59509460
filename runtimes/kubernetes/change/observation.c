#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/children.h"
#include "runtimes/kubernetes/change/observe.h"
#include "runtimes/kubernetes/objects/health_set.h"
#include "runtimes/kubernetes/objects/managers.h"
#include "runtimes/kubernetes/objects/object.h"
#include "runtimes/kubernetes/objects/object_ref.h"
#include "runtimes/kubernetes/objects/treatment.h"

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

    if (!value)
        return NULL;
    b = value_builder_new();
    value_add_copy(b, value);
    return value_finish(b);
}

/* Who has which fields, by ret->managers. */
static void read_managers(const struct runtime_session *session,
                          const struct managers_taking *taking, struct kube_detail *ret)
{
    const char *ours = session->field_manager;
    _cleanup_value_ const struct value *taken = managers_take(ret->managers, ours, taking);

    value_move(&ret->taken, copy_of(taken));
    value_assign(&ret->fields, managers_own(taken ? ret->taken : ret->managers, ours));
}

void kube_observe_managers(const struct runtime_session *session,
                           const struct managers_taking *taking, struct observation *seen)
{
    struct kube_detail *detail = seen->presence == PRESENCE_PRESENT ? seen->detail : NULL;

    if (detail && detail->managers)
        read_managers(session, taking, detail);
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
    static const struct managers_taking people = {.from = MANAGERS_PEOPLE};
    struct kube_detail *detail = NEW(struct kube_detail);

    detail->owner = kube_owner_of(session, object);
    detail->foreign = kube_marks_of(session, object);
    detail->keeps = treatment_keeps(object);
    if (whole) {
        detail->managers = copy_of(managed_fields(object));
        read_managers(session, &people, detail);
    }
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

void kube_observe_untouched(const struct record *record, struct observation *ret)
{
    struct kube_detail *detail = NEW(struct kube_detail);

    detail->owner = OWNER_SELF;
    *ret = (struct observation){
        .presence = PRESENCE_PRESENT,
        .uid = str_new(record->uid),
        .fields_digest = str_new(record->fields_digest),
        .detail = detail,
        .detail_free = detail_free,
    };
}
