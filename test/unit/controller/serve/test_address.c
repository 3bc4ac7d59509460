#include "controller/serve/address.h"

#include "test/unit/suite.h"

static const struct row {
    const char *text, *host;
    int port; /* -1: refused */
    bool is_v6;
} rows[] = {
    {":9440", "", 9440, false},        {"127.0.0.1:0", "127.0.0.1", 0, false},
    {"[::1]:80", "::1", 80, true},     {"", NULL, -1, false},
    {"9440", NULL, -1, false},         {":", NULL, -1, false},
    {":65536", NULL, -1, false},       {":-1", NULL, -1, false},
    {"::1:80", NULL, -1, false},       {"[]:80", NULL, -1, false},
    {"localhost:80", NULL, -1, false}, {"127.0.0.1:80x", NULL, -1, false},
};

static void reads_addresses(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct address address = {.port = -1};
        int r = address_parse(rows[i].text, &address, NULL);

        EXPECT_INT(r, rows[i].port < 0 ? ERR_INVALID : 0, rows[i].text);
        EXPECT_INT(address.port, rows[i].port, rows[i].text);
        if (r == 0) {
            EXPECT_STR(address.host, rows[i].host, rows[i].text);
            EXPECT_INT(address.is_v6, rows[i].is_v6, rows[i].text);
        }
    }
}

SUITE(address, TEST(reads_addresses))
