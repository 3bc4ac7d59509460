/*
 * Parses one page of a list as it arrives; for list.h and watch.h.
 */
#pragma once

#include <stdbool.h>

#include "engine/value/json.h"

struct list_page {
    json_on_value *on_item;
    void *arg;
    struct json_stream *stream;
    bool is_begun;          /* a part of it has arrived */
    bool is_refused;        /* on_item returned an error */
    char *resource_version; /* of the list; NULL until the end of the page */
    char *next;             /* continue token; NULL: the last page */
};

/* limit: bytes of an item; 0: that of json.h. */
void list_page_init(struct list_page *page, json_on_value *on_item, void *arg, size_t limit);
void list_page_done(struct list_page *page);

/* ERR_INTERNAL: the page is not JSON. Other errors are those of on_item. */
int list_page_add(struct list_page *page, const char *data, size_t length, struct error *error);
/* 0: the page is complete; next and resource_version are set. ERR_UNAVAILABLE: it is incomplete. */
int list_page_end(struct list_page *page, struct error *error);
