#include "runtimes/kubernetes/client/trust.h"

#include <pthread.h>
#include <string.h>

#include "engine/base/log.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/client/file.h"

#define LOOK_INTERVAL 60000 /* ms */

struct kube_trust {
    const struct clock_source *clock;
    char *file; /* NULL: it does not change */

    pthread_mutex_t lock; /* of all below */
    char *pem;
    unsigned version;
    int64_t looked_at; /* ms, monotonic */
};

struct kube_trust *kube_trust_new(const struct kube_config *config,
                                  const struct clock_source *clock)
{
    struct kube_trust *trust = NEW(struct kube_trust);

    trust->clock = clock;
    trust->file = str_new(config->ca_file);
    trust->pem = str_new(config->ca_pem);
    trust->looked_at = clock->monotonic(clock);
    pthread_mutex_init(&trust->lock, NULL);
    return trust;
}

void kube_trust_free(struct kube_trust *trust)
{
    if (!trust)
        return;
    pthread_mutex_destroy(&trust->lock);
    free(trust->file);
    free(trust->pem);
    free(trust);
}

unsigned kube_trust_version(struct kube_trust *trust)
{
    unsigned version;

    pthread_mutex_lock(&trust->lock);
    version = trust->version;
    pthread_mutex_unlock(&trust->lock);
    return version;
}

/* The last certificate is whole, too. */
static bool is_pem(const char *text)
{
    const char *last = NULL;

    for (const char *at = text; (at = strstr(at, "-----BEGIN CERTIFICATE-----")); at++)
        last = at;
    return last && strstr(last, "-----END CERTIFICATE-----");
}

void kube_trust_look(struct kube_trust *trust, bool now, void (*take)(void *arg, const char *pem),
                     void *arg)
{
    int64_t time = trust->clock->monotonic(trust->clock);
    _cleanup_free_ char *pem = NULL;

    if (!trust->file)
        return;
    pthread_mutex_lock(&trust->lock);
    if (now || time - trust->looked_at >= LOOK_INTERVAL) {
        trust->looked_at = time;
        if (file_read_text(trust->file, &pem, NULL) >= 0 && is_pem(pem) &&
            !str_equal(pem, trust->pem)) {
            free(trust->pem);
            trust->pem = TAKE(pem);
            trust->version++;
            take(arg, trust->pem);
            log_info("the API server's CA was rotated", "file", trust->file, NULL);
        }
    }
    pthread_mutex_unlock(&trust->lock);
}
