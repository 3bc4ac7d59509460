#include "controller/serving.h"

#include <pthread.h>

#include "controller/serve/probes.h"
#include "controller/serve/server.h"
#include "engine/base/mem.h"
#include "engine/threads/locked.h"

struct serving {
    const struct serving_config *config;
    struct probes probes;
    struct server *health, *metrics; /* NULL: not served */
    struct metric *leading, *usable;
    pthread_mutex_t lock; /* held while a question is answered */
    enum serving_phase phase;
};

/* Names the type of the store alone: whoever asks is answered. */
static bool is_store_used(const struct backends *backends, struct buf *text)
{
    struct error why = {0};
    bool is_used = store_gate_ask(backends->gate, &why) >= 0;

    if (is_used)
        buf_printf(text, "State is in a store of the type %s", backends->store->ops->type);
    else
        buf_printf(text, "%s (the log has the message)", why.reason);
    return is_used;
}

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
                                     why_not) &&
               is_store_used(config->backends, why_not);
    case SERVING_DRAINING:
        buf_add_str(why_not, "it is ending");
        return false;
    }
    return false;
}

static bool is_ready(void *arg, struct buf *why_not)
{
    struct serving *serving = arg;
    LOCKED(&serving->lock);

    return answer(serving, why_not);
}

static bool is_alive(void *arg, struct buf *why_not)
{
    struct serving *serving = arg;
    LOCKED(&serving->lock);

    return serving->phase != SERVING_RECONCILING ||
           !controllers_are_stuck(serving->config->controllers,
                                  serving->config->flags->stuck_timeout, why_not);
}

static void set_gauges(void *arg)
{
    struct serving *serving = arg;
    const struct serving_config *config = serving->config;
    LOCKED(&serving->lock);

    metric_set(serving->leading, serving->phase == SERVING_RECONCILING, config->flags->lease_name,
               NULL);
    if (serving->phase == SERVING_RECONCILING)
        metric_set(serving->usable, store_gate_ask(config->backends->gate, NULL) >= 0,
                   config->backends->store->ops->type, NULL);
    controllers_measure(config->controllers);
}

/* ---- Lifetime ---- */

/* *ret stays NULL where the address is empty. */
static int serve(const struct server_config *config, struct server **ret, struct error *error)
{
    if (!config->address || !*config->address)
        return 0;
    *ret = server_new(config, error);
    return *ret ? 0 : error->code;
}

static int start(struct serving *serving, struct error *error)
{
    const struct serving_config *config = serving->config;
    const struct server_config probes = {.name = "health",
                                         .address = config->flags->health_bind_address,
                                         .closes = true,
                                         .answer = probes_answer,
                                         .arg = &serving->probes};
    const struct server_config scrapes = {.name = "metrics",
                                          .address = config->flags->metrics_bind_address,
                                          .answer = metrics_answer,
                                          .arg = config->metrics};
    int r = serve(&probes, &serving->health, error);

    return r < 0 ? r : serve(&scrapes, &serving->metrics, error);
}

struct serving *serving_new(const struct serving_config *config, struct error *error)
{
    struct serving *serving = NEW(struct serving);
    struct error problem = {0};

    serving->config = config;
    serving->probes = (struct probes){is_alive, is_ready, serving};
    pthread_mutex_init(&serving->lock, NULL);
    serving->leading =
        metrics_gauge(config->metrics, "leader_election_master_status",
                      "1 if this process reconciles, 0 if it is on standby.", "name", NULL);
    metric_set(metrics_gauge(config->metrics, "kusion_build_info",
                             "1, with the version of this process.", "version", NULL),
               1, KUSION_VERSION, NULL);
    serving->usable = metrics_gauge(config->metrics, "kusion_store_usable",
                                    "1 if the store of State is used, 0 if it is not the one that "
                                    "is known, or was not read yet.",
                                    "backend", NULL);
    metrics_on_scrape(config->metrics, set_gauges, serving);
    if (start(serving, &problem) < 0) {
        err_copy(error, &problem);
        serving_free(TAKE(serving));
    }
    return serving;
}

void serving_free(struct serving *serving)
{
    if (!serving)
        return;
    server_free(serving->metrics);
    server_free(serving->health);
    pthread_mutex_destroy(&serving->lock);
    free(serving);
}

void serving_set_phase(struct serving *serving, enum serving_phase phase)
{
    LOCKED(&serving->lock);

    serving->phase = phase;
}
