#include <stdatomic.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "test/unit/runtimes/io/http_fixture.h"

/* What a stream gave, under a lock. */
struct heard {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct buf body;
    unsigned parts;
    unsigned ends;
    int code, status;
    bool sent;
    char reason[ERROR_REASON_SIZE];
    char text[256];   /* of a body that is not 2xx */
    unsigned stop_at; /* refuse that part; 0: none */
};

static void heard_init(struct heard *heard)
{
    *heard = (struct heard){.body = BUF_INIT};
    pthread_mutex_init(&heard->lock, NULL);
    pthread_cond_init(&heard->changed, NULL);
}

static void heard_done(struct heard *heard)
{
    buf_done(&heard->body);
    pthread_cond_destroy(&heard->changed);
    pthread_mutex_destroy(&heard->lock);
}

static int on_body(void *arg, const char *data, size_t length, struct error *error)
{
    struct heard *heard = arg;
    bool refuse;

    pthread_mutex_lock(&heard->lock);
    buf_add(&heard->body, data, length);
    refuse = ++heard->parts == heard->stop_at;
    pthread_cond_broadcast(&heard->changed);
    pthread_mutex_unlock(&heard->lock);
    return refuse ? err_set(error, ERR_CORRUPT, "Unreadable", "not what was expected") : 0;
}

static void on_end(void *arg, const struct http_response *response, const struct error *error)
{
    struct heard *heard = arg;

    pthread_mutex_lock(&heard->lock);
    heard->ends++;
    heard->code = error ? error->code : 0;
    heard->status = response->status;
    heard->sent = response->sent;
    snprintf(heard->reason, sizeof(heard->reason), "%s", error ? error->reason : "");
    snprintf(heard->text, sizeof(heard->text), "%s", response->body.data);
    pthread_cond_broadcast(&heard->changed);
    pthread_mutex_unlock(&heard->lock);
}

static void await_end(struct heard *heard)
{
    pthread_mutex_lock(&heard->lock);
    while (!heard->ends)
        pthread_cond_wait(&heard->changed, &heard->lock);
    pthread_mutex_unlock(&heard->lock);
}

static void await_part(struct heard *heard)
{
    pthread_mutex_lock(&heard->lock);
    while (!heard->parts)
        pthread_cond_wait(&heard->changed, &heard->lock);
    pthread_mutex_unlock(&heard->lock);
}

static struct http_stream *start(struct fixture *fixture, struct heard *heard, const char *path,
                                 int64_t silence)
{
    struct http_request request = {.method = "GET",
                                   .path = path,
                                   .timeout = silence,
                                   .on_body = on_body,
                                   .on_body_arg = heard,
                                   .max_response = 64};
    struct http_stream *stream = NULL;

    CU_ASSERT_FATAL(http_stream_new(fixture->client, &request, on_end, heard, &stream, NULL) == 0);
    return stream;
}

static void gives_bytes_and_one_end(void)
{
    static const struct {
        const char *path;
        int silence;
        unsigned stop_at;
        int code, status;
        const char *body, *text;
    } rows[] = {
        {"/chunks", 0, 0, 0, 200, "onetwothree", ""},
        {"/none", 0, 0, 0, 204, "", ""},
        {"/failure", 0, 0, 0, 500, "", "it is broken"},
        {"/drip", 2000, 0, 0, 200, "...............", ""}, /* 3 s, never silent */
        {"/stall", 500, 0, ERR_TIMEOUT, 200, "one", ""},
        {"/hold", 500, 0, ERR_TIMEOUT, 0, "", ""},
        {"/chunks", 0, 2, ERR_CORRUPT, 200, "onetwo", ""},
        {"/broken-body", 0, 0, ERR_UNAVAILABLE, 200, "only this", ""},
        {"/hang-up", 0, 0, ERR_UNAVAILABLE, 0, "", ""},
    };
    struct fixture fixture;

    fixture_init(&fixture, 0);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct http_stream *stream;
        struct heard heard;

        heard_init(&heard);
        heard.stop_at = rows[i].stop_at;
        stream = start(&fixture, &heard, rows[i].path, rows[i].silence);
        await_end(&heard);
        http_stream_free(stream);
        EXPECT_INT(heard.ends, 1, rows[i].path);
        EXPECT_INT(heard.code, rows[i].code, rows[i].path);
        EXPECT_INT(heard.status, rows[i].status, rows[i].path);
        EXPECT_STR(heard.body.data, rows[i].body, rows[i].path);
        EXPECT_STR(heard.text, rows[i].text, rows[i].path);
        EXPECT(heard.sent, rows[i].path);
        heard_done(&heard);
    }
    http_server_release(fixture.server);
    fixture_done(&fixture);
}

/* A stream's body may be larger than max_response, which bounds what is kept. */
static void streams_without_a_limit(void)
{
    struct http_stream *stream;
    struct fixture fixture;
    struct heard heard;

    heard_init(&heard);
    heard.stop_at = 40;
    fixture_init(&fixture, 0);
    stream = start(&fixture, &heard, "/huge", 0);
    await_end(&heard);
    http_stream_free(stream);
    EXPECT_INT(heard.code, ERR_CORRUPT, "ended by on_body alone");
    CU_ASSERT(heard.body.length > 64);
    fixture_done(&fixture);
    heard_done(&heard);
}

static void is_quiet_once_freed(void)
{
    struct fixture fixture;
    struct heard heard;

    heard_init(&heard);
    fixture_init(&fixture, 0);
    for (int i = 0; i < 20; i++) {
        struct http_stream *stream;
        unsigned parts;
        size_t length;

        heard.parts = 0;
        stream = start(&fixture, &heard, "/huge", 0);
        if (i % 2)
            await_part(&heard);
        http_stream_free(stream);
        parts = heard.parts; /* without the lock: nothing else runs, or TSan tells */
        length = heard.body.length;
        usleep(3000);
        EXPECT_INT(heard.parts, parts, "parts");
        EXPECT_INT(heard.body.length, length, "bytes");
        EXPECT_INT(heard.ends, 0, "no end");
    }
    fixture_done(&fixture);
    heard_done(&heard);
}

static void copies_its_headers(void)
{
    char header[] = "X-Mark: as it was";
    const char *headers[] = {header};
    struct http_request request = {
        .method = "GET", .path = "/echo", .headers = headers, .n_headers = 1, .on_body = on_body};
    struct http_stream *stream;
    struct fixture fixture;
    struct heard heard;

    heard_init(&heard);
    request.on_body_arg = &heard;
    fixture_init(&fixture, 0);
    CU_ASSERT_FATAL(http_stream_new(fixture.client, &request, on_end, &heard, &stream, NULL) == 0);
    memset(header, '!', sizeof(header) - 1);
    headers[0] = NULL;
    await_end(&heard);
    http_stream_free(stream);
    EXPECT(strstr(heard.body.data, "X-Mark: as it was\r\n"), heard.body.data);
    fixture_done(&fixture);
    heard_done(&heard);
}

static void ends_when_cancelled(void)
{
    struct cancel *cancel = cancel_new(NULL);
    struct http_request request = {
        .method = "GET", .path = "/stall", .cancel = cancel, .on_body = on_body};
    struct http_stream *stream;
    struct fixture fixture;
    struct heard heard;

    heard_init(&heard);
    request.on_body_arg = &heard;
    fixture_init(&fixture, 0);
    CU_ASSERT_FATAL(http_stream_new(fixture.client, &request, on_end, &heard, &stream, NULL) == 0);
    await_part(&heard);
    cancel_fire(cancel, "Superseded");
    await_end(&heard);
    cancel_free(cancel); /* may go at the end, before the stream */
    EXPECT_INT(heard.code, ERR_CANCELLED, "code");
    EXPECT_STR(heard.reason, "Superseded", "reason");
    http_stream_free(stream);
    fixture_done(&fixture);
    heard_done(&heard);
}

static void ends_with_its_loop(void)
{
    struct http_request request = {.method = "GET", .path = "/hello"};
    struct http_stream *stream, *later = NULL;
    struct fixture fixture;
    struct heard heard;

    heard_init(&heard);
    fixture_init(&fixture, 0);
    stream = start(&fixture, &heard, "/stall", 0);
    await_part(&heard);
    http_loop_free(fixture.loop);
    EXPECT_INT(heard.ends, 1, "told of it");
    EXPECT_INT(heard.code, ERR_CANCELLED, "told of it");
    EXPECT_INT(http_stream_new(fixture.client, &request, on_end, &heard, &later, NULL),
               ERR_CANCELLED, "afterwards");
    EXPECT(!later, "afterwards");
    EXPECT_INT(heard.ends, 1, "afterwards");
    http_stream_free(stream);
    fixture.loop = NULL;
    fixture_done(&fixture);
    heard_done(&heard);
}

static void refuses_malformed_requests(void)
{
    struct http_request request = {.method = "GET", .path = "nowhere"};
    struct http_stream *stream = NULL;
    struct fixture fixture;

    fixture_init(&fixture, 0);
    EXPECT_INT(http_stream_new(fixture.client, &request, on_end, NULL, &stream, NULL), ERR_INVALID,
               "path");
    EXPECT(!stream, "nothing to free");
    http_stream_free(NULL);
    fixture_done(&fixture);
}

struct ticks {
    struct http_loop *loop;
    atomic_uint count;
    atomic_llong at;
    _Atomic(struct http_timer *) next;
};

static void tick(void *arg)
{
    struct ticks *ticks = arg;

    atomic_store(&ticks->at, system_clock.monotonic(&system_clock));
    atomic_fetch_add(&ticks->count, 1);
}

static void tick_and_go_on(void *arg)
{
    struct ticks *ticks = arg;

    atomic_store(&ticks->next, http_timer_new(ticks->loop, 5, tick, ticks));
    tick(arg);
}

static void await_ticks(struct ticks *ticks, unsigned count)
{
    for (int i = 0; i < 60000 && ticks->count < count; i++)
        usleep(1000);
}

static void timers_fire_once_and_in_time(void)
{
    struct ticks ticks[3] = {{.count = 0}};
    static const int64_t delays[] = {60, 0, -5};
    struct http_timer *timers[3];
    struct fixture fixture;
    int64_t start;

    fixture_init(&fixture, 0);
    start = system_clock.monotonic(&system_clock);
    for (int i = 0; i < 3; i++)
        timers[i] = http_timer_new(fixture.loop, delays[i], tick, &ticks[i]);
    for (int i = 0; i < 3; i++)
        await_ticks(&ticks[i], 1);
    EXPECT(ticks[0].at >= start + 60, "not too early");
    EXPECT(ticks[1].at < start + 30000, "at once");
    usleep(20000);
    for (int i = 0; i < 3; i++) {
        http_timer_free(timers[i]);
        EXPECT_INT(ticks[i].count, 1, "once");
    }
    http_timer_free(NULL);
    fixture_done(&fixture);
}

static void timers_start_others(void)
{
    struct ticks ticks = {.count = 0};
    struct http_timer *timer;
    struct fixture fixture;

    fixture_init(&fixture, 0);
    ticks.loop = fixture.loop;
    timer = http_timer_new(fixture.loop, 1, tick_and_go_on, &ticks);
    await_ticks(&ticks, 2);
    EXPECT_INT(ticks.count, 2, "both");
    http_timer_free(timer);
    http_timer_free(ticks.next);
    fixture_done(&fixture);
}

static void freed_timers_do_not_fire(void)
{
    struct ticks ticks = {.count = 0};
    struct http_timer *late;
    struct fixture fixture;

    fixture_init(&fixture, 0);
    for (int i = 0; i < 50; i++) {
        unsigned count;

        late = http_timer_new(fixture.loop, i % 3, tick, &ticks);
        usleep((unsigned)(i % 4) * 1000);
        http_timer_free(late);
        count = ticks.count;
        usleep(1000);
        EXPECT_INT(ticks.count, count, "after it was freed");
    }
    late = http_timer_new(fixture.loop, INT64_MAX, tick, &ticks);
    http_loop_free(fixture.loop);
    http_timer_free(late); /* the loop forgot it */
    fixture.loop = NULL;
    fixture_done(&fixture);
}

SUITE(http_stream, TEST(gives_bytes_and_one_end), TEST(streams_without_a_limit),
      TEST(is_quiet_once_freed), TEST(copies_its_headers), TEST(ends_when_cancelled),
      TEST(ends_with_its_loop), TEST(refuses_malformed_requests),
      TEST(timers_fire_once_and_in_time), TEST(timers_start_others), TEST(freed_timers_do_not_fire))
