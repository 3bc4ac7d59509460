/*
 * The health of the process, for kubelet:
 *
 *   /healthz   is it alive? If not, kubelet restarts the container.
 *   /readyz    does it do its work?
 *
 * Both are 200 "ok", or "ok: what it is at", or 503 "not ok: why".
 */
#pragma once

#include <stdbool.h>

#include "engine/base/buf.h"

struct probes {
    /* text gets why not, or what there is to say else: a line. NULL: always. */
    bool (*is_alive)(void *arg, struct buf *text);
    bool (*is_ready)(void *arg, struct buf *text);
    void *arg;
};

/* The pages of a server (server.h). probes: a struct probes. */
unsigned probes_answer(void *probes, const char *path, struct buf *body);
