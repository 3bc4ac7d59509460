/* Clusters that tenants chose: shared, bounded, closed, and not asked again and again. */
#include "runtimes/kubernetes/session/clusters.h"

#include <stdio.h>

#include "engine/base/str.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

struct fixture {
    struct http_loop *loop;
    struct fake_clock clock;
    struct clusters *clusters;
};

static void begin(struct fixture *fixture)
{
    *fixture = (struct fixture){0};
    CU_ASSERT_FATAL(
        http_loop_new(&(struct http_loop_config){.name = "test"}, &fixture->loop, NULL) == 0);
    fake_clock_init(&fixture->clock);
    fixture->clusters =
        clusters_new(&(struct clusters_config){.requests = fixture->loop, .watches = fixture->loop},
                     &fixture->clock.source);
}

static void end(struct fixture *fixture)
{
    clusters_free(fixture->clusters);
    http_loop_free(fixture->loop);
}

static int get(struct fixture *fixture, const char *namespace_name, unsigned number,
               struct foreign_cluster **ret, struct error *error)
{
    char server[64], ca[] = "CA", home[] = "shop";
    const struct kube_config config = {.server = server, .ca_pem = ca, .namespace_name = home};

    snprintf(server, sizeof(server), "https://192.0.2.1:%u", number);
    return clusters_get(fixture->clusters, namespace_name, &config, ret, error);
}

static struct foreign_cluster *must(struct fixture *fixture, const char *namespace_name,
                                    unsigned number)
{
    struct foreign_cluster *cluster = NULL;
    struct error error = {0};

    EXPECT_INT(get(fixture, namespace_name, number, &cluster, &error), 0, error.message);
    return cluster;
}

static void one_is_shared_within_a_namespace(void)
{
    struct foreign_cluster *first, *same, *other, *of_another;
    struct fixture fixture;

    begin(&fixture);
    first = must(&fixture, "a", 1);
    same = must(&fixture, "a", 1);
    other = must(&fixture, "a", 2);
    of_another = must(&fixture, "b", 1);
    EXPECT(first == same, "the same kubeconfig");
    EXPECT(other != first, "another server");
    EXPECT(of_another != first, "another namespace");
    EXPECT(foreign_cluster_get(first)->client != foreign_cluster_get(of_another)->client, "client");
    EXPECT_STR(foreign_cluster_namespace(first), "shop", "as the kubeconfig says");
    EXPECT_INT(clusters_count(fixture.clusters), 3, "so many");
    foreign_cluster_unref(first);
    foreign_cluster_unref(same);
    foreign_cluster_unref(other);
    foreign_cluster_unref(of_another);
    end(&fixture);
}

static void one_that_nobody_uses_is_closed(void)
{
    struct foreign_cluster *kept;
    struct fixture fixture;

    begin(&fixture);
    kept = must(&fixture, "a", 1);
    foreign_cluster_unref(must(&fixture, "a", 2));
    fixture.clock.monotonic += 899999;
    clusters_tidy(fixture.clusters);
    EXPECT_INT(clusters_count(fixture.clusters), 2, "not yet");
    fixture.clock.monotonic += 1;
    clusters_tidy(fixture.clusters);
    EXPECT_INT(clusters_count(fixture.clusters), 1, "it is closed");
    EXPECT(must(&fixture, "a", 1) == kept, "the one in use is not");
    foreign_cluster_unref(kept);
    foreign_cluster_unref(kept);
    end(&fixture);
}

static void a_namespace_has_so_many(void)
{
    struct foreign_cluster *used[CLUSTERS_OF_NAMESPACE], *another = NULL;
    struct error error = {0};
    struct fixture fixture;

    begin(&fixture);
    for (unsigned i = 0; i < CLUSTERS_OF_NAMESPACE; i++)
        used[i] = must(&fixture, "a", i + 1);
    EXPECT_INT(get(&fixture, "a", 999, &another, &error), ERR_UNAVAILABLE, "full");
    EXPECT_STR(error.reason, "TooManyClusters", error.message);
    foreign_cluster_unref(must(&fixture, "b", 1));
    foreign_cluster_unref(used[7]);
    EXPECT_INT(get(&fixture, "a", 999, &another, &error), 0, "in place of an unused one");
    EXPECT_INT(clusters_count(fixture.clusters), CLUSTERS_OF_NAMESPACE + 1, "as before");
    foreign_cluster_unref(another);
    for (unsigned i = 0; i < CLUSTERS_OF_NAMESPACE; i++)
        if (i != 7)
            foreign_cluster_unref(used[i]);
    end(&fixture);
}

static void one_session_asks_what_does_not_answer(void)
{
    struct foreign_cluster *cluster;
    struct error failure = {0}, other = {0}, error = {0};
    struct fixture fixture;

    begin(&fixture);
    cluster = must(&fixture, "a", 1);
    err_set(&failure, ERR_UNAVAILABLE, KUBE_UNREACHABLE, "no answer");
    err_set(&other, ERR_UNAUTHENTICATED, "Unauthorized", "expired");
    EXPECT_INT(foreign_cluster_begin(cluster, &error), 0, "not known");
    foreign_cluster_end(cluster, &other);
    EXPECT_INT(foreign_cluster_begin(cluster, &error), 0, "it did answer");
    foreign_cluster_end(cluster, &failure);
    EXPECT_INT(foreign_cluster_begin(cluster, &error), ERR_UNAVAILABLE, "a moment ago");
    EXPECT_STR(error.message, "no answer", "as it was");
    fixture.clock.monotonic += 10000;
    EXPECT_INT(foreign_cluster_begin(cluster, &error), 0, "it is asked again");
    EXPECT_INT(foreign_cluster_begin(cluster, &error), ERR_UNAVAILABLE, "by one");
    foreign_cluster_end(cluster, NULL);
    EXPECT_INT(foreign_cluster_begin(cluster, &error), 0, "it answers");
    EXPECT_INT(foreign_cluster_begin(cluster, &error), 0, "all may ask");
    foreign_cluster_unref(cluster);
    end(&fixture);
}

SUITE(clusters, TEST(one_is_shared_within_a_namespace), TEST(one_that_nobody_uses_is_closed),
      TEST(a_namespace_has_so_many), TEST(one_session_asks_what_does_not_answer))
