/* The store in a folder of real servers: $KUSION_TEST_APACHE, $KUSION_TEST_NGINX, and the same by a
 * token, $KUSION_TEST_NGINX_BEARER. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/webdav/private.h"
#include "test/unit/engine/sweep.h"
#include "test/unit/runtimes/chain/chain_races.h"
#include "test/unit/suite.h"

static const char *const servers[] = {"KUSION_TEST_APACHE", "KUSION_TEST_NGINX",
                                      "KUSION_TEST_NGINX_BEARER"};

static void for_each(void (*check)(struct chain_server *server))
{
    for (size_t i = 0; i < ARRAY_SIZE(servers); i++) {
        struct chain_server server;

        if (!chain_server_find(servers[i], webdav_objects_new, &server))
            continue;
        check(&server);
        chain_server_done(&server);
    }
}

static void check_objects(struct chain_server *server)
{
    chain_server_check_objects(server, 50);
}

static void keeps_the_contract_of_objects(void)
{
    for_each(check_objects);
}

static void keeps_the_contract(void)
{
    for_each(chain_server_check_store);
}

static void keeps_the_contract_of_histories(void)
{
    for_each(chain_server_check_history);
}

static void is_refused(void)
{
    for (size_t i = 0; i < 2; i++) { /* the third has a token */
        struct chain_server server;
        _cleanup_free_ char *gone = NULL;
        const char *query;

        if (!chain_server_find(servers[i], webdav_objects_new, &server))
            continue;
        query = strchr(server.place, '?');
        gone = str_printf("%.*s/gone%s", (int)(query - server.place), server.place, query);
        chain_server_check_refusals(&server, gone);
        chain_server_done(&server);
    }
}

static void check_races(struct chain_server *server)
{
    chain_races_run(server, sweep_times(1000));
}

static void loses_nothing_between_two_processes(void)
{
    for_each(check_races);
}

static const char *const folders[] = {"KUSION_TEST_APACHE_FOLDER", "KUSION_TEST_NGINX_FOLDER"};

static void loses_nothing_when_killed(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        struct chain_server server;

        if (!chain_server_find(servers[i], webdav_objects_new, &server))
            continue;
        chain_races_run_killed(&server, folders[i], sweep_times(300));
        chain_server_done(&server);
    }
}

static void check_cuts(struct chain_server *server)
{
    chain_races_run_cut(server, sweep_times(200));
}

static void loses_nothing_when_cut(void)
{
    for_each(check_cuts);
}

static void check_answers(struct chain_server *server)
{
    chain_races_run_faulty(server, sweep_times(150));
}

static void loses_nothing_by_answers(void)
{
    for_each(check_answers);
}

static void refuses_an_expired_certificate(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        struct chain_server server;

        if (!chain_server_find(servers[i], webdav_objects_new, &server))
            continue;
        chain_server_check_expiry(&server, folders[i]);
        chain_server_done(&server);
    }
}

/* ---- Folders that are empty ---- */

static void create_and_delete(struct objects *objects, const char *key, bool stays)
{
    const struct store_call call = {0};
    _cleanup_buf_ struct buf bytes = BUF_INIT;
    struct error error = {0};

    buf_add_str(&bytes, "x");
    EXPECT_INT(objects->ops->create(objects, key, &bytes, &call, &error), 0, error.message);
    if (!stays)
        EXPECT_INT(objects->ops->delete (objects, key, &call, &error), 0, error.message);
}

static bool is_folder(const struct chain_server *server, const char *name)
{
    const char *path = strchr(server->place + strlen("https://"), '/');
    _cleanup_free_ char *whole = str_printf("%s/data%.*s/%s", getenv("KUSION_TEST_APACHE_FOLDER"),
                                            (int)strcspn(path, "?"), path, name);

    return access(whole, F_OK) == 0;
}

/* nginx of hack/stores has no locks. */
static void empty_folders_go(void)
{
    const struct store_call call = {0};
    struct chain_server server;
    struct error error = {0};
    struct objects *objects;

    if (!chain_server_find(servers[0], webdav_objects_new, &server))
        return;
    objects = chain_server_attach(&server);
    create_and_delete(objects, "v1/state/a/b/~0000000000000001", false);
    create_and_delete(objects, "v1/state/a/c/~0000000000000001", true);
    create_and_delete(objects, "v1/state/d/e/~0000000000000001", false);
    EXPECT_INT(objects->ops->prune(objects, "v1/state/", &call, &error), 0, error.message);
    EXPECT(!is_folder(&server, "v1/state/a/b") && !is_folder(&server, "v1/state/d"), "empty ones");
    EXPECT(is_folder(&server, "v1/state/a/c/~0000000000000001"), "what is in use stays");
    create_and_delete(objects, "v1/state/a/b/~0000000000000002", true);
    objects->ops->free(objects);
    chain_server_done(&server);
}

struct pruning {
    struct objects *objects;
    atomic_bool ends;
};

static void *prune_until_it_ends(void *arg)
{
    struct pruning *pruning = arg;
    const struct store_call call = {0};

    while (!atomic_load(&pruning->ends))
        pruning->objects->ops->prune(pruning->objects, "v1/state/", &call, NULL);
    return NULL;
}

static int delete_key(void *arg, const char *key, int64_t modified, struct error *error)
{
    struct objects *objects = arg;
    const struct store_call call = {0};

    (void)modified;
    return objects->ops->delete (objects, key, &call, error);
}

/* Begins a document where its folder may just be deleted. */
static bool begin_anew(struct store *store, struct objects *objects)
{
    const struct document_name name = {DOCUMENT_STATE, {"team", "anew"}, NULL};
    const struct store_call call = {0};
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;
    struct error error = {0};
    int r;

    store->ops->open(store, &name, STORE_WRITE, &call, &file, &error);
    store->ops->read(file, &call, &document, &error);
    err_clear(&error);
    r = store->ops->write(file, &call, &document, &error);
    store->ops->close(file);
    if (r == 0)
        EXPECT_INT(store_load(store, &name, &call, &document, &error), 0, error.message);
    else
        EXPECT(r == ERR_UNAVAILABLE || r == ERR_CONFLICT, error.message);
    objects->ops->list(objects, "v1/state/team/anew/~", delete_key, objects, &call, NULL);
    document_done(&document);
    return r == 0;
}

static void nothing_goes_with_a_folder(void)
{
    struct pruning pruning = {0};
    struct chain_server server;
    struct store *store;
    pthread_t thread;
    unsigned written = 0;

    if (!chain_server_find(servers[0], webdav_objects_new, &server))
        return;
    pruning.objects = chain_server_attach(&server);
    store = chain_server_store(&server);
    pthread_create(&thread, NULL, prune_until_it_ends, &pruning);
    for (unsigned i = 0; i < 20 || (!written && i < 2000); i++)
        written += begin_anew(store, pruning.objects);
    atomic_store(&pruning.ends, true);
    pthread_join(thread, NULL);
    EXPECT(written > 0, "some were written");
    store->ops->free(store);
    pruning.objects->ops->free(pruning.objects);
    chain_server_done(&server);
}

/* nginx does not say why it cannot write. */
static void loses_nothing_on_its_disk(void)
{
    static const char *const full[] = {"StoreFull", "StoreBusy"};

    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        const char *place = getenv(servers[i]), *query = place ? strchr(place, '?') : NULL;
        _cleanup_free_ char *path = NULL;
        struct chain_server server = {.open = webdav_objects_new};

        if (!query)
            continue;
        path = str_printf("%s/data/state/disk-%d", getenv(folders[i]), getpid());
        server.place = str_printf("%.*s/disk-%d%s", (int)(query - place), place, getpid(), query);
        chain_server_check_disk(&server, path, folders[i], full[i], i == 0 ? "StoreRefused" : NULL);
        chain_server_done(&server);
    }
}

/* ---- Folders that it may not enter ---- */

static const struct document_name hidden = {DOCUMENT_STATE, {"team", "hidden"}, NULL};

static int write_hidden(struct store *store, struct error *error)
{
    const struct store_call call = {0};
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;
    int r = store->ops->open(store, &hidden, STORE_WRITE, &call, &file, error);

    if (r == 0)
        r = store->ops->read(file, &call, &document, error);
    if (r == 0 || r == ERR_NOT_FOUND) {
        err_clear(error);
        buf_reset(&document.open);
        buf_add_str(&document.open, "kept");
        r = store->ops->write(file, &call, &document, error);
    }
    store->ops->close(file);
    document_done(&document);
    return r;
}

static void expect_kept(struct store *store, const char *note)
{
    const struct store_call call = {0};
    struct document document = DOCUMENT_INIT;
    struct error error = {0};

    EXPECT_INT(store_load(store, &hidden, &call, &document, &error), 0, error.message);
    EXPECT(str_equal(document.open.data, "kept"), note);
    document_done(&document);
}

static int on_name(void *arg, const struct document_name *name, struct error *error)
{
    (void)arg, (void)name, (void)error;
    return 0;
}

static void check_hidden(struct store *store, const char *level)
{
    const struct store_call call = {0};
    struct document document = DOCUMENT_INIT;
    struct error error = {0};
    int r = store_load(store, &hidden, &call, &document, &error);

    EXPECT(r == ERR_FORBIDDEN || r == ERR_UNAVAILABLE, level);
    r = store->ops->list(store, DOCUMENT_STATE, NULL, on_name, NULL, &call, &error);
    EXPECT(r == ERR_FORBIDDEN || r == ERR_UNAVAILABLE, level);
    r = write_hidden(store, &error);
    EXPECT(r == ERR_FORBIDDEN || r == ERR_UNAVAILABLE, level);
    document_done(&document);
}

/* nginx says 404 to a PROPFIND below such a folder. */
static void what_it_may_not_see_is_not_absent(void)
{
    static const char *const levels[] = {"", "/v1", "/v1/state", "/v1/state/team",
                                         "/v1/state/team/hidden"};
    static const mode_t modes[] = {0, 0444};

    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        _cleanup_free_ char *folder = NULL;
        struct chain_server server;
        struct error error = {0};
        struct store *store;
        const char *path;

        if (!chain_server_find(servers[i], webdav_objects_new, &server))
            continue;
        path = strchr(server.place + strlen("https://"), '/');
        folder = str_printf("%s/data%.*s", getenv(folders[i]), (int)strcspn(path, "?"), path);
        store = chain_server_store(&server);
        EXPECT_INT(write_hidden(store, &error), 0, error.message);
        for (size_t k = 0; k < ARRAY_SIZE(levels) * ARRAY_SIZE(modes); k++) {
            const char *level = levels[k / ARRAY_SIZE(modes)];
            _cleanup_free_ char *below = str_printf("%s%s", folder, level);

            chmod(below, modes[k % ARRAY_SIZE(modes)]);
            check_hidden(store, level);
            chmod(below, 0755);
            expect_kept(store, level);
        }
        store->ops->free(store);
        chain_server_done(&server);
    }
}

SUITE(webdav_server, TEST(keeps_the_contract_of_objects), TEST(keeps_the_contract),
      TEST(keeps_the_contract_of_histories), TEST(is_refused),
      TEST(loses_nothing_between_two_processes), TEST(loses_nothing_when_killed),
      TEST(loses_nothing_when_cut), TEST(loses_nothing_by_answers),
      TEST(refuses_an_expired_certificate), TEST(loses_nothing_on_its_disk), TEST(empty_folders_go),
      TEST(nothing_goes_with_a_folder), TEST(what_it_may_not_see_is_not_absent))
