#include "test/unit/runtimes/kubernetes/client/fake_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"

#define MAX_REQUESTS 2048
#define MAX_HELD     16

struct fake_server {
    const struct fake_step *steps;
    size_t n_steps;
    int listener;
    char *url;
    pthread_t thread;
    atomic_bool is_stopping;

    int held[MAX_HELD]; /* of the thread */
    size_t n_held;

    pthread_mutex_t mutex; /* of all below */
    char *requests[MAX_REQUESTS];
    size_t count, next_step;
    struct buf problems;
};

static void add_problem(struct fake_server *server, const char *text, const char *detail)
{
    pthread_mutex_lock(&server->mutex);
    buf_printf(&server->problems, "%s: %.*s\n", text, (int)strcspn(detail, "\r\n"), detail);
    pthread_mutex_unlock(&server->mutex);
}

static size_t content_length(const char *head)
{
    const char *line = strcasestr(head, "\r\ncontent-length:");

    return line ? (size_t)strtoul(line + strlen("\r\ncontent-length:"), NULL, 10) : 0;
}

/* A whole request; NULL: the peer went away. */
static char *read_request(struct fake_server *server, int fd)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    char chunk[4096];

    while (!atomic_load(&server->is_stopping)) {
        struct pollfd waiting = {.fd = fd, .events = POLLIN};
        const char *end = strstr(text.data, "\r\n\r\n");
        ssize_t n;

        if (end && text.length >= (size_t)(end + 4 - text.data) + content_length(text.data))
            return buf_take(&text);
        if (poll(&waiting, 1, 50) == 0)
            continue;
        n = recv(fd, chunk, sizeof(chunk), 0);
        if (n <= 0)
            return NULL;
        buf_add(&text, chunk, (size_t)n);
    }
    return NULL;
}

static void send_all(int fd, const char *data, size_t length)
{
    while (length) {
        ssize_t n = send(fd, data, length, MSG_NOSIGNAL);

        if (n <= 0)
            return;
        data += n;
        length -= (size_t)n;
    }
}

static void close_with_reset(int fd)
{
    struct linger linger = {.l_onoff = 1};

    usleep(20000); /* what was sent must be read before the reset overtakes it */
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
    close(fd);
}

static void answer(struct fake_server *server, int fd, const struct fake_step *step)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    const char *body = step->body ? step->body : "";
    size_t length = strlen(body);

    if (step->end == FAKE_DROP) {
        close(fd);
        return;
    }
    buf_printf(&text, "HTTP/1.1 %d Fake\r\nContent-Type: %s\r\nConnection: close\r\n%s",
               step->status, step->type ? step->type : "application/json",
               step->headers ? step->headers : "");
    if (step->end == FAKE_HOLD)
        buf_printf(&text, "Transfer-Encoding: chunked\r\n\r\n%zx\r\n%s\r\n", length, body);
    else
        buf_printf(&text, "Content-Length: %zu\r\n\r\n%s", length, body);
    if (step->end == FAKE_BREAK)
        text.length -= length / 2;
    send_all(fd, text.data, text.length);
    if (step->end == FAKE_HOLD && server->n_held < MAX_HELD)
        server->held[server->n_held++] = fd;
    else if (step->end == FAKE_BREAK)
        close_with_reset(fd);
    else
        close(fd);
}

/* The step that a request takes; NULL: there is none left. */
static const struct fake_step *take_step(struct fake_server *server)
{
    const struct fake_step *step = NULL;

    pthread_mutex_lock(&server->mutex);
    if (server->next_step < server->n_steps) {
        step = &server->steps[server->next_step];
        if (!step->repeat)
            server->next_step++;
    }
    pthread_mutex_unlock(&server->mutex);
    return step;
}

static void keep(struct fake_server *server, char *request)
{
    pthread_mutex_lock(&server->mutex);
    if (server->count < MAX_REQUESTS)
        server->requests[server->count++] = TAKE(request);
    pthread_mutex_unlock(&server->mutex);
    free(request);
}

static void serve(struct fake_server *server, int fd)
{
    static const struct fake_step refused = {.status = 599};
    char *request = read_request(server, fd);
    const struct fake_step *step;

    if (!request) {
        close(fd);
        return;
    }
    step = take_step(server);
    if (!step)
        add_problem(server, "a request past the end of the script", request);
    else if (step->expect && !str_has_prefix(request, step->expect))
        add_problem(server, step->expect, request);
    keep(server, request);
    if (step && step->come)
        step->come(step->arg);
    if (step && step->delay)
        usleep(step->delay * 1000);
    answer(server, fd, step ? step : &refused);
}

static void *run(void *arg)
{
    struct fake_server *server = arg;

    while (!atomic_load(&server->is_stopping)) {
        struct pollfd waiting = {.fd = server->listener, .events = POLLIN};

        if (poll(&waiting, 1, 50) > 0) {
            int fd = accept(server->listener, NULL, NULL);

            if (fd >= 0)
                serve(server, fd);
        }
    }
    for (size_t i = 0; i < server->n_held; i++)
        close(server->held[i]);
    return NULL;
}

struct fake_server *fake_server_new(const struct fake_step *steps, size_t n_steps)
{
    struct fake_server *server = NEW(struct fake_server);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);

    server->steps = steps;
    server->n_steps = n_steps;
    buf_init(&server->problems, 0);
    pthread_mutex_init(&server->mutex, NULL);
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(server->listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(server->listener, 32) < 0 ||
        getsockname(server->listener, (struct sockaddr *)&address, &length) < 0 ||
        pthread_create(&server->thread, NULL, run, server) != 0)
        abort();
    server->url = str_printf("http://127.0.0.1:%d", ntohs(address.sin_port));
    return server;
}

void fake_server_free(struct fake_server *server)
{
    atomic_store(&server->is_stopping, true);
    pthread_join(server->thread, NULL);
    close(server->listener);
    for (size_t i = 0; i < server->count; i++)
        free(server->requests[i]);
    buf_done(&server->problems);
    pthread_mutex_destroy(&server->mutex);
    free(server->url);
    free(server);
}

const char *fake_server_url(const struct fake_server *server)
{
    return server->url;
}

size_t fake_server_count(struct fake_server *server)
{
    size_t count;

    pthread_mutex_lock(&server->mutex);
    count = server->count;
    pthread_mutex_unlock(&server->mutex);
    return count;
}

char *fake_server_request(struct fake_server *server, size_t n)
{
    char *request;

    pthread_mutex_lock(&server->mutex);
    request = n < server->count ? str_new(server->requests[n]) : NULL;
    pthread_mutex_unlock(&server->mutex);
    return request;
}

bool fake_server_wait(struct fake_server *server, size_t n)
{
    for (int i = 0; i < 6000 && fake_server_count(server) < n; i++)
        usleep(10000);
    return fake_server_count(server) >= n;
}

char *fake_server_problems(struct fake_server *server, bool is_finished)
{
    char *problems = NULL;

    pthread_mutex_lock(&server->mutex);
    if (server->problems.length)
        problems = str_new(server->problems.data);
    else if (is_finished && server->next_step < server->n_steps &&
             !server->steps[server->next_step].repeat)
        problems = str_printf("step %zu of %zu was never asked for", server->next_step + 1,
                              server->n_steps);
    pthread_mutex_unlock(&server->mutex);
    return problems;
}
