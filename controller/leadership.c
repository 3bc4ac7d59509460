#include "controller/leadership.h"

#include "controller/core/leader.h"
#include "engine/base/log.h"
#include "engine/base/mem.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/client/lease.h"
#include "runtimes/kubernetes/client/pause.h"

#define LOOK_INTERVAL 1000 /* ms between looks at the Lease of another */

struct leadership {
    const struct connection *connection;
    struct leader *leader; /* NULL: there is no election */
    struct permit permit;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_taken, is_lost, is_stopping;
};

/* ---- The permit ---- */

int leadership_guard(void *arg, struct error *error)
{
    struct leadership *leadership = arg;

    return leadership->leader ? leader_permit(leadership->leader, error) : 0;
}

static int ask(void *arg, enum permit_use use, struct error *error)
{
    return use == PERMIT_TELL ? 0 : leadership_guard(arg, error);
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
    pthread_mutex_lock(&leadership->lock);
    *flag = true;
    pthread_cond_broadcast(&leadership->changed);
    pthread_mutex_unlock(&leadership->lock);
}

static void on_started(void *arg)
{
    struct leadership *leadership = arg;

    set_flag(leadership, &leadership->is_taken);
}

static void on_lost(void *arg)
{
    struct leadership *leadership = arg;

    set_flag(leadership, &leadership->is_lost);
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
    pthread_mutex_init(&leadership->lock, NULL);
    system_clock_condition_init(&leadership->changed);
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

void leadership_free(struct leadership *leadership)
{
    if (!leadership)
        return;
    leader_free(leadership->leader);
    pthread_cond_destroy(&leadership->changed);
    pthread_mutex_destroy(&leadership->lock);
    free(leadership);
}

/* ---- Waiting ---- */

/* Until the flag, or stop. */
static bool wait_for(struct leadership *leadership, const bool *flag, struct cancel *stop)
{
    struct cancel_listener *listener = cancel_listen(stop, on_stop, leadership);
    bool is_set;

    pthread_mutex_lock(&leadership->lock);
    while (!*flag && !leadership->is_stopping)
        system_clock.wait(&system_clock, &leadership->changed, &leadership->lock, CLOCK_FOREVER);
    is_set = *flag;
    pthread_mutex_unlock(&leadership->lock);
    cancel_unlisten(stop, listener);
    return is_set;
}

static int cancelled(const struct cancel *stop, struct error *error)
{
    return err_set(error, ERR_CANCELLED, "Cancelled", "%s", cancel_reason(stop));
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
    _cleanup_(lease_free_p) struct lease *lease =
        lease_new(connection->cluster.client, &system_clock, &config);
    struct error why = {0};
    bool was_renewed = false, was_told = false;
    int r;

    while ((r = lease_look(lease, stop, &was_renewed, &why)) == ERR_CONFLICT && !was_renewed) {
        if (!was_told)
            log_info("waiting for a Lease to run out, which may have been left behind", "lease",
                     config.name, "why", why.message, NULL);
        was_told = true;
        if (!pause_for(LOOK_INTERVAL, stop))
            return cancelled(stop, error);
    }
    if (r < 0)
        err_wrap(&why, "without leader election");
    return r < 0 ? err_copy(error, &why) : 0;
}

int leadership_take(struct leadership *leadership, struct cancel *stop, struct error *error)
{
    const struct connection *connection = leadership->connection;

    if (!leadership->leader)
        return make_sure_of_nobody(leadership, stop, error);
    log_info("waiting for the Lease", "identity", connection->identity, NULL);
    leader_start(leadership->leader, connection->cluster.client);
    return wait_for(leadership, &leadership->is_taken, stop) ? 0 : cancelled(stop, error);
}

bool leadership_wait(struct leadership *leadership, struct cancel *stop)
{
    return wait_for(leadership, &leadership->is_lost, stop);
}
