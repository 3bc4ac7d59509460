/*
 * Events, for who reads `kubectl describe`: core/v1, sent by a thread of their
 * own, so that nobody waits for them. They are best effort. Of what waits to
 * be sent the oldest is dropped, with a line in the log, when there is too
 * much; a namespace that takes no more (it terminates, or we may not) is
 * passed over in silence.
 *
 * The same of the same object (type, reason and message) within ten minutes
 * is sent once; of what was sent the last 512 are remembered.
 */
#ifndef CONTROLLER_CORE_EVENTS_H
#define CONTROLLER_CORE_EVENTS_H

#include "engine/base/clock.h"
#include "runtimes/kubernetes/client/client.h"

#define EVENT_NORMAL "Normal"
#define EVENT_WARNING "Warning"

#define EVENT_MESSAGE_BYTES 1024 /* the API's limit; longer ones are cut with "…" */
#define EVENT_QUEUE 256          /* that wait to be sent */
#define EVENT_MEMORY 512         /* that were sent, and are not sent again */
#define EVENT_INTERVAL 600000    /* ms */

struct event_recorder;

/* component: "kusion-operator"; instance: of this process, the pod's name. Both copied. */
struct event_recorder *event_recorder_new(struct kube_client *client,
                                          const struct clock_source *clock, const char *component,
                                          const char *instance);
/* Sends what waits still, for two seconds at most. */
void event_recorder_free(struct event_recorder *recorder);
DEFINE_CLEANUP(struct event_recorder *, event_recorder_free)

struct event_subject {
    const char *api_version, *kind;
    const char *namespace_name; /* NULL: of the cluster; the event goes to "default" */
    const char *name, *uid;
};

/* type: EVENT_NORMAL or EVENT_WARNING. reason: CamelCase; action: what was done ("Apply"). The
 * message carries no secret. Does not block. Thread-safe. */
void event_emit(struct event_recorder *recorder, const struct event_subject *subject,
                const char *type, const char *reason, const char *action, const char *format, ...)
    PRINTF_LIKE(6, 7);

#endif
