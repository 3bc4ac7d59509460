/*
 * Follows a Spec until what was asked of it has come to an end: a page that is redrawn on a
 * terminal, a line for each change in a pipe, a stream of JSON with -o json.
 */
#pragma once

#include "cli/online/objects.h"

enum watch_goal {
    WATCH_FOREVER,
    WATCH_APPLIED,  /* the Spec's generation is applied, or failed, or waits for approval */
    WATCH_READY,    /* the same, and a failure is waited on */
    WATCH_APPROVAL, /* a plan waits for approval; or it has ended without */
    WATCH_REQUEST,  /* a Rollback or a Destroy: the request has ended, or its plan waits */
    WATCH_APPROVED, /* an approved plan: its Release has ended */
};

struct watch_spec {
    const struct target *target;
    enum watch_goal goal;
    int64_t generation;  /* what is older is not told; 0: all is told */
    const char *request; /* of WATCH_REQUEST and WATCH_APPROVED: the name of the Release */
    int64_t timeout;     /* ms; 0: none */
    bool is_quiet;       /* only the end is told */
};

/* An enum exit_code, or an error. */
int watch_spec(struct session *session, const struct watch_spec *watch, struct error *error);
