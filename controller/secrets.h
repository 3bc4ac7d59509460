/*
 * What the flags say about secret stores.
 */
#pragma once

#include "controller/connection.h"
#include "runtimes/secrets/secret_store.h"

struct secret_settings {
    struct secret_stores stores; /* owned */
    struct http_hosts *hosts;
    char *ca_pem;
};

/* ERR_INVALID: a flag is invalid. secret_settings_done() also after an error. */
int secret_settings_init(struct secret_settings *settings, const struct connection *connection,
                         struct error *error);
/* When no request is under way. */
void secret_settings_done(struct secret_settings *settings);
