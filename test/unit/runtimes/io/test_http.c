#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "runtimes/io/http_call.h"
#include "test/unit/runtimes/io/http_fixture.h"

#define CROWD 24

static void gives_the_answer(void)
{
    static const struct {
        const char *path;
        int status;
        const char *body, *content_type;
        int retry_after;
    } rows[] = {
        {"/hello", 200, "hello", "text/plain", -1},
        {"/hello?watch=1", 200, "hello", "text/plain", -1},
        {"/none", 204, "", NULL, -1},
        {"/chunks", 200, "onetwothree", NULL, -1},
        {"/failure", 500, "it is broken", NULL, -1},
        {"/redirect", 302, "", NULL, -1},
        {"/busy", 429, "", NULL, 7000},
        {"/hello", 200, "hello", "text/plain", -1},
    };
    struct fixture fixture;
    struct http_response response = HTTP_RESPONSE_INIT;

    fixture_init(&fixture, 0);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error error = {0};

        EXPECT_INT(fixture_get(&fixture, rows[i].path, &response, &error), 0, error.message);
        EXPECT_INT(error.code, 0, "untouched");
        EXPECT_INT(response.status, rows[i].status, rows[i].path);
        EXPECT_STR(response.body.data, rows[i].body, rows[i].path);
        EXPECT_STR(response.content_type, rows[i].content_type, rows[i].path);
        EXPECT_INT(response.retry_after, rows[i].retry_after, rows[i].path);
        EXPECT(response.sent, rows[i].path);
    }
    EXPECT_INT(http_server_connections(fixture.server), 1, "one connection for all");
    http_response_done(&response);
    fixture_done(&fixture);
}

static void gives_the_headers_that_are_asked_for(void)
{
    static const char *const names[] = {"retry-after", "content-type", "x-none"};
    struct fixture fixture;
    struct http_response response = HTTP_RESPONSE_INIT;
    struct http_request request = {
        .method = "GET", .path = "/busy", .fields = names, .n_fields = HTTP_FIELDS};

    fixture_init(&fixture, 0);
    CU_ASSERT(http_do(fixture.client, &request, &response, NULL) == 0);
    EXPECT_STR(response.fields[0], "7", "there");
    EXPECT_STR(response.fields[1], NULL, "not there");
    request.path = "/hello";
    CU_ASSERT(http_do(fixture.client, &request, &response, NULL) == 0);
    EXPECT_STR(response.fields[0], NULL, "of the last answer alone");
    request.n_fields = ARRAY_SIZE(names);
    CU_ASSERT(http_do(fixture.client, &request, &response, NULL) == ERR_INVALID);
    http_response_done(&response);
    fixture_done(&fixture);
}

static void sends_what_it_is_given(void)
{
    static const struct {
        const char *method, *header, *body, *has, *has_not;
    } rows[] = {
        {"GET", NULL, NULL, "GET /echo?a=%20b&c HTTP/1.1\r\n", "Content-"},
        {"GET", "Accept: text/x", NULL, "Accept: text/x\r\n", "*/*"},
        {"PATCH", "Content-Type: application/y", "a\"b", "Content-Type: application/y\r\n", "www"},
        {"PATCH", NULL, "12345", "Content-Length: 5\r\n", "Content-Type"},
        {"POST", NULL, "body", "\r\n\r\nbody", "Content-Type"},
        {"POST", NULL, NULL, "Content-Length: 0\r\n", "Content-Type"},
        {"PUT", NULL, NULL, "Content-Length: 0\r\n", "Content-Type"},
        {"DELETE", NULL, NULL, "DELETE /echo", "Content-"},
        {"DELETE", NULL, "{}", "\r\n\r\n{}", "POST"},
        {"GET", NULL, NULL, "User-Agent: test/1\r\n", "Expect"},
    };
    struct fixture fixture;
    struct http_response response = HTTP_RESPONSE_INIT;

    fixture_init(&fixture, 0);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct http_request request = {.method = rows[i].method,
                                       .path = "/echo?a=%20b&c",
                                       .headers = &rows[i].header,
                                       .n_headers = rows[i].header ? 1 : 0,
                                       .body = rows[i].body,
                                       .body_length = rows[i].body ? strlen(rows[i].body) : 0};

        CU_ASSERT_FATAL(http_do(fixture.client, &request, &response, NULL) == 0);
        EXPECT(strstr(response.body.data, rows[i].has), response.body.data);
        EXPECT(!strstr(response.body.data, rows[i].has_not), response.body.data);
    }
    http_response_done(&response);
    fixture_done(&fixture);
}

static void sends_large_bodies_at_once(void)
{
    size_t length = 3 << 20;
    char *body = NEW_ARRAY(char, length);
    struct http_request request = {
        .method = "PUT", .path = "/echo", .body = body, .body_length = length};
    struct http_response response = HTTP_RESPONSE_INIT;
    struct fixture fixture;

    fixture_init(&fixture, 0);
    memset(body, 'x', length);
    CU_ASSERT(http_do(fixture.client, &request, &response, NULL) == 0);
    CU_ASSERT(response.body.length > length);
    EXPECT(!strstr(response.body.data, "100-continue"), "no Expect");
    http_response_done(&response);
    fixture_done(&fixture);
    free(body);
}

static void waits_for_no_body_of_a_head(void)
{
    struct http_request request = {.method = "HEAD", .path = "/head-only", .timeout = 5000};
    struct http_response response = HTTP_RESPONSE_INIT;
    struct fixture fixture;

    fixture_init(&fixture, 0);
    EXPECT_INT(http_do(fixture.client, &request, &response, NULL), 0, "HEAD");
    EXPECT_INT(response.status, 200, "HEAD");
    http_response_done(&response);
    fixture_done(&fixture);
}

static void refuses_malformed_requests(void)
{
    static const struct {
        const char *method, *path, *header;
    } rows[] = {
        {"GET /x", "/", "A: b"},       {"", "/", "A: b"},
        {"get", "/", "A: b"},          {NULL, "/", "A: b"},
        {"GET", NULL, "A: b"},         {"GET", "hello", "A: b"},
        {"GET", "", "A: b"},           {"GET", "/a b", "A: b"},
        {"GET", "/a\r\nX: y", "A: b"}, {"GET", "/a#b", "A: b"},
        {"GET", "/", "A: b\r\nC: d"},  {"GET", "/", "A: b\n"},
        {"GET", "/", "no colon"},
    };
    struct fixture fixture;
    struct http_response response = HTTP_RESPONSE_INIT;

    fixture_init(&fixture, 0);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error error = {0};
        struct http_request request = {.method = rows[i].method,
                                       .path = rows[i].path,
                                       .headers = &rows[i].header,
                                       .n_headers = 1};

        EXPECT_INT(http_do(fixture.client, &request, &response, &error), ERR_INVALID, rows[i].path);
        EXPECT_STR(error.reason, "InvalidRequest", rows[i].path);
    }
    EXPECT_INT(http_server_requests(fixture.server), 0, "nothing arrived");
    fixture_done(&fixture);
}

static void refuses_malformed_addresses(void)
{
    static const char *const rows[] = {
        NULL,           "",
        "127.0.0.1",    "ftp://127.0.0.1",
        "file:///etc",  "https://user:word@127.0.0.1",
        "http://",      "https://127.0.0.1?x=y",
        "http://a:b:c", "https://127.0.0.1/#x",
    };
    struct http_loop_config config = {.name = "test"};
    struct http_loop *loop;

    CU_ASSERT_FATAL(http_loop_new(&config, &loop, NULL) == 0);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct http_client_config client_config = {.base_url = rows[i]};
        struct http_client *client;
        struct error error = {0};

        EXPECT_INT(http_client_new(loop, &client_config, &client, &error), ERR_INVALID, rows[i]);
        EXPECT(!strstr(error.message, "word"), error.message);
    }
    http_loop_free(loop);
}

static void tells_how_it_broke(void)
{
    static const struct {
        const char *path;
        int code;
    } rows[] = {
        {"/hang-up", ERR_UNAVAILABLE},
        {"/broken-body", ERR_UNAVAILABLE},
        {"/garbage", ERR_UNAVAILABLE},
        {"/huge", ERR_TOO_LARGE},
    };
    struct fixture fixture;
    struct http_response response = HTTP_RESPONSE_INIT;

    fixture_init(&fixture, 0);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error error = {0};
        struct http_request request = {
            .method = "GET", .path = rows[i].path, .max_response = 100000};

        EXPECT_INT(http_do(fixture.client, &request, &response, &error), rows[i].code,
                   rows[i].path);
        EXPECT_INT(error.code, rows[i].code, rows[i].path);
        EXPECT_STR(error.reason, err_reason(rows[i].code), rows[i].path);
        EXPECT(strstr(error.message, rows[i].path), error.message);
        EXPECT(response.sent, rows[i].path);
        EXPECT_INT(response.body.length, 0, rows[i].path);
    }
    http_response_done(&response);
    fixture_done(&fixture);
}

static void takes_answers_up_to_the_limit(void)
{
    struct http_request request = {.method = "GET", .path = "/hello", .max_response = 5};
    struct http_response response = HTTP_RESPONSE_INIT;
    struct fixture fixture;

    fixture_init(&fixture, 0);
    EXPECT_INT(http_do(fixture.client, &request, &response, NULL), 0, "5 of 5");
    request.max_response = 4;
    EXPECT_INT(http_do(fixture.client, &request, &response, NULL), ERR_TOO_LARGE, "5 of 4");
    http_response_done(&response);
    fixture_done(&fixture);
}

/* The connection was kept, and breaks under the second request. curl would send it again. */
static void does_not_repeat_by_itself(void)
{
    struct http_request request = {.method = "POST", .path = "/hang-up-later"};
    struct http_response response = HTTP_RESPONSE_INIT;
    struct fixture fixture;
    struct error error = {0};

    fixture_init(&fixture, 1);
    EXPECT_INT(http_do(fixture.client, &request, &response, NULL), 0, "the first");
    EXPECT_INT(http_do(fixture.client, &request, &response, &error), ERR_UNAVAILABLE, "second");
    EXPECT(strstr(error.message, "broke off"), error.message);
    EXPECT(response.sent, "may have arrived");
    EXPECT_INT(http_server_requests(fixture.server), 2, "each arrived once");
    EXPECT_INT(http_do(fixture.client, &request, &response, NULL), 0, "the loop goes on");
    http_response_done(&response);
    fixture_done(&fixture);
}

static void knows_what_was_not_sent(void)
{
    static const char *const addresses[] = {
        "http://127.0.0.1:1",
        "https://127.0.0.1:1",
        "http://0123456789012345678901234567890123456789012345678901234567890123.test",
    };
    struct fixture fixture;

    fixture_init(&fixture, 0);
    for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
        struct http_client_config config = {.base_url = addresses[i], .connect_timeout = 3000};
        struct http_request request = {.method = "POST", .path = "/a?token=secret"};
        struct http_response response = {.body = BUF_INIT, .sent = true};
        struct http_client *client;
        struct error error = {0};

        CU_ASSERT_FATAL(http_client_new(fixture.loop, &config, &client, NULL) == 0);
        EXPECT_INT(http_do(client, &request, &response, &error), ERR_UNAVAILABLE, addresses[i]);
        EXPECT(!response.sent, addresses[i]);
        EXPECT(strstr(error.message, "POST ") == error.message, error.message);
        EXPECT(!strstr(error.message, "secret"), error.message);
        http_client_free(client);
    }
    fixture_done(&fixture);
}

static void ends_in_time(void)
{
    struct http_request request = {.method = "GET", .path = "/hold", .timeout = 1500};
    struct http_response response = HTTP_RESPONSE_INIT;
    struct fixture fixture;
    struct error error = {0};
    int64_t start;

    fixture_init(&fixture, 0);
    start = system_clock.monotonic(&system_clock);
    EXPECT_INT(http_do(fixture.client, &request, &response, &error), ERR_TIMEOUT, "held");
    start = system_clock.monotonic(&system_clock) - start;
    EXPECT(start >= 1500 && start < 20000, "in time");
    EXPECT(response.sent, "held");
    EXPECT(strstr(error.message, "1500 ms"), error.message);
    request.path = "/drip"; /* bytes come, but not all of them in time */
    EXPECT_INT(http_do(fixture.client, &request, &response, NULL), ERR_TIMEOUT, "drip");
    http_server_release(fixture.server);
    fixture_done(&fixture);
}

struct guard {
    atomic_uint asked;
    int code;
    const char *reason;
};

static int ask_guard(void *arg, struct error *error)
{
    struct guard *guard = arg;

    atomic_fetch_add(&guard->asked, 1);
    if (guard->code && guard->reason)
        err_set(error, guard->code, guard->reason, "the lease has expired");
    return guard->code;
}

static void asks_for_a_permit_each_time(void)
{
    struct guard guard = {.code = 0};
    struct http_request request = {
        .method = "POST", .path = "/hello", .permit = ask_guard, .permit_arg = &guard};
    struct http_response response = HTTP_RESPONSE_INIT;
    struct fixture fixture;

    fixture_init(&fixture, 0);
    for (unsigned i = 1; i <= 5; i++) {
        EXPECT_INT(http_do(fixture.client, &request, &response, NULL), 0, "permitted");
        EXPECT_INT(guard.asked, i, "asked once for each");
    }
    EXPECT_INT(http_server_connections(fixture.server), 1, "one connection");
    http_response_done(&response);
    fixture_done(&fixture);
}

static void sends_nothing_without_a_permit(void)
{
    struct guard fenced = {.code = ERR_FENCED, .reason = "LeaseExpired"};
    struct guard silent = {.code = ERR_FENCED};
    struct http_request request = {.method = "POST", .path = "/hello", .permit = ask_guard};
    struct http_response response = HTTP_RESPONSE_INIT;
    struct fixture fixture;
    struct error error = {0};

    fixture_init(&fixture, 1);
    for (int i = 0; i < 3; i++) {
        request.permit_arg = &fenced;
        EXPECT_INT(http_do(fixture.client, &request, &response, &error), ERR_FENCED, "fenced");
        EXPECT_STR(error.reason, "LeaseExpired", "its own reason");
        EXPECT(strstr(error.message, "the lease has expired"), error.message);
        EXPECT(!response.sent, "fenced");
        request.permit_arg = &silent;
        EXPECT_INT(http_do(fixture.client, &request, &response, &error), ERR_FENCED, "silent");
        EXPECT_STR(error.reason, err_reason(ERR_FENCED), "no reason given");
        EXPECT_INT(http_server_requests(fixture.server), (unsigned)i, "only the others");
        EXPECT_INT(fixture_get(&fixture, "/hello", &response, NULL), 0, "others go on");
    }
    http_response_done(&response);
    fixture_done(&fixture);
}

/* The only connection is taken: a request waits, and is asked for its permit after that. */
static void asks_for_the_permit_at_the_last_moment(void)
{
    struct guard guard = {.code = 0};
    struct http_request held = {.method = "GET", .path = "/hold"};
    struct http_request guarded = {
        .method = "POST", .path = "/hello", .permit = ask_guard, .permit_arg = &guard};
    struct background first, second;
    struct fixture fixture;

    fixture_init(&fixture, 1);
    background_start(&first, fixture.client, &held);
    CU_ASSERT(http_server_await(fixture.server, 1));
    background_start(&second, fixture.client, &guarded);
    usleep(100000);
    EXPECT_INT(guard.asked, 0, "it waits for the connection");
    guard.code = ERR_FENCED;
    guard.reason = "LeaseExpired";
    http_server_release(fixture.server);
    EXPECT_INT(background_wait(&first), 0, "held");
    EXPECT_INT(background_wait(&second), ERR_FENCED, "lost while it waited");
    EXPECT_INT(guard.asked, 1, "asked once");
    EXPECT(!second.response.sent, "not sent");
    EXPECT_INT(http_server_requests(fixture.server), 1, "not sent");
    background_done(&first);
    background_done(&second);
    fixture_done(&fixture);
}

static void ends_when_cancelled(void)
{
    struct http_request request = {.method = "GET", .path = "/hold"};
    struct http_response response = HTTP_RESPONSE_INIT;
    struct background held;
    struct fixture fixture;

    fixture_init(&fixture, 1);
    request.cancel = cancel_new(NULL);
    background_start(&held, fixture.client, &request);
    CU_ASSERT(http_server_await(fixture.server, 1));
    cancel_fire(request.cancel, "Superseded");
    EXPECT_INT(background_wait(&held), ERR_CANCELLED, "held");
    EXPECT_STR(held.error.reason, "Superseded", "its reason");
    EXPECT(held.response.sent, "held");
    EXPECT_INT(http_do(fixture.client, &request, &response, NULL), ERR_CANCELLED, "already");
    EXPECT(!response.sent, "already");
    EXPECT_INT(http_server_requests(fixture.server), 1, "already");
    request.cancel = (cancel_free(request.cancel), NULL);
    http_server_release(fixture.server);
    EXPECT_INT(http_do(fixture.client, &request, &response, NULL), 0, "the next");
    http_response_done(&response);
    background_done(&held);
    fixture_done(&fixture);
}

/* One connection, held; behind it a crowd, of which some give up. The rest must get their turn. */
static void waiters_outlive_those_that_give_up(void)
{
    struct http_request request = {.method = "GET", .path = "/hold"};
    struct background held, crowd[CROWD];
    struct fixture fixture;
    struct cancel *cancel = cancel_new(NULL);

    fixture_init(&fixture, 1);
    background_start(&held, fixture.client, &request);
    CU_ASSERT(http_server_await(fixture.server, 1));
    for (int i = 0; i < CROWD; i++) {
        request = (struct http_request){.method = "GET", .path = "/hello"};
        request.cancel = i % 3 == 0 ? cancel : NULL;
        request.timeout = i % 3 == 1 ? 60 : 0;
        background_start(&crowd[i], fixture.client, &request);
    }
    for (int i = 1; i < CROWD; i += 3) {
        EXPECT_INT(background_wait(&crowd[i]), ERR_TIMEOUT, "limited");
        EXPECT(!crowd[i].response.sent, "limited");
    }
    cancel_fire(cancel, "Superseded");
    http_server_release(fixture.server);
    for (int i = 0; i < CROWD; i++) {
        if (i % 3 == 0)
            EXPECT_INT(background_wait(&crowd[i]), ERR_CANCELLED, "cancelled");
        if (i % 3 == 2)
            EXPECT_INT(background_wait(&crowd[i]), 0, "the rest");
        background_done(&crowd[i]);
    }
    EXPECT_INT(background_wait(&held), 0, "held");
    EXPECT_INT(http_server_connections(fixture.server), 1, "one connection");
    background_done(&held);
    fixture_done(&fixture);
    cancel_free(cancel);
}

struct worker {
    struct fixture *fixture;
    pthread_t thread;
    unsigned answered, cancelled, wrong;
};

static void *work(void *arg)
{
    struct worker *worker = arg;
    struct http_response response = HTTP_RESPONSE_INIT;

    for (int i = 0; i < 60; i++) {
        struct cancel *cancel = cancel_new(NULL);
        struct http_request request = {.method = "POST",
                                       .path = i % 2 ? "/echo" : "/failure",
                                       .body = "some body",
                                       .body_length = 9,
                                       .cancel = cancel};
        int result;

        if (i % 7 == 0)
            cancel_fire(cancel, "Superseded");
        result = http_do(worker->fixture->client, &request, &response, NULL);
        if (result == 0 && response.status == (i % 2 ? 200 : 500))
            worker->answered++;
        else if (result == ERR_CANCELLED)
            worker->cancelled++;
        else
            worker->wrong++;
        cancel_free(cancel);
    }
    http_response_done(&response);
    return NULL;
}

static void serves_many_threads(void)
{
    struct worker workers[12];
    struct fixture fixture;

    fixture_init(&fixture, 4);
    for (size_t i = 0; i < ARRAY_SIZE(workers); i++) {
        workers[i] = (struct worker){.fixture = &fixture};
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(workers); i++) {
        pthread_join(workers[i].thread, NULL);
        EXPECT_INT(workers[i].answered, 51, "answered");
        EXPECT_INT(workers[i].cancelled, 9, "cancelled");
        EXPECT_INT(workers[i].wrong, 0, "wrong");
    }
    EXPECT(http_server_connections(fixture.server) <= 4, "no more than configured");
    fixture_done(&fixture);
}

static void reads_retry_after(void)
{
    const int64_t now = INT64_C(1767323045500); /* 2026-01-02T03:04:05.5Z */
    const int64_t most = INT64_C(30) * 24 * 3600 * 1000;
    const struct {
        const char *value;
        int64_t delay;
    } rows[] = {
        {"0", 0},
        {"1", 1000},
        {"120", 120000},
        {"99999999999999999999999", most},
        {"Fri, 02 Jan 2026 03:04:15 GMT", 9500},
        {"Fri, 02 Jan 2026 03:04:05 GMT", 0},
        {"Thu, 01 Jan 1970 00:00:00 GMT", 0},
        {"Fri, 02 Jan 2099 03:04:05 GMT", most},
        {"-1", -1},
        {"", -1},
        {"soon", -1},
        {"1.5", -1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        EXPECT_INT(http_retry_after(rows[i].value, now), rows[i].delay, rows[i].value);
}

static void does_not_ask_the_environment(void)
{
    struct http_response response = HTTP_RESPONSE_INIT;
    struct fixture fixture;

    setenv("http_proxy", "http://127.0.0.1:1", 1);
    setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
    fixture_init(&fixture, 0);
    EXPECT_INT(fixture_get(&fixture, "/hello", &response, NULL), 0, "directly");
    unsetenv("http_proxy");
    unsetenv("ALL_PROXY");
    http_response_done(&response);
    fixture_done(&fixture);
}

static void goes_through_the_proxy_it_is_given(void)
{
    struct http_response response = HTTP_RESPONSE_INIT;
    struct http_request request = {.method = "GET", .path = "/echo"};
    struct http_client_config config = {.base_url = "http://elsewhere.test:81/base/"};
    struct http_client *client;
    struct fixture fixture;

    setenv("no_proxy", "*", 1);
    fixture_init(&fixture, 0);
    config.proxy_url = http_server_url(fixture.server);
    CU_ASSERT_FATAL(http_client_new(fixture.loop, &config, &client, NULL) == 0);
    EXPECT_INT(http_do(client, &request, &response, NULL), 0, "by the proxy");
    EXPECT_STR(response.body.data, "http://elsewhere.test:81/base/echo", "what it was asked");
    unsetenv("no_proxy");
    http_client_free(client);
    http_response_done(&response);
    fixture_done(&fixture);
}

static void ends_with_its_loop(void)
{
    struct http_request request = {.method = "GET", .path = "/hold"};
    struct http_response response = HTTP_RESPONSE_INIT;
    struct background held[3];
    struct fixture fixture;

    fixture_init(&fixture, 1); /* so that two of three wait */
    for (int i = 0; i < 3; i++)
        background_start(&held[i], fixture.client, &request);
    CU_ASSERT(http_server_await(fixture.server, 1));
    http_loop_free(fixture.loop);
    for (int i = 0; i < 3; i++) {
        EXPECT_INT(background_wait(&held[i]), ERR_CANCELLED, "held");
        background_done(&held[i]);
    }
    EXPECT_INT(fixture_get(&fixture, "/hello", &response, NULL), ERR_CANCELLED, "afterwards");
    fixture.loop = NULL;
    fixture_done(&fixture);
}

SUITE(http, TEST(gives_the_answer), TEST(gives_the_headers_that_are_asked_for),
      TEST(sends_what_it_is_given), TEST(sends_large_bodies_at_once),
      TEST(waits_for_no_body_of_a_head), TEST(refuses_malformed_requests),
      TEST(refuses_malformed_addresses), TEST(tells_how_it_broke),
      TEST(takes_answers_up_to_the_limit), TEST(does_not_repeat_by_itself),
      TEST(knows_what_was_not_sent), TEST(ends_in_time), TEST(asks_for_a_permit_each_time),
      TEST(sends_nothing_without_a_permit), TEST(asks_for_the_permit_at_the_last_moment),
      TEST(ends_when_cancelled), TEST(waiters_outlive_those_that_give_up),
      TEST(serves_many_threads), TEST(reads_retry_after), TEST(does_not_ask_the_environment),
      TEST(goes_through_the_proxy_it_is_given), TEST(ends_with_its_loop))
