#include "controller/serving.h"

#include <pthread.h>

#include "controller/serve/server.h"
#include "engine/base/mem.h"

struct serving {
    const struct serving_config *config;
    struct server *server;
    struct metric *leading;
    pthread_mutex_t lock; /* held while a question is answered */
    enum serving_phase phase;
};

static bool answer(const struct serving *serving, struct buf *why_not)
{
    const struct serving_config *config = serving->config;

    switch (serving->phase) {
    case SERVING_CONNECTING:
        outage_is(config->outage, why_not);
        return false;
    case SERVING_ELECTING:
        return leadership_is_known(config->leadership, why_not);
    case SERVING_RECONCILING:
        /* Before a leader gives up for it: whoever looks has time to see why. */
        return controllers_are_ready(config->controllers, config->flags->blind_timeout / 2,
                                     why_not);
    case SERVING_DRAINING:
        buf_add_str(why_not, "it is ending");
        return false;
    }
    return false;
}

static bool is_ready(void *arg, struct buf *why_not)
{
    struct serving *serving = arg;
    bool ready;

    pthread_mutex_lock(&serving->lock);
    ready = answer(serving, why_not);
    pthread_mutex_unlock(&serving->lock);
    return ready;
}

static void set_gauges(void *arg)
{
    struct serving *serving = arg;
    const struct serving_config *config = serving->config;

    pthread_mutex_lock(&serving->lock);
    metric_set(serving->leading, serving->phase == SERVING_RECONCILING, config->flags->lease_name,
               NULL);
    controllers_measure(config->controllers);
    pthread_mutex_unlock(&serving->lock);
}

struct serving *serving_new(const struct serving_config *config, struct error *error)
{
    struct serving *serving = NEW(struct serving);
    struct server_config server = {
        .health_address = config->flags->health_bind_address,
        .metrics_address = config->flags->metrics_bind_address,
        .ready = is_ready,
        .arg = serving,
        .metrics = config->metrics,
    };

    serving->config = config;
    pthread_mutex_init(&serving->lock, NULL);
    serving->leading =
        metrics_gauge(config->metrics, "leader_election_master_status",
                      "1 if this process reconciles, 0 if it is on standby.", "name", NULL);
    metrics_on_scrape(config->metrics, set_gauges, serving);
    serving->server = server_new(&server, error);
    if (!serving->server)
        serving_free(TAKE(serving));
    return serving;
}

void serving_free(struct serving *serving)
{
    if (!serving)
        return;
    server_free(serving->server);
    pthread_mutex_destroy(&serving->lock);
    free(serving);
}

void serving_set_phase(struct serving *serving, enum serving_phase phase)
{
    pthread_mutex_lock(&serving->lock);
    serving->phase = phase;
    pthread_mutex_unlock(&serving->lock);
}
