#include "runtimes/kubernetes/change/desired.h"

#include "engine/value/children.h"
#include "runtimes/kubernetes/objects/common_metadata.h"
#include "runtimes/kubernetes/objects/object_ref.h"

/* ---- What controllers write ---- */

/* Annotations by which a controller keeps count. In a Spec they come from an object that was
 * exported; applied again, they and the controller would change each other for ever. */
static const struct {
    const char *group, *kind, *key;
} controlled[] = {
    {"apps", "Deployment", "deployment.kubernetes.io/revision"},
    {"apps", "DaemonSet", "deprecated.daemonset.template.generation"},
    {"", "PersistentVolumeClaim", "pv.kubernetes.io/bind-completed"},
    {"", "PersistentVolumeClaim", "pv.kubernetes.io/bound-by-controller"},
    {"", "PersistentVolumeClaim", "volume.kubernetes.io/selected-node"},
    {"", "PersistentVolumeClaim", "volume.kubernetes.io/storage-provisioner"},
    {"", "PersistentVolumeClaim", "volume.beta.kubernetes.io/storage-provisioner"},
};

/* The object without annotations that a controller writes. A reference. */
static const struct value *without_controlled(const struct value *object)
{
    const struct object_ref ref = object_ref_of(object);
    const struct value *left = value_ref(object);

    for (size_t i = 0; i < ARRAY_SIZE(controlled); i++) {
        const char *const keys[] = {"metadata", "annotations", controlled[i].key};
        const struct value *annotations = value_path(left, "metadata", "annotations", NULL);

        if (object_ref_is(&ref, controlled[i].group, controlled[i].kind) &&
            value_get(annotations, controlled[i].key))
            value_move(&left, value_without_path(left, keys, value_count(annotations) > 1 ? 3 : 2));
    }
    return left;
}

/* ---- The whole ---- */

void kube_find_ignored(const struct runtime_session *session, const struct value *attributes,
                       struct ignored *ret)
{
    ignore_find(session->ignore, attributes, session->spec_namespace,
                value_get(session->objects.common_metadata, "labels"), ret);
}

int kube_check_ignored(const struct ignored *ignored, const struct value *object,
                       const struct value *own, struct error *error)
{
    const struct ignore_path *inside = ignored_find_inside(ignored, object, own);

    if (!inside)
        return 0;
    return err_set(
        error, ERR_INVALID, "InvalidSpec",
        "`ignore` has \"%s\", which is inside of what the API server knows as one field: "
        "ignore that as a whole",
        inside->text);
}

void desired_init(const struct runtime_session *session, const struct runtime_target *target,
                  struct desired *ret)
{
    const struct value *object = common_metadata_add(without_controlled(target->attributes),
                                                     session->objects.common_metadata);

    *ret = (struct desired){.target = *target, .initial = object};
    kube_find_ignored(session, object, &ret->ignored);
    ret->target.attributes = ignored_leave_out(&ret->ignored, object);
}

void desired_done(struct desired *desired)
{
    value_unref(desired->target.attributes);
    value_unref(desired->initial);
    ignored_done(&desired->ignored);
}
