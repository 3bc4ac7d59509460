/*
 * Reads the status and headers of an answer.
 */
#ifndef RUNTIMES_IO_HTTP_RESPONSE_H
#define RUNTIMES_IO_HTTP_RESPONSE_H

#include <curl/curl.h>

#include "runtimes/io/http.h"

/* The delay of a Retry-After header, in ms from now (Unix ms); -1: neither seconds nor a date. */
int64_t http_retry_after(const char *value, int64_t now);

/* Status and headers of a handle's last answer. */
void http_response_read(struct http_response *response, CURL *handle,
                        const struct http_request *request);

#endif
