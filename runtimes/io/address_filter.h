/*
 * Which addresses may be connected to, where it is a tenant who says to what: the address of a
 * cluster, or of a server.
 *
 * What is checked is the address of each connection, right before it is made, so that a name that
 * is resolved to another address the next time is no way around it. Set it as address_filter of
 * http_client_config.
 *
 * Without a word of the operator's, these do not pass: the machine itself (loopback, and the
 * unspecified address), link-local addresses, multicast and broadcast, and the metadata services of
 * clouds. An IPv4 address counts the same where it is written as an IPv6 one.
 *
 * It is made by one thread, and immutable from then on. Thread-safe then.
 */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

#include "engine/base/error.h"

/* The reason of the error of a request to an address that does not pass; its code is ERR_FORBIDDEN.
 */
#define ADDRESS_NOT_ALLOWED "AddressNotAllowed"

struct address_filter;

struct address_filter *address_filter_new(void);
void address_filter_free(struct address_filter *filter);
DEFINE_CLEANUP(struct address_filter *, address_filter_free)

/* range: "10.0.0.0/8", "fd00::/8", or one address. What is allowed passes, whatever else is said of
 * it. ERR_INVALID InvalidAddress: it is no range. */
int address_filter_allow(struct address_filter *filter, const char *range, struct error *error);
int address_filter_deny(struct address_filter *filter, const char *range, struct error *error);

/* Of what is not allowed by the above, only addresses in such ranges pass. None: all. */
int address_filter_narrow(struct address_filter *filter, const char *range, struct error *error);

/* False for all that is neither IPv4 nor IPv6. */
bool address_filter_passes(const struct address_filter *filter, const struct sockaddr *address);
