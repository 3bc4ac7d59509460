#include "test/unit/runtimes/kubernetes/client/harness.h"

#include <dirent.h>
#include <stdatomic.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "test/unit/suite.h"

void harness_connect(struct harness *harness, const struct kube_client_config *to)
{
    struct kube_client_config config = *to;
    struct http_loop_config requests = {.name = "http", .max_connections = 1},
                            watches = {.name = "watch"}, control = {.name = "control"};
    struct error error = {0};
    int rc = http_loop_new(&requests, &harness->requests, &error);

    if (rc == 0)
        rc = http_loop_new(&watches, &harness->watches, &error);
    if (rc == 0)
        rc = http_loop_new(&control, &harness->control, &error);
    config.requests = harness->requests;
    config.control = harness->control;
    config.watches = harness->watches;
    config.user_agent = "kusion-test";
    if (rc == 0)
        rc = kube_client_new(&config, &harness->client, &error);
    if (rc < 0) {
        fprintf(stderr, "harness: %s\n", error.message);
        abort();
    }
}

void harness_start(struct harness *harness, const struct fake_step *steps, size_t n_steps,
                   const struct kube_client_config *to)
{
    struct kube_client_config config = to ? *to : (struct kube_client_config){0};
    struct kube_config server = config.config ? *config.config : (struct kube_config){0};

    *harness = (struct harness){.server = fake_server_new(steps, n_steps)};
    server.server = str_new(fake_server_url(harness->server));
    config.config = &server;
    harness_connect(harness, &config);
    free(server.server);
}

const char *harness_name(const char *path)
{
    return strrchr(path, '/') + 1;
}

int harness_get(struct kube_client *client, const char *path, const struct value **ret,
                struct error *error)
{
    struct kube_request request = {.method = "GET", .path = path};

    return kube_do(client, &request, ret, error);
}

const struct kube_kind harness_things = {"v1", "Thing", "c", false};

void harness_stop(struct harness *harness, bool is_finished)
{
    kube_client_free(harness->client);
    http_loop_free(harness->requests);
    http_loop_free(harness->control);
    http_loop_free(harness->watches);
    if (harness->server) {
        char *problems = fake_server_problems(harness->server, is_finished);

        EXPECT_STR(problems, NULL, "the script");
        free(problems);
        fake_server_free(harness->server);
    }
}

static int64_t fake_now(const struct clock_source *source)
{
    const struct fake_clock *clock = (const struct fake_clock *)source;

    return atomic_load(&clock->now);
}

static int64_t fake_monotonic(const struct clock_source *source)
{
    struct fake_clock *clock = (struct fake_clock *)(uintptr_t)source;

    return atomic_fetch_add(&clock->monotonic, clock->step);
}

void fake_clock_init(struct fake_clock *clock)
{
    clock->step = 0;
    clock->source = (struct clock_source){.now = fake_now, .monotonic = fake_monotonic};
    atomic_store(&clock->now, 1767323045678); /* 2026-01-02T03:04:05.678Z */
    atomic_store(&clock->monotonic, FAKE_CLOCK_START);
}

char *harness_folder(void)
{
    char *folder = str_new("/tmp/kusion-test-XXXXXX");

    if (!mkdtemp(folder))
        abort();
    return folder;
}

void harness_write(const char *folder, const char *name, const char *text)
{
    _cleanup_free_ char *path = str_printf("%s/%s", folder, name);
    _cleanup_free_ char *fresh = str_printf("%s/.%s", folder, name);
    FILE *file = fopen(fresh, "we");

    if (!file || fputs(text, file) < 0 || fclose(file) != 0 || rename(fresh, path) < 0)
        abort();
}

void harness_remove(char *folder)
{
    DIR *files = opendir(folder);

    for (struct dirent *entry; (entry = readdir(files));) {
        _cleanup_free_ char *path = str_printf("%s/%s", folder, entry->d_name);

        unlink(path);
    }
    closedir(files);
    rmdir(folder);
    free(folder);
}
