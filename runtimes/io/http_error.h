/*
 * Converts curl's errors to struct error.
 */
#ifndef RUNTIMES_IO_HTTP_ERROR_H
#define RUNTIMES_IO_HTTP_ERROR_H

#include <curl/curl.h>

#include "engine/base/error.h"

/* text: curl's message where it has one, or "". Returns the error's code. */
int http_error_set(struct error *error, CURLcode code, const char *text);

#endif
