/*
 * Releases by which people ask for a Rollback or a Destroy of a Spec, as long as they have not
 * ended. The Spec's own reconcile carries them out (hold_begin.h), so that there is one operation
 * of a Spec at a time.
 *
 *   1. The reconcile of the Release puts it into this table, and the Spec's key into the queue.
 *   2. The reconcile of the Spec takes the newest. An operation that is under way gives way to it,
 *      and older requests are cancelled.
 *   3. When the first operation for it has ended, the Release gets the same end. The operation has
 *      a Release of its own, as all have, which is the record.
 *
 * The table is in memory: after a restart, the reconcile of each Release fills it again. That a
 * request was accepted is in State (hold.h). Thread-safe.
 */
#ifndef CONTROLLER_RECONCILE_REQUESTS_H
#define CONTROLLER_RECONCILE_REQUESTS_H

#include "controller/reconcile/releases.h"

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

struct requests;

struct requests *requests_new(void);
void requests_free(struct requests *requests);
DEFINE_CLEANUP(struct requests *, requests_free)

/* Copied. One with this uid was added before: nothing happens, even if it has ended. */
void requests_add(struct requests *requests, const struct spec_key *spec,
                  const struct request *request);
/* Nothing is to be done for the one with this uid any more. It stays known, since its Release may
 * have been read before that, and be added after. */
void requests_end(struct requests *requests, const char *uid);
/* The Release of that name was read, and has ended or is gone: it is forgotten. */
void requests_drop(struct requests *requests, const char *namespace_name, const char *release);
/* The name of the Spec of the request with that name; free(). NULL: it is not known. */
char *requests_spec(struct requests *requests, const char *namespace_name, const char *release);
/* *ret: a copy of the newest that has not ended. False: there is none. */
bool requests_newest(struct requests *requests, const struct spec_key *spec, struct request *ret);
/* The one with this uid. */
bool requests_find(struct requests *requests, const char *uid, struct request *ret);
/* Any one that has not ended but that with this uid, which may be NULL. */
bool requests_other(struct requests *requests, const struct spec_key *spec, const char *uid,
                    struct request *ret);

/* How a request ends, or goes on. */
struct request_report {
    enum release_phase phase;
    int64_t revision; /* of the operation; 0: none */
    const struct verdict *verdict;
    const char *summary; /* in place of its message, in a column; NULL: the message */
};

/* Writes that to the Release of the request, and ends it in the table if it has ended then, or had
 * ended before, or is gone. */
int request_write(const struct reconcile_context *context, const struct release_subject *subject,
                  const struct request *request, const struct request_report *report,
                  struct cancel *cancel, struct error *error);

#endif
