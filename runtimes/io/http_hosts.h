/*
 * The hosts of a tenant's choice that may be connected to: none but those that a flag of the
 * operator names.
 *
 * An entry is [NAMESPACE/][SCHEME://]HOST[:PORT][=RANGE[,RANGE]…]:
 *
 *   dns.rack.example                    https, port 443, for all namespaces
 *   team-a/dns.rack.example:8443        for the Specs of one namespace
 *   http://caddy.rack.example:2019      without TLS
 *   *.rack.example                      each name below it
 *   dns.rack.example=10.1.0.0/16        no address but these; only so can one be loopback
 *
 * A host is compared as text, in lower case, with what the URL says after it was parsed: another
 * spelling of a host is another host. The address that it has is judged when a connection is made
 * (address_filter.h). Immutable after it is made; thread-safe.
 */
#pragma once

#include <stdbool.h>

#include "engine/base/error.h"

struct address_filter; /* runtimes/io/address_filter.h */

struct http_hosts;

struct http_hosts *http_hosts_new(void);
void http_hosts_free(struct http_hosts *hosts);
DEFINE_CLEANUP(struct http_hosts *, http_hosts_free)

/* ERR_INVALID InvalidFlag: the entry is not as above. */
int http_hosts_add(struct http_hosts *hosts, const char *entry, struct error *error);
/* Refuses an address, whatever the entries say: of the API server, or the operator's own. After all
 * entries. ERR_INVALID: it is none. */
int http_hosts_deny(struct http_hosts *hosts, const char *address, struct error *error);

/*
 * Whether Specs of the namespace may use the URL of a server. *ret_filter: of its addresses;
 * borrowed. ERR_INVALID InvalidAddress: it is no URL of https or http, or has a user, a query or a
 * fragment. ERR_FORBIDDEN HostNotAllowed: no entry names it.
 */
int http_hosts_find(const struct http_hosts *hosts, const char *namespace_name, const char *url,
                    const struct address_filter **ret_filter, struct error *error);
