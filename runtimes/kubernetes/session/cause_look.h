/*
 * Looks for the cause that keeps an object from being healthy: in the Pods that it controls, and
 * in Events. A list is read in pages, item by item, and ends when enough was seen, so that neither
 * a namespace with many Pods nor one with many Events costs much.
 */
#pragma once

#include "runtimes/kubernetes/client/list.h"
#include "runtimes/kubernetes/objects/pod_cause.h"

struct runtime_session;

/* Items of a list that are looked at, and of one page. Of the Pods, those that are not ready. */
#define CAUSE_PODS_SEEN  200
#define CAUSE_PODS_FOUND 20
#define CAUSE_EVENTS     100
#define CAUSE_PAGE       50

/* What one look found. */
struct cause {
    char text[CAUSE_SIZE + 160]; /* "Pod web-1: ImagePullBackOff: …"; "": nothing */
    bool may_have_event;         /* an Event of the Pod may say more: then these two are set */
    char pod[256], uid[64];
};

/* The Pods of a workload. ERR_FORBIDDEN: the account may not list them. */
int cause_look_at_pods(struct runtime_session *session, const struct value *workload,
                       const struct kube_wait *wait, struct cause *ret, struct error *error);

enum cause_events { CAUSE_NO_EVENTS, CAUSE_WARNINGS, CAUSE_ALL_EVENTS };

/* The newest Event of an object: "FailedCreate: MESSAGE"; or "". ret: CAUSE_SIZE bytes. Errors: as
 * above. */
int cause_look_at_events(struct runtime_session *session, const char *in, const char *uid,
                         enum cause_events which, const struct kube_wait *wait, char *ret,
                         struct error *error);
