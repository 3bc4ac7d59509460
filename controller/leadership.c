#include "controller/leadership.h"

#include "controller/core/leader.h"
#include "controller/core/ticker.h"
#include "engine/base/mem.h"
#include "engine/log/log.h"
#include "engine/threads/condition.h"
#include "engine/threads/locked.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/client/lease.h"
#include "runtimes/kubernetes/client/pause.h"

#define LOOK_INTERVAL  1000 /* ms between looks at the Lease of another */
#define WATCH_INTERVAL 5000 /* the same, while we act without one */

struct leadership {
    const struct connection *connection;
    struct leader *leader; /* NULL: there is no election */
    struct permit permit;

    /* Without election. */
    struct lease *lease; /* somebody's, perhaps */
    struct ticker *watch;
    struct cancel *ending;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_taken, is_stopping;
    const char *why_lost; /* NULL: it is not */
};

/* ---- The permit ---- */

int leadership_guard(void *arg, struct error *error)
{
    struct leadership *leadership = arg;

    if (leadership->leader)
        return leader_permit(leadership->leader, error);
    LOCKED(&leadership->lock);
    return leadership->why_lost
               ? err_set(error, ERR_FENCED, "NotLeader", "%s", leadership->why_lost)
               : 0;
}

static int ask(void *arg, enum permit_use use, struct error *error)
{
    return use == PERMIT_RECORD ? 0 : leadership_guard(arg, error);
}

const struct permit *leadership_permit(struct leadership *leadership)
{
    return &leadership->permit;
}

int64_t leadership_epoch(void *arg)
{
    struct leadership *leadership = arg;

    return leadership->leader ? leader_epoch(leadership->leader) : 0;
}

bool leadership_is_known(struct leadership *leadership, struct buf *why_not)
{
    return !leadership->leader || !leader_is_in_the_dark(leadership->leader, why_not);
}

/* ---- Lifetime ---- */

static void set_flag(struct leadership *leadership, bool *flag)
{
    LOCKED(&leadership->lock);
    *flag = true;
    pthread_cond_broadcast(&leadership->changed);
}

static void on_started(void *arg)
{
    struct leadership *leadership = arg;

    set_flag(leadership, &leadership->is_taken);
}

void leadership_give_up(struct leadership *leadership, const char *why)
{
    LOCKED(&leadership->lock);
    if (!leadership->why_lost)
        leadership->why_lost = why;
    pthread_cond_broadcast(&leadership->changed);
}

static void on_lost(void *arg)
{
    leadership_give_up(arg, "the Lease is lost");
}

static void on_stop(void *arg)
{
    struct leadership *leadership = arg;

    set_flag(leadership, &leadership->is_stopping);
}

struct leadership *leadership_new(const struct connection *connection)
{
    struct leadership *leadership = NEW(struct leadership);

    leadership->connection = connection;
    leadership->permit = (struct permit){ask, leadership};
    leadership->ending = cancel_new(NULL);
    pthread_mutex_init(&leadership->lock, NULL);
    condition_init(&leadership->changed);
    if (connection->flags->leader_elect)
        leadership->leader = leader_new(&(struct leader_config){
            .clock = &system_clock,
            .namespace_name = connection->state_namespace,
            .lease_name = connection->flags->lease_name,
            .identity = connection->identity,
            .on_started = on_started,
            .on_stopped = on_lost,
            .arg = leadership,
        });
    return leadership;
}

void leadership_resign(struct leadership *leadership)
{
    if (leadership->leader)
        leader_resign(leadership->leader);
}

void leadership_free(struct leadership *leadership)
{
    if (!leadership)
        return;
    cancel_fire(leadership->ending, "End");
    ticker_free(leadership->watch);
    lease_free(leadership->lease);
    leader_free(leadership->leader);
    cancel_free(leadership->ending);
    pthread_cond_destroy(&leadership->changed);
    pthread_mutex_destroy(&leadership->lock);
    free(leadership);
}

/* ---- Waiting ---- */

static bool is_taken(const struct leadership *leadership)
{
    return leadership->is_taken;
}

static bool is_lost(const struct leadership *leadership)
{
    return leadership->why_lost;
}

/* Until it is so, or stop. */
static bool wait_for(struct leadership *leadership, bool (*is)(const struct leadership *),
                     struct cancel *stop)
{
    struct cancel_listener *listener = cancel_listen(stop, on_stop, leadership);
    bool result;

    pthread_mutex_lock(&leadership->lock);
    while (!is(leadership) && !leadership->is_stopping)
        system_clock.wait(&system_clock, &leadership->changed, &leadership->lock, CLOCK_FOREVER);
    result = is(leadership);
    pthread_mutex_unlock(&leadership->lock);
    cancel_unlisten(stop, listener);
    return result;
}

static int cancelled(const struct cancel *stop, struct error *error)
{
    return err_set(error, ERR_CANCELLED, "Cancelled", "%s", cancel_reason(stop));
}

/* Somebody may take it while we act. A check that fails shows nothing. */
static void check_lease(void *arg)
{
    struct leadership *leadership = arg;
    struct error why = {0};
    bool was_renewed;

    if (lease_look(leadership->lease, leadership->ending, &was_renewed, &why) != ERR_CONFLICT)
        return;
    log_error("another process took the Lease, and this one runs without leader election", "lease",
              leadership->connection->flags->lease_name, "why", why.message, NULL);
    leadership_give_up(leadership, "another process took the Lease");
}

/* A holder that is alive renews; one that is not is so long that its time has run out. */
static int make_sure_of_nobody(struct leadership *leadership, struct cancel *stop,
                               struct error *error)
{
    const struct connection *connection = leadership->connection;
    struct lease_config config = {.namespace_name = connection->state_namespace,
                                  .name = connection->flags->lease_name,
                                  .identity = connection->identity,
                                  .duration = LEADER_DURATION};
    struct error why = {0};
    bool was_renewed = false, was_logged = false;
    int r;

    leadership->lease = lease_new(connection->cluster.client, &system_clock, &config);
    while ((r = lease_look(leadership->lease, stop, &was_renewed, &why)) == ERR_CONFLICT &&
           !was_renewed) {
        if (!was_logged)
            log_info("waiting for a Lease to run out, which may have been left behind", "lease",
                     config.name, "why", why.message, NULL);
        was_logged = true;
        if (!pause_for(LOOK_INTERVAL, stop))
            return cancelled(stop, error);
    }
    if (r < 0) {
        err_wrap(&why, "without leader election");
        return err_copy(error, &why);
    }
    leadership->watch = ticker_new(&system_clock, "lease", WATCH_INTERVAL, check_lease, leadership);
    return 0;
}

int leadership_take(struct leadership *leadership, struct cancel *stop, struct error *error)
{
    const struct connection *connection = leadership->connection;

    if (!leadership->leader)
        return make_sure_of_nobody(leadership, stop, error);
    log_info("waiting for the Lease", "identity", connection->identity, NULL);
    leader_start(leadership->leader, connection->cluster.client);
    return wait_for(leadership, is_taken, stop) ? 0 : cancelled(stop, error);
}

int leadership_wait(struct leadership *leadership, struct cancel *stop, struct error *error)
{
    if (!wait_for(leadership, is_lost, stop))
        return 0;
    return err_set(error, ERR_FENCED, "NotLeader", "%s", leadership->why_lost);
}
