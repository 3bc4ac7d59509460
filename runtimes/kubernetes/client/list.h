/*
 * Lists a collection in pages (limit and continue). Pages are parsed as they
 * arrive, so a list takes the memory of its largest item. If a continue token
 * has expired (410), the list begins again with the first page: on_item may
 * get an item twice.
 */
#pragma once

#include "engine/value/json.h"
#include "runtimes/kubernetes/client/client.h"
#include "runtimes/kubernetes/client/wait.h"

#define KUBE_LIST_PAGE 500

struct kube_list {
    struct kube_ref ref; /* the collection */
    struct kube_selector selector;
    bool metadata_only;      /* items are PartialObjectMetadata */
    unsigned page;           /* items of a page; 0: KUBE_LIST_PAGE */
    const char *impersonate; /* or NULL */
    bool for_tenant;         /* as of kube_request */
    struct kube_wait wait;   /* for all pages */
    json_on_value *on_item; /* on the request loop's thread: quick, no waiting. An error ends the
                               list, and is its error */
    void *arg;
};

/* ret_resource_version (may be NULL): to watch from; free() it. */
int kube_list(struct kube_client *client, const struct kube_list *list, char **ret_resource_version,
              struct error *error);
