/*
 * Releases by which people ask for a Rollback or a Destroy of a Spec, as long as they have not
 * ended. The Spec's own reconcile carries them out (reconcile/hold_begin.h), so that there is one
 * operation of a Spec at a time.
 *
 *   1. The reconcile of the Release puts it on the desk, and the Spec's key into the queue.
 *   2. The reconcile of the Spec takes the newest. An operation that is under way gives way to it,
 *      and older requests are cancelled.
 *   3. When the first operation for it has ended, the Release gets the same end. The operation has
 *      a Release of its own, as all have, which is the record.
 *
 * After a restart, the reconcile of each Release adds it again. That a request was accepted is in
 * State (reconcile/hold.h). Thread-safe.
 */
#pragma once

#include "engine/release/release.h"
#include "engine/store.h"

struct desk;

struct request {
    char *release; /* its name */
    char *uid;     /* of it */
    char *created; /* its creationTimestamp, in seconds */
    char *version; /* its resourceVersion when it was read first: it orders those of one second */
    enum release_operation operation; /* RELEASE_ROLLBACK, RELEASE_DESTROY */
    int64_t to_revision;              /* Rollback; 0: the one before */
    int64_t revision; /* that carries it out, if that was so when it was read first; 0: none */
};
/* All strings are owned. */
void request_done(struct request *request);

/* "superseded by Release web-undo (Rollback)", for messages; free() it. */
char *request_supersedes(const struct request *request);

/* Copied. One with this uid was added before: nothing happens, even if it has ended. */
void desk_add_request(struct desk *desk, const struct spec_key *spec,
                      const struct request *request);
/* Nothing is to be done for the one with this uid any more. It stays known, since its Release may
 * have been read before that, and be added after. */
void desk_end_request(struct desk *desk, const struct spec_key *spec, const char *uid);
/* The Release was read, and has ended or is gone: its request is forgotten. Gives the name of the
 * Spec; free(). NULL: there was none. */
char *desk_drop_request(struct desk *desk, const struct spec_key *release);
/* *ret: a copy of the newest that has not ended, and has another uid than `but`, which may be NULL.
 * False: there is none. */
bool desk_newest_request(struct desk *desk, const struct spec_key *spec, const char *but,
                         struct request *ret);
/* The one with this uid. */
bool desk_find_request(struct desk *desk, const struct spec_key *spec, const char *uid,
                       struct request *ret);
