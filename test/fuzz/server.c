/*
 * The server of probes and metrics (libwebsockets), over a socket. The input is what a client
 * sends, in two pieces cut at its middle; the connection may end without any answer. Whatever was
 * sent, the answer is one of ours, the page's path is one line, and the next client is served.
 */
#include "controller/serve/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "test/fuzz/fuzz.h"

#define PROBE  "GET /page HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
#define LATEST 5 /* s, for an answer */

static struct server *server;

/* Its page says which path was asked for. */
static unsigned answer_page(void *arg, const char *path, struct buf *body)
{
    (void)arg;
    must(*path == '/');
    if (!str_equal(path, "/page"))
        return server_not_found(body);
    buf_add_str(body, "the page");
    return 200;
}

static void start(void)
{
    const struct server_config config = {
        .name = "fuzz", .address = "127.0.0.1:0", .closes = true, .answer = answer_page};
    struct error error = {0};

    server = server_new(&config, &error);
    must(server);
}

static int connect_to_server(void)
{
    const struct timeval limit = {.tv_sec = LATEST};
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)server_port(server)),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    static uint32_t last; /* from another address each time: ports that wait would run out */
    const struct sockaddr_in from = {.sin_family = AF_INET,
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK + ++last % 0xffff00)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    must(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0);
    must(bind(fd, (const struct sockaddr *)&from, sizeof(from)) == 0);
    must(connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0);
    return fd;
}

static void send_all(int fd, const uint8_t *data, size_t size)
{
    for (ssize_t sent; size && (sent = send(fd, data, size, MSG_NOSIGNAL)) > 0;) {
        data += sent;
        size -= (size_t)sent;
    }
}

/* What comes back until the server ends it. */
static char *receive(int fd)
{
    struct buf text = BUF_INIT;
    char part[4096];

    for (ssize_t n; (n = recv(fd, part, sizeof(part), 0)) > 0;)
        buf_add(&text, part, (size_t)n);
    return buf_take(&text);
}

static void check_answer(const char *text)
{
    static const char *const starts[] = {"HTTP/1.1 200", "HTTP/1.1 4", "HTTP/1.1 5",
                                         "HTTP/1.0 200", "HTTP/1.0 4", "HTTP/1.0 5"};

    bool is_ours = !*text;

    for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
        is_ours |= str_has_prefix(text, starts[i]);
    must(is_ours);
}

static void check_served(void)
{
    int fd = connect_to_server();
    _cleanup_free_ char *text = NULL;

    send_all(fd, (const uint8_t *)PROBE, strlen(PROBE));
    text = receive(fd);
    close(fd);
    if (!str_has_prefix(text, "HTTP/1.1 200"))
        fprintf(stderr, "after that, a client was answered: \"%s\" (%s)\n", text, strerror(errno));
    must(str_has_prefix(text, "HTTP/1.1 200") && str_has_suffix(text, "\r\n\r\nthe page"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = NULL;
    sigset_t alarm, before;
    int fd;

    if (!server)
        start();
    sigemptyset(&alarm); /* libFuzzer's own would interrupt what waits */
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, &before);
    fd = connect_to_server();
    send_all(fd, data, size / 2);
    send_all(fd, data + size / 2, size - size / 2);
    shutdown(fd, SHUT_WR);
    text = receive(fd);
    close(fd);
    check_answer(text);
    check_served();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return 0;
}
