/*
 * Request paths: /apis/apps/v1/namespaces/a/deployments/web?fieldManager=…
 * Names are percent-encoded, so that each stays one segment; one that cannot
 * be (empty, "..", with a slash) becomes a name that no object has. Strings
 * are the caller's to free.
 */
#ifndef RUNTIMES_KUBERNETES_CLIENT_PATH_H
#define RUNTIMES_KUBERNETES_CLIENT_PATH_H

#include "engine/base/buf.h"

/* group_version: "v1" or "apps/v1"; namespace_name: NULL for cluster scope (or all namespaces);
 * name: NULL for the collection; subresource: NULL for none. plural: NULL for the group and
 * version itself. */
char *kube_path(const char *group_version, const char *namespace_name, const char *plural,
                const char *name, const char *subresource);

/* Adds "?key=value" or "&key=value", encoded, to a path in a buffer. */
void kube_path_query(struct buf *path, const char *key, const char *value);

#endif
