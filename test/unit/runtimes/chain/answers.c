#include "test/unit/runtimes/chain/answers.h"

#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"

#define MOST_REQUESTS 64

struct answers {
    const struct answer *table;
    size_t table_count;
    int listener, port;
    pthread_t thread;
    pthread_mutex_t lock;
    char *requests[MOST_REQUESTS];
    size_t count;
};

static size_t body_length(const char *head)
{
    const char *line = strcasestr(head, "\r\ncontent-length:");

    return line ? strtoul(line + strlen("\r\ncontent-length:"), NULL, 10) : 0;
}

/* NULL: the connection ended before. */
static char *read_request(int fd)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    char bytes[4096];
    const char *end = NULL;

    while (!end || text.length < (size_t)(end - text.data) + 4 + body_length(text.data)) {
        ssize_t length = read(fd, bytes, sizeof(bytes));

        if (length <= 0)
            return NULL;
        buf_add(&text, bytes, (size_t)length);
        end = strstr(text.data, "\r\n\r\n");
    }
    return buf_take(&text);
}

static void serve(struct answers *answers, int fd)
{
    static const struct answer past = {500, NULL, NULL};
    char *request = read_request(fd);
    const struct answer *answer = &past;
    _cleanup_free_ char *text = NULL;

    if (!request)
        return;
    pthread_mutex_lock(&answers->lock);
    if (answers->count < answers->table_count)
        answer = &answers->table[answers->count];
    if (answers->count == MOST_REQUESTS)
        abort();
    answers->requests[answers->count++] = request;
    pthread_mutex_unlock(&answers->lock);
    if (!answer->status)
        return;
    text = str_printf("HTTP/1.1 %d X\r\n%sContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
                      answer->status, answer->headers ? answer->headers : "",
                      answer->body ? strlen(answer->body) : 0, answer->body ? answer->body : "");
    if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
        return;
    shutdown(fd, SHUT_WR);
}

static void *run(void *arg)
{
    struct answers *answers = arg;
    int fd;

    while ((fd = accept(answers->listener, NULL, NULL)) >= 0) {
        serve(answers, fd);
        close(fd);
    }
    return NULL;
}

struct answers *answers_new(const struct answer *table, size_t count)
{
    struct answers *answers = NEW(struct answers);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof(address);

    answers->table = table;
    answers->table_count = count;
    pthread_mutex_init(&answers->lock, NULL);
    answers->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(answers->listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(answers->listener, 16) < 0 ||
        getsockname(answers->listener, (struct sockaddr *)&address, &length) < 0 ||
        pthread_create(&answers->thread, NULL, run, answers))
        abort();
    answers->port = ntohs(address.sin_port);
    return answers;
}

void answers_free(struct answers *answers)
{
    shutdown(answers->listener, SHUT_RDWR);
    pthread_join(answers->thread, NULL);
    close(answers->listener);
    for (size_t i = 0; i < answers->count; i++)
        free(answers->requests[i]);
    pthread_mutex_destroy(&answers->lock);
    free(answers);
}

int answers_port(const struct answers *answers)
{
    return answers->port;
}

const char *answers_request(struct answers *answers, size_t nth)
{
    const char *request;

    pthread_mutex_lock(&answers->lock);
    request = nth < answers->count ? answers->requests[nth] : "";
    pthread_mutex_unlock(&answers->lock);
    return request;
}

size_t answers_count(struct answers *answers)
{
    size_t count;

    pthread_mutex_lock(&answers->lock);
    count = answers->count;
    pthread_mutex_unlock(&answers->lock);
    return count;
}
