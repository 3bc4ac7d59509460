/*
 * The body of one page of a list as it arrives, as list.h and watch.h both
 * read it.
 */
#ifndef RUNTIMES_KUBERNETES_CLIENT_LIST_PAGE_H
#define RUNTIMES_KUBERNETES_CLIENT_LIST_PAGE_H

#include <stdbool.h>

#include "engine/base/json.h"

struct list_page {
    json_on_value *on_item;
    void *arg;
    struct json_stream *stream;
    bool is_begun;          /* something of it arrived */
    bool is_refused;        /* on_item ended it */
    char *resource_version; /* of the list; NULL until the end of the page */
    char *next;             /* continue token; NULL: the last page */
};

void list_page_init(struct list_page *page, json_on_value *on_item, void *arg);
void list_page_done(struct list_page *page);

/* ERR_INTERNAL: that is no JSON; else what on_item gave. */
int list_page_add(struct list_page *page, const char *data, size_t length, struct error *error);
/* The page is complete: next and resource_version are set. ERR_UNAVAILABLE: it is not,
 * ERR_INTERNAL: it is no list. */
int list_page_end(struct list_page *page, struct error *error);

#endif
