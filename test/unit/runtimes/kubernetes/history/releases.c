#include "test/unit/runtimes/kubernetes/history/releases.h"

static const struct store_call plain;

const struct spec_key releases_web = {"team", "web"};

void releases_begin(struct releases *scene)
{
    *scene = (struct releases){.server = api_server_new()};
    api_client_start(&scene->client, scene->server, NULL, NULL);
    scene->history = kube_history_new(&(struct kube_cluster){scene->client.client, NULL});
    api_server_create(scene->server, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":"
                                     "{\"name\":\"team\"}}");
}

void releases_end(struct releases *scene)
{
    scene->history->ops->free(scene->history);
    api_client_stop(&scene->client);
    api_server_free(scene->server);
}

int releases_create(struct releases *scene, int64_t revision, char **ret_version)
{
    const struct release_head head = {
        .spec = releases_web, .revision = revision, .generation = 4, .operation = RELEASE_DESTROY};

    err_clear(&scene->error);
    return scene->history->ops->create(scene->history, &head, &plain, ret_version, &scene->error);
}

int releases_update(struct releases *scene, int64_t revision, const char *phase, char **version)
{
    _cleanup_value_ const struct value *status = value_pack("{s:s}", "phase", phase);
    const struct release_record record = {
        .head = {releases_web, revision, 4, RELEASE_APPLY, PHASE_NONE, NULL}, .status = status};

    err_clear(&scene->error);
    return scene->history->ops->update(scene->history, &record, &plain, version, &scene->error);
}
