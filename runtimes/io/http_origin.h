/*
 * The server that a URL names: scheme, host and port.
 *
 * It is read by the same parser that reads the URLs of requests, so whatever spelling the host has
 * ("0x7f.1", "%6c"), this is the one that is connected to.
 */
#pragma once

#include "engine/base/error.h"

struct http_origin {
    char *text; /* "https://dns.rack.example:443", in lower case, always with the port */
    char *host; /* "dns.rack.example", "10.0.0.7", "::1" */
    char *path; /* "/api/v1"; "/" if there is none */
};

/* ERR_INVALID InvalidAddress: it is no URL of https or http, its host is not written in letters,
 * digits, "-", "_" and ".", unescaped, or it has a user, a zone, a query or a fragment. */
int http_origin_read(const char *url, struct http_origin *ret, struct error *error);
void http_origin_done(struct http_origin *origin);
