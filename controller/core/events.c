#include "controller/core/events.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "controller/core/event_memory.h"
#include "controller/core/event_queue.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/timestamp.h"
#include "engine/base/utf8.h"
#include "engine/log/log.h"
#include "engine/threads/condition.h"
#include "engine/threads/locked.h"
#include "engine/threads/thread.h"
#include "runtimes/io/clock.h"
#include "runtimes/io/random.h"

#define SEND_TIMEOUT 10000 /* ms for one event, with retries */
#define LAST_TIMEOUT 2000  /* ms for all that waits at the end */
#define NAME_BYTES   236   /* of the subject's name, so that the event's stays within 253 */

struct event_recorder {
    struct kube_client *client;
    const struct clock_source *clock;
    char *component, *instance;
    struct cancel *stop;
    pthread_t thread;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct event_memory memory;
    struct event_queue queue;
    bool is_stopping; /* the thread ends when the queue is empty */
    bool is_ended;
};

/* ---- Making ---- */

static void digest_of(const struct event_subject *subject, const char *type, const char *reason,
                      const char *message, char ret_digest[HASH_HEX_SIZE])
{
    const char *parts[] = {subject->api_version,
                           subject->kind,
                           subject->namespace_name,
                           subject->name,
                           subject->uid,
                           type,
                           reason,
                           message};
    _cleanup_(hash_free_p) struct hash *hash = hash_new();

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        hash_add_str(hash, parts[i] ? parts[i] : "");
    hash_finish_hex(hash, ret_digest);
}

/* Unique, and a subdomain: what is cut must not end in a dot or dash. */
static char *event_name(const char *subject)
{
    size_t length = strnlen(subject, NAME_BYTES);

    while (length > 0 && !isalnum((unsigned char)subject[length - 1]))
        length--;
    return str_printf("%.*s.%016" PRIx64, (int)length, subject, random_below(UINT64_MAX));
}

/* Without eventTime: with it the API server asks for more than core/v1 has. */
static struct event *event_new(const struct event_recorder *recorder,
                               const struct event_subject *subject, const char *type,
                               const char *reason, const char *action, const char *message)
{
    const char *namespace_name = subject->namespace_name ? subject->namespace_name : "default";
    _cleanup_free_ char *name = event_name(subject->name);
    struct event *event = NEW(struct event);
    char now[TIMESTAMP_SIZE];

    timestamp_format(recorder->clock->now(recorder->clock), now);
    event->namespace_name = str_new(namespace_name);
    event->body = value_pack(
        "{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:s, s:s?, s:s, s:s?},"
        " s:s, s:s, s:s, s:s, s:i, s:s, s:s, s:{s:s}, s:s, s:s}",
        "apiVersion", "v1", "kind", "Event", "metadata", "name", name, "namespace", namespace_name,
        "involvedObject", "apiVersion", subject->api_version, "kind", subject->kind, "namespace",
        subject->namespace_name, "name", subject->name, "uid", subject->uid, "type", type, "reason",
        reason, "action", action, "message", message, "count", 1, "firstTimestamp", now,
        "lastTimestamp", now, "source", "component", recorder->component, "reportingComponent",
        recorder->component, "reportingInstance", recorder->instance);
    return event;
}

static bool is_new(struct event_recorder *recorder, const char digest[HASH_HEX_SIZE])
{
    int64_t now = recorder->clock->monotonic(recorder->clock);
    LOCKED(&recorder->lock);

    return event_memory_is_new(&recorder->memory, digest, now, EVENT_INTERVAL);
}

static void push(struct event_recorder *recorder, struct event *event)
{
    struct event *dropped;

    pthread_mutex_lock(&recorder->lock);
    dropped = event_queue_push(&recorder->queue, event);
    pthread_cond_signal(&recorder->changed);
    pthread_mutex_unlock(&recorder->lock);
    if (!dropped)
        return;
    log_warn("too many events wait: the oldest of a namespace is dropped", "namespace",
             dropped->namespace_name, "reason", value_get_string(dropped->body, "reason"), NULL);
    event_free(dropped);
}

/* Tools show an event in one line of a table. Where a message has several, those after the first
 * are hints (error.h). */
static char *show_in_one_line(const char *text)
{
    _cleanup_buf_ struct buf line = BUF_INIT;

    for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
        buf_add(&line, text, (size_t)(end - text));
        buf_add_str(&line, "; ");
    }
    buf_add_str(&line, text);
    return utf8_show(line.data);
}

void event_emit(struct event_recorder *recorder, const struct event_subject *subject,
                const char *type, const char *reason, const char *action, const char *format, ...)
{
    char message[EVENT_MESSAGE_BYTES + 1], digest[HASH_HEX_SIZE];
    _cleanup_free_ char *text = NULL, *whole = NULL;
    va_list args;

    va_start(args, format);
    text = str_vprintf(format, args);
    va_end(args);
    whole = show_in_one_line(text);
    digest_of(subject, type, reason, whole, digest);
    if (!is_new(recorder, digest))
        return;
    str_copy(message, sizeof(message), whole);
    push(recorder, event_new(recorder, subject, type, reason, action, message));
}

/* ---- Sending ---- */

static void send(struct event_recorder *recorder, const struct event *event)
{
    struct error error = {0};
    struct kube_request request = {
        .method = "POST",
        .ref = {&kube_events, event->namespace_name, NULL, NULL},
        .body = event->body,
        .accept = KUBE_METADATA,
        .idempotent = true, /* by its name */
        .timeout = SEND_TIMEOUT,
        .cancel = recorder->stop,
    };
    int r = kube_do(recorder->client, &request, NULL, &error);

    /* A namespace that takes no events, or that we are not to write to, is not worth a line. */
    if (r < 0 && r != ERR_FORBIDDEN && r != ERR_NOT_FOUND && r != ERR_EXISTS && r != ERR_FENCED &&
        r != ERR_CANCELLED)
        log_warn("an event was not sent", "event", value_get_string(event->body, "reason"),
                 "reason", error.reason, "error", error.message, NULL);
}

static struct event *wait_for_event(struct event_recorder *recorder)
{
    struct event *event;

    LOCKED(&recorder->lock);
    while (!(event = event_queue_pop(&recorder->queue)) && !recorder->is_stopping)
        recorder->clock->wait(recorder->clock, &recorder->changed, &recorder->lock, CLOCK_FOREVER);
    if (!event) {
        recorder->is_ended = true;
        pthread_cond_broadcast(&recorder->changed);
    }
    return event;
}

static void *run(void *arg)
{
    struct event_recorder *recorder = arg;

    for (struct event *event; (event = wait_for_event(recorder)); event_free(event))
        send(recorder, event);
    return NULL;
}

/* ---- Lifetime ---- */

struct event_recorder *event_recorder_new(struct kube_client *client,
                                          const struct clock_source *clock, const char *component,
                                          const char *instance)
{
    struct event_recorder *recorder = NEW(struct event_recorder);

    recorder->client = client;
    recorder->clock = clock;
    recorder->component = str_new(component);
    recorder->instance = str_new(instance);
    recorder->stop = cancel_new(NULL);
    pthread_mutex_init(&recorder->lock, NULL);
    condition_init(&recorder->changed);
    event_memory_init(&recorder->memory, EVENT_MEMORY);
    event_queue_init(&recorder->queue, EVENT_QUEUE);
    recorder->thread = thread_must_start("events", run, recorder);
    return recorder;
}

static void stop(struct event_recorder *recorder)
{
    const struct clock_source *clock = recorder->clock;
    int64_t until = clock->monotonic(clock) + LAST_TIMEOUT;

    pthread_mutex_lock(&recorder->lock);
    recorder->is_stopping = true;
    pthread_cond_broadcast(&recorder->changed);
    while (!recorder->is_ended && clock->monotonic(clock) < until)
        clock->wait(clock, &recorder->changed, &recorder->lock, until);
    pthread_mutex_unlock(&recorder->lock);
    cancel_fire(recorder->stop, "Shutdown");
    pthread_join(recorder->thread, NULL);
}

void event_recorder_free(struct event_recorder *recorder)
{
    if (!recorder)
        return;
    stop(recorder);
    event_queue_done(&recorder->queue);
    event_memory_done(&recorder->memory);
    cancel_free(recorder->stop);
    pthread_cond_destroy(&recorder->changed);
    pthread_mutex_destroy(&recorder->lock);
    free(recorder->component);
    free(recorder->instance);
    free(recorder);
}
