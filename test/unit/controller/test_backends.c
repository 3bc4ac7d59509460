#include "controller/backends.h"

#include "engine/base/str.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

static const struct {
    const char *backend;
    const char *type, *history; /* NULL: refused */
} rows[] = {
    {"configmap", "configmap", "kubernetes"},
    {"kubernetes", "configmap", "kubernetes"},
    {"file:/nowhere/states", "file", "documents"},
    {"file:", NULL, NULL},
    {"file", NULL, NULL},
    {"kubernetes:x", NULL, NULL},
    {"kube", NULL, NULL},
    {"files:/x", NULL, NULL},
    {"", NULL, NULL},
};

static void opens_the_store_that_the_flag_names(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct flags flags = {.state_backend = rows[i].backend};
        struct connection connection = {.flags = &flags};
        struct backends backends = {0};
        struct error error = {0};
        struct harness harness;
        char state_namespace[] = "own";
        int r;

        harness_start(&harness, NULL, 0, NULL);
        connection.cluster.client = harness.client;
        connection.state_namespace = state_namespace;
        connection.cluster.discovery = kube_discovery_new(harness.client, NULL);
        r = backends_init(&backends, &connection, &error);
        EXPECT_INT(r, rows[i].type ? 0 : ERR_INVALID, rows[i].backend);
        EXPECT_STR(error.reason, rows[i].type ? "" : "InvalidFlag", rows[i].backend);
        EXPECT_STR(backends.store ? backends.store->ops->type : NULL, rows[i].type,
                   rows[i].backend);
        EXPECT_STR(backends.history ? backends.history->ops->type : NULL, rows[i].history,
                   rows[i].backend);
        EXPECT_STR(backends.runtimes[0]->ops->type, "Kubernetes", "a runtime");
        backends_done(&backends);
        kube_discovery_free(connection.cluster.discovery);
        harness_stop(&harness, false);
    }
}

SUITE(backends, TEST(opens_the_store_that_the_flag_names))
