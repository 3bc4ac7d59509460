#include "test/unit/runtimes/chain/chain_server.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/chain/store.h"
#include "runtimes/io/clock.h"
#include "test/unit/engine/history_contract.h"
#include "test/unit/engine/store_contract.h"
#include "test/unit/runtimes/chain/damage.h"
#include "test/unit/runtimes/chain/objects_contract.h"
#include "test/unit/suite.h"

bool chain_server_find(const char *variable,
                       int (*open)(const char *place, struct objects **ret, struct error *error),
                       struct chain_server *ret)
{
    static unsigned number;
    const char *place = getenv(variable), *query;

    if (!place || !*place) {
        printf("server: skipped: %s is not set\n", variable);
        return false;
    }
    query = strchrnul(place, '?');
    ret->open = open;
    ret->place = str_printf("%.*s/%d-%lld-%u%s", (int)(query - place), place, getpid(),
                            (long long)system_clock.monotonic(&system_clock), number++, query);
    return true;
}

void chain_server_done(struct chain_server *server)
{
    free(server->place);
}

struct objects *chain_server_attach(void *arg)
{
    struct chain_server *server = arg;
    struct objects *objects = NULL;
    struct error error = {0};

    if (server->open(server->place, &objects, &error) < 0) {
        fprintf(stderr, "%s: %s\n", server->place, error.message);
        abort();
    }
    return objects;
}

struct store *chain_server_store(void *arg)
{
    return chain_store_new(chain_server_attach(arg), &system_clock, true);
}

static bool damage(void *arg, const struct document_name *name, enum damage_part part,
                   enum damage_how how, char **ret)
{
    _cleanup_(objects_free_p) struct objects *objects = chain_server_attach(arg);

    return chain_damage(objects, name, part, how, ret);
}

void chain_server_check_objects(struct chain_server *server, size_t races)
{
    objects_contract_check(&(struct objects_fixture){server, chain_server_attach, races});
}

void chain_server_check_store(struct chain_server *server)
{
    store_contract_check(&(struct store_fixture){server, chain_server_store, damage, NULL});
}

void chain_server_check_history(struct chain_server *server)
{
    struct store *store = chain_server_store(server);

    history_contract_check_store(store);
    store->ops->free(store);
}
