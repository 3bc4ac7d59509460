/*
 * Events (core/v1) for `kubectl describe`. A thread of its own sends them, so nobody waits for
 * them.
 *
 * Events are best effort, and namespaces share them fairly (event_queue.h). If too many wait to be
 * sent, the oldest of the namespace that has the most is dropped, with a line in the log. A refusal
 * of a namespace (it terminates, or we lack the right) is not logged.
 *
 * A message of several lines becomes one line: tools show events in tables.
 *
 * An event that was sent for the same object, with the same type, reason and message, is not sent
 * again within ten minutes. For that, the last 512 events are remembered.
 */
#pragma once

#include "engine/threads/clock.h"
#include "runtimes/kubernetes/client/client.h"

#define EVENT_NORMAL "Normal"
#define EVENT_WARNING "Warning"

#define EVENT_MESSAGE_BYTES 1024 /* the API's limit; longer ones are cut with "…" */
#define EVENT_QUEUE 256          /* events that wait to be sent */
#define EVENT_MEMORY 512         /* events that are remembered */
#define EVENT_INTERVAL 600000    /* ms without the same event again */

struct event_recorder;

/* component: "kusion-operator". instance: the name of this process, of the pod, say. Both are
 * copied. */
struct event_recorder *event_recorder_new(struct kube_client *client,
                                          const struct clock_source *clock, const char *component,
                                          const char *instance);
/* Sends the events that wait, for at most two seconds. */
void event_recorder_free(struct event_recorder *recorder);
DEFINE_CLEANUP(struct event_recorder *, event_recorder_free)

struct event_subject {
    const char *api_version, *kind;
    const char *namespace_name; /* NULL: in no namespace; the event goes to "default" */
    const char *name, *uid;
};

/* type: EVENT_NORMAL or EVENT_WARNING. reason: CamelCase. action: the operation ("Apply"). The
 * message must not contain secrets. Does not block. Thread-safe. */
void event_emit(struct event_recorder *recorder, const struct event_subject *subject,
                const char *type, const char *reason, const char *action, const char *format, ...)
    PRINTF_LIKE(6, 7);
