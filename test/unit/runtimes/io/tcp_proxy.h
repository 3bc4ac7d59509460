/*
 * Passes TCP connections on to a port of loopback, until they are broken on
 * purpose: for what happens when a real server's connections break.
 */
#pragma once

#include <stddef.h>

struct tcp_proxy;

struct tcp_proxy *tcp_proxy_new(int to_port);
void tcp_proxy_free(struct tcp_proxy *proxy);
int tcp_proxy_port(const struct tcp_proxy *proxy);
/* Resets all connections that there are; new ones are taken. */
void tcp_proxy_break(struct tcp_proxy *proxy);
/* Connections that were ever taken. */
size_t tcp_proxy_count(const struct tcp_proxy *proxy);
