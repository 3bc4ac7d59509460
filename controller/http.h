/*
 * What the flags say about the HTTP runtime, and how it gets its credentials.
 */
#pragma once

#include "controller/connection.h"
#include "runtimes/http/runtime.h"

struct http_settings {
    struct http_hosts *hosts;
    struct http_runtime_config config;
};

/* connection: borrowed, and used by the runtime. ERR_INVALID: a flag is invalid. http_done() also
 * after an error. */
int http_init(struct http_settings *settings, const struct connection *connection,
              struct error *error);
void http_done(struct http_settings *settings);
