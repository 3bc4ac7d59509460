#include "runtimes/io/address_filter.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"

#define ADDRESS_BYTES 16
#define IPV4_AT       12 /* where an IPv4 address begins in ::ffff:0:0/96 */

/* IPv4 ranges are kept as those of ::ffff:0:0/96. */
struct range {
    uint8_t start[ADDRESS_BYTES];
    unsigned bits;
};

struct ranges {
    struct range *items;
    size_t count, capacity;
};

struct address_filter {
    struct ranges allowed, denied, only;
};

static const char *const never[] = {
    "0.0.0.0/8",       "127.0.0.0/8",   "::/128",      "::1/128", /* this machine */
    "169.254.0.0/16",  "fe80::/10",     "fec0::/10",              /* link-local */
    "224.0.0.0/4",     "240.0.0.0/4",   "ff00::/8",               /* multicast, broadcast */
    "100.100.100.200", "168.63.129.16", "192.0.0.192",            /* metadata services */
    "fd00:ec2::/32",   "fd20:ce::254",
};

static const uint8_t mapped[IPV4_AT] = {[10] = 0xff, [11] = 0xff};

/* IPv6 addresses that lead to an IPv4 one, and where that stands in them. */
static const struct {
    const char *range;
    unsigned at;
    bool is_inverted; /* its bits are */
} wraps[] = {
    {"::/96", IPV4_AT, false},           /* compatible */
    {"::ffff:0:0:0/96", IPV4_AT, false}, /* translated (SIIT) */
    {"64:ff9b::/96", IPV4_AT, false},    /* translated (NAT64) */
    {"64:ff9b:1::/48", IPV4_AT, false},  /* the same, of a network's own */
    {"2002::/16", 2, false},             /* 6to4 */
    {"2001::/32", IPV4_AT, true},        /* Teredo */
};

/* ---- Ranges ---- */

static void map_ipv4(const void *from, uint8_t ret[ADDRESS_BYTES])
{
    memcpy(ret, mapped, IPV4_AT);
    memcpy(ret + IPV4_AT, from, ADDRESS_BYTES - IPV4_AT);
}

static bool parse_address(const char *text, uint8_t ret[ADDRESS_BYTES], unsigned *ret_bits)
{
    struct in_addr ipv4;

    *ret_bits = 128;
    if (inet_pton(AF_INET6, text, ret) == 1)
        return true;
    *ret_bits = 32;
    if (inet_pton(AF_INET, text, &ipv4) != 1)
        return false;
    map_ipv4(&ipv4, ret);
    return true;
}

static bool parse_range(const char *text, struct range *ret)
{
    const char *slash = strchr(text, '/');
    _cleanup_free_ char *address = str_new_n(text, slash ? (size_t)(slash - text) : strlen(text));
    unsigned width;
    int64_t bits;

    if (!parse_address(address, ret->start, &width))
        return false;
    bits = width;
    if (slash && (!str_to_int64(slash + 1, &bits) || bits < 0 || bits > width))
        return false;
    ret->bits = 128 - width + (unsigned)bits;
    return true;
}

static bool is_in(const struct range *range, const uint8_t address[ADDRESS_BYTES])
{
    unsigned whole = range->bits / 8, rest = range->bits % 8;

    return memcmp(range->start, address, whole) == 0 &&
           (!rest || (range->start[whole] ^ address[whole]) >> (8 - rest) == 0);
}

static bool are_in(const struct ranges *ranges, const uint8_t address[ADDRESS_BYTES])
{
    for (size_t i = 0; i < ranges->count; i++)
        if (is_in(&ranges->items[i], address))
            return true;
    return false;
}

static bool is_never(const uint8_t address[ADDRESS_BYTES])
{
    struct range range;

    for (size_t i = 0; i < ARRAY_SIZE(never); i++)
        if (parse_range(never[i], &range) && is_in(&range, address))
            return true;
    return false;
}

static int add(struct ranges *ranges, const char *text, struct error *error)
{
    struct range range;

    if (!parse_range(text, &range))
        return err_set(error, ERR_INVALID, "InvalidAddress",
                       "\"%s\" is not a range of addresses as \"10.0.0.0/8\" is", text);
    ranges->items =
        mem_grow(ranges->items, ranges->count, &ranges->capacity, sizeof(*ranges->items));
    ranges->items[ranges->count++] = range;
    return 0;
}

/* ---- The filter ---- */

struct address_filter *address_filter_new(void)
{
    return NEW(struct address_filter);
}

void address_filter_free(struct address_filter *filter)
{
    if (!filter)
        return;
    free(filter->allowed.items);
    free(filter->denied.items);
    free(filter->only.items);
    free(filter);
}

int address_filter_allow(struct address_filter *filter, const char *range, struct error *error)
{
    return add(&filter->allowed, range, error);
}

int address_filter_deny(struct address_filter *filter, const char *range, struct error *error)
{
    return add(&filter->denied, range, error);
}

int address_filter_narrow(struct address_filter *filter, const char *range, struct error *error)
{
    return add(&filter->only, range, error);
}

/* An IPv6 address that stands for an IPv4 one becomes its mapped form. */
static void unwrap_ipv4(uint8_t address[ADDRESS_BYTES])
{
    uint8_t ipv4[ADDRESS_BYTES - IPV4_AT];

    if (memcmp(address, in6addr_loopback.s6_addr, ADDRESS_BYTES) == 0 ||
        memcmp(address, in6addr_any.s6_addr, ADDRESS_BYTES) == 0)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(wraps); i++) {
        struct range range;

        if (!parse_range(wraps[i].range, &range) || !is_in(&range, address))
            continue;
        for (size_t byte = 0; byte < sizeof(ipv4); byte++)
            ipv4[byte] = address[wraps[i].at + byte] ^ (wraps[i].is_inverted ? 0xff : 0);
        map_ipv4(ipv4, address);
        return;
    }
}

static bool read_address(const struct sockaddr *address, uint8_t ret[ADDRESS_BYTES])
{
    if (address->sa_family == AF_INET) {
        map_ipv4(&((const struct sockaddr_in *)(const void *)address)->sin_addr, ret);
        return true;
    }
    if (address->sa_family != AF_INET6)
        return false;
    memcpy(ret, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, ADDRESS_BYTES);
    unwrap_ipv4(ret);
    return true;
}

bool address_filter_passes(const struct address_filter *filter, const struct sockaddr *address)
{
    uint8_t bytes[ADDRESS_BYTES];

    if (!read_address(address, bytes))
        return false;
    if (are_in(&filter->allowed, bytes))
        return true;
    if (filter->only.count && !are_in(&filter->only, bytes))
        return false;
    return !are_in(&filter->denied, bytes) && !is_never(bytes);
}
