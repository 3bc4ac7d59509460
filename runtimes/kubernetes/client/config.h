/*
 * The address of the API server, and the credentials for it: from a kubeconfig, or from the files
 * that a pod finds in its own file system.
 *
 * Of a kubeconfig, the current (or a named) context is read:
 *
 *   cluster  server, certificate-authority(-data), tls-server-name, proxy-url
 *   user     client-certificate(-data), client-key(-data), token, tokenFile; or no user
 *
 * Relative file names count from the kubeconfig's folder. http:// is accepted for a loopback
 * address only. Refused, with what to use instead (ERR_UNSUPPORTED), are exec and auth-provider,
 * which start programs; insecure-skip-tls-verify; username and password; and as…, which would be in
 * the way of the operator's impersonation.
 *
 * A kubeconfig that comes as text, and not from a file, may be a tenant's. It must not reach what
 * the operator reaches and the tenant does not. So these are refused as well:
 *
 *   files      the text could name the operator's own token, and a server that is sent it.
 *   http://    even to a loopback address: the operator's own ports, and its Pod's, are there.
 *   proxy-url  a proxy is connected to, in clear text, before any certificate is verified. So any
 *              address in the operator's network could be given as a proxy.
 *
 * What remains is a TLS connection to an address that the tenant chooses. No request is sent over
 * it unless the server's certificate is signed by the CA given here, or else by one of the
 * system's. That the operator tries to connect at all can be limited by a NetworkPolicy alone. The
 * environment's proxy variables are never read (http.h), and redirects are never followed.
 */
#pragma once

#include "engine/base/cleanup.h"
#include "engine/base/error.h"

struct kube_config {
    char *server;          /* https://host:port[/prefix], no slash at its end */
    char *ca_pem;          /* NULL: the system's CAs */
    char *ca_file;         /* the file that ca_pem was read from, which may be replaced; or NULL */
    char *cert_pem, *key_pem;
    char *cert_file, *key_file; /* likewise */
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
/* From text. folder: relative file names count from it; NULL: the text may be a tenant's, see
 * above. context: as above. */
int kube_config_read(const char *text, size_t length, const char *folder, const char *context,
                     struct kube_config **ret, struct error *error);
/* From KUBERNETES_SERVICE_HOST/_PORT and /var/run/secrets/kubernetes.io/serviceaccount;
 * ERR_NOT_FOUND outside of a pod. folder: NULL but in tests. */
int kube_config_in_cluster(const char *folder, struct kube_config **ret, struct error *error);
void kube_config_free(struct kube_config *config);
DEFINE_CLEANUP(struct kube_config *, kube_config_free)
