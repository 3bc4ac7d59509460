/* Connections: a thread each, one request each. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/api_server/private.h"

/* ---- Bytes ---- */

bool api_send_all(int fd, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(fd, data, length, MSG_NOSIGNAL);

        if (sent <= 0)
            return false;
        data += sent;
        length -= (size_t)sent;
    }
    return true;
}

static bool receive_more(int fd, struct buf *text)
{
    char part[16384];
    ssize_t length = recv(fd, part, sizeof(part), 0);

    if (length > 0)
        buf_add(text, part, (size_t)length);
    return length > 0;
}

static size_t header_size(const char *text, const char *end, const char *name)
{
    const char *line = strcasestr(text, name);

    return line && line < end ? (size_t)strtoul(line + strlen(name), NULL, 10) : 0;
}

static bool receive(int fd, struct buf *text)
{
    const char *end, *expect;
    size_t whole;

    while (!(end = strstr(text->data, "\r\n\r\n")))
        if (!receive_more(fd, text))
            return false;
    whole = (size_t)(end - text->data) + 4 + header_size(text->data, end, "\r\nContent-Length:");
    expect = strcasestr(text->data, "\r\nExpect: 100-continue");
    if (expect && expect < end && !api_send_all(fd, "HTTP/1.1 100 Continue\r\n\r\n", 25))
        return false;
    while (text->length < whole)
        if (!receive_more(fd, text))
            return false;
    return true;
}

static void send_answer(const struct call *call, int fd, bool is_broken_off)
{
    _cleanup_buf_ struct buf body = BUF_INIT, text = BUF_INIT;

    if (call->text)
        buf_add_str(&body, call->text);
    else if (call->answer)
        json_write(&body, call->answer, JSON_COMPACT);
    buf_printf(&text,
               "HTTP/1.1 %d Answer\r\nContent-Type: application/json\r\nConnection: close\r\n"
               "%sContent-Length: %zu\r\n\r\n",
               call->status, call->headers ? call->headers : "", body.length);
    buf_add(&text, body.data, is_broken_off ? body.length / 2 : body.length);
    api_send_all(fd, text.data, text.length);
}

/* ---- Faults ---- */

static void wait_for_release(struct api_server *server, const struct rule *rule)
{
    while (!rule->is_released && !server->is_stopping && !server->is_cut)
        pthread_cond_wait(&server->changed, &server->lock);
}

static void answer_as_told(struct call *call, const struct api_rule *rule)
{
    const char *reason = rule->reason ? rule->reason : api_reason_of_status(rule->status);

    if (rule->fault == API_BODY) {
        call->status = 200;
        call->text = rule->body;
        return;
    }
    api_call_refuse(call, rule->status, reason, "%s",
                    rule->message ? rule->message : "so it is told");
    call->headers = rule->headers;
}

static void answer_forbidden(struct call *call)
{
    const struct route *route = &call->route;
    const char *verb = str_equal(call->verb, "apply") ? "patch" : call->verb;

    api_call_refuse(
        call, 403, "Forbidden",
        "%s%s%s%s is forbidden: User \"%s\" cannot %s resource \"%s\" in API group \"%s\" in "
        "the namespace \"%s\"",
        route->kind ? route->kind->plural : "", route->name ? " \"" : "",
        route->name ? route->name : "", route->name ? "\"" : "",
        call->user ? call->user : "operator", verb, route->kind ? route->kind->plural : "",
        route->kind ? route->kind->group : "", route->namespace_name ? route->namespace_name : "");
}

/* What happens before anything is done. False: nothing is to be done. */
static bool before(struct call *call, const struct rule *rule)
{
    if (!rule)
        return call->status == 0; /* else it could not be read */
    switch (rule->rule.fault) {
    case API_ANSWER:
    case API_BODY:
        answer_as_told(call, &rule->rule);
        return false;
    case API_FORBID:
        answer_forbidden(call);
        return false;
    case API_DROP:
        return false;
    case API_HOLD:
        wait_for_release(call->server, rule);
        return !call->server->is_cut;
    case API_ANSWER_AFTER:
    case API_DROP_AFTER:
    case API_BREAK_OFF:
    case API_HOLD_AFTER:
        break;
    }
    return true;
}

/* How it ends. False: without an answer. */
static bool after(struct call *call, const struct rule *rule)
{
    if (rule && rule->rule.fault == API_HOLD_AFTER)
        wait_for_release(call->server, rule);
    if (rule && rule->rule.fault == API_ANSWER_AFTER)
        answer_as_told(call, &rule->rule);
    return !call->server->is_cut &&
           !(rule && (rule->rule.fault == API_DROP || rule->rule.fault == API_DROP_AFTER));
}

/* ---- One request ---- */

/* What was written is told before the answer goes: a test may end the client here. */
static void tell_write(struct api_server *server)
{
    void (*fn)(void *arg, unsigned n) = server->on_write;
    void *arg = server->on_write_arg;
    unsigned n = server->n_writes;

    if (!fn)
        return;
    pthread_mutex_unlock(&server->lock);
    fn(arg, n);
    pthread_mutex_lock(&server->lock);
}

static bool is_watch(const struct call *call)
{
    return str_equal(call->verb, "watch") && call->route.kind && call->status == 0;
}

/* Does it, lock held. False: there is no answer. */
static bool handle(struct call *call, bool *ret_is_broken_off)
{
    struct api_server *server = call->server;
    const struct rule *rule;
    unsigned writes = server->n_writes;

    api_call_route(call);
    if (server->is_cut || server->is_stopping)
        return false;
    rule = api_rules_apply(call);
    if (before(call, rule) && !is_watch(call))
        api_verbs_do(call);
    api_rules_note(call);
    api_rules_count_write(call);
    if (server->n_writes != writes)
        tell_write(server);
    *ret_is_broken_off = rule && rule->rule.fault == API_BREAK_OFF;
    return after(call, rule);
}

static void serve(struct connection *connection, const struct buf *text)
{
    struct api_server *server = connection->server;
    struct call call = {.server = server};
    bool is_broken_off = false, is_answered = false;

    if (api_call_parse(&call, text->data, text->length)) {
        pthread_mutex_lock(&server->lock);
        is_answered = handle(&call, &is_broken_off);
        pthread_mutex_unlock(&server->lock);
    }
    if (is_answered && is_watch(&call))
        api_watch_serve(&call, connection->fd);
    else if (is_answered)
        send_answer(&call, connection->fd, is_broken_off);
    api_call_done(&call);
}

static void *run_connection(void *arg)
{
    struct connection *connection = arg;
    struct api_server *server = connection->server;
    _cleanup_buf_ struct buf text = BUF_INIT;

    if (receive(connection->fd, &text))
        serve(connection, &text);
    shutdown(connection->fd, SHUT_RDWR);
    pthread_mutex_lock(&server->lock);
    connection->is_ended = true;
    pthread_mutex_unlock(&server->lock);
    return NULL;
}

/* ---- Connections ---- */

/* Those that have ended, or all. */
static void reap(struct api_server *server, bool all)
{
    struct connection **at = &server->connections, *connection;

    pthread_mutex_lock(&server->lock);
    while ((connection = *at)) {
        if (!all && !connection->is_ended) {
            at = &connection->next;
            continue;
        }
        *at = connection->next;
        pthread_mutex_unlock(&server->lock);
        shutdown(connection->fd, SHUT_RDWR);
        pthread_join(connection->thread, NULL);
        close(connection->fd);
        free(connection);
        pthread_mutex_lock(&server->lock);
        at = &server->connections;
    }
    pthread_mutex_unlock(&server->lock);
}

static void add_connection(struct api_server *server, int fd)
{
    struct connection *connection = NEW(struct connection);

    connection->server = server;
    connection->fd = fd;
    pthread_mutex_lock(&server->lock);
    if (pthread_create(&connection->thread, NULL, run_connection, connection) != 0)
        abort();
    connection->next = server->connections;
    server->connections = connection;
    pthread_mutex_unlock(&server->lock);
}

static void *run(void *arg)
{
    struct api_server *server = arg;
    int fd;

    while ((fd = accept(server->listener, NULL, NULL)) >= 0) {
        add_connection(server, fd);
        reap(server, false);
    }
    return NULL;
}

/* ---- Lifetime ---- */

static void listen_anywhere(struct api_server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);

    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(server->listener, (struct sockaddr *)&address, length) < 0 ||
        listen(server->listener, 512) < 0 ||
        getsockname(server->listener, (struct sockaddr *)&address, &length) < 0)
        abort();
    server->url = str_printf("http://127.0.0.1:%d", ntohs(address.sin_port));
}

static void add_namespaces(struct api_server *server)
{
    static const char *const names[] = {"default", "kube-system"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        _cleanup_free_ char *text = str_printf(
            "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}",
            names[i]);

        api_server_create(server, text);
    }
}

struct api_server *api_server_new(void)
{
    struct api_server *server = NEW(struct api_server);

    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->changed, NULL);
    strmap_init(&server->objects);
    server->version = 1000; /* as after a start: what counts as "no version" is taken by none */
    api_kinds_init(server);
    add_namespaces(server);
    listen_anywhere(server);
    if (pthread_create(&server->thread, NULL, run, server) != 0)
        abort();
    return server;
}

void api_server_free(struct api_server *server)
{
    if (!server)
        return;
    pthread_mutex_lock(&server->lock);
    server->is_stopping = true;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
    shutdown(server->listener, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    reap(server, true);
    close(server->listener);
    api_rules_done(server);
    api_storage_done(server);
    api_kinds_done(server);
    pthread_cond_destroy(&server->changed);
    pthread_mutex_destroy(&server->lock);
    free(server->url);
    free(server);
}

const char *api_server_url(const struct api_server *server)
{
    return server->url;
}

/* ---- Cut off ---- */

void api_server_cut_after(struct api_server *server, unsigned writes)
{
    pthread_mutex_lock(&server->lock);
    server->writes_left = writes;
    server->is_cut = writes == 0;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

bool api_server_is_cut(struct api_server *server)
{
    bool is_cut;

    pthread_mutex_lock(&server->lock);
    is_cut = server->is_cut;
    pthread_mutex_unlock(&server->lock);
    return is_cut;
}

void api_server_mend(struct api_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->is_cut = false;
    server->writes_left = 0;
    pthread_mutex_unlock(&server->lock);
}
