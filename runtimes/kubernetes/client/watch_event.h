/*
 * One event of a watch, as watch.h reads it: {"type": …, "object": …}.
 */
#pragma once

#include "engine/base/error.h"
#include "engine/value/value.h"

enum watch_event_type { WATCH_EVENT_UPSERT, WATCH_EVENT_DELETED, WATCH_EVENT_BOOKMARK };

struct watch_event {
    enum watch_event_type type;
    const struct value *object; /* borrowed, as is the version; a bookmark has no name */
    const char *version;        /* to resume from */
};

/* The error of an ERROR event is that of its Status. ERR_INTERNAL: the value is not an event. */
int watch_event_read(const struct value *value, struct watch_event *ret, struct error *error);
