#include "runtimes/kubernetes/runtime.h"

#include <stdio.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/value_mark.h"
#include "engine/spec/resource.h"
#include "runtimes/kubernetes/client/path.h"
#include "runtimes/kubernetes/session.h"

static int check_service_account(struct runtime_session *session, struct error *error)
{
    _cleanup_free_ char *path =
        kube_path("v1", session->spec_namespace, "serviceaccounts", session->service_account, NULL);
    struct kube_request request = {
        .method = "GET", .path = path, .accept = KUBE_METADATA, .cancel = session->cancel};
    struct error problem = {0};
    int r = kube_do(session->runtime->config.client, &request, NULL, &problem);

    if (r == ERR_NOT_FOUND)
        return err_set(error, ERR_INVALID, "ServiceAccountNotFound",
                       "the Spec acts as the service account \"%s\", which is not there: kubectl "
                       "create serviceaccount %s --namespace=%s",
                       session->service_account, session->service_account, session->spec_namespace);
    return r < 0 ? err_copy(error, &problem) : 0;
}

static void session_close(struct runtime_session *session)
{
    if (!session)
        return;
    free(session->spec_namespace);
    free(session->spec);
    free(session->owner);
    free(session->service_account);
    free(session->impersonate);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&session->defined, e));)
        free((char *)(uintptr_t)e->key);
    strmap_done(&session->defined);
    pthread_mutex_destroy(&session->mutex);
    free(session);
}
DEFINE_CLEANUP(struct runtime_session *, session_close)

static int session_open(struct runtime *runtime, const struct runtime_scope *scope,
                        struct runtime_session **ret, struct error *error)
{
    _cleanup_(session_close_p) struct runtime_session *session = NEW(struct runtime_session);
    int r;

    session->runtime = (struct kube_runtime *)runtime;
    pthread_mutex_init(&session->mutex, NULL);
    strmap_init(&session->defined);
    session->spec_namespace = str_new(scope->spec_namespace);
    session->spec = str_printf("%s/%s", scope->spec_namespace, scope->spec_name);
    session->owner = str_new(scope->owner);
    session->service_account = str_new(scope->service_account);
    session->cancel = scope->cancel;
    snprintf(session->field_manager, sizeof(session->field_manager), "kusion-operator-%.16s",
             str_has_prefix(scope->owner, "kusion-") ? scope->owner + 7 : scope->owner);
    if (!scope->service_account) {
        if (!session->runtime->config.act_as_controller)
            return err_set(error, ERR_FORBIDDEN, "AccessDenied", "no service account to act as");
        *ret = TAKE(session);
        return 0;
    }
    session->impersonate =
        str_printf("system:serviceaccount:%s:%s", scope->spec_namespace, scope->service_account);
    if (!scope->spec_namespace_terminating && !scope->service_account_leaves) {
        r = check_service_account(session, error);
        if (r < 0)
            return r;
    }
    *ret = TAKE(session);
    return 0;
}

/* Of a Secret its content, and kubectl's copy of that. */
static const struct value *mark(const struct value *attributes)
{
    _cleanup_value_ const struct value *pointers = NULL;

    if (!str_equal(value_get_string(attributes, "kind"), "Secret") ||
        !str_equal(value_get_string(attributes, "apiVersion"), "v1"))
        return value_ref(attributes);
    pointers = value_pack(
        "[s, s, s]", "/data", "/stringData",
        "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration");
    return value_mark_paths(attributes, pointers);
}

static const struct runtime_ops ops = {
    .type = RESOURCE_KUBERNETES,
    .open = session_open,
    .close = session_close,
    .observe = kube_observe,
    .read = kube_read,
    .preview = kube_preview,
    .apply = kube_apply,
    .may_delete = kube_may_delete,
    .is_in_namespace = kube_is_in_namespace,
    .remove = kube_remove,
    .watch = kube_watch_targets,
    .unwatch = kube_unwatch,
    .health = health_of_object,
    .mark = mark,
};

struct runtime *kube_runtime_new(const struct kube_runtime_config *config)
{
    struct kube_runtime *runtime = NEW(struct kube_runtime);

    runtime->base.ops = &ops;
    runtime->config = *config;
    return &runtime->base;
}

void kube_runtime_free(struct runtime *runtime)
{
    free(runtime);
}
