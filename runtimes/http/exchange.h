/*
 * A request to a server, and its answer. Any status is an answer; exchange_refuse() says what one
 * means that is not as it was hoped.
 */
#pragma once

#include "runtimes/http/server.h"

/* Bytes of an answer, if the call has a slot for a large one. */
#define LARGEST_ANSWER (8u << 20)
/* Bytes of a body: one of few bytes may have all attributes in many places. */
#define LARGEST_BODY (4u << 20)

struct exchange {
    struct rest_server *server;
    const struct value *request; /* as described (description.h): its method, headers, timeout */
    const char *path;            /* filled */
    const struct value *body;    /* NULL: none */
    const char *if_match;        /* an ETag; NULL: none */
    bool is_change;              /* the permit is asked. It is waited for even if it is cancelled */
};

struct answer {
    int status;
    const struct value *document; /* a reference; NULL: it has no body, or none of JSON */
    char *etag;                   /* owned; NULL: none */
    bool sent;                    /* after an error: the request may have arrived */
    bool is_too_large;            /* of a change: there was more than is read */
};
void answer_done(struct answer *answer);

/*
 * 0 for any status. ret: zeroed; to be done also after an error. ERR_UNAVAILABLE, ERR_TIMEOUT,
 * ERR_CANCELLED, ERR_FENCED; ERR_FORBIDDEN AddressNotAllowed, ERR_INVALID TLSVerification, TooLarge
 * for a body.
 * ERR_INTERNAL UnexpectedAnswer: the answer to a read is not JSON. No error tells more of the
 * server than a client of it has to know.
 */
int exchange_do(const struct exchange *exchange, const struct runtime_call *call,
                struct answer *ret, struct error *error);

/* Sets the error for an answer with a status that was not hoped for, and returns its code. */
int exchange_refuse(const struct exchange *exchange, const struct answer *answer,
                    struct error *error);
/* Whether a change with this status did certainly nothing. */
bool exchange_is_refusal(int status);
bool exchange_is_success(int status);
