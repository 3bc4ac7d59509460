#include "controller/core/leader.h"

#include <stdatomic.h>

#include "controller/core/outage.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/log/log.h"
#include "engine/threads/condition.h"
#include "engine/threads/locked.h"
#include "engine/threads/thread.h"
#include "runtimes/io/clock.h"
#include "runtimes/io/random.h"
#include "runtimes/kubernetes/client/lease.h"

#define DEFAULT_RETRY 2000
#define NOT_LEADING   (-1)

struct leader {
    struct leader_config config;
    struct lease *lease;   /* set before epoch is, and not changed after */
    _Atomic int64_t epoch; /* of our leadership; NOT_LEADING */
    struct cancel *stop;
    bool is_started;
    pthread_t thread;

    pthread_mutex_t lock;
    pthread_cond_t stopped;
    bool is_stopping;

    struct outage outage; /* whose the Lease is, is not known */
    bool was_held;        /* the thread's: another held it at the last try, and that was logged */
};

struct leader *leader_new(const struct leader_config *config)
{
    struct leader *leader = NEW(struct leader);
    struct leader_config *own = &leader->config;

    *own = *config;
    own->duration = config->duration ? config->duration : LEADER_DURATION;
    own->renew = config->renew ? config->renew : own->duration / 3 * 2;
    own->retry = config->retry ? config->retry : DEFAULT_RETRY;
    own->namespace_name = str_new(config->namespace_name);
    own->lease_name = str_new(config->lease_name);
    own->identity = str_new(config->identity);
    atomic_store(&leader->epoch, NOT_LEADING);
    leader->stop = cancel_new(NULL);
    pthread_mutex_init(&leader->lock, NULL);
    outage_init(&leader->outage, "the Lease is not read yet");
    condition_init(&leader->stopped);
    return leader;
}

/* ---- Questions ---- */

static bool holds(const struct leader *leader, int64_t epoch)
{
    return epoch != NOT_LEADING &&
           lease_is_held(leader->lease, leader->config.duration - leader->config.renew) &&
           lease_epoch(leader->lease) == epoch;
}

bool leader_is(const struct leader *leader)
{
    return holds(leader, atomic_load(&leader->epoch));
}

int leader_permit(void *arg, struct error *error)
{
    const struct leader *leader = arg;

    if (leader_is(leader))
        return 0;
    return err_set(error, ERR_FENCED, "NotLeader", "this process does not hold lease %s/%s",
                   leader->config.namespace_name, leader->config.lease_name);
}

bool leader_is_in_the_dark(struct leader *leader, struct buf *why)
{
    return outage_is(&leader->outage, why);
}

int64_t leader_epoch(const struct leader *leader)
{
    int64_t epoch = atomic_load(&leader->epoch);

    return holds(leader, epoch) ? epoch : NOT_LEADING;
}

/* ---- The thread ---- */

/* Between half and all of the retry period, so that many do not come at once. False: stopping. */
static bool pause_before_retry(struct leader *leader)
{
    const struct clock_source *clock = leader->config.clock;
    int64_t until = clock->monotonic(clock) + backoff_delay(0, leader->config.retry, INT64_MAX);
    LOCKED(&leader->lock);
    while (!leader->is_stopping && clock->monotonic(clock) < until)
        clock->wait(clock, &leader->stopped, &leader->lock, until);
    return !leader->is_stopping;
}

/* Takes or renews it; else the error, not written before, says why it is not known to be ours. */
static int try(struct leader *leader, struct error *error)
{
    const struct clock_source *clock = leader->config.clock;
    int r = lease_acquire(leader->lease, leader->stop, error);

    if (r == ERR_CANCELLED)
        return r;
    if (r == 0 || r == ERR_CONFLICT)
        outage_ends(&leader->outage);
    else if (outage_goes_on(&leader->outage, error, clock->monotonic(clock)))
        log_warn("the Lease cannot be had", "reason", error->reason, "error", error->message, NULL);
    if (r == ERR_CONFLICT && !leader->was_held) /* no failure, and worth a line once */
        log_info("the Lease is not ours", "reason", error->reason, "why", error->message, NULL);
    if (r < 0)
        leader->was_held = r == ERR_CONFLICT;
    return r;
}

/* What is known of a loss: who has it, or that it was not renewed. */
static void log_loss(struct leader *leader, const struct error *error)
{
    const struct leader_config *config = &leader->config;
    _cleanup_free_ char *holder = lease_holder(leader->lease);
    _cleanup_free_ char *why = NULL;

    if (*holder && !str_equal(holder, config->identity))
        why = str_printf("it is held by %s", holder);
    else if (!error->code)
        why = str_new("another held it in between");
    else
        why = str_printf("it could not be renewed within %lld ms: %s", (long long)config->renew,
                         error->message);
    log_error("the Lease is lost", "lease", config->lease_name, "identity", config->identity, "why",
              why, NULL);
}

static void *run(void *arg)
{
    struct leader *leader = arg;
    const struct leader_config *config = &leader->config;
    struct error error = {0};

    while (try(leader, &error) < 0)
        if (!pause_before_retry(leader))
            return NULL;
    atomic_store(&leader->epoch, lease_epoch(leader->lease));
    log_info("leading", "lease", config->lease_name, "identity", config->identity, NULL);
    if (config->on_started)
        config->on_started(config->arg);
    while (pause_before_retry(leader)) {
        err_clear(&error);
        try(leader, &error);
        if (leader_is(leader))
            continue;
        if (cancel_fired(leader->stop))
            break;
        atomic_store(&leader->epoch, NOT_LEADING);
        log_loss(leader, &error);
        if (config->on_stopped)
            config->on_stopped(config->arg);
        break;
    }
    return NULL;
}

void leader_start(struct leader *leader, struct kube_client *client)
{
    struct lease_config lease = {
        .namespace_name = leader->config.namespace_name,
        .name = leader->config.lease_name,
        .identity = leader->config.identity,
        .duration = leader->config.duration,
    };

    leader->lease = lease_new(client, leader->config.clock, &lease);
    leader->thread = thread_must_start("leader", run, leader);
    leader->is_started = true;
}

void leader_resign(struct leader *leader)
{
    if (!leader->is_started)
        return;
    leader->is_started = false;
    pthread_mutex_lock(&leader->lock);
    leader->is_stopping = true;
    pthread_cond_signal(&leader->stopped);
    pthread_mutex_unlock(&leader->lock);
    cancel_fire(leader->stop, "Shutdown");
    pthread_join(leader->thread, NULL);
    atomic_store(&leader->epoch, NOT_LEADING);
    lease_release(leader->lease);
}

void leader_free(struct leader *leader)
{
    if (!leader)
        return;
    leader_resign(leader);
    lease_free(leader->lease);
    cancel_free(leader->stop);
    pthread_cond_destroy(&leader->stopped);
    outage_done(&leader->outage);
    pthread_mutex_destroy(&leader->lock);
    free((char *)(uintptr_t)leader->config.namespace_name);
    free((char *)(uintptr_t)leader->config.lease_name);
    free((char *)(uintptr_t)leader->config.identity);
    free(leader);
}
