/*
 * Addresses that a server gives: of a redirect, of a file.
 */
#pragma once

#include "engine/base/error.h"

struct http_url {
    char *whole;  /* "https://example.com/a/b?c=d" */
    char *origin; /* "https://example.com", as http_client_config.base_url takes it */
    char *host;   /* "example.com:443": with the port, in lower case */
    char *path;   /* "/a/b?c=d" */
    char *shown;  /* "https://example.com/a/b": for messages, since a query may have a secret */
};

/* base: NULL: the address has to be a whole one; else one that is relative counts from it. Only
 * https is taken, and no user or password. ERR_INVALID InvalidAddress. *ret: http_url_done(). */
int http_url_read(const char *base, const char *address, struct http_url *ret, struct error *error);
void http_url_done(struct http_url *url);
