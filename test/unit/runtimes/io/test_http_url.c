#include "runtimes/io/http_url.h"

#include "test/unit/suite.h"

static void addresses_are_taken_apart(void)
{
    static const struct {
        const char *base, *address, *origin, *host, *path, *shown;
    } table[] = {
        {NULL, "https://a.example.com", "https://a.example.com", "a.example.com:443", "/",
         "https://a.example.com/"},
        {NULL, "https://A.Example.com:443/x/y?z=secret#part", "https://a.example.com",
         "a.example.com:443", "/x/y?z=secret", "https://a.example.com/x/y"},
        {NULL, "https://a:8443/x", "https://a:8443", "a:8443", "/x", "https://a:8443/x"},
        {NULL, "https://[::1]:8443/x", "https://[::1]:8443", "[::1]:8443", "/x",
         "https://[::1]:8443/x"},
        {"https://a/b/c.json?d", "e.zip", "https://a", "a:443", "/b/e.zip", "https://a/b/e.zip"},
        {"https://a/b/c.json", "/e.zip?f", "https://a", "a:443", "/e.zip?f", "https://a/e.zip"},
        {"https://a/b/c.json", "../e.zip", "https://a", "a:443", "/e.zip", "https://a/e.zip"},
        {"https://a/b/c.json", "https://d/e", "https://d", "d:443", "/e", "https://d/e"},
        {"https://a/b", "//d/e", "https://d", "d:443", "/e", "https://d/e"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct http_url url = {0};
        struct error error = {0};

        EXPECT_INT(http_url_read(table[i].base, table[i].address, &url, &error), 0, error.message);
        EXPECT_STR(url.origin, table[i].origin, table[i].address);
        EXPECT_STR(url.host, table[i].host, table[i].address);
        EXPECT_STR(url.path, table[i].path, table[i].address);
        EXPECT_STR(url.shown, table[i].shown, table[i].address);
        http_url_done(&url);
    }
}

static void others_are_refused_without_their_secrets(void)
{
    static const struct {
        const char *base, *address, *message;
    } table[] = {
        {NULL, "http://a/b?secret", "\"http://a/b\" does not begin with https://"},
        {NULL, "file:///etc/passwd", "\"file:///etc/passwd\" does not begin with https://"},
        {NULL, "https://", "\"https://\" is no address"},
        {NULL, "/a/b", "\"/a/b\" is no address"},
        {NULL, "", "\"\" is no address"},
        {NULL, "https://a b/", "\"https://a b/\" is no address"},
        {NULL, "https://me:secret@a/b", "\"a\" is given a user or a password in an address"},
        {NULL, "https://secret@a/b", "\"a\" is given a user or a password in an address"},
        {"https://a/b", "http://a/c", "\"http://a/c\" does not begin with https://"},
        {"https://a/b", "ftp://a/c", "\"ftp://a/c\" does not begin with https://"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct http_url url = {0};
        struct error error = {0};

        EXPECT_INT(http_url_read(table[i].base, table[i].address, &url, &error), ERR_INVALID,
                   table[i].address);
        EXPECT_STR(error.message, table[i].message, table[i].address);
        EXPECT(!url.whole, table[i].address);
    }
}

SUITE(http_url, TEST(addresses_are_taken_apart), TEST(others_are_refused_without_their_secrets))
