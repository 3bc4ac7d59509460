#include "test/unit/engine/store_contract.h"

#include "engine/base/mem.h"
#include "test/unit/engine/store_scene.h"

static const struct store_scenario *const subjects[] = {
    store_contract_documents,
    store_contract_refusals,
    store_contract_names,
};

static void run(const struct store_fixture *fixture, const struct store_scenario *scenario)
{
    struct store_scene scene = {
        .fixture = fixture,
        .note = scenario->name,
        .store = fixture->attach(fixture->arg),
        .other = fixture->attach(fixture->arg),
        .name = {DOCUMENT_STATE, {"team", scenario->name}, NULL},
    };

    scenario->run(&scene);
    scene.store->ops->free(scene.store);
    scene.other->ops->free(scene.other);
}

void store_contract_check(const struct store_fixture *fixture)
{
    for (size_t i = 0; i < ARRAY_SIZE(subjects); i++)
        for (const struct store_scenario *scenario = subjects[i]; scenario->name; scenario++)
            run(fixture, scenario);
}
