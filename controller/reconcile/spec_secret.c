#include "controller/reconcile/spec_secret.h"

#include "engine/base/str.h"

#define TYPE        "Terraform" /* of the resources in the files */
#define DEFAULT_KEY "tfstate"

struct spec_secret spec_secret_of(const struct run *run, const char *direction)
{
    const struct value *ref =
        value_path(run->object, "spec", "terraformState", direction, "secretRef", NULL);
    const char *key = value_get_string(ref, "key");

    return (struct spec_secret){value_get_string(ref, "name"), key ? key : DEFAULT_KEY};
}

struct runtime *spec_secret_runtime(const struct run *run)
{
    const struct reconcile_context *context = run->context;

    for (size_t i = 0; i < context->n_runtimes; i++)
        if (str_equal(context->runtimes[i]->ops->type, TYPE))
            return context->runtimes[i]->ops->foreign ? context->runtimes[i] : NULL;
    return NULL;
}

/* ---- Requests ---- */

int spec_secret_get(const struct run *run, const struct kube_kind *kind, const char *name,
                    const char *accept, int64_t timeout, const struct value **ret,
                    struct error *error)
{
    _cleanup_free_ char *user = run_user(run);
    const struct kube_request request = {
        .method = "GET",
        .ref = {kind, run->subject.key.namespace_name, name, NULL},
        .impersonate = user,
        .accept = accept,
        .for_tenant = true,
        .timeout = timeout,
        .cancel = run->cancel,
    };

    return kube_do(run->context->client, &request, ret, error);
}

int spec_secret_put(const struct run *run, const char *name, const struct value *object,
                    int64_t timeout, const struct value **ret, struct error *error)
{
    _cleanup_free_ char *user = run_user(run);
    bool is_there = value_path(object, "metadata", "resourceVersion", NULL);
    const struct kube_request request = {
        .method = is_there ? "PUT" : "POST",
        .ref = {&kube_secrets, run->subject.key.namespace_name, is_there ? name : NULL, NULL},
        .body = object,
        .impersonate = user,
        .for_tenant = true,
        .timeout = timeout,
        .cancel = run->cancel,
        .complete_once_sent = true,
        .permit = run->context->permit,
    };

    return kube_do(run->context->client, &request, ret, error);
}
