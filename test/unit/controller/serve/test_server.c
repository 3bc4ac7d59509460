#include "controller/serve/server.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "test/unit/suite.h"

struct fixture {
    struct server *server;
    bool closes;
    size_t page; /* bytes of /page */
};

static unsigned answer_page(void *arg, const char *path, struct buf *body)
{
    const struct fixture *fixture = arg;

    if (!str_equal(path, "/page"))
        return server_not_found(body);
    for (size_t i = 0; i < fixture->page; i++)
        buf_add_char(body, i % 2 ? '1' : '0');
    buf_add_str(body, "page");
    return 200;
}

static struct server_config config_of(struct fixture *fixture, const char *address)
{
    return (struct server_config){.name = "test",
                                  .address = address,
                                  .closes = fixture->closes,
                                  .answer = answer_page,
                                  .arg = fixture};
}

static void fixture_start(struct fixture *fixture)
{
    struct server_config config = config_of(fixture, "127.0.0.1:0");
    struct error error = {0};

    fixture->server = server_new(&config, &error);
    EXPECT(fixture->server, error.message);
}

static int connect_to(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval limit = {.tv_sec = 10};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    close(fd);
    return -1;
}

/* The whole of what comes back until the other side closes; free() it. */
static char *ask(int port, const char *request)
{
    struct buf answer = BUF_INIT;
    int fd = connect_to(port);
    char part[4096];

    EXPECT(fd >= 0, request);
    EXPECT_INT(send(fd, request, strlen(request), MSG_NOSIGNAL), (long long)strlen(request),
               request);
    for (ssize_t n; (n = recv(fd, part, sizeof(part), 0)) > 0;)
        buf_add(&answer, part, (size_t)n);
    close(fd);
    return buf_take(&answer);
}

#define REQUEST(line) line " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

static const struct row {
    const char *request, *status;
    const char *body; /* how it ends; NULL: not looked at */
} rows[] = {
    {REQUEST("GET /page"), "HTTP/1.1 200", "\r\n\r\npage"},
    {REQUEST("GET /page?verbose"), "HTTP/1.1 200", "\r\n\r\npage"},
    {REQUEST("HEAD /page"), "HTTP/1.1 200", "\r\n\r\n"},
    {REQUEST("GET /other"), "HTTP/1.1 404", "not found\n"},
    {REQUEST("GET /"), "HTTP/1.1 404", "not found\n"},
    {REQUEST("GET /../etc/passwd"), "HTTP/1.1 40", NULL},
    {REQUEST("DELETE /page"), "HTTP/1.1 405", "method not allowed\n"},
    {"POST /page HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 405",
     "method not allowed\n"},
};

static void answers(void)
{
    struct fixture fixture = {0};

    fixture_start(&fixture);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct row *row = &rows[i];
        _cleanup_free_ char *answer = ask(server_port(fixture.server), row->request);

        EXPECT(str_has_prefix(answer, row->status), row->request);
        if (row->body)
            EXPECT(str_has_suffix(answer, row->body), row->request);
        if (!str_has_prefix(answer, row->status))
            fprintf(stderr, "%s\n", answer);
    }
    server_free(fixture.server);
}

/* More than one write, and more than one request on a connection. */
static void serves_large_pages(void)
{
    struct fixture fixture = {.page = 200000};
    _cleanup_free_ char *answer = NULL;

    fixture_start(&fixture);
    answer = ask(server_port(fixture.server),
                 "GET /page HTTP/1.1\r\nHost: x\r\n\r\n" REQUEST("GET /nothing"));
    EXPECT(strlen(answer) > 200000, "length");
    EXPECT(strcasestr(answer, "content-type: text/plain; version=0.0.4"), "type");
    EXPECT(strstr(answer, "01pageHTTP/1.1 404"), "the end, and the next answer");
    server_free(fixture.server);
}

/* The answer comes to its end though the client would keep the connection. */
static void closes_connections(void)
{
    struct fixture fixture = {.closes = true, .page = 20000};
    _cleanup_free_ char *answer = NULL;

    fixture_start(&fixture);
    answer = ask(server_port(fixture.server),
                 "GET /page HTTP/1.1\r\nHost: x\r\n\r\n" REQUEST("GET /nothing"));
    EXPECT(str_has_suffix(answer, "01page"), "one whole answer");
    EXPECT(!strstr(answer, "404"), "and no other");
    server_free(fixture.server);
}

/* One server's connections are all taken by clients that send nothing. */
static void does_not_delay_another_server(void)
{
    struct fixture crowded = {0}, other = {0};
    _cleanup_free_ char *answer = NULL;
    int fds[600];

    fixture_start(&crowded);
    fixture_start(&other);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = connect_to(server_port(crowded.server));
    answer = ask(server_port(other.server), REQUEST("GET /page"));
    EXPECT(str_has_suffix(answer, "page"), "the other answers");
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    server_free(crowded.server);
    server_free(other.server);
}

static void stops_under_open_connections(void)
{
    struct fixture fixture = {0};
    int idle, half;

    fixture_start(&fixture);
    idle = connect_to(server_port(fixture.server));
    half = connect_to(server_port(fixture.server));
    EXPECT_INT(send(half, "GET /pa", 7, MSG_NOSIGNAL), 7, "half a request");
    usleep(10000);
    server_free(fixture.server);
    close(idle);
    close(half);
}

static void says_what_it_cannot_listen_on(void)
{
    struct fixture fixture = {0};
    struct server_config config = config_of(&fixture, "nonsense");
    struct error error = {0};
    _cleanup_free_ char *taken = NULL;

    EXPECT(!server_new(&config, &error), "no address");
    EXPECT_INT(error.code, ERR_INVALID, error.message);
    fixture_start(&fixture);
    taken = str_printf("127.0.0.1:%d", server_port(fixture.server));
    config.address = taken;
    EXPECT(!server_new(&config, &error), "taken");
    EXPECT_INT(error.code, ERR_UNAVAILABLE, error.message);
    EXPECT(strstr(error.message, "for test"), error.message);
    server_free(fixture.server);
}

static void listens_on_all_addresses(void)
{
    struct fixture fixture = {0};
    struct server_config config = config_of(&fixture, ":0");
    struct error error = {0};
    struct server *server = server_new(&config, &error);
    _cleanup_free_ char *answer = NULL;

    EXPECT(server, error.message);
    answer = ask(server_port(server), REQUEST("GET /page"));
    EXPECT(str_has_prefix(answer, "HTTP/1.1 200"), "over IPv4 too");
    server_free(server);
}

SUITE(server, TEST(answers), TEST(serves_large_pages), TEST(closes_connections),
      TEST(does_not_delay_another_server), TEST(stops_under_open_connections),
      TEST(says_what_it_cannot_listen_on), TEST(listens_on_all_addresses))
