/*
 * Lists in pages (limit and continue), parsed as they arrive: memory is that
 * of the largest item, whatever the length. A continue token that expired
 * (410) starts again from the first page, so on_item must take an item twice.
 */
#ifndef RUNTIMES_KUBERNETES_CLIENT_LIST_H
#define RUNTIMES_KUBERNETES_CLIENT_LIST_H

#include "engine/base/json.h"
#include "runtimes/kubernetes/client/client.h"
#include "runtimes/kubernetes/client/wait.h"

#define KUBE_LIST_PAGE 500

struct kube_list {
    struct kube_ref ref; /* the collection */
    struct kube_selector selector;
    bool metadata_only;      /* items are PartialObjectMetadata */
    const char *impersonate; /* or NULL */
    bool for_tenant;         /* as of kube_request */
    struct kube_wait wait;   /* for all pages */
    json_on_value *on_item; /* on the request loop's thread: quick, no waiting */
    void *arg;
};

/* ret_resource_version (may be NULL): to watch from; free() it. */
int kube_list(struct kube_client *client, const struct kube_list *list, char **ret_resource_version,
              struct error *error);

#endif
