#include "test/unit/engine/history_contract.h"

#include "engine/base/mem.h"
#include "engine/release/document_history.h"
#include "test/unit/engine/history_scene.h"

static const struct history_scenario *const subjects[] = {
    history_contract_records,
    history_contract_revisions,
    history_contract_failures,
};

static void run(const struct history_fixture *fixture, const struct history_scenario *scenario)
{
    struct history_scene scene = {
        .fixture = fixture,
        .note = scenario->name,
        .history = fixture->attach(fixture->arg),
        .other = fixture->attach(fixture->arg),
        .spec = {fixture->namespace_name, scenario->name},
    };

    scenario->run(&scene);
    scene.history->ops->free(scene.history);
    scene.other->ops->free(scene.other);
}

void history_contract_check(const struct history_fixture *fixture)
{
    for (size_t i = 0; i < ARRAY_SIZE(subjects); i++)
        for (const struct history_scenario *scenario = subjects[i]; scenario->name; scenario++)
            run(fixture, scenario);
}

static struct release_history *attach_documents(void *arg)
{
    return document_history_new(arg);
}

void history_contract_check_store(struct store *store)
{
    history_contract_check(&(struct history_fixture){store, "team", attach_documents, NULL});
}
