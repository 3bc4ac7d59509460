/*
 * Makes errors of the API server's answers that are not 2xx.
 *
 * A Status object gives the reason and the message; its details name the
 * object and the causes. ERR_NOT_FOUND means that the object does not exist. It
 * comes only from a Status NotFound whose details name the requested object.
 * Any other 404 (a proxy's page, "404 page not found" of a version that is no
 * longer served) is ERR_UNAVAILABLE or ERR_INVALID with the reason "NotServed".
 *
 *   400 ERR_INVALID BadRequest         409 ERR_EXISTS AlreadyExists, ERR_CONFLICT Conflict
 *   401 ERR_UNAUTHENTICATED            410 ERR_GONE Expired/Gone
 *   403 ERR_FORBIDDEN Forbidden, or    413 ERR_TOO_LARGE RequestEntityTooLarge
 *       reason NamespaceTerminating    422 ERR_INVALID Invalid
 *   404 ERR_NOT_FOUND NotFound         429 ERR_UNAVAILABLE TooManyRequests
 *   500 without a reason, from an apply's schema check: ERR_INVALID InvalidSchema
 *   500 of an admission webhook that is down or hangs: ERR_UNAVAILABLE WebhookFailed. The request
 *       was not carried out
 *   500, 502, 503, 504 ERR_UNAVAILABLE InternalError, ServiceUnavailable, …
 *
 * A reason that is not CamelCase (an admission webhook may write any words there) is that of the
 * status code, and its words begin the message.
 *
 * Messages are the server's, with values that its causes echo redacted
 * (Invalid value: "…").
 */
#pragma once

#include "engine/base/error.h"
#include "engine/value/value.h"

#define KUBE_WEBHOOK_FAILED "WebhookFailed" /* a reason */

struct http_response;
struct kube_ref;

/* Returns the code. method: of the request; ref: the object asked for, NULL or without a name for a
 * collection. It is absent (ERR_NOT_FOUND) only if the Status names it, and its kind. */
int api_error_from_response(const char *method, const struct kube_ref *ref, bool is_apply,
                            const struct http_response *response, struct error *error);

/* The same from a Status object that came inside a watch (ERROR event). */
int api_error_from_status(const struct value *status, struct error *error);

/*
 * What an answer of 422 Invalid says is wrong with the object, and one of 409 Conflict to an apply
 * about fields of other managers: a list of {reason, message, field}. A message of the first may
 * quote any value of the object: it is not for people. A reference; NULL: the answer is no such
 * one, or an admission webhook gave it.
 */
const struct value *api_error_causes(const struct http_response *response);
