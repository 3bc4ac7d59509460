/*
 * The hosts of a flag, for servers of a tenant's choice (runtimes/io/http_hosts.h).
 */
#pragma once

#include "controller/connection.h"

struct http_hosts;

/* flag: its name, for messages. No entry opens the addresses of this process, nor those of the API
 * server, as its name is resolved now. *ret is the caller's, after an error as well:
 * http_hosts_free(). ERR_INVALID: an entry is none. */
int hosts_read(const char *flag, const struct flag_values *entries,
               const struct connection *connection, struct http_hosts **ret, struct error *error);
