/*
 * The URL of a request:
 * /apis/apps/v1/namespaces/a/deployments/web?fieldManager=…
 *
 * Names are percent-encoded, so that each is one segment of the path. A name
 * that cannot be one (empty, "..", with a slash) is replaced by a name that no
 * object has.
 */
#pragma once

#include "runtimes/kubernetes/client/request.h"

/* With its query; free(). */
char *kube_path(const struct kube_request *request);
