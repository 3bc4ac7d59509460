/* The contracts of stores and of histories, over a real server, directly and by pgbouncer. */
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "test/unit/engine/history_contract.h"
#include "test/unit/engine/store_contract.h"
#include "test/unit/runtimes/postgres/server.h"
#include "test/unit/suite.h"

/* ---- The contracts ---- */

static bool damage(void *arg, const struct document_name *name, enum damage_part part,
                   enum damage_how how, char **ret)
{
    static const struct {
        const char *sql, *after, *message;
    } rows[][2] = {
        {{"UPDATE kusion.document SET entries = 7", "", "entries"},
         {"DELETE FROM kusion.document", "", NULL}},
        {{"UPDATE kusion.document SET open = set_byte(open, 50, 255 - get_byte(open, 50))", "",
          "open part"},
         {"UPDATE kusion.document SET open = ''", "", "open part"}},
        {{"UPDATE kusion.document SET secret = set_byte(secret, 5, 255 - get_byte(secret, 5))", "",
          "secret part"},
         {"UPDATE kusion.document SET secret = ''", "", "secret part"}},
        {{"UPDATE kusion.entry SET bytes = 'changed'"
          " WHERE base = (SELECT base FROM kusion.document",
          ")", "entry"},
         {"DELETE FROM kusion.entry WHERE base = (SELECT base FROM kusion.document", ")",
          "entries"}},
    };

    (void)arg;
    free(server_sql("%s WHERE kind = 'state' AND namespace = '%s' AND name = '%s'%s",
                    rows[part][how].sql, name->spec.namespace_name, name->spec.name,
                    rows[part][how].after));
    *ret = str_new(rows[part][how].message);
    return true;
}

static void check_contract(enum server_way way)
{
    if (server_begin(way))
        store_contract_check(&(struct store_fixture){&way, server_attach, damage, NULL});
}

static void keeps_the_contract(void)
{
    check_contract(SERVER_DIRECTLY);
}

static void keeps_the_contract_by_pgbouncer(void)
{
    check_contract(SERVER_BY_PGBOUNCER);
}

/* Of what the scenarios leave, people see each in the view, too. */
static void check_history(enum server_way way)
{
    _cleanup_free_ char *seen = NULL;
    struct store *store;

    if (!server_begin(way))
        return;
    store = server_attach(&way);
    history_contract_check_store(store);
    store->ops->free(store);
    seen = server_sql("SELECT count(*) > 3 AND bool_and(operation <> '' AND"
                      " release ->> 'revision' = revision AND"
                      " release #>> '{spec,name}' = spec) FROM kusion.releases");
    EXPECT_STR(seen, "t", "the view");
}

static void history_keeps_its_contract(void)
{
    check_history(SERVER_DIRECTLY);
}

static void history_keeps_its_contract_by_pgbouncer(void)
{
    check_history(SERVER_BY_PGBOUNCER);
}

SUITE(postgres_store, TEST(keeps_the_contract), TEST(keeps_the_contract_by_pgbouncer),
      TEST(history_keeps_its_contract), TEST(history_keeps_its_contract_by_pgbouncer))
