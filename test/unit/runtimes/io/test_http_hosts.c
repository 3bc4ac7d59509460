#include "runtimes/io/http_hosts.h"

#include <arpa/inet.h>

#include "engine/base/str.h"
#include "runtimes/io/address_filter.h"
#include "test/unit/suite.h"

static struct http_hosts *hosts_of(const char *const *entries, size_t n)
{
    struct http_hosts *hosts = http_hosts_new();
    struct error error = {0};

    for (size_t i = 0; i < n; i++)
        EXPECT_INT(http_hosts_add(hosts, entries[i], &error), 0, error.message);
    return hosts;
}

static bool passes(const struct address_filter *filter, const char *address)
{
    struct sockaddr_in ipv4 = {.sin_family = AF_INET};
    struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6};

    if (inet_pton(AF_INET, address, &ipv4.sin_addr) == 1)
        return address_filter_passes(filter, (const struct sockaddr *)&ipv4);
    EXPECT_INT(inet_pton(AF_INET6, address, &ipv6.sin6_addr), 1, address);
    return address_filter_passes(filter, (const struct sockaddr *)&ipv6);
}

static void entries_that_are_none(void)
{
    static const char *const entries[] = {
        "",
        "ftp://a",
        "https://a/b",
        "a/",
        "https://a/",
        "A_B/a",
        "Team/a",
        "team/a/b",
        "a?b",
        "me@a",
        "a b",
        "a:99999",
        "a:x",
        "*",
        "*.",
        "a.*",
        "a=",
        "a=10.0.0.0/33",
        "a=10.0.0.0/8,",
        "a=b",
        "[::1",
        "/a",
        "a\\b",
        "a#b",
    };

    for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
        struct http_hosts *hosts = http_hosts_new();
        struct error error = {0};

        EXPECT_INT(http_hosts_add(hosts, entries[i], &error), ERR_INVALID, entries[i]);
        EXPECT_STR(error.reason, "InvalidFlag", entries[i]);
        http_hosts_free(hosts);
    }
}

static void only_what_an_entry_names_is_found(void)
{
    static const char *const entries[] = {
        "dns.rack.example",
        "team-a/dns.rack.example:8443",
        "http://caddy.rack.example:2019",
        "*.wild.example",
        "[fd00::7]:8443",
        "10.0.0.7",
        "team-b/http://plain.example",
    };
    static const struct {
        const char *namespace_name, *url;
        int code;
    } table[] = {
        {"x", "https://dns.rack.example", 0},
        {"x", "https://dns.rack.example/api/v1", 0},
        {"x", "https://DNS.rack.example:443/", 0},
        {"x", "https://dns.rack.example:8443", ERR_FORBIDDEN},
        {"team-a", "https://dns.rack.example:8443", 0},
        {"team-a", "https://dns.rack.example", 0},
        {"x", "http://dns.rack.example", ERR_FORBIDDEN},
        {"x", "http://dns.rack.example:443", ERR_FORBIDDEN},
        {"x", "http://caddy.rack.example:2019", 0},
        {"x", "http://caddy.rack.example", ERR_FORBIDDEN},
        {"x", "https://caddy.rack.example:2019", ERR_FORBIDDEN},
        {"x", "https://a.wild.example", 0},
        {"x", "https://a.b.wild.example", 0},
        {"x", "https://wild.example", ERR_FORBIDDEN},
        {"x", "https://.wild.example", ERR_FORBIDDEN},
        {"x", "https://evilwild.example", ERR_FORBIDDEN},
        {"x", "https://a.wild.example.evil.example", ERR_FORBIDDEN},
        {"x", "https://dns.rack.example.", ERR_FORBIDDEN},
        {"x", "https://dns.rack.example.evil.example", ERR_FORBIDDEN},
        {"x", "https://[fd00::7]:8443", 0},
        {"x", "https://[fd00:0::7]:8443", 0}, /* the parser writes it as the entry's */
        {"x", "https://[fd00::8]:8443", ERR_FORBIDDEN},
        {"x", "https://10.0.0.7", 0},
        {"x", "https://0x0a.7", 0}, /* likewise */
        {"team-b", "http://plain.example", 0},
        {"team-a", "http://plain.example", ERR_FORBIDDEN},
        {"x", "https://evil.example", ERR_FORBIDDEN},
        {"x", "https://evil.example/dns.rack.example", ERR_FORBIDDEN},
        {"x", "https://me@dns.rack.example", ERR_INVALID},
        {"x", "https://dns.rack.example@evil.example", ERR_INVALID},
        {"x", "https://dns.rack.example:x@evil.example", ERR_INVALID},
        {"x", "https://evil.example\\@dns.rack.example", ERR_INVALID},
        {"x", "https://evil.example\\.dns.rack.example", ERR_INVALID},
        {"x", "https://dns.rack.example#@evil.example", ERR_INVALID},
        {"x", "https://dns.rack.example?x", ERR_INVALID},
        {"x", "https://dns.rack.example#x", ERR_INVALID},
        {"x", "https://dns.rack.example%00.evil.example", ERR_INVALID},
        {"x", "https://dns.rack.example%2eevil.example", ERR_INVALID},
        {"x", "https://dns%2erack.example", ERR_INVALID},
        {"x", "https://dns.rack.example/%2e", 0},
        {"x", "https://d\xc3\xb1s.rack.example", ERR_INVALID},
        {"x", "https:dns.rack.example", ERR_INVALID},
        {"x", "//dns.rack.example", ERR_INVALID},
        {"x", "dns.rack.example", ERR_INVALID},
        {"x", "file:///etc/passwd", ERR_INVALID},
        {"x", "gopher://dns.rack.example", ERR_INVALID},
        {"x", "https://[fe80::1%25eth0]", ERR_INVALID},
        {"x", "https://dns.rack.example\r\nHost: evil.example", ERR_INVALID},
        {"x", "https://dns rack", ERR_INVALID},
        {"x", "", ERR_INVALID},
        {"x", "https://2130706433", ERR_FORBIDDEN},
        {"x", "https://0x7f.1", ERR_FORBIDDEN},
        {"x", "https://127.1", ERR_FORBIDDEN},
        {"x", "https://0", ERR_FORBIDDEN},
        {"x", "https://017700000001", ERR_FORBIDDEN},
        {"x", "https://localhost", ERR_FORBIDDEN},
        {"x", "https://[::1]", ERR_FORBIDDEN},
        {"x", "https://[::ffff:127.0.0.1]", ERR_FORBIDDEN},
        {"x", "https://[::]", ERR_FORBIDDEN},
        {"x", "https://169.254.169.254", ERR_FORBIDDEN},
        {"x", "https://kubernetes.default.svc", ERR_FORBIDDEN},
    };
    struct http_hosts *hosts = hosts_of(entries, ARRAY_SIZE(entries));

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        const struct address_filter *filter = NULL;
        struct error error = {0};

        EXPECT_INT(http_hosts_find(hosts, table[i].namespace_name, table[i].url, &filter, &error),
                   table[i].code, table[i].url);
        EXPECT(!filter == !!table[i].code, table[i].url);
    }
    http_hosts_free(hosts);
}

static void addresses_that_never_pass(void)
{
    static const char *const entries[] = {"*.rack.example=0.0.0.0/0,::/0"};
    static const char *const never[] = {
        "127.0.0.1",
        "127.8.8.8",
        "0.0.0.0",
        "0.1.2.3",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:0.0.0.0",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "169.254.169.254",
        "::ffff:a9fe:a9fe",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::",
        "100.100.100.200",
        "168.63.129.16",
        "fd00:ec2::254",
        "fe80::1",
        "169.254.0.1",
        "224.0.0.1",
        "ff02::1",
        "255.255.255.255",
        "10.9.9.9",
        "::ffff:10.9.9.9",
        "64:ff9b::a09:909",
        "64:ff9b:1::a9fe:a9fe",
        "::ffff:0:a9fe:a9fe",
        "2001:0:1:2:3:4:5601:5601", /* Teredo, of 169.254.169.254 */
    };
    static const char *const others[] = {"10.0.0.7", "192.168.1.1", "93.184.216.34", "fd00::7",
                                         "2606:2800::1"};
    struct http_hosts *hosts = hosts_of(entries, ARRAY_SIZE(entries));
    const struct address_filter *filter = NULL;

    EXPECT_INT(http_hosts_deny(hosts, "10.9.9.9", NULL), 0, "deny");
    EXPECT_INT(http_hosts_find(hosts, "x", "https://a.rack.example", &filter, NULL), 0, "find");
    for (size_t i = 0; i < ARRAY_SIZE(never); i++)
        EXPECT(!passes(filter, never[i]), never[i]);
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        EXPECT(passes(filter, others[i]), others[i]);
    http_hosts_free(hosts);
}

static void ranges_narrow_and_open_loopback(void)
{
    static const char *const entries[] = {"a=10.1.0.0/16,fd00::/8", "b=127.0.0.1", "c",
                                          "team-a/c=10.0.0.0/8"};
    static const struct {
        const char *namespace_name, *host, *address;
        bool passes;
    } table[] = {
        {"x", "https://a", "10.1.2.3", true},          {"x", "https://a", "10.2.2.3", false},
        {"x", "https://a", "fd01::1", true},           {"x", "https://a", "fe80::1", false},
        {"x", "https://a", "127.0.0.1", false},        {"x", "https://b", "127.0.0.1", true},
        {"x", "https://b", "127.0.0.2", false},        {"x", "https://c", "192.168.0.1", true},
        {"team-a", "https://c", "192.168.0.1", false}, {"team-a", "https://c", "10.0.0.1", true},
    };
    struct http_hosts *hosts = hosts_of(entries, ARRAY_SIZE(entries));

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        const struct address_filter *filter = NULL;

        EXPECT_INT(http_hosts_find(hosts, table[i].namespace_name, table[i].host, &filter, NULL), 0,
                   table[i].host);
        EXPECT_INT(passes(filter, table[i].address), table[i].passes, table[i].address);
    }
    http_hosts_free(hosts);
}

SUITE(http_hosts, TEST(entries_that_are_none), TEST(only_what_an_entry_names_is_found),
      TEST(addresses_that_never_pass), TEST(ranges_narrow_and_open_loopback))
