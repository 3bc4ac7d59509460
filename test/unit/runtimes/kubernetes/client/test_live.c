/* The client against a real API server (live.h). */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "engine/value/json.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/client/discovery.h"
#include "runtimes/kubernetes/client/lease.h"
#include "runtimes/kubernetes/client/list.h"
#include "test/unit/runtimes/io/tcp_proxy.h"
#include "test/unit/runtimes/kubernetes/client/live.h"
#include "test/unit/runtimes/kubernetes/client/watch_log.h"
#include "test/unit/suite.h"

#define N_MANY     2500
#define MANY_BYTES 8192
#define N_WORKERS  8
#define N_WATCHES  4         /* connections that the harness may have by HTTP/1.1 */
#define RSS_GROWTH (4 << 20) /* bytes that a list of 20 MB may add */
#define GROUP      "@.kusion-live-test.example.com"
#define LABEL      "kusion-live-test" /* of all maps of a test, and of no other */

static struct kube_ref map_ref(const struct live *live, const char *name)
{
    return (struct kube_ref){&kube_config_maps, live->space, name, NULL};
}

static const struct value *config_map(const struct live *live, const char *name, const char *text)
{
    return value_pack("{s:s, s:s, s:{s:s, s:s, s:{s:s}}, s:{s:s}}", "apiVersion", "v1", "kind",
                      "ConfigMap", "metadata", "name", name, "namespace", live->space, "labels",
                      LABEL, "", "data", "text", text);
}

static int send_map(struct live *live, const char *method, const char *name, const char *text,
                    struct error *error)
{
    bool is_create = strcmp(method, "POST") == 0;
    _cleanup_value_ const struct value *body = text ? config_map(live, name, text) : NULL;
    struct kube_request request = {
        .method = method, .ref = map_ref(live, is_create ? NULL : name), .body = body};

    return kube_do(live->harness.client, &request, NULL, error);
}

/* ---- Connections ---- */

/* A client whose connections go through a proxy. */
struct proxied {
    struct tcp_proxy *proxy;
    struct kube_config config;
    struct harness harness;
};

/* False: the server is elsewhere, which is said. */
static bool proxied_start(struct proxied *proxied, const struct live *live, bool http1)
{
    struct kube_client_config config = {.config = &proxied->config, .http1 = http1};
    int64_t port;

    *proxied = (struct proxied){.config = *live->config};
    if (!str_has_prefix(live->config->server, "https://127.0.0.1:") ||
        !str_to_int64(strrchr(live->config->server, ':') + 1, &port)) {
        printf("skipped: the server is not on 127.0.0.1 ... ");
        return false;
    }
    proxied->proxy = tcp_proxy_new((int)port);
    proxied->config.server = str_printf("https://127.0.0.1:%d", tcp_proxy_port(proxied->proxy));
    harness_connect(&proxied->harness, &config);
    return true;
}

static void proxied_stop(struct proxied *proxied)
{
    harness_stop(&proxied->harness, true);
    tcp_proxy_free(proxied->proxy);
    free(proxied->config.server);
}

/* How many connections it takes to follow a collection N_WATCHES times at once. */
static size_t connections_used(struct live *live, bool http1, const char *name)
{
    _cleanup_free_ char *seen = str_printf("U %s ", name);
    struct kube_watch_config config = {.on_event = watch_log_event, .metadata_only = true};
    struct kube_watch *watches[N_WATCHES] = {NULL};
    struct watch_log logs[N_WATCHES];
    struct error error = {0};
    struct proxied proxied;
    size_t used;

    if (!proxied_start(&proxied, live, http1))
        return 0;
    config.ref = map_ref(live, NULL);
    for (size_t i = 0; i < N_WATCHES; i++) {
        watch_log_init(&logs[i]);
        config.arg = &logs[i];
        EXPECT_INT(kube_watch_new(proxied.harness.client, &config, &watches[i], &error), 0,
                   error.message);
        EXPECT(watch_log_wait(&logs[i], "S "), "synced");
    }
    EXPECT_INT(send_map(live, "POST", name, "1", &error), 0, error.message);
    for (size_t i = 0; i < N_WATCHES; i++)
        EXPECT(watch_log_wait(&logs[i], seen), "by its watch, which goes on");
    used = tcp_proxy_count(proxied.proxy);
    for (size_t i = 0; i < N_WATCHES; i++) {
        kube_watch_free(watches[i]);
        watch_log_done(&logs[i]);
    }
    proxied_stop(&proxied);
    return used;
}

static void follows_all_on_one_connection(void)
{
    struct live live;
    size_t one, many;

    if (!live_start(&live))
        return;
    one = connections_used(&live, false, "one");
    many = connections_used(&live, true, "many");
    if (one > 0) {
        EXPECT_INT(one, 1, "HTTP/2");
        EXPECT(many >= N_WATCHES, "HTTP/1.1 takes one for each");
    }
    live_stop(&live);
}

static void *get_often(void *arg)
{
    intptr_t failed = 0;

    for (int i = 0; i < 20; i++)
        failed += harness_get(arg, "/api/v1", NULL, NULL) != 0;
    return (void *)failed;
}

static void sends_all_on_one_connection(void)
{
    pthread_t threads[N_WORKERS];
    struct proxied proxied;
    struct live live;

    if (!live_start(&live))
        return;
    if (proxied_start(&proxied, &live, false)) {
        for (size_t i = 0; i < N_WORKERS; i++)
            pthread_create(&threads[i], NULL, get_often, proxied.harness.client);
        for (size_t i = 0; i < N_WORKERS; i++) {
            void *failed;

            pthread_join(threads[i], &failed);
            EXPECT_INT((intptr_t)failed, 0, "requests that failed");
        }
        EXPECT_INT(tcp_proxy_count(proxied.proxy), 1, "many threads at once");
        proxied_stop(&proxied);
    }
    live_stop(&live);
}

/* The CA's file is replaced while the client lives: requests go on. */
static void reads_a_ca_that_was_rotated(void)
{
    char path[] = "/tmp/kusion-live-ca-XXXXXX";
    struct kube_client_config config = {0};
    struct harness harness = {0};
    struct kube_config own;
    struct error error = {0};
    struct live live;
    FILE *file;

    if (!live_start(&live))
        return;
    close(mkstemp(path));
    own = *live.config;
    own.ca_pem = NULL; /* the system's CAs do not know it */
    own.ca_file = path;
    config.config = &own;
    harness_connect(&harness, &config);
    EXPECT_INT(harness_get(harness.client, "/api", NULL, &error), ERR_INVALID,
               "not before there is one that knows it");
    file = fopen(path, "w");
    fputs(live.config->ca_pem, file);
    fclose(file);
    error = (struct error){0};
    EXPECT_INT(harness_get(harness.client, "/api", NULL, &error), 0, error.message);
    harness_stop(&harness, true);
    unlink(path);
    live_stop(&live);
}

static void verifies_the_server(void)
{
    struct kube_config strange = {0};
    struct kube_client_config config = {.config = &strange};
    struct harness harness = {0};
    struct error error = {0};
    struct live live;

    if (!live_start(&live))
        return;
    strange = *live.config;
    strange.ca_pem = NULL; /* the system's CAs do not know it */
    harness_connect(&harness, &config);
    EXPECT_INT(harness_get(harness.client, "/api", NULL, &error), ERR_INVALID, error.message);
    EXPECT_STR(error.reason, "TLSVerification", error.message);
    harness_stop(&harness, true);

    strange = *live.config;
    strange.cert_pem = strange.key_pem = strange.token = strange.token_file = NULL;
    harness = (struct harness){0};
    harness_connect(&harness, &config);
    error.code = harness_get(harness.client, "/api/v1/secrets", NULL, &error);
    EXPECT(error.code == ERR_UNAUTHENTICATED || error.code == ERR_FORBIDDEN,
           "nobody without the certificate");
    harness_stop(&harness, true);
    live_stop(&live);
}

/* ---- Writing ---- */

static int apply(struct live *live, struct kube_ref ref, const struct value *body, bool dry_run,
                 const struct value **ret, struct error *error)
{
    struct kube_request request = {.method = "PATCH",
                                   .ref = ref,
                                   .body = body,
                                   .content_type = KUBE_APPLY_PATCH,
                                   .field_manager = "kusion-test",
                                   .force = true,
                                   .dry_run = dry_run,
                                   .idempotent = true};

    return kube_do(live->harness.client, &request, ret, error);
}

static const char *metadata(const struct value *object, const char *key)
{
    return value_get_string(value_get(object, "metadata"), key);
}

static void applies_and_changes_nothing_twice(void)
{
    _cleanup_value_ const struct value *body = NULL, *first = NULL, *second = NULL, *dry = NULL;
    struct kube_client_stats stats;
    struct error error = {0};
    struct kube_ref ref;
    struct live live;

    if (!live_start(&live))
        return;
    ref = map_ref(&live, "applied");
    body = config_map(&live, "applied", "x");
    EXPECT_INT(apply(&live, ref, body, true, &dry, &error), 0, error.message);
    EXPECT_INT(kube_get(live.harness.client, ref, NULL, NULL, &error), ERR_NOT_FOUND, "dry");
    EXPECT_INT(apply(&live, ref, body, false, &first, &error), 0, error.message);
    EXPECT_INT(apply(&live, ref, body, false, &second, &error), 0, error.message);
    EXPECT_STR(metadata(second, "resourceVersion"), metadata(first, "resourceVersion"), "no-op");
    kube_client_stats(live.harness.client, &stats);
    EXPECT_INT(stats.dry_runs, 1, "counted apart");
    EXPECT_INT(stats.writes, 3, "the namespace, and twice the map");
    live_stop(&live);
}

static void deletes_only_what_was_meant(void)
{
    _cleanup_value_ const struct value *wrong = NULL, *right = NULL, *object = NULL;
    struct kube_request request = {.method = "DELETE", .idempotent = true};
    struct error error = {0};
    struct live live;

    if (!live_start(&live))
        return;
    request.ref = map_ref(&live, "doomed");
    EXPECT_INT(send_map(&live, "POST", "doomed", "x", &error), 0, error.message);
    EXPECT_INT(send_map(&live, "POST", "doomed", "x", &error), ERR_EXISTS, "twice");
    EXPECT_INT(kube_get(live.harness.client, request.ref, NULL, &object, &error), 0, error.message);
    request.body = wrong = value_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind",
                                      "DeleteOptions", "preconditions", "uid", "not-this-one");
    EXPECT_INT(kube_do(live.harness.client, &request, NULL, &error), ERR_CONFLICT, error.message);
    request.body = right =
        value_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "DeleteOptions",
                   "preconditions", "uid", metadata(object, "uid"));
    EXPECT_INT(kube_do(live.harness.client, &request, NULL, &error), 0, error.message);
    EXPECT_INT(kube_do(live.harness.client, &request, NULL, &error), ERR_NOT_FOUND, "gone");
    live_stop(&live);
}

static void acts_for_others(void)
{
    _cleanup_free_ char *user = NULL;
    struct kube_request request = {.method = "GET"};
    struct error error = {0};
    struct live live;

    if (!live_start(&live))
        return;
    user = str_printf("system:serviceaccount:%s:nobody", live.space);
    request.ref = map_ref(&live, NULL);
    EXPECT_INT(kube_do(live.harness.client, &request, NULL, &error), 0, error.message);
    request.impersonate = user;
    EXPECT_INT(kube_do(live.harness.client, &request, NULL, &error), ERR_FORBIDDEN, "no rights");
    EXPECT(strstr(error.message, user) != NULL, error.message);
    live_stop(&live);
}

static void names_what_the_server_refuses(void)
{
    static const struct {
        const char *note;
        struct kube_kind kind;
        const char *text;
        int code;
        const char *reason, *says;
    } rows[] = {
        {"a field that is not in the schema",
         {"v1", "ConfigMap", "configmaps", true},
         "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\"},\"dada\":{}}",
         ERR_INVALID,
         "InvalidSchema",
         "dada"},
        {"a value of another type",
         {"v1", "Pod", "pods", true},
         "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"x\"},\"spec\":{"
         "\"containers\":[{\"name\":\"a\",\"image\":\"b\",\"env\":[{\"name\":\"A\",\"value\":"
         "5550123}]}]}}",
         ERR_INVALID,
         "InvalidSchema",
         "env"},
        {"a value that is not allowed",
         {"v1", "Service", "services", true},
         "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"x\"},\"spec\":{"
         "\"type\":\"s3cret\",\"ports\":[{\"port\":5550123}]}}",
         ERR_INVALID,
         "Invalid",
         "spec.type: Unsupported value: (redacted)"},
        {"a kind that is not there",
         {"nowhere.example.com/v1", "Widget", "widgets", true},
         "{\"apiVersion\":\"nowhere.example.com/v1\",\"kind\":\"Widget\",\"metadata\":{\"name\":"
         "\"x\"}}",
         ERR_UNAVAILABLE,
         "NotServed",
         "404"},
    };
    struct live live;

    if (!live_start(&live))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *body = NULL;
        const struct kube_ref ref = {&rows[i].kind, live.space, "x", NULL};
        struct error error = {0};

        CU_ASSERT_EQUAL(json_read_str(rows[i].text, &body, NULL), 0);
        EXPECT_INT(apply(&live, ref, body, false, NULL, &error), rows[i].code, rows[i].note);
        EXPECT_STR(error.reason, rows[i].reason, error.message);
        EXPECT(strstr(error.message, rows[i].says) != NULL, error.message);
        EXPECT(!strstr(error.message, "s3cret") && !strstr(error.message, "5550123"),
               error.message);
    }
    live_stop(&live);
}

static void tells_a_missing_namespace_from_a_missing_object(void)
{
    struct live live, nowhere = {.space = (char *)(uintptr_t) "no-such-namespace"};
    _cleanup_value_ const struct value *body = config_map(&nowhere, "x", "x");
    const struct kube_ref ref = map_ref(&nowhere, "x");
    struct error error = {0};

    if (!live_start(&live))
        return;
    EXPECT_INT(apply(&live, ref, body, false, NULL, &error), ERR_INVALID, "nowhere to put it");
    EXPECT_STR(error.reason, "NamespaceNotFound", error.message);
    EXPECT_INT(kube_get(live.harness.client, ref, NULL, NULL, &error), ERR_NOT_FOUND, "absent");
    live_stop(&live);
}

/* ---- Lists and watches ---- */

struct makers {
    struct live *live;
    char *text;
    atomic_int next, failed;
};

static void *make_maps(void *arg)
{
    struct makers *makers = arg;
    int i;

    while ((i = atomic_fetch_add(&makers->next, 1)) < N_MANY) {
        _cleanup_free_ char *name = str_printf("many-%04d", i);

        atomic_fetch_add(&makers->failed,
                         send_map(makers->live, "POST", name, makers->text, NULL) != 0);
    }
    return NULL;
}

static void make_many(struct live *live)
{
    _cleanup_free_ char *text = malloc(MANY_BYTES + 1);
    struct makers makers = {.live = live, .text = text};
    pthread_t threads[N_WORKERS];

    memset(text, 'x', MANY_BYTES);
    text[MANY_BYTES] = '\0';
    for (size_t i = 0; i < N_WORKERS; i++)
        pthread_create(&threads[i], NULL, make_maps, &makers);
    for (size_t i = 0; i < N_WORKERS; i++)
        pthread_join(threads[i], NULL);
    EXPECT_INT(makers.failed, 0, "maps that were not made");
}

static long rss_peak(void)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    long kib = 0;

    while (fgets(line, sizeof(line), file))
        if (str_has_prefix(line, "VmHWM:"))
            kib = strtol(line + strlen("VmHWM:"), NULL, 10);
    fclose(file);
    return kib * 1024;
}

static void reset_rss_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "we");

    if (file) {
        fputs("5", file);
        fclose(file);
    }
}

static int count_item(void *arg, const struct value *item, struct error *error)
{
    (void)error;
    *(int *)arg += metadata(item, "name") != NULL;
    return 0;
}

static void lists_in_constant_memory(void)
{
    _cleanup_free_ char *version = NULL;
    struct kube_list list = {.on_item = count_item};
    struct kube_client_stats before, after;
    struct error error = {0};
    long peak, grown;
    struct live live;
    int count = 0;

    if (!live_start(&live))
        return;
    make_many(&live);
    list.ref = map_ref(&live, NULL);
    list.arg = &count;
    EXPECT_INT(kube_list(live.harness.client, &list, NULL, &error), 0, error.message); /* warm */
    kube_client_stats(live.harness.client, &before);
    reset_rss_peak();
    peak = rss_peak();
    count = 0;
    EXPECT_INT(kube_list(live.harness.client, &list, &version, &error), 0, error.message);
    grown = rss_peak() - peak;
    kube_client_stats(live.harness.client, &after);
    EXPECT(count >= N_MANY, "all of them, and the namespace's own");
    EXPECT_INT(after.reads - before.reads, (count + KUBE_LIST_PAGE - 1) / KUBE_LIST_PAGE, "pages");
    EXPECT(version && *version, "to watch from");
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    (void)grown; /* the sanitizers keep what was freed */
#else
    printf("%d maps, %ld kB more at the peak ... ", count, grown / 1024);
    EXPECT(grown < RSS_GROWTH, "memory of a page at most");
#endif
    count = 0;
    list.metadata_only = true;
    EXPECT_INT(kube_list(live.harness.client, &list, NULL, &error), 0, error.message);
    EXPECT(count >= N_MANY, "as metadata too");
    live_stop(&live);
}

static void follows_through_broken_connections(void)
{
    _cleanup_free_ char *text = NULL;
    struct kube_watch_config config = {.on_event = watch_log_event, .metadata_only = true};
    struct kube_watch *watch = NULL;
    struct proxied proxied;
    struct error error = {0};
    struct watch_log log;
    struct live live;

    if (!live_start(&live))
        return;
    if (!proxied_start(&proxied, &live, false)) {
        live_stop(&live);
        return;
    }
    watch_log_init(&log);
    config.arg = &log;
    config.ref = map_ref(&live, NULL);
    config.selector.labels = LABEL;

    EXPECT_INT(send_map(&live, "POST", "a", "1", &error), 0, error.message);
    EXPECT_INT(kube_watch_new(proxied.harness.client, &config, &watch, &error), 0, error.message);
    EXPECT(watch_log_wait(&log, "U a "), "listed");
    EXPECT(watch_log_wait(&log, "S "), "synced");
    EXPECT_INT(send_map(&live, "POST", "b", "1", &error), 0, error.message);
    EXPECT(watch_log_wait(&log, "S U b "), "created");
    tcp_proxy_break(proxied.proxy);
    EXPECT_INT(send_map(&live, "PUT", "a", "2", &error), 0, error.message);
    EXPECT(watch_log_wait(&log, "S U b U a "), "modified while it was away");
    tcp_proxy_break(proxied.proxy);
    EXPECT_INT(send_map(&live, "DELETE", "b", NULL, &error), 0, error.message);
    EXPECT(watch_log_wait(&log, "S U b U a D b "), "deleted while it was away");
    EXPECT(tcp_proxy_count(proxied.proxy) >= 3, "by three connections");
    EXPECT_STR(metadata(log.last_deleted, "namespace"), live.space, "of the deleted");
    text = watch_log_text(&log);
    EXPECT(strstr(text, "E ") == NULL, text);

    kube_watch_free(watch);
    watch_log_done(&log);
    proxied_stop(&proxied);
    live_stop(&live);
}

/* ---- Discovery, leases ---- */

#define CRD_PATH "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
static const char crd[] =
    "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","
    "\"metadata\":{\"name\":\"widgets." GROUP "\"},\"spec\":{\"group\":\"" GROUP "\","
    "\"scope\":\"Namespaced\",\"names\":{\"plural\":\"widgets\",\"singular\":\"widget\",\"kind\":"
    "\"Widget\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{"
    "\"openAPIV3Schema\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}]}}";

struct search {
    struct kube_discovery *discovery;
    char *group_version;
    const struct kube_kind *kind;
    struct error error;
};

static int find(struct search *search)
{
    return kube_discovery_find(search->discovery, search->group_version, "Widget",
                               &(struct kube_wait){0}, &search->kind, &search->error);
}

static bool is_found(void *arg)
{
    return find(arg) == 0;
}

/* Before that, an API server may take minutes to delete the definition. */
static bool are_listed(void *arg)
{
    return live_do(arg, "GET", "/apis/" GROUP "/v1/widgets", NULL, NULL, NULL) == 0;
}

static void discovers_a_kind_that_just_came(void)
{
    const struct kube_kind *kind = NULL;
    struct kube_discovery *discovery;
    struct search search = {0};
    struct error error = {0};
    struct live live;

    if (!live_start(&live))
        return;
    discovery = kube_discovery_new(live.harness.client, &system_clock);
    search.discovery = discovery;
    search.group_version = live_text(&live, GROUP "/v1");
    EXPECT_INT(
        kube_discovery_find(discovery, "v1", "Namespace", &(struct kube_wait){0}, &kind, &error), 0,
        error.message);
    EXPECT(!kind->namespaced, "cluster-scoped");
    EXPECT_INT(kube_discovery_find(discovery, "apps/v1", "Deployment", &(struct kube_wait){0},
                                   &kind, &error),
               0, error.message);
    EXPECT_STR(kind->plural, "deployments", "");
    EXPECT_INT(find(&search), ERR_NOT_FOUND, search.error.message);
    EXPECT_STR(search.error.reason, "KindNotServed", search.error.message);
    EXPECT_INT(live_do(&live, "POST", CRD_PATH, crd, NULL, &error), 0, error.message);
    EXPECT(live_eventually(is_found, &search), search.error.message);
    EXPECT_STR(search.kind ? search.kind->plural : NULL, "widgets", "");
    EXPECT(live_eventually(are_listed, &live), "served");
    EXPECT_INT(live_do(&live, "DELETE", CRD_PATH "/widgets." GROUP, NULL, NULL, &error), 0,
               error.message);
    kube_discovery_free(discovery);
    free(search.group_version);
    live_stop(&live);
}

static void hands_a_lease_over(void)
{
    struct lease_config config = {.name = "l", .duration = 6000};
    struct lease *one, *two;
    struct error error = {0};
    struct live live;
    int64_t start;
    int rc;

    if (!live_start(&live))
        return;
    config.namespace_name = live.space;
    config.identity = "one";
    one = lease_new(live.harness.client, &system_clock, &config);
    config.identity = "two";
    two = lease_new(live.harness.client, &system_clock, &config);

    EXPECT_INT(lease_acquire(one, NULL, &error), 0, error.message);
    EXPECT_INT(lease_acquire(two, NULL, &error), ERR_CONFLICT, "held");
    EXPECT_INT(lease_acquire(one, NULL, &error), 0, "renewed");
    EXPECT(lease_is_held(one, 0) && !lease_is_held(two, 0), "one");
    lease_release(one);
    EXPECT_INT(lease_acquire(two, NULL, &error), 0, "given up: taken at once");
    EXPECT_INT(lease_epoch(two), lease_epoch(one) + 1, "another holder");

    start = system_clock.monotonic(&system_clock); /* two falls silent */
    while ((rc = lease_acquire(one, NULL, &error)) == ERR_CONFLICT &&
           system_clock.monotonic(&system_clock) - start < 60000) {
        EXPECT(!lease_is_held(one, 0), "not both");
        usleep(100000);
    }
    EXPECT_INT(rc, 0, error.message);
    EXPECT(system_clock.monotonic(&system_clock) - start >= 5900, "not before its end");
    EXPECT(!lease_is_held(two, 0), "two knows without a request");
    EXPECT_INT(lease_acquire(two, NULL, &error), ERR_CONFLICT, "and with one");
    lease_free(one);
    lease_free(two);
    live_stop(&live);
}

SUITE(live, TEST(sends_all_on_one_connection), TEST(follows_all_on_one_connection),
      TEST(verifies_the_server), TEST(reads_a_ca_that_was_rotated),
      TEST(applies_and_changes_nothing_twice), TEST(deletes_only_what_was_meant),
      TEST(acts_for_others), TEST(names_what_the_server_refuses),
      TEST(tells_a_missing_namespace_from_a_missing_object), TEST(lists_in_constant_memory),
      TEST(follows_through_broken_connections), TEST(discovers_a_kind_that_just_came),
      TEST(hands_a_lease_over))
