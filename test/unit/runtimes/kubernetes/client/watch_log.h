/*
 * What a watch said, as text that a test can wait for: "U a D b S E Forbidden W ".
 */
#pragma once

#include <pthread.h>

#include "engine/base/buf.h"
#include "runtimes/kubernetes/client/watch.h"

struct watch_log {
    pthread_mutex_t mutex;
    struct buf text;
    const struct value *last_deleted;
    bool is_inside; /* a callback runs: two at once are a defect */
    bool has_overlapped;
};

void watch_log_init(struct watch_log *log);
void watch_log_done(struct watch_log *log);
void watch_log_event(void *arg, enum kube_watch_event event, const struct value *object,
                     const struct error *error);
/* False: it did not begin to hold the text within 90 s. */
bool watch_log_wait(struct watch_log *log, const char *text);
/* free() it. */
char *watch_log_text(struct watch_log *log);
