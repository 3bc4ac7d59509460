#include "runtimes/io/http_hosts.h"

#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/io/address_filter.h"
#include "runtimes/io/http_origin.h"

#define HTTPS "https://"

struct entry {
    char *namespace_name; /* NULL: all */
    char *origin;         /* "https://dns.rack.example:443", without the "*." */
    bool is_wildcard;
    struct address_filter *filter;
};

struct http_hosts {
    struct entry *items;
    size_t count, capacity;
};

struct http_hosts *http_hosts_new(void)
{
    return NEW(struct http_hosts);
}

static void entry_done(struct entry *entry)
{
    free(entry->namespace_name);
    free(entry->origin);
    address_filter_free(entry->filter);
}

void http_hosts_free(struct http_hosts *hosts)
{
    for (size_t i = 0; hosts && i < hosts->count; i++)
        entry_done(&hosts->items[i]);
    if (hosts)
        free(hosts->items);
    free(hosts);
}

/* ---- Entries ---- */

static int bad_entry(const char *text, const char *why, struct error *error)
{
    return err_set(error, ERR_INVALID, "InvalidFlag",
                   "\"%s\" is not [NAMESPACE/][http://]HOST[:PORT][=RANGE[,RANGE]], as "
                   "dns.rack.example and team-a/dns.rack.example:8443=10.1.0.0/16 are%s%s",
                   text, why ? ": " : "", why ? why : "");
}

static bool is_loopback(const char *range)
{
    return str_has_prefix(range, "127.") || str_has_prefix(range, "::1");
}

/* Loopback does not pass unless it is allowed; all others are narrowed, so that what never passes
 * does not pass because a large range has it. */
static int read_ranges(const char *text, struct address_filter *filter, struct error *error)
{
    _cleanup_free_ char *copy = str_new(text);
    char *rest = copy, *range;
    int r = 0;

    while (r >= 0 && (range = strsep(&rest, ",")))
        r = is_loopback(range) ? address_filter_allow(filter, range, error)
                               : address_filter_narrow(filter, range, error);
    return r;
}

/* Cuts "team-a/" off. */
static int read_namespace(const char **text, char **ret, struct error *error)
{
    const char *scheme = strstr(*text, "://");
    const char *slash = strchr(*text, '/'), *ranges = strchr(*text, '=');

    if (!slash || (scheme && slash > scheme) || (ranges && slash > ranges))
        return 0;
    *ret = str_new_n(*text, (size_t)(slash - *text));
    *text = slash + 1;
    return str_is_dns_label(*ret) ? 0 : err_set(error, ERR_INVALID, NULL, "no namespace");
}

static int read_entry(const char *text, struct entry *ret, struct error *error)
{
    const char *ranges = strchr(text, '='), *at = text, *host;
    _cleanup_(http_origin_done) struct http_origin origin = {0};
    _cleanup_free_ char *url = NULL, *address = NULL;
    struct error problem = {0};

    ret->filter = address_filter_new();
    if (read_namespace(&at, &ret->namespace_name, NULL) < 0)
        return bad_entry(text, "what stands before the slash is no namespace", error);
    address = ranges ? str_new_n(at, (size_t)(ranges - at)) : str_new(at);
    host = strstr(address, "://");
    host = host ? host + strlen("://") : address;
    ret->is_wildcard = str_has_prefix(host, "*.");
    url = str_printf("%.*s%s", host == address ? (int)strlen(HTTPS) : (int)(host - address),
                     host == address ? HTTPS : address, host + (ret->is_wildcard ? 2 : 0));
    if (http_origin_read(url, &origin, NULL) < 0 || strchr(strstr(url, "://") + 3, '/'))
        return bad_entry(text, NULL, error);
    ret->origin = TAKE(origin.text);
    if (ranges && read_ranges(ranges + 1, ret->filter, &problem) < 0)
        return bad_entry(text, problem.message, error);
    return 0;
}

int http_hosts_add(struct http_hosts *hosts, const char *text, struct error *error)
{
    struct entry entry = {0};
    int r = read_entry(text, &entry, error);

    if (r < 0) {
        entry_done(&entry);
        return r;
    }
    hosts->items = mem_grow(hosts->items, hosts->count, &hosts->capacity, sizeof(*hosts->items));
    hosts->items[hosts->count++] = entry;
    return 0;
}

int http_hosts_deny(struct http_hosts *hosts, const char *address, struct error *error)
{
    int r = 0;

    for (size_t i = 0; i < hosts->count && r >= 0; i++)
        r = address_filter_deny(hosts->items[i].filter, address, error);
    return r;
}

/* ---- Finding ---- */

/* "https://a.rack.example:443" for the wildcard "https://rack.example:443". */
static bool is_below(const char *origin, const char *parent)
{
    const char *host = strstr(origin, "://") + strlen("://");
    const char *above = strstr(parent, "://") + strlen("://");
    size_t scheme = (size_t)(host - origin);

    return scheme == (size_t)(above - parent) && strncmp(origin, parent, scheme) == 0 &&
           strlen(host) > strlen(above) + 1 && str_has_suffix(host, above) &&
           host[strlen(host) - strlen(above) - 1] == '.';
}

static bool entry_names(const struct entry *entry, const char *namespace_name, const char *origin)
{
    if (entry->namespace_name && !str_equal(entry->namespace_name, namespace_name))
        return false;
    return entry->is_wildcard ? is_below(origin, entry->origin) : str_equal(origin, entry->origin);
}

int http_hosts_find(const struct http_hosts *hosts, const char *namespace_name, const char *url,
                    const struct address_filter **ret_filter, struct error *error)
{
    _cleanup_(http_origin_done) struct http_origin origin = {0};
    const struct entry *found = NULL;
    int r = http_origin_read(url, &origin, error);

    if (r < 0)
        return r;
    /* One that names the namespace counts more than one that does not, a name more than a
     * wildcard. */
    for (size_t i = 0; i < hosts->count; i++) {
        const struct entry *entry = &hosts->items[i];

        if (entry_names(entry, namespace_name, origin.text) &&
            (!found || (entry->namespace_name && !found->namespace_name) ||
             (!entry->namespace_name == !found->namespace_name && found->is_wildcard &&
              !entry->is_wildcard)))
            found = entry;
    }
    if (!found)
        return err_set(error, ERR_FORBIDDEN, "HostNotAllowed",
                       "the operator does not connect to %s for namespace \"%s\": the flag "
                       "--http-host names the hosts for which it does",
                       origin.text, namespace_name);
    *ret_filter = found->filter;
    return 0;
}
