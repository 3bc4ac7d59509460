#include "cli/online/doctor_state.h"

#include "engine/base/str.h"
#include "runtimes/kubernetes/client/group.h"
#include "runtimes/kubernetes/client/list.h"
#include "runtimes/kubernetes/store/documents.h"

#define RECORD "kusion-store"

void state_heads_done(struct state_heads *heads)
{
    objects_done(&heads->objects);
    strmap_done(&heads->names);
}

/* Runs on the request loop's thread. */
static int add_head(void *arg, const struct value *item, struct error *error)
{
    struct state_heads *heads = arg;

    (void)error;
    objects_add(&heads->objects, item);
    strmap_put(&heads->names, object_name(item), heads);
    return 0;
}

int state_heads_add(struct session *session, const char *namespace_name, struct state_heads *heads,
                    struct error *error)
{
    struct kube_list list = {.ref = {&kube_config_maps, namespace_name, NULL, NULL},
                             .selector = {.labels = KUBE_KIND_LABEL "=state"},
                             .metadata_only = true,
                             .on_item = add_head,
                             .arg = heads};
    struct kube_request request = {.method = "GET",
                                   .ref = {&kube_config_maps, namespace_name, RECORD, NULL}};
    _cleanup_value_ const struct value *record = NULL;
    int r = session_do(session, &request, &record, error);

    if (r < 0)
        return r;
    if (!str_has_prefix(object_text(record, "", "data", "store", NULL), "configmap:"))
        return err_set(error, ERR_UNSUPPORTED, "NoConfigMaps", "State is in another store");
    return kube_list(session->client, &list, NULL, error);
}

bool state_is_lost(const struct state_heads *heads, const struct value *spec)
{
    const struct spec_key key = {object_namespace(spec), object_name(spec)};
    char name[KUBE_DOCUMENT_NAME_SIZE];

    if (object_int(spec, 0, "status", "inventory", "total", NULL) == 0 ||
        value_path(spec, "metadata", "deletionTimestamp", NULL))
        return false;
    kube_document_name(&(struct document_name){DOCUMENT_STATE, key, NULL}, name);
    return !strmap_get(&heads->names, name);
}
