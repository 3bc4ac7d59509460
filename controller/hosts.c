#include "controller/hosts.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>

#include "runtimes/io/http_hosts.h"
#include "runtimes/io/http_origin.h"

/* ---- Addresses that no entry opens ---- */

static int deny(struct http_hosts *hosts, const struct sockaddr *address, struct error *error)
{
    char text[NI_MAXHOST];
    socklen_t size =
        address->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);

    if ((address->sa_family != AF_INET && address->sa_family != AF_INET6) ||
        getnameinfo(address, size, text, sizeof(text), NULL, 0, NI_NUMERICHOST) != 0)
        return 0;
    text[strcspn(text, "%")] = '\0'; /* the zone of a link-local address */
    return http_hosts_deny(hosts, text, error);
}

static int deny_own(struct http_hosts *hosts, struct error *error)
{
    struct ifaddrs *list;
    int r = 0;

    if (getifaddrs(&list) < 0)
        return err_set(error, ERR_INTERNAL, NULL, "the process's own addresses cannot be read");
    for (const struct ifaddrs *item = list; item && r >= 0; item = item->ifa_next)
        if (item->ifa_addr)
            r = deny(hosts, item->ifa_addr, error);
    freeifaddrs(list);
    return r;
}

/* As its name is resolved now. */
static int deny_api_server(struct http_hosts *hosts, const char *url, struct error *error)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    _cleanup_(http_origin_done) struct http_origin origin = {0};
    struct addrinfo *list = NULL;
    int r = 0;

    if (http_origin_read(url, &origin, NULL) < 0 ||
        getaddrinfo(origin.host, NULL, &hints, &list) != 0)
        return 0;
    for (const struct addrinfo *item = list; item && r >= 0; item = item->ai_next)
        r = deny(hosts, item->ai_addr, error);
    freeaddrinfo(list);
    return r;
}

/* ---- The whole ---- */

int hosts_read(const char *flag, const struct flag_values *entries,
               const struct connection *connection, struct http_hosts **ret, struct error *error)
{
    struct http_hosts *hosts = *ret = http_hosts_new();
    int r = 0;

    for (size_t i = 0; i < entries->count && r >= 0; i++) {
        r = http_hosts_add(hosts, entries->items[i], error);
        if (r < 0)
            err_wrap(error, "%s", flag);
    }
    if (r >= 0 && entries->count)
        r = deny_own(hosts, error);
    if (r >= 0 && entries->count && connection->config)
        r = deny_api_server(hosts, connection->config->server, error);
    return r;
}
