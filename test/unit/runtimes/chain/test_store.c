/* The store of chains, over objects in memory: the contracts of stores and of histories. */
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/chain/private.h"
#include "runtimes/io/clock.h"
#include "test/unit/engine/history_contract.h"
#include "test/unit/engine/store_contract.h"
#include "test/unit/runtimes/chain/damage.h"
#include "test/unit/runtimes/chain/memory_objects.h"
#include "test/unit/runtimes/chain/objects_contract.h"
#include "test/unit/suite.h"

static struct store *attach(void *arg)
{
    return chain_store_new(memory_objects_new(arg), &system_clock, false);
}

static bool damage(void *arg, const struct document_name *name, enum damage_part part,
                   enum damage_how how, char **ret)
{
    _cleanup_(objects_free_p) struct objects *objects = memory_objects_new(arg);

    return chain_damage(objects, name, part, how, ret);
}

static struct objects *attach_objects(void *arg)
{
    return memory_objects_new(arg);
}

static void keeps_the_contract_of_objects(void)
{
    _cleanup_(memory_objects_medium_free_p) struct memory_objects_medium *medium =
        memory_objects_medium_new();

    objects_contract_check(&(struct objects_fixture){medium, attach_objects, 20});
}

static void keeps_the_contract(void)
{
    _cleanup_(memory_objects_medium_free_p) struct memory_objects_medium *medium =
        memory_objects_medium_new();

    store_contract_check(&(struct store_fixture){medium, attach, damage, NULL});
}

static void keeps_the_contract_of_histories(void)
{
    _cleanup_(memory_objects_medium_free_p) struct memory_objects_medium *medium =
        memory_objects_medium_new();
    struct store *store = attach(medium);

    history_contract_check_store(store);
    store->ops->free(store);
}

SUITE(chain_store, TEST(keeps_the_contract_of_objects), TEST(keeps_the_contract),
      TEST(keeps_the_contract_of_histories))
