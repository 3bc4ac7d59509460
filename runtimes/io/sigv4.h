/*
 * Signatures of requests to AWS and what is compatible with it: AWS Signature Version 4, as S3 has
 * it (the path is escaped once).
 *
 * libcurl 7.88 can sign, too. But it takes dots out of a path before it signs, sorts lines of
 * headers instead of names, does not escape, and cannot correct a clock that is wrong.
 *
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/buf.h"

#define SIGV4_DATE_SIZE 17 /* 20130524T000000Z */

struct sigv4_header {
    const char *name;  /* in lower case */
    const char *value; /* without blanks around it */
};

/* All borrowed. */
struct sigv4_request {
    const char *method;
    const char *path;  /* escaped, "/" at least */
    const char *query; /* escaped, sorted, "name=value" each; "" */
    const struct sigv4_header
        *headers; /* all that are signed, by name: host and x-amz-* at least */
    size_t n_headers;
    const char *body_hash; /* SHA-256, hexadecimal */
};

struct sigv4_key {
    const char *access_key, *secret_key;
    const char *region, *service;
};

/* The time in ms since 1970, as headers and signatures have it. */
void sigv4_date(int64_t now, char ret[SIGV4_DATE_SIZE]);
/* The value of the header Authorization; free(). date: the value of x-amz-date. */
char *sigv4_authorization(const struct sigv4_request *request, const struct sigv4_key *key,
                          const char *date);
