#include "test/unit/runtimes/kubernetes/client/live.h"

#include <stdlib.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/client/path.h"
#include "test/unit/suite.h"

#define PATIENCE 90000 /* ms */

static void make_space(struct live *live)
{
    struct error error = {0};

    live->space =
        str_printf("live-%d-%lld", getpid(), (long long)system_clock.monotonic(&system_clock));
    EXPECT_INT(live_do(live, "POST", "/api/v1/namespaces",
                       "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":"
                       "\"@\"}}",
                       NULL, &error),
               0, error.message);
}

bool live_start_in_memory(struct live *live)
{
    struct kube_config config = {0};

    *live = (struct live){.memory = api_server_new()};
    config.server = str_new(api_server_url(live->memory));
    harness_connect(&live->harness, &(struct kube_client_config){.config = &config});
    free(config.server);
    make_space(live);
    return true;
}

bool live_start(struct live *live)
{
    const char *path = getenv("KUSION_TEST_KUBECONFIG");
    static bool is_said;
    struct kube_client_config config = {0};
    struct error error = {0};

    *live = (struct live){0};
    if (!path || !*path) {
        if (!is_said)
            printf("live: skipped: KUSION_TEST_KUBECONFIG is not set\n");
        is_said = true;
        return false;
    }
    if (kube_config_load(path, NULL, &live->config, &error) < 0) {
        EXPECT(false, error.message);
        return false;
    }
    config.config = live->config;
    harness_connect(&live->harness, &config);
    make_space(live);
    return true;
}

void live_stop(struct live *live)
{
    live_do(live, "DELETE", "/api/v1/namespaces/@", NULL, NULL, NULL);
    harness_stop(&live->harness, true);
    kube_config_free(live->config);
    api_server_free(live->memory);
    free(live->space);
}

char *live_text(const struct live *live, const char *text)
{
    struct buf filled = BUF_INIT;

    for (; *text; text++) {
        if (*text == '@')
            buf_add_str(&filled, live->space);
        else
            buf_add_char(&filled, *text);
    }
    return buf_take(&filled);
}

int live_do(struct live *live, const char *method, const char *path, const char *body,
            const struct value **ret, struct error *error)
{
    _cleanup_free_ char *where = live_text(live, path);
    _cleanup_free_ char *text = body ? live_text(live, body) : NULL;
    _cleanup_value_ const struct value *value = NULL;
    struct kube_request request = {
        .method = method, .path = where, .ref = {.name = harness_name(where)}, .idempotent = true};

    if (text)
        EXPECT_INT(json_read_str(text, &value, NULL), 0, text);
    request.body = value;
    if (str_equal(method, "PATCH"))
        request.content_type = KUBE_MERGE_PATCH;
    return kube_do(live->harness.client, &request, ret, error);
}

bool live_eventually(bool (*check)(void *arg), void *arg)
{
    int64_t end = system_clock.monotonic(&system_clock) + PATIENCE;

    while (!check(arg)) {
        if (system_clock.monotonic(&system_clock) > end)
            return false;
        usleep(50000);
    }
    return true;
}
