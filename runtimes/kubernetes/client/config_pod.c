#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/client/config.h"
#include "runtimes/kubernetes/client/file.h"

#define POD_FOLDER "/var/run/secrets/kubernetes.io/serviceaccount"

static char *in_folder(const char *folder, const char *name)
{
    return str_printf("%s/%s", folder, name);
}

static int pod_server(char **ret, struct error *error)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST");
    const char *port = getenv("KUBERNETES_SERVICE_PORT");
    bool is_ipv6;
    int64_t number;

    if (!host || !*host || !port || !*port)
        return err_set(error, ERR_NOT_FOUND, "NotInCluster",
                       "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
    if (!str_to_int64(port, &number) || number < 1 || number > 65535)
        return err_set(error, ERR_INVALID, "InvalidConfig",
                       "KUBERNETES_SERVICE_PORT is not a port: \"%s\"", port);
    is_ipv6 = strchr(host, ':') && host[0] != '[';
    *ret = str_printf(is_ipv6 ? "https://[%s]:%d" : "https://%s:%d", host, (int)number);
    return 0;
}

int kube_config_in_cluster(const char *folder, struct kube_config **ret, struct error *error)
{
    _cleanup_(kube_config_free_p) struct kube_config *config = NEW(struct kube_config);
    _cleanup_free_ char *namespace_file = NULL, *token = NULL;
    int r;

    if (!folder)
        folder = POD_FOLDER;
    r = pod_server(&config->server, error);
    if (r < 0)
        return r;

    config->token_file = in_folder(folder, "token");
    r = file_read_word(config->token_file, &token, error);
    if (r < 0) {
        err_wrap(error, "the pod's ServiceAccount token");
        return r;
    }

    config->ca_file = in_folder(folder, "ca.crt");
    r = file_read_text(config->ca_file, &config->ca_pem, error);
    if (r < 0) {
        err_wrap(error, "the cluster's CA");
        return r;
    }

    namespace_file = in_folder(folder, "namespace");
    if (file_read_word(namespace_file, &config->namespace_name, NULL) < 0)
        config->namespace_name = str_new("default");
    *ret = TAKE(config);
    return 0;
}
