/*
 * What reconcilers share: made once by main, read by all workers.
 */
#ifndef CONTROLLER_RECONCILE_CONTEXT_H
#define CONTROLLER_RECONCILE_CONTEXT_H

#include "controller/core/events.h"
#include "controller/core/group.h"
#include "controller/reconcile/operation_log.h"
#include "engine/base/clock.h"
#include "engine/base/hash.h"
#include "engine/runtime.h"
#include "engine/state/store.h"
#include "runtimes/kubernetes/client/client.h"

struct reconcile_context {
    struct kube_client *client;
    const struct clock_source *clock;
    struct state_store *store;
    const char *state_namespace; /* where State, and plans, are kept */
    struct runtime **runtimes;
    size_t n_runtimes;
    struct event_recorder *events;
    const struct operation_metrics *metrics; /* NULL: nothing is counted */
    const char *default_service_account; /* "default" unless a flag says otherwise */
    bool act_as_controller;              /* Specs without serviceAccountName: our own rights */
    unsigned parallelism;
    unsigned char plan_key[HASH_SIZE];
    int64_t (*epoch)(void *arg);         /* of the leader */
    void *epoch_arg;
    void (*on_wait)(void *arg, bool waits); /* operation.h; or NULL */
    void *on_wait_arg;
};

#endif
