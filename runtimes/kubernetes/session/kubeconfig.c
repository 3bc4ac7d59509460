#include "runtimes/kubernetes/session/kubeconfig.h"

#include "engine/base/base64.h"

#define MOST_BYTES (256u << 10) /* of the Secret, as it is answered */
#define INVALID    "InvalidKubeConfig"

/* As Cluster API and Flux write it. */
static const char *const default_keys[] = {"value", "value.yaml"};

static int get_secret(struct runtime_session *home, const char *name,
                      const struct runtime_call *call, const struct value **ret,
                      struct error *error)
{
    const struct kube_ref ref = {&kube_secrets, home->spec_namespace, name, NULL};
    struct kube_request request = {.method = "GET",
                                   .ref = ref,
                                   .impersonate = home->impersonate,
                                   .for_tenant = true,
                                   .max_response = MOST_BYTES,
                                   .cancel = call->cancel};
    struct error problem = {0};
    int r = session_check_account(home, call, error);

    if (r >= 0)
        r = session_time_left(home, call, &request.timeout, error);
    if (r < 0)
        return r;
    r = kube_do(home->cluster.client, &request, ret, &problem);
    if (r == ERR_NOT_FOUND)
        return err_set(error, ERR_INVALID, "KubeConfigNotFound",
                       "kubeConfig: there is no Secret \"%s\" in namespace \"%s\"", name,
                       home->spec_namespace);
    if (r < 0) {
        session_add_hint(home, &ref, call, &problem);
        err_wrap(&problem, "kubeConfig");
        return err_copy(error, &problem);
    }
    return 0;
}

/* Base64; NULL: the Secret has no such key. */
static const char *find_key(const struct value *secret, const char *key)
{
    const struct value *data = value_get(secret, "data");
    const char *found = NULL;

    if (key)
        return value_get_string(data, key);
    for (size_t i = 0; !found && i < ARRAY_SIZE(default_keys); i++)
        found = value_get_string(data, default_keys[i]);
    return found;
}

static int parse(const char *text, size_t length, const char *name, struct kube_config **ret,
                 struct error *error)
{
    _cleanup_(kube_config_free_p) struct kube_config *config = NULL;
    struct error problem = {0};
    int r = kube_config_read(text, length, NULL, NULL, &config, &problem);

    if (r < 0)
        return err_set(error, ERR_INVALID, INVALID, "the kubeconfig in the Secret \"%s\": %s", name,
                       problem.message);
    if (!config->ca_pem)
        return err_set(error, ERR_INVALID, INVALID,
                       "the kubeconfig in the Secret \"%s\": the cluster has no "
                       "certificate-authority-data, by which its server is known",
                       name);
    *ret = TAKE(config);
    return 0;
}

int kubeconfig_read(struct runtime_session *home, const struct value *connection,
                    const struct runtime_call *call, struct kube_config **ret, struct error *error)
{
    const struct value *ref = value_path(connection, "kubeConfig", "secretRef", NULL);
    const char *name = value_get_string(ref, "name"), *key = value_get_string(ref, "key"), *found;
    _cleanup_value_ const struct value *secret = NULL;
    _cleanup_buf_ struct buf text = BUF_INIT;
    int r;

    if (!name)
        return err_set(error, ERR_INVALID, INVALID, "kubeConfig.secretRef names no Secret");
    r = get_secret(home, name, call, &secret, error);
    if (r < 0)
        return r;
    found = find_key(secret, key);
    if (!found)
        return err_set(error, ERR_INVALID, "KubeConfigNotFound",
                       "kubeConfig: the Secret \"%s\" has no key \"%s\"%s", name,
                       key ? key : default_keys[0], key ? "" : ", nor \"value.yaml\"");
    if (!base64_decode(&text, found, strlen(found)))
        return err_set(error, ERR_INVALID, INVALID,
                       "the kubeconfig in the Secret \"%s\" cannot be decoded", name);
    return parse(text.data, text.length, name, ret, error);
}
