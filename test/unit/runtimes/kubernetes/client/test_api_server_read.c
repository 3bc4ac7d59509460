/* Lists and watches of the API server in memory, by the client's own. */
#include <pthread.h>

#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/client/discovery.h"
#include "runtimes/kubernetes/client/list.h"
#include "test/unit/runtimes/kubernetes/client/api_server_client.h"
#include "test/unit/runtimes/kubernetes/client/watch_log.h"
#include "test/unit/suite.h"

#define CMS "/api/v1/namespaces/default/configmaps"

static void make(struct api_server *server, const char *name, const char *labels)
{
    _cleanup_free_ char *text = str_printf(
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"namespace\":\"default\","
        "\"name\":\"%s\",\"labels\":{%s}},\"data\":{\"x\":\"1\"}}",
        name, labels);

    api_server_create(server, text);
}

static int note_name(void *arg, const struct value *item, struct error *error)
{
    struct buf *names = arg;

    (void)error;
    buf_printf(names, "%s%s ", value_string(value_path(item, "metadata", "name", NULL)),
               value_get(item, "data") ? "" : "*");
    return 0;
}

static void lists(void)
{
    static const struct kube_kind nones = {"v1", "None", "nones", true};
    static const struct {
        const char *note;
        const struct kube_kind *kind;
        const char *namespace_name;
        struct kube_selector selector;
        bool metadata_only;
        int code;
        const char *names;
    } rows[] = {
        {"all", &kube_config_maps, "default", {0}, false, 0, "a b c "},
        {"metadata", &kube_config_maps, "default", {0}, true, 0, "a* b* c* "},
        {"in all namespaces", &kube_config_maps, NULL, {0}, false, 0, "a b c "},
        {"in another namespace", &kube_config_maps, "none", {0}, false, 0, ""},
        {"a label is", &kube_config_maps, "default", {.labels = "l=1"}, false, 0, "a b "},
        {"a label", &kube_config_maps, "default", {.labels = "l"}, false, 0, "a b "},
        {"no label", &kube_config_maps, "default", {.labels = "!l"}, false, 0, "c "},
        {"a label is not", &kube_config_maps, "default", {.labels = "l!=1"}, false, 0, "c "},
        {"both", &kube_config_maps, "default", {.labels = "l=1,m=2"}, false, 0, "b "},
        {"a name", &kube_config_maps, "default", {.fields = "metadata.name=b"}, false, 0, "b "},
        {"no field", &kube_config_maps, "default", {.fields = "data.x=1"}, false, ERR_INVALID, ""},
        {"no kind", &nones, "default", {0}, false, ERR_UNAVAILABLE, ""},
    };
    _cleanup_(api_server_free_p) struct api_server *server = api_server_new();
    struct api_client client;

    make(server, "b", "\"l\":\"1\",\"m\":\"2\"");
    make(server, "a", "\"l\":\"1\"");
    make(server, "c", "");
    api_client_start(&client, server, NULL, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_buf_ struct buf names = BUF_INIT;
        struct kube_list list = {.ref = {rows[i].kind, rows[i].namespace_name, NULL, NULL},
                                 .selector = rows[i].selector,
                                 .metadata_only = rows[i].metadata_only,
                                 .on_item = note_name,
                                 .arg = &names};

        EXPECT_INT(kube_list(client.client, &list, NULL, NULL), rows[i].code, rows[i].note);
        EXPECT_STR(names.data, rows[i].names, rows[i].note);
    }
    api_client_stop(&client);
}

static void gives_pages(void)
{
    _cleanup_(api_server_free_p) struct api_server *server = api_server_new();
    _cleanup_(value_unref_p) const struct value *last = NULL;
    _cleanup_buf_ struct buf names = BUF_INIT;
    struct api_client client;
    struct kube_list list = {
        .ref = {&kube_config_maps, "default", NULL, NULL}, .on_item = note_name, .arg = &names};
    size_t count = 0;

    for (unsigned i = 0; i < KUBE_LIST_PAGE + 3; i++) {
        _cleanup_free_ char *name = str_printf("c-%04u", i);

        make(server, name, "");
    }
    api_client_start(&client, server, NULL, NULL);
    EXPECT_INT(kube_list(client.client, &list, NULL, NULL), 0, "all pages");
    for (const char *c = names.data; *c; c++)
        count += *c == ' ';
    EXPECT_INT(count, KUBE_LIST_PAGE + 3, "each once");
    EXPECT(str_has_suffix(names.data, "c-0501 c-0502 "), "in order");
    EXPECT_INT(api_server_count(server, "list", CMS), 2, "two pages");
    api_client_stop(&client);
}

static void selects_releases_by_spec(void)
{
    _cleanup_(api_server_free_p) struct api_server *server = api_server_new();

    for (unsigned i = 0; i < 3; i++) {
        _cleanup_free_ char *text = str_printf(
            "{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Release\",\"metadata\":{\"namespace\":"
            "\"default\",\"name\":\"r-%u\"},\"spec\":{\"specRef\":{\"name\":\"%s\"}}}",
            i, i ? "web" : "db");

        api_server_create(server, text);
    }
    EXPECT_INT(api_server_size(server, "/apis/api.kusion.io/v1/namespaces/default/releases"
                                       "?fieldSelector=spec.specRef.name%3Dweb"),
               2, "by the Spec's name");
}

/* ---- Watches ---- */

struct seen {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct buf text;
};

static void on_event(void *arg, enum kube_watch_event event, const struct value *object,
                     const struct error *error)
{
    static const char *const marks[] = {"+", "-", "synced", "error"};
    struct seen *seen = arg;
    const char *name = value_string(value_path(object, "metadata", "name", NULL));

    (void)error;
    pthread_mutex_lock(&seen->lock);
    buf_printf(&seen->text, "%s%s ", marks[event], name ? name : "");
    pthread_cond_broadcast(&seen->changed);
    pthread_mutex_unlock(&seen->lock);
}

/* Waits until all that was seen since the last time is as expected. */
static void expect_seen(struct seen *seen, const char *expected)
{
    struct timespec until;
    int r = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    pthread_mutex_lock(&seen->lock);
    while (strcmp(seen->text.data, expected) != 0 && r == 0)
        r = pthread_cond_timedwait(&seen->changed, &seen->lock, &until);
    EXPECT_STR(seen->text.data, expected, "");
    buf_reset(&seen->text);
    pthread_mutex_unlock(&seen->lock);
}

static void shows_what_changes(void)
{
    _cleanup_(api_server_free_p) struct api_server *server = api_server_new();
    struct seen seen = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, BUF_INIT};
    struct kube_watch_config config = {.ref = {&kube_config_maps, "default", NULL, NULL},
                                       .selector = {.labels = "l=1"},
                                       .metadata_only = true,
                                       .on_event = on_event,
                                       .arg = &seen};
    _cleanup_(kube_watch_free_p) struct kube_watch *watch = NULL;
    struct api_client client;

    make(server, "a", "\"l\":\"1\"");
    make(server, "other", "");
    api_client_start(&client, server, NULL, NULL);
    EXPECT_INT(kube_watch_new(client.client, &config, &watch, NULL), 0, "a watch");
    expect_seen(&seen, "+a synced ");
    make(server, "b", "\"l\":\"1\"");
    expect_seen(&seen, "+b ");
    api_server_edit(server, CMS "/other", "{\"data\":{\"x\":\"2\"}}");
    api_server_edit(server, CMS "/a", "{\"data\":{\"x\":\"2\"}}");
    expect_seen(&seen, "+a ");
    api_server_edit(server, CMS "/a", "{\"metadata\":{\"labels\":null}}");
    expect_seen(&seen, "-a ");
    api_server_edit(server, CMS "/other", "{\"metadata\":{\"labels\":{\"l\":\"1\"}}}");
    expect_seen(&seen, "+other ");
    api_server_delete(server, CMS "/b");
    expect_seen(&seen, "-b ");

    api_server_end_watches(server);
    make(server, "c", "\"l\":\"1\"");
    expect_seen(&seen, "+c ");
    EXPECT_INT(api_server_count(server, "list", CMS), 1, "it goes on from where it ended");

    kube_watch_free(TAKE(watch));
    buf_done(&seen.text);
    api_client_stop(&client);
}

/* What is gone from the server's memory is listed again. */
static void forgets_versions(void)
{
    _cleanup_(api_server_free_p) struct api_server *server = api_server_new();
    struct seen seen = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, BUF_INIT};
    struct kube_watch_config config = {
        .ref = {&kube_config_maps, "default", NULL, NULL}, .on_event = on_event, .arg = &seen};
    _cleanup_(kube_watch_free_p) struct kube_watch *watch = NULL;
    struct api_client client;

    make(server, "a", "");
    api_client_start(&client, server, NULL, NULL);
    EXPECT_INT(kube_watch_new(client.client, &config, &watch, NULL), 0, "a watch");
    expect_seen(&seen, "+a synced ");
    api_server_compact(server);
    expect_seen(&seen, "+a ");
    EXPECT_INT(api_server_count(server, "list", CMS), 2, "listed again");
    kube_watch_free(TAKE(watch));
    buf_done(&seen.text);
    api_client_stop(&client);
}

static void tells_its_kinds(void)
{
    static const struct {
        const char *group_version, *kind;
        int code;
        const char *plural;
        bool is_namespaced;
    } rows[] = {
        {"v1", "ConfigMap", 0, "configmaps", true},
        {"v1", "Namespace", 0, "namespaces", false},
        {"apps/v1", "Deployment", 0, "deployments", true},
        {"api.kusion.io/v1", "Release", 0, "releases", true},
        {"v1", "None", ERR_NOT_FOUND, NULL, false},
        {"none.org/v1", "None", ERR_NOT_FOUND, NULL, false},
    };
    _cleanup_(api_server_free_p) struct api_server *server = api_server_new();
    struct kube_discovery *discovery;
    struct api_client client;

    api_client_start(&client, server, NULL, NULL);
    discovery = kube_discovery_new(client.client, &system_clock);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct kube_kind *kind = NULL;

        EXPECT_INT(kube_discovery_find(discovery, rows[i].group_version, rows[i].kind,
                                       &(struct kube_wait){0}, &kind, NULL),
                   rows[i].code, rows[i].kind);
        EXPECT_STR(kind ? kind->plural : NULL, rows[i].plural, rows[i].kind);
        EXPECT_INT(kind && kind->namespaced, rows[i].is_namespaced, rows[i].kind);
    }
    kube_discovery_free(discovery);
    api_client_stop(&client);
}

SUITE(api_server_read, TEST(lists), TEST(gives_pages), TEST(selects_releases_by_spec),
      TEST(shows_what_changes), TEST(forgets_versions), TEST(tells_its_kinds))
