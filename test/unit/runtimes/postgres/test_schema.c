/* The tables: made by many at once, never downwards; and the view that people query. */
#include <pthread.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "test/unit/runtimes/postgres/desk.h"
#include "test/unit/runtimes/postgres/server.h"
#include "test/unit/suite.h"

#define THREADS 8

static enum server_way directly = SERVER_DIRECTLY;
static const struct store_call plain;

static void *read_nothing(void *arg)
{
    struct error error = {0};
    char *text = NULL;

    (void)arg;
    EXPECT_INT(desk_read_by(server_attach(&directly), &text, &error), ERR_NOT_FOUND, error.message);
    return NULL;
}

static void many_make_the_tables_at_once(void)
{
    _cleanup_free_ char *version = NULL;
    pthread_t threads[THREADS];

    if (!server_begin(directly))
        return;
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, read_nothing, NULL);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    version = server_sql("SELECT version FROM kusion.schema_version");
    EXPECT_STR(version, "1", "made once");
}

static void tables_of_a_later_version_are_left_alone(void)
{
    struct error error = {0};
    struct desk desk;
    char *text = NULL;

    if (!server_begin(directly))
        return;
    desk_init(&desk, server_attach(&directly));
    EXPECT_INT(desk_write(&desk, "kept"), 0, desk.error.message);
    free(server_sql("UPDATE kusion.schema_version SET version = 2"));
    EXPECT_INT(desk_read_by(server_attach(&directly), &text, &error), ERR_UNSUPPORTED, "read");
    EXPECT_STR(error.reason, "StoreOfLaterVersion", error.message);
    EXPECT(strstr(error.message, server_database()), error.message);
    free(server_sql("UPDATE kusion.schema_version SET version = 1"));
    EXPECT_INT(desk_read_by(server_attach(&directly), &text, &error), 0, error.message);
    EXPECT_STR(text, "kept", "nothing was changed");
    free(text);
    desk_done(&desk);
}

/* The administrator has made the schema, and the operator may make nothing else. */
static void no_right_on_the_database_is_needed(void)
{
    struct desk desk;

    if (!server_begin(directly))
        return;
    free(server_sql("ALTER DATABASE %s OWNER TO postgres", server_database()));
    desk_init(&desk, server_attach(&directly));
    EXPECT_INT(desk_write(&desk, "x"), ERR_FORBIDDEN, "no schema, and no right to make one");
    EXPECT_STR(desk.error.reason, "StoreRefused", desk.error.message);
    free(server_sql("CREATE SCHEMA kusion AUTHORIZATION kusion"));
    EXPECT_INT(desk_write(&desk, "x"), 0, desk.error.message);
    desk_done(&desk);
    free(server_sql("ALTER DATABASE %s OWNER TO kusion", server_database()));
}

/* ---- The view ---- */

/* A record as engine/release/document_history.h has it, as far as the view shows it. */
static void add_release(struct store *store, int revision, const char *phase)
{
    _cleanup_free_ char *item = str_printf("%d", revision);
    const struct document_name name = {DOCUMENT_RELEASE, {"team", "web"}, item};
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;
    struct error error = {0};

    buf_printf(&document.open,
               "{\"operation\":\"Apply\",\"revision\":%d,\"status\":{\"phase\":\"%s\"}}", revision,
               phase);
    store->ops->open(store, &name, STORE_WRITE, &plain, &file, NULL);
    EXPECT_INT(store->ops->write(file, &plain, &document, &error), 0, error.message);
    store->ops->close(file);
    document_done(&document);
}

static void people_query_releases(void)
{
    /* gzip, no UTF-8, cut, a NUL that jsonb refuses, empty */
    static const char *const bad[] = {"1f8b", "ff", "7b", "225c753030303022", ""};
    _cleanup_free_ char *phases = NULL, *odd = NULL;
    struct store *store;

    if (!server_begin(directly))
        return;
    store = server_attach(&directly);
    add_release(store, 7, "succeeded");
    add_release(store, 8, "failed");
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        free(server_sql("INSERT INTO kusion.document SELECT kind, namespace, name, 'bad-%zu',"
                        " version, base, entries, '\\x%s'::bytea, secret, open_sha256,"
                        " secret_sha256, written FROM kusion.document WHERE item = '7'",
                        i, bad[i]));
    phases = server_sql("SELECT string_agg(concat_ws(' ', namespace, spec, revision, operation,"
                        " phase, release ->> 'revision'), ', ' ORDER BY revision)"
                        " FROM kusion.releases WHERE release IS NOT NULL");
    EXPECT_STR(phases, "team web 7 Apply succeeded 7, team web 8 Apply failed 8", "as they are");
    odd = server_sql("SELECT count(*) FROM kusion.releases WHERE release IS NULL");
    EXPECT_STR(odd, "5", "what is no JSON is a row without it");
    store->ops->free(store);
}

SUITE(postgres_schema, TEST(many_make_the_tables_at_once),
      TEST(tables_of_a_later_version_are_left_alone), TEST(no_right_on_the_database_is_needed),
      TEST(people_query_releases))
