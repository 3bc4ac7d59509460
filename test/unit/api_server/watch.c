/* Watches: events from a version on, as chunks, until the time is up. */
#include <errno.h>

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/api_server/private.h"

#define DEFAULT_SECONDS 300

/* Where one watch is. */
struct watching {
    struct call *call;
    size_t next; /* of the changes */
    unsigned epoch;
    struct timespec until;
    struct buf text;
};

static void add_event(struct watching *watching, const char *type, const struct value *object)
{
    _cleanup_value_ const struct value *shown =
        api_call_wants_metadata(watching->call) ? api_as_metadata(object) : value_ref(object);
    _cleanup_value_ const struct value *event =
        value_pack("{s:s, s:v}", "type", type, "object", shown);

    json_write(&watching->text, event, JSON_COMPACT);
    buf_add_char(&watching->text, '\n');
}

static bool is_watched(const struct watching *watching, const struct change *change)
{
    const struct route *route = &watching->call->route;
    const struct value *object = change->after ? change->after : change->before;

    return str_equal(change->kind->group, route->kind->group) &&
           str_equal(change->kind->plural, route->kind->plural) &&
           (!route->namespace_name ||
            str_equal(value_string(value_path(object, "metadata", "namespace", NULL)),
                      route->namespace_name));
}

/* As it was last, with the version of the change that took it away. */
static void add_deleted(struct watching *watching, const struct change *change)
{
    static const char *const path[] = {"metadata", "resourceVersion"};
    _cleanup_free_ char *text = str_printf("%lld", (long long)change->version);
    _cleanup_value_ const struct value *version = value_pack("s", text),
                                       *last = value_with_path(change->before, path, 2, version);

    add_event(watching, "DELETED", last);
}

/* To the selectors an object comes and goes. */
static void add_change(struct watching *watching, const struct change *change)
{
    const struct call *call = watching->call;
    bool was = change->before && api_selectors_match(call, change->before);
    bool is = change->after && api_selectors_match(call, change->after);

    if (!is_watched(watching, change))
        return;
    if (is)
        add_event(watching, was ? "MODIFIED" : "ADDED", change->after);
    else if (was)
        add_deleted(watching, change);
}

static void add_all_there_is(struct watching *watching)
{
    const struct call *call = watching->call;
    size_t count;
    const struct stored **all =
        api_storage_all(call->server, call->route.kind, call->route.namespace_name, &count);

    for (size_t i = 0; i < count; i++)
        if (api_selectors_match(call, all[i]->object))
            add_event(watching, "ADDED", all[i]->object);
    free(all);
    watching->next = call->server->n_changes;
}

static void add_gone(struct watching *watching)
{
    _cleanup_value_ const struct value *status = value_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:i}", "kind", "Status", "apiVersion", "v1", "status", "Failure",
        "message", "too old resource version", "reason", "Expired", "code", 410);
    _cleanup_value_ const struct value *event =
        value_pack("{s:s, s:v}", "type", "ERROR", "object", status);

    json_write(&watching->text, event, JSON_COMPACT);
}

static void add_bookmark(struct watching *watching)
{
    const struct call *call = watching->call;
    _cleanup_free_ char *api_version = api_kind_api_version(call->route.kind),
                        *version = str_printf("%lld", (long long)call->server->version);
    _cleanup_value_ const struct value *object =
        value_pack("{s:s, s:s, s:{s:s}}", "kind", call->route.kind->kind, "apiVersion", api_version,
                   "metadata", "resourceVersion", version);

    if (str_equal(api_call_param(call, "allowWatchBookmarks"), "true"))
        add_event(watching, "BOOKMARK", object);
}

static bool send_chunk(int fd, const struct buf *text)
{
    _cleanup_buf_ struct buf chunk = BUF_INIT;

    if (!text->length)
        return true;
    buf_printf(&chunk, "%zx\r\n", text->length);
    buf_add(&chunk, text->data, text->length);
    buf_add_str(&chunk, "\r\n");
    return api_send_all(fd, chunk.data, chunk.length);
}

/* Sends what there is; lock held, but not meanwhile. */
static bool flush(struct watching *watching, int fd)
{
    struct api_server *server = watching->call->server;
    bool is_sent;

    if (!watching->text.length)
        return true;
    pthread_mutex_unlock(&server->lock);
    is_sent = send_chunk(fd, &watching->text);
    buf_reset(&watching->text);
    pthread_mutex_lock(&server->lock);
    return is_sent;
}

static bool goes_on(const struct watching *watching)
{
    const struct api_server *server = watching->call->server;

    return !server->is_stopping && !server->is_cut && server->watch_epoch == watching->epoch;
}

/* Where it begins. False: that is gone. */
static bool begin(struct watching *watching)
{
    const struct api_server *server = watching->call->server;
    const char *text = api_call_param(watching->call, "resourceVersion");
    int64_t version = 0;

    if (!text || !str_to_int64(text, &version) || version == 0) {
        add_all_there_is(watching);
        return true;
    }
    if (version < server->compacted)
        return false;
    while (watching->next < server->n_changes && server->changes[watching->next].version <= version)
        watching->next++;
    return true;
}

static void follow(struct watching *watching, int fd)
{
    struct api_server *server = watching->call->server;
    int r = 0;

    while (goes_on(watching)) {
        while (watching->next < server->n_changes)
            add_change(watching, &server->changes[watching->next++]);
        if (watching->text.length) {
            if (!flush(watching, fd))
                return;
            continue;
        }
        if (r == ETIMEDOUT)
            break;
        r = pthread_cond_timedwait(&server->changed, &server->lock, &watching->until);
    }
    if (r == ETIMEDOUT)
        add_bookmark(watching);
    flush(watching, fd);
}

void api_watch_serve(struct call *call, int fd)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                               "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
    struct watching watching = {.call = call, .text = BUF_INIT};
    const char *text = api_call_param(call, "timeoutSeconds");
    int64_t seconds = DEFAULT_SECONDS;
    bool is_whole;

    if (text)
        str_to_int64(text, &seconds);
    clock_gettime(CLOCK_REALTIME, &watching.until);
    watching.until.tv_sec += seconds;
    if (!api_send_all(fd, head, strlen(head)))
        return;
    pthread_mutex_lock(&call->server->lock);
    watching.epoch = call->watch_epoch;
    if (begin(&watching)) {
        follow(&watching, fd);
    } else {
        add_gone(&watching);
        flush(&watching, fd);
    }
    is_whole = !call->server->is_cut;
    pthread_mutex_unlock(&call->server->lock);
    if (is_whole)
        api_send_all(fd, "0\r\n\r\n", 5);
    buf_done(&watching.text);
}
