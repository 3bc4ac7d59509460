#include "test/unit/runtimes/io/http_fixture.h"

void fixture_init(struct fixture *fixture, unsigned max_connections)
{
    struct http_loop_config loop = {.name = "test", .max_connections = max_connections};
    struct http_client_config client = {.user_agent = "test/1"};
    struct error error = {0};

    fixture->server = http_server_new();
    client.base_url = http_server_url(fixture->server);
    CU_ASSERT_FATAL(http_loop_new(&loop, &fixture->loop, &error) == 0);
    CU_ASSERT_FATAL(http_client_new(fixture->loop, &client, &fixture->client, &error) == 0);
}

void fixture_done(struct fixture *fixture)
{
    http_client_free(fixture->client);
    http_loop_free(fixture->loop);
    http_server_free(fixture->server);
}

int fixture_get(struct fixture *fixture, const char *path, struct http_response *response,
                struct error *error)
{
    struct http_request request = {.method = "GET", .path = path, .timeout = 10000};

    return http_do(fixture->client, &request, response, error);
}

static void *run(void *arg)
{
    struct background *background = arg;

    background->result = http_do(background->client, &background->request, &background->response,
                                 &background->error);
    return NULL;
}

void background_start(struct background *background, struct http_client *client,
                      const struct http_request *request)
{
    *background =
        (struct background){.client = client, .request = *request, .response = HTTP_RESPONSE_INIT};
    CU_ASSERT_FATAL(pthread_create(&background->thread, NULL, run, background) == 0);
}

int background_wait(struct background *background)
{
    pthread_join(background->thread, NULL);
    return background->result;
}

void background_done(struct background *background)
{
    http_response_done(&background->response);
}
