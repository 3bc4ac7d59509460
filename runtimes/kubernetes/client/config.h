/*
 * Where the API server is and who we are: from a kubeconfig, or from the
 * files that a pod finds in its own file system.
 *
 * Of a kubeconfig: the current (or a named) context, clusters with server,
 * certificate-authority(-data), tls-server-name, proxy-url; users with client
 * certificates, token, tokenFile. `exec` and `auth-provider` start programs,
 * and are refused (ERR_UNSUPPORTED) with what to use instead, as are
 * insecure-skip-tls-verify, username and password. Relative file names count
 * from the kubeconfig's folder. One that was not read from a file may name no
 * files at all: it is not ours, and would be given what is in them.
 */
#ifndef RUNTIMES_KUBERNETES_CLIENT_CONFIG_H
#define RUNTIMES_KUBERNETES_CLIENT_CONFIG_H

#include "engine/base/cleanup.h"
#include "engine/base/error.h"

struct kube_config {
    char *server;          /* https://host:port[/prefix], no slash at its end */
    char *ca_pem;          /* NULL: the system's CAs */
    char *ca_file;         /* the file that it was read from, which may be replaced; or NULL */
    char *cert_pem, *key_pem;
    char *token;           /* a fixed one, or NULL */
    char *token_file;      /* one that rotates: re-read as it changes */
    char *tls_server_name;
    char *proxy_url;
    char *namespace_name;  /* of the context, or of the pod; "default" where none is named */
};

/* path: NULL: $KUBECONFIG (its first file that exists), then ~/.kube/config. context: NULL:
 * the current one. */
int kube_config_load(const char *path, const char *context, struct kube_config **ret,
                     struct error *error);
/* From text. folder: what relative file names count from; NULL: file names are refused
 * (ERR_UNSUPPORTED). context: as above. */
int kube_config_read(const char *text, size_t length, const char *folder, const char *context,
                     struct kube_config **ret, struct error *error);
/* From KUBERNETES_SERVICE_HOST/_PORT and /var/run/secrets/kubernetes.io/serviceaccount;
 * ERR_NOT_FOUND outside of a pod. folder: NULL but in tests. */
int kube_config_in_cluster(const char *folder, struct kube_config **ret, struct error *error);
void kube_config_free(struct kube_config *config);
DEFINE_CLEANUP(struct kube_config *, kube_config_free)

#endif
