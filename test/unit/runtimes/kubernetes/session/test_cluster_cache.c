/* Two clusters under one runtime: what was learned of one says nothing of the other. */
#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/session/setup.h"
#include "test/unit/runtimes/kubernetes/client/api_server_client.h"
#include "test/unit/runtimes/kubernetes/session/stage.h"
#include "test/unit/suite.h"

#define LIST    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define ACCOUNT "/api/v1/namespaces/default/serviceaccounts/deployer"

struct site {
    struct api_server *server;
    struct api_client client;
    struct kube_cluster cluster;
};

struct pair {
    struct site own, other;
    struct kube_runtime runtime;
};

static void open_cluster(struct site *site)
{
    site->server = api_server_new();
    api_client_start(&site->client, site->server, NULL, NULL);
    site->cluster = (struct kube_cluster){site->client.client,
                                          kube_discovery_new(site->client.client, &system_clock)};
}

static void close_cluster(struct site *site)
{
    kube_discovery_free(site->cluster.discovery);
    api_client_stop(&site->client);
    api_server_free(site->server);
}

static void begin(struct pair *pair)
{
    *pair = (struct pair){0};
    open_cluster(&pair->own);
    open_cluster(&pair->other);
    kube_runtime_init(&pair->runtime, &(struct kube_runtime_config){.cluster = pair->own.cluster,
                                                                    .clock = &system_clock});
}

static void end(struct pair *pair)
{
    kube_runtime_done(&pair->runtime);
    close_cluster(&pair->own);
    close_cluster(&pair->other);
}

static struct runtime_session *open_in(struct pair *pair, const struct site *site)
{
    _cleanup_value_ const struct value *identity =
        value_pack("{s:s}", "serviceAccountName", "deployer");
    struct runtime_scope scope = {.key = {"default", "web"}, .identity = identity};

    return session_new(&pair->runtime, &site->cluster, &scope);
}

static int check_account(struct pair *pair, const struct site *site)
{
    struct runtime_session *session = open_in(pair, site);
    int r = session_check_account(session, &stage_call, NULL);

    session_unref(session);
    return r;
}

static void an_account_is_that_of_its_cluster(void)
{
    struct runtime_session *kept;
    struct pair pair;

    begin(&pair);
    kept = open_in(&pair, &pair.other);
    api_server_create(pair.own.server,
                      "{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"metadata\":{\"name\":"
                      "\"deployer\",\"namespace\":\"default\"}}");
    EXPECT_INT(check_account(&pair, &pair.own), 0, "it exists there");
    EXPECT_INT(check_account(&pair, &pair.own), 0, "and is remembered");
    EXPECT_INT(api_server_count(pair.own.server, NULL, ACCOUNT), 1, "one request");
    EXPECT_INT(check_account(&pair, &pair.other), ERR_INVALID, "not here");
    EXPECT_INT(check_account(&pair, &pair.own), 0, "still remembered");
    EXPECT_INT(api_server_count(pair.own.server, NULL, ACCOUNT), 1, "one request");
    session_unref(kept);
    end(&pair);
}

static int is_undefined(struct runtime_session *session, unsigned n)
{
    _cleanup_free_ char *text = str_printf("{\"apiVersion\":\"x.io/v1\",\"kind\":\"Widget%u\"}", n);
    const struct value *attributes = stage_value(text);
    int r = kube_is_undefined(session, attributes, &stage_call, NULL);

    value_unref(attributes);
    return r;
}

static void a_definition_is_that_of_its_cluster(void)
{
    struct runtime_session *own, *other;
    struct pair pair;

    begin(&pair);
    own = open_in(&pair, &pair.own);
    other = open_in(&pair, &pair.other);
    api_server_create(
        pair.other.server,
        "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","
        "\"metadata\":{\"name\":\"widget0s.x.io\"},\"spec\":{\"group\":\"x.io\",\"scope\":"
        "\"Namespaced\",\"names\":{\"kind\":\"Widget0\",\"plural\":\"widget0s\"},\"versions\":[{"
        "\"name\":\"v1\",\"served\":true,\"storage\":true}]}}");
    EXPECT_INT(is_undefined(own, 0), 1, "nothing defines it");
    EXPECT_INT(is_undefined(other, 0), 0, "it is defined here");
    EXPECT_INT(is_undefined(own, 0), 1, "as before");
    EXPECT_INT(api_server_count(pair.own.server, "list", LIST), 1, "a list of each");
    EXPECT_INT(api_server_count(pair.other.server, "list", LIST), 1, "a list of each");
    session_unref(own);
    session_unref(other);
    end(&pair);
}

/* What is applied to one cluster does not outdate what is known of the other; nor do the searches
 * in one keep from looking in the other. */
static void a_cluster_holds_up_no_other(void)
{
    const struct value *widget = stage_value("{\"apiVersion\":\"x.io/v1\",\"kind\":\"Widget\"}");
    struct runtime_session *own, *other;
    struct pair pair;
    int r = 1;

    begin(&pair);
    own = open_in(&pair, &pair.own);
    other = open_in(&pair, &pair.other);
    for (unsigned i = 0; i < 50 && r == 1; i++)
        r = is_undefined(own, i);
    EXPECT_INT(r, ERR_UNAVAILABLE, "too many in a moment");
    EXPECT_INT(is_undefined(other, 99), 1, "the first here");
    kube_note_applied(other, widget);
    EXPECT_INT(own->cache->applied_at, INT64_MIN, "nothing was applied there");
    EXPECT(other->cache->applied_at > 0, "but here");
    value_unref(widget);
    session_unref(own);
    session_unref(other);
    end(&pair);
}

/* The runtime keeps what is known of its own cluster; of another the sessions do. */
static void goes_with_the_last_session(void)
{
    struct runtime_session *first, *second, *own;
    struct kube_runtime *runtime;
    struct pair pair;

    begin(&pair);
    runtime = &pair.runtime;
    own = open_in(&pair, &pair.own);
    first = open_in(&pair, &pair.other);
    second = open_in(&pair, &pair.other);
    EXPECT(own->cache == runtime->own, "the runtime's own");
    EXPECT(first->cache == second->cache, "one of a cluster");
    EXPECT(first->cache != own->cache, "each its own");
    session_unref(own);
    session_unref(first);
    EXPECT(LIST_NEXT(LIST_FIRST(&runtime->caches.list), all) != NULL, "both");
    session_unref(second);
    EXPECT(LIST_FIRST(&runtime->caches.list) == runtime->own, "its own stays");
    EXPECT(LIST_NEXT(runtime->own, all) == NULL, "alone");
    end(&pair);
}

SUITE(kube_cluster_cache, TEST(an_account_is_that_of_its_cluster),
      TEST(a_definition_is_that_of_its_cluster), TEST(a_cluster_holds_up_no_other),
      TEST(goes_with_the_last_session))
