#include "controller/core/outage.h"

#include "engine/base/str.h"
#include "engine/threads/locked.h"

#define LOG_INTERVAL 60000 /* ms */

void outage_init(struct outage *outage, const char *pending)
{
    *outage = (struct outage){.pending = pending};
    pthread_mutex_init(&outage->lock, NULL);
}

void outage_done(struct outage *outage)
{
    pthread_mutex_destroy(&outage->lock);
}

bool outage_goes_on(struct outage *outage, const struct error *error, int64_t now)
{
    bool is_due;

    LOCKED(&outage->lock);
    is_due =
        !str_equal(outage->error.reason, error->reason) || now - outage->logged_at >= LOG_INTERVAL;
    if (is_due)
        outage->logged_at = now;
    if (!outage->error.code)
        outage->began_at = now;
    outage->error = *error;
    return is_due;
}

void outage_ends(struct outage *outage)
{
    LOCKED(&outage->lock);

    outage->error = (struct error){0};
    outage->pending = NULL;
}

int64_t outage_lasts(struct outage *outage, int64_t now)
{
    LOCKED(&outage->lock);

    return outage->error.code ? now - outage->began_at : 0;
}

bool outage_is(struct outage *outage, struct buf *to)
{
    LOCKED(&outage->lock);
    if (to && outage->error.code)
        buf_printf(to, "%s (the log has the message)", outage->error.reason);
    else if (to && outage->pending)
        buf_add_str(to, outage->pending);
    return outage->error.code || outage->pending;
}
