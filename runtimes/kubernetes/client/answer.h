/*
 * The body of an answer that is no error (200 or 201): it is read, and must be the object that was
 * asked for. Pure functions.
 */
#pragma once

#include "runtimes/io/http.h"
#include "runtimes/kubernetes/client/request.h"

/*
 * *ret: the body, a reference; NULL if it is empty. ret may be NULL: then an object is only
 * checked, and nothing else is read. Nothing is done if the request has on_body.
 *
 * ERR_UNAVAILABLE UnexpectedAnswer: the body is not JSON, or is another object. ERR_TOO_LARGE: it
 * is larger or nested deeper than a document may be (limits.h). ERR_INVALID Unsupported: the object
 * has no metadata.uid.
 */
int kube_answer_read(const struct kube_request *request, const struct http_response *response,
                     const struct value **ret, struct error *error);
