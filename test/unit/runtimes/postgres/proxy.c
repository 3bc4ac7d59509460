#include "test/unit/runtimes/postgres/proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/cleanup.h"
#include "engine/base/mem.h"

#define CHUNK     (256u << 10)
#define MAX_PAIRS 64

struct pair {
    int client, server; /* -1: closed */
    bool swallows;      /* the next answer is lost, and then it is cut */
    bool hangs;
    char *held; /* a chunk that is not sent yet */
    size_t held_length;
};

struct proxy {
    int listener, wake[2];
    int server_port;
    char port[16];
    pthread_t thread;
    pthread_mutex_t lock; /* of what is below */
    struct pair pairs[MAX_PAIRS];
    size_t n_pairs;
    enum proxy_fault fault;
    unsigned left; /* chunks until the fault; 0: none comes */
    bool has_failed, is_released, is_cut, ends;
};

static int make_socket(int port, bool listens)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int r;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    r = listens ? bind(fd, (struct sockaddr *)&address, sizeof(address))
                : connect(fd, (struct sockaddr *)&address, sizeof(address));
    if (r < 0 || (listens && listen(fd, 16) < 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

static void close_one(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_pair(struct pair *pair)
{
    close_one(&pair->client);
    close_one(&pair->server);
    free(pair->held);
    pair->held = NULL;
}

static void send_all(int fd, const char *bytes, size_t length)
{
    while (length) {
        ssize_t n = send(fd, bytes, length, MSG_NOSIGNAL);

        if (n <= 0)
            return;
        bytes += n;
        length -= (size_t)n;
    }
}

/* ---- One chunk ---- */

static void hold(struct pair *pair, const char *bytes, size_t length)
{
    pair->held = malloc(length);
    memcpy(pair->held, bytes, length);
    pair->held_length = length;
}

static void meet_fault(struct proxy *proxy, struct pair *pair, const char *bytes, size_t length)
{
    proxy->has_failed = true;
    switch (proxy->fault) {
    case PROXY_CUT_BEFORE:
        close_pair(pair);
        break;
    case PROXY_CUT_AFTER:
        pair->swallows = true;
        send_all(pair->server, bytes, length);
        break;
    case PROXY_HOLD:
        hold(pair, bytes, length);
        close_one(&pair->client);
        break;
    case PROXY_PAUSE:
        hold(pair, bytes, length);
        break;
    case PROXY_HANG:
        pair->hangs = true;
        break;
    case PROXY_PASS:
        send_all(pair->server, bytes, length);
    }
}

static void from_client(struct proxy *proxy, struct pair *pair)
{
    static char bytes[CHUNK];
    ssize_t n = recv(pair->client, bytes, sizeof(bytes), 0);

    if (n <= 0)
        close_pair(pair);
    else if (pair->hangs)
        ;
    else if (proxy->left && --proxy->left == 0)
        meet_fault(proxy, pair, bytes, (size_t)n);
    else
        send_all(pair->server, bytes, (size_t)n);
}

static void from_server(struct pair *pair)
{
    static char bytes[CHUNK];
    ssize_t n = recv(pair->server, bytes, sizeof(bytes), 0);

    if (n <= 0 || pair->swallows)
        close_pair(pair);
    else if (pair->client >= 0)
        send_all(pair->client, bytes, (size_t)n);
}

/* ---- The loop ---- */

static void accept_one(struct proxy *proxy)
{
    struct pair *pair = proxy->pairs;
    int client = accept4(proxy->listener, NULL, NULL, SOCK_CLOEXEC);

    while (pair < proxy->pairs + MAX_PAIRS && (pair->client >= 0 || pair->server >= 0))
        pair++;
    if (pair == proxy->pairs + MAX_PAIRS)
        abort();
    *pair = (struct pair){.client = client, .server = make_socket(proxy->server_port, false)};
    if (pair->server < 0)
        close_pair(pair);
}

static void obey(struct proxy *proxy)
{
    char byte;

    while (read(proxy->wake[0], &byte, 1) < 0 && errno == EINTR)
        ;
    for (size_t i = 0; i < MAX_PAIRS; i++) {
        struct pair *pair = &proxy->pairs[i];

        if (proxy->is_cut)
            close_pair(pair);
        if (proxy->is_released && pair->held) {
            send_all(pair->server, pair->held, pair->held_length);
            free(pair->held);
            pair->held = NULL;
        }
    }
    proxy->is_cut = false;
    proxy->is_released = false;
}

/* A pair that holds a chunk reads nothing more of its client. */
static void serve(struct proxy *proxy, const struct pollfd *fds)
{
    if (fds[0].revents)
        obey(proxy);
    if (fds[1].revents)
        accept_one(proxy);
    for (size_t i = 0; i < MAX_PAIRS; i++) {
        const struct pollfd *client = &fds[2 + 2 * i], *server = client + 1;
        struct pair *pair = &proxy->pairs[i];

        if (client->revents && pair->client == client->fd && !pair->held)
            from_client(proxy, pair);
        if (server->revents && pair->server == server->fd)
            from_server(pair);
    }
}

static void *run(void *arg)
{
    struct proxy *proxy = arg;
    struct pollfd fds[2 + 2 * MAX_PAIRS];
    bool ends = false;

    while (!ends) {
        pthread_mutex_lock(&proxy->lock);
        fds[0] = (struct pollfd){proxy->wake[0], POLLIN, 0};
        fds[1] = (struct pollfd){proxy->listener, POLLIN, 0};
        for (size_t i = 0; i < MAX_PAIRS; i++) {
            const struct pair *pair = &proxy->pairs[i];

            fds[2 + 2 * i] = (struct pollfd){pair->held ? -1 : pair->client, POLLIN, 0};
            fds[3 + 2 * i] = (struct pollfd){pair->server, POLLIN, 0};
        }
        pthread_mutex_unlock(&proxy->lock);
        poll(fds, ARRAY_SIZE(fds), -1);
        pthread_mutex_lock(&proxy->lock);
        serve(proxy, fds);
        ends = proxy->ends;
        pthread_mutex_unlock(&proxy->lock);
    }
    return NULL;
}

struct proxy *proxy_new(const char *server_port)
{
    struct proxy *proxy = NEW(struct proxy);
    struct sockaddr_in address;
    socklen_t length = sizeof(address);

    proxy->server_port = (int)strtol(server_port, NULL, 10);
    proxy->listener = make_socket(0, true);
    if (proxy->listener < 0 || pipe(proxy->wake) < 0)
        abort();
    getsockname(proxy->listener, (struct sockaddr *)&address, &length);
    snprintf(proxy->port, sizeof(proxy->port), "%d", ntohs(address.sin_port));
    for (size_t i = 0; i < MAX_PAIRS; i++)
        proxy->pairs[i] = (struct pair){.client = -1, .server = -1};
    pthread_mutex_init(&proxy->lock, NULL);
    if (pthread_create(&proxy->thread, NULL, run, proxy) != 0)
        abort();
    return proxy;
}

/* ---- Orders ---- */

static void wake(struct proxy *proxy)
{
    if (write(proxy->wake[1], "", 1) != 1)
        abort();
}

void proxy_free(struct proxy *proxy)
{
    pthread_mutex_lock(&proxy->lock);
    proxy->ends = true;
    pthread_mutex_unlock(&proxy->lock);
    wake(proxy);
    pthread_join(proxy->thread, NULL);
    for (size_t i = 0; i < MAX_PAIRS; i++)
        close_pair(&proxy->pairs[i]);
    close(proxy->listener);
    close(proxy->wake[0]);
    close(proxy->wake[1]);
    pthread_mutex_destroy(&proxy->lock);
    free(proxy);
}

const char *proxy_port(const struct proxy *proxy)
{
    return proxy->port;
}

void proxy_fail(struct proxy *proxy, enum proxy_fault fault, unsigned nth)
{
    pthread_mutex_lock(&proxy->lock);
    proxy->fault = fault;
    proxy->left = nth;
    proxy->has_failed = false;
    pthread_mutex_unlock(&proxy->lock);
}

bool proxy_has_failed(struct proxy *proxy)
{
    bool has_failed;

    pthread_mutex_lock(&proxy->lock);
    has_failed = proxy->has_failed;
    pthread_mutex_unlock(&proxy->lock);
    return has_failed;
}

void proxy_release(struct proxy *proxy)
{
    pthread_mutex_lock(&proxy->lock);
    proxy->is_released = true;
    pthread_mutex_unlock(&proxy->lock);
    wake(proxy);
}

static bool is_cut(struct proxy *proxy)
{
    bool is_done;

    pthread_mutex_lock(&proxy->lock);
    is_done = !proxy->is_cut;
    pthread_mutex_unlock(&proxy->lock);
    return is_done;
}

void proxy_cut(struct proxy *proxy)
{
    pthread_mutex_lock(&proxy->lock);
    proxy->is_cut = true;
    pthread_mutex_unlock(&proxy->lock);
    wake(proxy);
    while (!is_cut(proxy))
        usleep(200);
}
