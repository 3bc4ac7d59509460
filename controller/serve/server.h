/*
 * What is served to the cluster: liveness and readiness for kubelet, metrics
 * for Prometheus. One thread runs libwebsockets; GET and HEAD only.
 *
 *   health address:   /healthz, /readyz   200 "ok"; the second also 503 "not ok: why"
 *   metrics address:  /metrics            Prometheus' text format 0.0.4
 *
 * Anything else is 404, another method 405. There is no TLS and nothing secret
 * here; who may connect is for a NetworkPolicy to say.
 */
#ifndef CONTROLLER_SERVE_SERVER_H
#define CONTROLLER_SERVE_SERVER_H

#include <stdbool.h>

#include "controller/serve/metrics.h"
#include "engine/base/error.h"

struct server_config {
    /* "host:port": ":9440" is every address of the machine, "127.0.0.1:0" a port that is free.
     * Empty or NULL: not served. */
    const char *health_address, *metrics_address;
    /* Asked on the server's thread: quick. why_not gets a line that says it. NULL: always. */
    bool (*ready)(void *arg, struct buf *why_not);
    void *arg;
    struct metrics *metrics; /* borrowed */
};

struct server;

/* NULL: error says why (ERR_INVALID: an address that makes no sense; ERR_UNAVAILABLE: one that
 * cannot be listened on). Listens when it returns. */
struct server *server_new(const struct server_config *config, struct error *error);
void server_free(struct server *server);
DEFINE_CLEANUP(struct server *, server_free)

int server_health_port(const struct server *server); /* 0: not served */
int server_metrics_port(const struct server *server);

#endif
