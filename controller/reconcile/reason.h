/*
 * Reasons as a metric's label. Most are words of ours or of the API server's, but an admission
 * webhook or an aggregated API may answer with any.
 */
#ifndef CONTROLLER_RECONCILE_REASON_H
#define CONTROLLER_RECONCILE_REASON_H

/* The reason itself, if it is one of those that are known; else "Other". */
const char *reason_label(const char *reason);

#endif
