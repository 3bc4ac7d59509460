#include "controller/preflight.h"

#include "engine/base/str.h"
#include "engine/log/log.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/client/pause.h"

/* ms. The first attempt is short, since its failure is to be heard of soon; each of the others
 * takes twice as long as the one before. */
#define PATIENCE      60000
#define FIRST_ATTEMPT 1000
#define PAUSE         500

static int64_t now(void)
{
    return system_clock.monotonic(&system_clock);
}

static int get_first(struct kube_client *client, struct kube_ref ref, const char *labels,
                     int64_t timeout, struct cancel *stop, struct error *error)
{
    _cleanup_value_ const struct value *list = NULL;
    struct kube_request request = {.method = "GET",
                                   .ref = ref,
                                   .selector = {.labels = labels},
                                   .limit = 1,
                                   .timeout = timeout,
                                   .cancel = stop};

    return kube_do(client, &request, &list, error);
}

int preflight_connect(struct kube_client *client, const char *state_namespace,
                      struct outage *outage, struct cancel *stop, struct error *error)
{
    const struct kube_ref heads = {&kube_config_maps, state_namespace, NULL, NULL};
    int64_t end = now() + PATIENCE;

    for (int64_t timeout = FIRST_ATTEMPT;; timeout *= 2) {
        struct error why = {0};
        int64_t left = end - now();
        int r = get_first(client, heads, NULL, timeout < left ? timeout : left, stop, &why);

        if (r >= 0) {
            outage_ends(outage);
            return 0;
        }
        err_wrap(&why, "reading State's namespace %s", state_namespace);
        if ((r != ERR_UNAVAILABLE && r != ERR_TIMEOUT) || now() + PAUSE >= end)
            return err_copy(error, &why);
        if (outage_goes_on(outage, &why, now()))
            log_warn("the API server does not answer yet", "reason", why.reason, "error",
                     why.message, NULL);
        if (!pause_for(PAUSE, stop))
            return err_set(error, ERR_CANCELLED, "Cancelled", "%s", cancel_reason(stop));
    }
}

int preflight_list(struct kube_client *client, struct kube_ref collection,
                   struct kube_selector selector, struct cancel *stop, struct error *error)
{
    return get_first(client, collection, selector.labels, 0, stop, error);
}

int preflight_selector(struct kube_client *client, struct kube_ref specs, const char *selector,
                       struct cancel *stop, struct error *error)
{
    struct error why = {0};

    if (!selector || get_first(client, specs, selector, 0, stop, &why) != ERR_INVALID)
        return 0;
    err_wrap(&why, "--watch-label-selector: \"%s\" is refused", selector);
    return err_copy(error, &why);
}
