#include "runtimes/io/address_filter.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "test/unit/runtimes/io/http_fixture.h"

static bool passes(const struct address_filter *filter, const char *text)
{
    struct sockaddr_in ipv4 = {.sin_family = AF_INET};
    struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6};

    if (inet_pton(AF_INET, text, &ipv4.sin_addr) == 1)
        return address_filter_passes(filter, (const struct sockaddr *)(const void *)&ipv4);
    CU_ASSERT_FATAL(inet_pton(AF_INET6, text, &ipv6.sin6_addr) == 1);
    return address_filter_passes(filter, (const struct sockaddr *)(const void *)&ipv6);
}

static void special_addresses_do_not_pass(void)
{
    static const struct {
        const char *address;
        bool passes;
    } rows[] = {
        {"127.0.0.1", false},
        {"127.255.255.255", false},
        {"0.0.0.0", false},
        {"0.1.2.3", false},
        {"169.254.169.254", false},
        {"169.253.255.255", true},
        {"224.0.0.1", false},
        {"255.255.255.255", false},
        {"100.100.100.200", false},
        {"100.100.100.201", true},
        {"168.63.129.16", false},
        {"10.0.0.1", true},
        {"192.168.1.1", true},
        {"203.0.113.7", true},
        {"::1", false},
        {"::", false},
        {"::2", false},
        {"fe80::1", false},
        {"febf::1", false},
        {"ff02::1", false},
        {"fd00:ec2::254", false},
        {"fd00::1", true},
        {"2001:db8::1", true},
        {"::ffff:127.0.0.1", false},
        {"::ffff:10.0.0.1", true},
        {"::127.0.0.1", false},
        {"64:ff9b::169.254.169.254", false},
        {"64:ff9b::10.0.0.1", true},
    };
    _cleanup_(address_filter_free_p) struct address_filter *filter = address_filter_new();

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        EXPECT_INT(passes(filter, rows[i].address), rows[i].passes, rows[i].address);
}

static void what_the_operator_says_counts(void)
{
    _cleanup_(address_filter_free_p) struct address_filter *filter = address_filter_new();

    EXPECT_INT(address_filter_allow(filter, "127.0.0.0/30", NULL), 0, "allowed");
    EXPECT_INT(address_filter_allow(filter, "fe80::1", NULL), 0, "allowed");
    EXPECT_INT(address_filter_deny(filter, "10.96.0.0/15", NULL), 0, "denied");
    EXPECT_INT(address_filter_deny(filter, "fd00::/8", NULL), 0, "denied");
    EXPECT_INT(address_filter_allow(filter, "10.96.0.1", NULL), 0, "allowed in spite of that");
    EXPECT(passes(filter, "127.0.0.3"), "allowed");
    EXPECT(passes(filter, "::ffff:127.0.0.3"), "the same address");
    EXPECT(!passes(filter, "127.0.0.4"), "not allowed");
    EXPECT(passes(filter, "fe80::1"), "allowed");
    EXPECT(!passes(filter, "fe80::2"), "not allowed");
    EXPECT(!passes(filter, "10.96.0.2"), "denied");
    EXPECT(!passes(filter, "10.97.255.255"), "denied");
    EXPECT(!passes(filter, "::ffff:10.97.0.1"), "the same range");
    EXPECT(passes(filter, "10.98.0.0"), "not denied");
    EXPECT(passes(filter, "10.96.0.1"), "allowed");
    EXPECT(!passes(filter, "fd12::1"), "denied");
}

static void other_texts_are_no_ranges(void)
{
    static const char *const texts[] = {"",          "10.0.0.0/33", "10.0.0/8", "::/129",   "/8",
                                        "localhost", "10.0.0.0/",   "::/-1",    "1.2.3.4/x"};
    _cleanup_(address_filter_free_p) struct address_filter *filter = address_filter_new();

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct error error = {0};

        EXPECT_INT(address_filter_allow(filter, texts[i], &error), ERR_INVALID, texts[i]);
        EXPECT_STR(error.reason, "InvalidAddress", texts[i]);
    }
}

static void a_connection_is_not_made(void)
{
    _cleanup_(address_filter_free_p) struct address_filter *filter = address_filter_new();
    _cleanup_(http_client_free_p) struct http_client *client = NULL;
    struct http_request request = {.method = "GET", .path = "/hello", .timeout = 10000};
    struct http_response response = HTTP_RESPONSE_INIT;
    struct http_client_config config = {.address_filter = filter};
    struct error error = {0};
    struct fixture fixture;

    fixture_init(&fixture, 0);
    config.base_url = http_server_url(fixture.server);
    CU_ASSERT_FATAL(http_client_new(fixture.loop, &config, &client, NULL) == 0);
    EXPECT_INT(http_do(client, &request, &response, &error), ERR_FORBIDDEN, "refused");
    EXPECT_STR(error.reason, ADDRESS_NOT_ALLOWED, error.message);
    EXPECT(!response.sent, "nothing was sent");
    EXPECT_INT(http_server_connections(fixture.server), 0, "nor connected");
    http_response_done(&response);
    EXPECT_INT(address_filter_allow(filter, "127.0.0.1", NULL), 0, "the tests' own doing");
    EXPECT_INT(http_do(client, &request, &response, &error), 0, error.message);
    EXPECT_INT(response.status, 200, "answered");
    http_response_done(&response);
    fixture_done(&fixture);
}

SUITE(address_filter, TEST(special_addresses_do_not_pass), TEST(what_the_operator_says_counts),
      TEST(other_texts_are_no_ranges), TEST(a_connection_is_not_made))
