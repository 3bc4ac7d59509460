/*
 * The API group of our kinds, as crds/ has it.
 */
#ifndef RUNTIMES_KUBERNETES_GROUP_H
#define RUNTIMES_KUBERNETES_GROUP_H

#define API_GROUP_VERSION "api.kusion.io/v1"

#endif
