#include "runtimes/kubernetes/client/wait.h"

#define LONGEST_REQUEST 60000 /* ms */

int kube_wait_left(const struct kube_wait *wait, int64_t *ret, struct error *error)
{
    int64_t left = LONGEST_REQUEST;

    if (wait->clock && wait->deadline != CLOCK_FOREVER)
        left = wait->deadline - wait->clock->monotonic(wait->clock);
    if (left <= 0)
        return err_set(error, ERR_TIMEOUT, "Timeout", "no time left for a request");
    *ret = left < LONGEST_REQUEST ? left : LONGEST_REQUEST;
    return 0;
}
