/* The Release by which a person asks for a Rollback or a Destroy (desk/requests.h): its status. */
#ifndef CONTROLLER_RECONCILE_REQUEST_H
#define CONTROLLER_RECONCILE_REQUEST_H

#include "controller/desk/requests.h"
#include "controller/reconcile/releases.h"

/* How a request ends, or goes on. */
struct request_report {
    enum release_phase phase;
    int64_t revision; /* of the operation; 0: none */
    const struct verdict *verdict;
    const char *summary; /* in place of its message, in a column; NULL: the message */
};

/* Writes that to the Release of the request, and ends it on the desk if it has ended then, or had
 * ended before, or is gone. */
int request_write(const struct reconcile_context *context, const struct release_subject *subject,
                  const struct request *request, const struct request_report *report,
                  struct cancel *cancel, struct error *error);

#endif
