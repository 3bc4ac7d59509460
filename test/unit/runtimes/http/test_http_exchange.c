/* Requests of several namespaces to one server. */
#include "runtimes/http/exchange.h"

#include <pthread.h>

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "runtimes/http/runtime.h"
#include "runtimes/http/session.h"
#include "test/unit/runtimes/io/http_fixture.h"

#define HOLDERS  40 /* as many calls as a namespace may have (NAMESPACE_CALLS) */
#define AT_ONCE  16 /* REQUESTS_OF_NAMESPACE */
#define PATIENCE 10000

struct holder {
    struct runtime_session *session;
    const struct value *extensions;
    struct runtime_call call;
    pthread_t thread;
    int result, status;
};

static void read_once(struct holder *holder)
{
    struct http_description description;
    struct rest_server *server = NULL;
    struct answer answer = {0};
    struct error error = {0};

    EXPECT_INT(description_read(holder->extensions, &description, &error), 0, error.message);
    EXPECT_INT(session_server(holder->session, &description, &holder->call, &server, &error), 0,
               error.message);
    holder->result =
        exchange_do(&(struct exchange){.server = server,
                                       .request = description.read,
                                       .path = value_get_string(description.read, "path")},
                    &holder->call, &answer, &error);
    holder->status = answer.status;
    answer_done(&answer);
    rest_server_unref(server);
}

static void *hold(void *arg)
{
    read_once(arg);
    return NULL;
}

static struct runtime_session *open_in(struct runtime *runtime, const char *namespace_name)
{
    const struct runtime_scope scope = {.key = {namespace_name, "web"}};
    struct runtime_session *session = NULL;

    EXPECT_INT(runtime->ops->open(runtime, &scope, NULL, &session, NULL), 0, namespace_name);
    return session;
}

static const struct value *describe(struct fixture *fixture, const char *path)
{
    _cleanup_free_ char *text = str_printf(
        "{\"connection\":{\"url\":\"%s\"},\"read\":{\"path\":\"%s\"},\"create\":{\"method\":"
        "\"POST\",\"path\":\"/\"},\"delete\":{\"method\":\"DELETE\",\"path\":\"/\"}}",
        http_server_url(fixture->server), path);
    const struct value *value = NULL;

    EXPECT_INT(json_read_str(text, &value, NULL), 0, text);
    return value;
}

/* A server, and a runtime that may ask it. */
struct scene {
    struct fixture fixture;
    struct http_hosts *hosts;
    struct runtime *runtime;
};

static void begin(struct scene *scene)
{
    const struct http_runtime_config config = {.hosts = scene->hosts = http_hosts_new()};
    _cleanup_free_ char *host = NULL;

    fixture_init(&scene->fixture, 1);
    host = str_printf("%s=127.0.0.0/8", http_server_url(scene->fixture.server));
    EXPECT_INT(http_hosts_add(scene->hosts, host, NULL), 0, host);
    EXPECT_INT(http_runtime_new(&config, &scene->runtime, NULL), 0, "a runtime");
}

static void end(struct scene *scene)
{
    scene->runtime->ops->free(scene->runtime);
    http_hosts_free(scene->hosts);
    fixture_done(&scene->fixture);
}

static void a_namespace_leaves_connections_to_others(void)
{
    _cleanup_value_ const struct value *slow = NULL, *quick = NULL;
    struct holder holders[HOLDERS], other;
    struct runtime_call call = {.deadline = CLOCK_FOREVER};
    struct runtime_session *a, *b;
    struct scene scene;

    begin(&scene);
    slow = describe(&scene.fixture, "/hold");
    quick = describe(&scene.fixture, "/none");
    a = open_in(scene.runtime, "a");
    b = open_in(scene.runtime, "b");
    for (size_t i = 0; i < HOLDERS; i++) {
        holders[i] = (struct holder){.session = a, .extensions = slow, .call = call};
        pthread_create(&holders[i].thread, NULL, hold, &holders[i]);
    }
    EXPECT(http_server_await(scene.fixture.server, AT_ONCE), "they are under way");
    call.deadline = system_clock.monotonic(&system_clock) + PATIENCE;
    other = (struct holder){.session = b, .extensions = quick, .call = call};
    read_once(&other);
    EXPECT_INT(other.result, 0, "not held up");
    EXPECT_INT(other.status, 204, "answered");
    EXPECT_INT(http_server_requests(scene.fixture.server), AT_ONCE + 1, "the others of a wait");
    http_server_release(scene.fixture.server);
    for (size_t i = 0; i < HOLDERS; i++) {
        pthread_join(holders[i].thread, NULL);
        EXPECT_INT(holders[i].status, 200, "in their turn");
    }
    scene.runtime->ops->close(a);
    scene.runtime->ops->close(b);
    end(&scene);
}

/* A body of few bytes may have all attributes in thousands of places. */
static void a_body_is_bounded(void)
{
    _cleanup_free_ char *megabyte = str_printf("%0*d", 1 << 20, 1);
    _cleanup_value_ const struct value *extensions = NULL, *large = value_pack("s", megabyte);
    _cleanup_value_ const struct value *body = value_pack("[v,v,v,v]", large, large, large, large);
    struct runtime_call call = {.deadline = CLOCK_FOREVER};
    struct http_description description;
    struct runtime_session *session;
    struct rest_server *server = NULL;
    struct answer answer = {0};
    struct error error = {0};
    struct scene scene;

    begin(&scene);
    extensions = describe(&scene.fixture, "/none");
    session = open_in(scene.runtime, "a");
    EXPECT_INT(description_read(extensions, &description, NULL), 0, "a description");
    EXPECT_INT(session_server(session, &description, &call, &server, NULL), 0, "a server");
    EXPECT_INT(exchange_do(&(struct exchange){.server = server,
                                              .request = description.create,
                                              .path = "/",
                                              .body = body,
                                              .is_change = true},
                           &call, &answer, &error),
               ERR_INVALID, "too large");
    EXPECT_STR(error.reason, "TooLarge", error.message);
    EXPECT(!answer.sent, "nothing was sent");
    EXPECT_INT(http_server_requests(scene.fixture.server), 0, "and nothing came");
    answer_done(&answer);
    rest_server_unref(server);
    scene.runtime->ops->close(session);
    end(&scene);
}

SUITE(http_exchange, TEST(a_namespace_leaves_connections_to_others), TEST(a_body_is_bounded))
