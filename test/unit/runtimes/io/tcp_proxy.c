#include "test/unit/runtimes/io/tcp_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/mem.h"

#define MAX_PAIRS 32

struct pair {
    int ends[2];
};

struct tcp_proxy {
    int listener, port, to_port;
    pthread_t thread;
    atomic_bool is_stopping, is_breaking;
    atomic_size_t count;
    struct pair pairs[MAX_PAIRS]; /* of the thread */
    size_t n_pairs;
};

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static void reset(int fd)
{
    struct linger linger = {.l_onoff = 1};

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
    close(fd);
}

static void drop_pair(struct tcp_proxy *proxy, size_t i)
{
    reset(proxy->pairs[i].ends[0]);
    reset(proxy->pairs[i].ends[1]);
    proxy->pairs[i] = proxy->pairs[--proxy->n_pairs];
}

static void take_connection(struct tcp_proxy *proxy)
{
    struct sockaddr_in address = loopback(proxy->to_port);
    int taken = accept(proxy->listener, NULL, NULL);
    int there = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (taken < 0 || proxy->n_pairs == MAX_PAIRS ||
        connect(there, (struct sockaddr *)&address, sizeof(address)) < 0) {
        close(there);
        close(taken);
        return;
    }
    atomic_fetch_add(&proxy->count, 1);
    proxy->pairs[proxy->n_pairs++] = (struct pair){{taken, there}};
}

/* False: an end is closed. */
static int pass_on(int from, int to)
{
    char chunk[64 << 10];
    ssize_t n = recv(from, chunk, sizeof(chunk), 0);

    return n > 0 && send(to, chunk, (size_t)n, MSG_NOSIGNAL) == n;
}

static void *run(void *arg)
{
    struct tcp_proxy *proxy = arg;
    struct pollfd waiting[1 + 2 * MAX_PAIRS];

    while (!atomic_load(&proxy->is_stopping)) {
        size_t n_pairs = proxy->n_pairs;

        waiting[0] = (struct pollfd){.fd = proxy->listener, .events = POLLIN};
        for (size_t i = 0; i < 2 * n_pairs; i++)
            waiting[1 + i] =
                (struct pollfd){.fd = proxy->pairs[i / 2].ends[i % 2], .events = POLLIN};
        poll(waiting, (nfds_t)(1 + 2 * n_pairs), 10);
        for (size_t i = n_pairs; i-- > 0;)
            for (size_t end = 0; end < 2; end++)
                if (waiting[1 + 2 * i + end].revents &&
                    !pass_on(proxy->pairs[i].ends[end], proxy->pairs[i].ends[!end])) {
                    drop_pair(proxy, i);
                    break;
                }
        if (atomic_exchange(&proxy->is_breaking, false))
            while (proxy->n_pairs)
                drop_pair(proxy, 0);
        if (waiting[0].revents)
            take_connection(proxy);
    }
    while (proxy->n_pairs)
        drop_pair(proxy, 0);
    return NULL;
}

struct tcp_proxy *tcp_proxy_new(int to_port)
{
    struct tcp_proxy *proxy = NEW(struct tcp_proxy);
    struct sockaddr_in address = loopback(0);
    socklen_t length = sizeof(address);

    proxy->to_port = to_port;
    proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(proxy->listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(proxy->listener, 32) < 0 ||
        getsockname(proxy->listener, (struct sockaddr *)&address, &length) < 0 ||
        pthread_create(&proxy->thread, NULL, run, proxy) != 0)
        abort();
    proxy->port = ntohs(address.sin_port);
    return proxy;
}

void tcp_proxy_free(struct tcp_proxy *proxy)
{
    atomic_store(&proxy->is_stopping, true);
    pthread_join(proxy->thread, NULL);
    close(proxy->listener);
    free(proxy);
}

int tcp_proxy_port(const struct tcp_proxy *proxy)
{
    return proxy->port;
}

void tcp_proxy_break(struct tcp_proxy *proxy)
{
    atomic_store(&proxy->is_breaking, true);
    while (atomic_load(&proxy->is_breaking))
        usleep(1000);
}

size_t tcp_proxy_count(const struct tcp_proxy *proxy)
{
    return atomic_load(&proxy->count);
}
