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

/* The type is all that is told of a place that is none: behind it may be a password. */
static void a_place_that_is_none_is_not_repeated(void)
{
    static const struct {
        const char *place, *words;
    } refused[] = {
        {"postgress://u:hunter2@h/db", "no store of the type \"postgress\""},
        {"hunter2", "does not begin with a type"},
        {"s3cr3t-hunter2:x", "does not begin with a type"},
        {"configmap:hunter2", "configmap: nothing follows it"},
        {"file:", "file: a folder is missing"},
        {"", "does not begin with a type"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        struct connection connection = {0};
        struct opened_store store = {0};
        struct error error = {0};

        EXPECT_INT(stores_open(&connection, "--to", refused[i].place, &store, &error), ERR_INVALID,
                   refused[i].place);
        EXPECT(str_has_prefix(error.message, "--to: "), error.message);
        EXPECT(strstr(error.message, refused[i].words), error.message);
        EXPECT(!strstr(error.message, "hunter2"), error.message);
        stores_close(&store);
    }
}

SUITE(backends, TEST(opens_the_store_that_the_flag_names),
      TEST(a_place_that_is_none_is_not_repeated))
