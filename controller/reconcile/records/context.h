/*
 * What reconcilers share: made once by the manager, read by all workers.
 */
#pragma once

#include "controller/core/events.h"
#include "engine/base/hash.h"
#include "engine/base/str.h"
#include "engine/executor/executor.h"
#include "engine/release/history.h"
#include "engine/runtime.h"
#include "engine/state/ledger.h"
#include "engine/threads/clock.h"
#include "runtimes/kubernetes/client/client.h"
#include "runtimes/kubernetes/client/group.h"

struct desk;
struct operation_metrics;
struct source_watches;
struct secret_stores;
struct store_gate;
struct quarantine;

struct reconcile_context {
    struct kube_client *client;
    const struct clock_source *clock;
    struct executor *executor;
    struct slots *slots;
    struct store *store;     /* where State is kept */
    struct store_gate *gate; /* whether it may be used; NULL: it may */
    struct ledgers *ledgers; /* over it */
    struct release_history *history;
    struct desk *desk;                     /* what is known of each Spec and each Release */
    struct source_watches *source_watches; /* NULL: sources are read every `interval` alone */
    struct source_watches *secret_watches; /* those of `kubeConfig`; NULL: as above */
    struct quarantine *quarantine;         /* NULL: nobody is held for the process' deaths */
    const struct secret_stores *secret_stores;
    struct runtime *const *runtimes;
    size_t n_runtimes;
    const struct permit *permit; /* NULL: everything is allowed */
    struct event_recorder *events;
    const struct operation_metrics *metrics; /* NULL: nothing is counted */
    const char *default_service_account;     /* "default" unless a flag says otherwise */
    bool act_as_controller;                  /* Specs without serviceAccountName: our own rights */
    unsigned parallelism;
    int64_t preview_ttl;  /* ms that a Release of a person is kept after its end */
    size_t preview_limit; /* so many of them for each Spec */
    int64_t max_timeout;  /* ms, of a Spec's timeout; 0: any */
    int64_t min_interval, min_retry_interval; /* ms */
    bool no_cross_namespace;                  /* a Spec may not name objects of other namespaces */
    int64_t verify_interval; /* ms between verifications of the values of what is followed */
    unsigned char plan_key[HASH_SIZE];
    int64_t (*epoch)(void *arg); /* of the leader */
    void *epoch_arg;
};

/* ms, monotonic. */
static inline int64_t context_monotonic(const struct reconcile_context *context)
{
    return context->clock->monotonic(context->clock);
}

/* ms since 1970. */
static inline int64_t context_now(const struct reconcile_context *context)
{
    return context->clock->now(context->clock);
}

/* ms until the deadline (monotonic), as the time of a request: at least 1. */
static inline int64_t context_left(const struct reconcile_context *context, int64_t deadline)
{
    int64_t left = deadline - context_monotonic(context);

    return left > 1 ? left : 1;
}

/* cancel: or NULL. */
static inline struct store_call context_call(const struct reconcile_context *context,
                                             struct cancel *cancel)
{
    return (struct store_call){.cancel = cancel, .permit = context->permit};
}

/* The runtime of that type; NULL: there is none. */
static inline struct runtime *context_runtime(const struct reconcile_context *context,
                                              const char *type)
{
    return runtime_find(context->runtimes, context->n_runtimes, type);
}

/* With which State is opened. */
static inline int64_t context_epoch(const struct reconcile_context *context)
{
    return context->epoch(context->epoch_arg);
}
