/*
 * One request follows the other: the pages of a list, then watches, then
 * perhaps a list again. Each is a stream on the watch loop, whose end starts
 * the next, at once or after a timer. So all that happens after
 * kube_watch_new() happens on the loop's thread, but kube_watch_free().
 */
#include "runtimes/kubernetes/client/watch.h"

#include <pthread.h>
#include <stdatomic.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/log/log.h"
#include "engine/threads/locked.h"
#include "runtimes/io/clock.h"
#include "runtimes/io/random.h"
#include "runtimes/kubernetes/client/api_error.h"
#include "runtimes/kubernetes/client/known.h"
#include "runtimes/kubernetes/client/list.h"
#include "runtimes/kubernetes/client/list_page.h"
#include "runtimes/kubernetes/client/path.h"
#include "runtimes/kubernetes/client/watch_event.h"

#define BACKOFF_BASE    500 /* ms */
#define BACKOFF_MAXIMUM 30000
#define BACKOFF_REFUSED 600000 /* of a tenant's that is forbidden */
#define LIST_SILENCE    60000  /* ms without a byte of a list */
#define WATCH_SILENCE   120000 /* ms: two bookmarks that did not come; up to half of it more */
#define WATCH_SECONDS   200    /* at least; up to half of it more */
#define SHORT_WATCH     1000   /* ms: one that ends sooner, with nothing shown, has failed */
#define FAILED_WATCHES  5      /* in a row, after which the resume point is doubted */
#define MAX_FAILURES    16     /* that are counted */

struct kube_watch {
    struct kube_client *client;
    const struct kube_kind *kind;
    char *namespace_name, *labels, *fields; /* of the collection; or NULL */
    char *impersonate;
    bool for_tenant;
    bool metadata_only, is_forgetful;
    int64_t silence;
    void (*on_event)(void *arg, enum kube_watch_event event, const struct value *object,
                     const struct error *error);
    void *arg;

    /* The loop's thread against kube_watch_free(). What has ended cannot be freed by its own
     * callback, and goes when the one after it is followed by another. */
    pthread_mutex_t lock; /* of these */
    bool is_stopping;
    struct http_stream *stream, *ended_stream;
    struct http_timer *timer, *ended_timer;
    char *request_path;

    /* Of the loop's thread. */
    struct list_page page;
    struct json_stream *events;
    struct known known;
    char *token;   /* of the list's next page; NULL: the first */
    char *version; /* to watch from; NULL: to be listed */
    bool is_synced;
    bool has_failed; /* that was said, and nothing else since */
    bool has_shown;  /* the watch that runs has shown something */
    int64_t started_at;
    _Atomic int64_t heard_at; /* the last event, bookmark or complete list; others read it */
    unsigned failures;        /* in a row */
};

static void start(struct kube_watch *watch);
static void on_end(void *arg, const struct http_response *response, const struct error *error);

static int64_t now(void)
{
    return system_clock.monotonic(&system_clock);
}

static void set_string(char **to, const char *text)
{
    char *copy = str_new(text);

    free(*to);
    *to = copy;
}

/* ---- What arrives ---- */

static void give_deleted(void *arg, const struct value *object)
{
    struct kube_watch *watch = arg;

    watch->on_event(watch->arg, KUBE_WATCH_DELETED, object, NULL);
}

static int take_object(void *arg, const struct value *object, struct error *error)
{
    struct kube_watch *watch = arg;

    if (!value_get_string(value_get(object, "metadata"), "name"))
        return err_set(error, ERR_INTERNAL, "UnexpectedAnswer", "an object without a name");
    if (!watch->is_forgetful)
        known_put(&watch->known, object, give_deleted, watch);
    watch->on_event(watch->arg, KUBE_WATCH_UPSERT, object, NULL);
    return 0;
}

static int take_event(void *arg, const struct value *value, struct error *error)
{
    struct kube_watch *watch = arg;
    struct watch_event event;
    int r = watch_event_read(value, &event, error);

    if (r >= 0 && event.type == WATCH_EVENT_UPSERT)
        r = take_object(watch, event.object, error);
    if (r < 0)
        return r;
    if (event.type == WATCH_EVENT_DELETED) {
        if (!watch->is_forgetful)
            known_remove(&watch->known, event.object);
        give_deleted(watch, event.object);
    }
    set_string(&watch->version, event.version);
    watch->has_shown = true;
    atomic_store(&watch->heard_at, now());
    watch->failures = 0;
    return 0;
}

/* An error was said: now it works. */
static void say_it_works(struct kube_watch *watch)
{
    if (!watch->has_failed)
        return;
    watch->has_failed = false;
    watch->on_event(watch->arg, KUBE_WATCH_WORKS, NULL, NULL);
}

/* A watch may be silent for minutes: that it was granted is enough. */
static void on_status(void *arg, int status)
{
    struct kube_watch *watch = arg;

    if (watch->events && status / 100 == 2)
        say_it_works(watch);
}

static int on_body(void *arg, const char *data, size_t length, struct error *error)
{
    struct kube_watch *watch = arg;

    if (watch->events)
        return json_stream_add(watch->events, data, length, error);
    return list_page_add(&watch->page, data, length, error);
}

/* ---- Requests ---- */

static const char *accept_header(const struct kube_watch *watch)
{
    if (!watch->metadata_only)
        return "Accept: " KUBE_JSON;
    return watch->version ? "Accept: " KUBE_METADATA : "Accept: " KUBE_METADATA_LIST;
}

/* A list's page or a watch, as the state asks. */
static char *next_path(const struct kube_watch *watch, unsigned watch_seconds)
{
    struct kube_request request = {.ref = {watch->kind, watch->namespace_name, NULL, NULL},
                                   .selector = {watch->labels, watch->fields}};

    if (watch->version) {
        request.watch_seconds = watch_seconds;
        request.resource_version = watch->version;
    } else {
        request.limit = KUBE_LIST_PAGE;
        request.continue_token = watch->token;
    }
    return kube_path(&request);
}

/* Makes ready for the next request: its path, and how long it may be silent. */
static char *begin(struct kube_watch *watch, int64_t *ret_silence)
{
    unsigned seconds = WATCH_SECONDS + (unsigned)random_below(WATCH_SECONDS / 2 + 1);

    watch->started_at = now();
    watch->has_shown = false;
    if (watch->version) {
        watch->events = json_stream_new(take_event, watch);
        json_stream_limit(watch->events, kube_client_answer_limit(watch->client));
        *ret_silence = watch->silence + (int64_t)random_below((uint64_t)watch->silence / 2 + 1);
        return next_path(watch, seconds);
    }
    if (!watch->token && watch->is_forgetful)
        watch->on_event(watch->arg, KUBE_WATCH_LISTING, NULL, NULL);
    else if (!watch->token)
        known_begin_list(&watch->known);
    list_page_init(&watch->page, take_object, watch, kube_client_answer_limit(watch->client));
    *ret_silence = LIST_SILENCE;
    return next_path(watch, 0);
}

/* With the lock. */
static int start_stream(struct kube_watch *watch, struct error *error)
{
    struct http_request request = {.method = "GET",
                                   .on_body = on_body,
                                   .on_body_arg = watch,
                                   .on_status = on_status,
                                   .on_status_arg = watch};
    const char *headers[4] = {accept_header(watch)};
    char **identity, *path;
    size_t n_identity;
    int r = kube_client_identity(watch->client, watch->impersonate, &identity, &n_identity, error);

    if (r < 0)
        return r;
    path = begin(watch, &request.timeout);
    free(watch->request_path);
    watch->request_path = path;
    request.path = path;
    log_debug(watch->events ? "a watch begins" : "a list begins", "path", path, NULL);
    request.headers = headers;
    request.n_headers = 1 + n_identity;
    for (size_t i = 0; i < n_identity; i++)
        headers[1 + i] = identity[i];
    http_stream_free(watch->ended_stream);
    watch->ended_stream = TAKE(watch->stream);
    r = http_stream_new(kube_client_watch_http(watch->client, watch->for_tenant), &request, on_end,
                        watch, &watch->stream, error);
    for (size_t i = 0; i < n_identity; i++)
        free(identity[i]);
    free(identity);
    return r;
}

static void on_timer(void *arg)
{
    start(arg);
}

/* Starts again after a while, longer with each failure in a row. */
static void start_later(struct kube_watch *watch, int64_t maximum)
{
    int64_t delay = backoff_delay(watch->failures, BACKOFF_BASE, maximum);

    if (watch->failures < MAX_FAILURES)
        watch->failures++;
    LOCKED(&watch->lock);

    if (!watch->is_stopping) {
        http_timer_free(watch->ended_timer);
        watch->ended_timer = TAKE(watch->timer);
        watch->timer = http_timer_new(kube_client_watch_loop(watch->client, watch->for_tenant),
                                      delay, on_timer, watch);
    }
}

static void fail(struct kube_watch *watch, const struct error *why)
{
    watch->has_failed = true;
    watch->on_event(watch->arg, KUBE_WATCH_ERROR, NULL, why);
    start_later(watch, watch->for_tenant && why->code == ERR_FORBIDDEN ? BACKOFF_REFUSED
                                                                       : BACKOFF_MAXIMUM);
}

static void start(struct kube_watch *watch)
{
    struct error why = {0};
    int r = 0;

    pthread_mutex_lock(&watch->lock);
    if (!watch->is_stopping)
        r = start_stream(watch, &why);
    pthread_mutex_unlock(&watch->lock);
    if (r < 0)
        fail(watch, &why);
}

/* ---- What follows what ---- */

static void list_again(struct kube_watch *watch)
{
    set_string(&watch->version, NULL);
    set_string(&watch->token, NULL);
}

static void page_ended(struct kube_watch *watch)
{
    struct error why = {0};

    if (list_page_end(&watch->page, &why) < 0) {
        list_page_done(&watch->page);
        fail(watch, &why);
        return;
    }
    set_string(&watch->token, watch->page.next);
    if (!watch->token)
        set_string(&watch->version, watch->page.resource_version);
    list_page_done(&watch->page);
    if (watch->version) {
        atomic_store(&watch->heard_at, now());
        if (watch->is_forgetful)
            watch->on_event(watch->arg, KUBE_WATCH_LISTED, NULL, NULL);
        else
            known_end_list(&watch->known, give_deleted, watch);
        say_it_works(watch);
        if (!watch->is_synced)
            watch->on_event(watch->arg, KUBE_WATCH_SYNCED, NULL, NULL);
        watch->is_synced = true;
    }
    start(watch);
}

/* A watch that was of use ended, by itself or by its connection: the next goes on. */
static bool may_resume(const struct kube_watch *watch, const struct http_response *response,
                       int code)
{
    if (code != 0 && code != ERR_UNAVAILABLE && code != ERR_TIMEOUT)
        return false;
    return watch->has_shown ||
           (response->status / 100 == 2 && now() - watch->started_at >= SHORT_WATCH);
}

/* Silence tells nothing any more: whether nothing happens, or nothing comes through, or the version
 * is one that etcd does not have (yet again), because it was set back. A list tells. */
static bool is_mute(const struct kube_watch *watch)
{
    return now() - atomic_load(&watch->heard_at) >= watch->silence;
}

/* The API server was away, and etcd may have been set back meanwhile: once it has reached the
 * version again, a watch from there shows nothing of what changed before. */
static bool was_away(const struct http_response *response, int code)
{
    return code == ERR_UNAVAILABLE && !response->status;
}

static void watch_ended(struct kube_watch *watch, const struct http_response *response,
                        const struct error *why)
{
    if (is_mute(watch))
        list_again(watch);
    if (may_resume(watch, response, why->code)) {
        watch->failures = 0;
        start(watch);
        return;
    }
    if (watch->failures >= FAILED_WATCHES || was_away(response, why->code))
        list_again(watch);
    if (why->code)
        fail(watch, why);
    else
        start_later(watch, BACKOFF_MAXIMUM);
}

static void on_end(void *arg, const struct http_response *response, const struct error *error)
{
    struct kube_watch *watch = arg;
    bool was_watch = watch->events;
    struct error why = {0};

    if (error)
        err_copy(&why, error);
    else if (response->status / 100 != 2)
        api_error_from_response("GET", NULL, false, response, &why);
    json_stream_free(TAKE(watch->events));
    log_debug(was_watch ? "a watch ended" : "a list ended", "path", watch->request_path, "reason",
              why.code ? why.reason : NULL, "error", why.code ? why.message : NULL, NULL);

    if (why.code == ERR_CANCELLED) { /* the loop ends */
        list_page_done(&watch->page);
        return;
    }
    if (!was_watch && !why.code) {
        page_ended(watch);
        return;
    }
    list_page_done(&watch->page);
    kube_client_renew(watch->client, &why, 0);
    if (why.code == ERR_GONE) { /* a matter of course: nothing to report */
        list_again(watch);
        start_later(watch, BACKOFF_MAXIMUM);
    } else if (was_watch) {
        watch_ended(watch, response, &why);
    } else {
        fail(watch, &why);
    }
}

/* ---- Lifetime ---- */

int kube_watch_new(struct kube_client *client, const struct kube_watch_config *config,
                   struct kube_watch **ret, struct error *error)
{
    struct kube_watch *watch = NEW(struct kube_watch);
    int r;

    watch->client = client;
    watch->kind = config->ref.kind;
    watch->namespace_name = str_new(config->ref.namespace_name);
    watch->labels = str_new(config->selector.labels);
    watch->fields = str_new(config->selector.fields);
    watch->impersonate = str_new(config->impersonate);
    watch->for_tenant = config->for_tenant || config->impersonate;
    watch->metadata_only = config->metadata_only;
    watch->is_forgetful = config->is_forgetful;
    watch->silence = config->silence ? config->silence : WATCH_SILENCE;
    watch->on_event = config->on_event;
    watch->arg = config->arg;
    pthread_mutex_init(&watch->lock, NULL);
    known_init(&watch->known);
    watch->known.is_bounded = watch->for_tenant || kube_client_answer_limit(client);

    pthread_mutex_lock(&watch->lock);
    r = start_stream(watch, error);
    pthread_mutex_unlock(&watch->lock);
    if (r < 0) {
        kube_watch_free(watch);
        return r;
    }
    *ret = watch;
    return 0;
}

int64_t kube_watch_heard_at(const struct kube_watch *watch)
{
    return atomic_load(&watch->heard_at);
}

void kube_watch_free(struct kube_watch *watch)
{
    if (!watch)
        return;
    pthread_mutex_lock(&watch->lock);
    watch->is_stopping = true;
    pthread_mutex_unlock(&watch->lock);
    /* Nothing new is started now: each of these waits for its callback to return. */
    http_stream_free(watch->stream);
    http_timer_free(watch->timer);
    http_stream_free(watch->ended_stream);
    http_timer_free(watch->ended_timer);

    list_page_done(&watch->page);
    json_stream_free(watch->events);
    known_done(&watch->known);
    pthread_mutex_destroy(&watch->lock);
    free(watch->request_path);
    free(watch->token);
    free(watch->version);
    free(watch->namespace_name);
    free(watch->labels);
    free(watch->fields);
    free(watch->impersonate);
    free(watch);
}
