/*
 * Plans and results that are too long for a Release's status, in ConfigMaps of
 * the controller's own namespace: the list as gzipped JSON under the key
 * "plan", cut into as many as it takes. The first has the plan's name, the
 * others that and "-1", "-2", …; its data say how many `chunks` there are, and
 * the `checksum` (sha256) of the gzipped whole. Redacted, as in a status.
 *
 *   kubectl get configmap NAME -o jsonpath='{.binaryData.plan}' | base64 -d | gunzip
 */
#ifndef RUNTIMES_KUBERNETES_PLANS_H
#define RUNTIMES_KUBERNETES_PLANS_H

#include "runtimes/kubernetes/client/client.h"

#define PLAN_NAME_SIZE 64

/* The same for the same Release. */
void plan_name(const char *release_namespace, const char *release, char ret[PLAN_NAME_SIZE]);

/* Makes it, or replaces it. */
int plan_save(struct kube_client *client, const char *namespace_name,
              const char *release_namespace, const char *release, const struct value *list,
              struct error *error);

/* 0 also where there is none. */
int plan_remove(struct kube_client *client, const char *namespace_name,
                const char *release_namespace, const char *release, struct error *error);

#endif
