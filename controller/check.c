#include "controller/check.h"

#include "controller/connection.h"
#include "controller/core/leader.h"
#include "controller/preflight.h"
#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/client/group.h"
#include "runtimes/kubernetes/client/lease.h"
#include "runtimes/kubernetes/client/pause.h"

/* ms */
#define PATIENCE      30000 /* twice a Lease's duration: a leader may just have been killed */
#define LOOK_INTERVAL 500

static int list_kinds(const struct connection *connection, struct cancel *stop, struct error *error)
{
    static const struct kube_kind *const kinds[] = {&kube_specs, &kube_releases};

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        int r =
            preflight_list(connection->cluster.client, connection_collection(connection, kinds[i]),
                           connection_selector(connection, kinds[i]), stop, error);

        if (r < 0 && str_equal(error->reason, "NotServed"))
            return err_set(error, r, "NotServed",
                           "the API server does not serve %s: are the CRDs installed?",
                           kinds[i]->plural);
        if (r < 0) {
            err_wrap(error, "listing %s", kinds[i]->plural);
            return r;
        }
    }
    return 0;
}

/* Until it is renewed: one that was left behind looks held, too, until its time has run out. */
static int await_renewal(struct lease *lease, struct cancel *stop, struct error *error)
{
    int64_t end = system_clock.monotonic(&system_clock) + PATIENCE;
    bool was_renewed = false;

    for (;;) {
        struct error why = {0};
        int r = lease_look(lease, stop, &was_renewed, &why);

        if (r == ERR_CONFLICT && was_renewed)
            return 0;
        if (r < 0 && r != ERR_CONFLICT)
            return err_copy(error, &why);
        if (system_clock.monotonic(&system_clock) >= end)
            return err_set(error, ERR_TIMEOUT, "NotLeading", "nobody renewed it for %d s",
                           PATIENCE / 1000);
        if (!pause_for(LOOK_INTERVAL, stop))
            return err_set(error, ERR_CANCELLED, "Cancelled", "%s", cancel_reason(stop));
    }
}

static int look_at_lease(const struct connection *connection, struct cancel *stop,
                         struct buf *ret_text, struct error *error)
{
    const char *name = connection->flags->lease_name;
    _cleanup_(lease_free_p) struct lease *lease =
        lease_new(connection->cluster.client, &system_clock,
                  &(struct lease_config){.namespace_name = connection->state_namespace,
                                         .name = name,
                                         .identity = connection->identity,
                                         .duration = LEADER_DURATION});
    _cleanup_free_ char *holder = NULL;
    int r = await_renewal(lease, stop, error);

    if (r < 0) {
        err_wrap(error, "the Lease %s/%s", connection->state_namespace, name);
        return r;
    }
    holder = lease_holder(lease);
    buf_printf(ret_text, "%s is at work: it renews the Lease %s/%s; Specs and Releases are served",
               holder, connection->state_namespace, name);
    return 0;
}

static int look(const struct connection *connection, struct cancel *stop, struct buf *ret_text,
                struct error *error)
{
    int r = list_kinds(connection, stop, error);

    if (r < 0 || connection->flags->leader_elect)
        return r < 0 ? r : look_at_lease(connection, stop, ret_text, error);
    buf_add_str(ret_text, "Specs and Releases are served; whether an operator is at work is not "
                          "known without --leader-elect");
    return 0;
}

int check_run(const struct flags *flags, struct cancel *stop, struct buf *ret_text,
              struct error *error)
{
    _cleanup_(connection_done) struct connection connection = {0};
    struct outage outage;
    int r;

    outage_init(&outage, "the API server did not answer yet");
    r = connection_init(&connection, flags, error);
    if (r >= 0)
        r = connection_open(&connection, NULL, NULL, error);
    if (r >= 0)
        r = connection_try(&connection, &outage, stop, error);
    if (r >= 0)
        r = look(&connection, stop, ret_text, error);
    outage_done(&outage);
    return r;
}
