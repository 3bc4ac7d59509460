/*
 * The Pods of a workload that are not ready, and why: for `status --pods`.
 */
#ifndef CLI_ONLINE_PODS_H
#define CLI_ONLINE_PODS_H

#include "cli/online/objects.h"

/* Lines below a row: "Pod web-7f-x2   ImagePullBackOff: …". resource: of the Spec; nothing is shown
 * for kinds without Pods. Failures are a line, too: the rest of the page is of use without. */
void pods_show(struct session *session, struct output *out, const struct value *resource);

#endif
