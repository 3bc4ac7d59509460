/* Rebuilds records from what is known of a Spec's objects, where State is gone, or older than the
 * Spec. */
#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/operation/planning/doubt.h"
#include "engine/operation/private.h"
#include "engine/operation/session.h"

#define LIST_TIMEOUT 10000 /* ms */

struct recalling {
    struct operation *operation;
    const struct spec *spec; /* or NULL */
    const struct operation_recall *known;
    struct ledger_records records;
    struct ledger_change *changes; /* each has a reference, or names a record */
    size_t n_changes, capacity;
};

static void add_recalled(struct recalling *recall, struct ledger_change change)
{
    recall->changes =
        mem_grow(recall->changes, recall->n_changes, &recall->capacity, sizeof(*recall->changes));
    recall->changes[recall->n_changes++] = change;
}

static void recall_done(struct recalling *recall)
{
    for (size_t i = 0; i < recall->n_changes; i++)
        record_unref(recall->changes[i].put);
    free(recall->changes);
    ledger_records_done(&recall->records);
}

static bool has_record(const struct recalling *recall, const char *id)
{
    _cleanup_(record_unref_p) const struct record *record =
        ledger_get(recall->operation->ledger, id, NULL);

    return record;
}

/* The ids of a type in the inventory, and (with_spec) of the Spec's resources. Keys are borrowed.
 */
static void list_ids(const struct recalling *recall, const char *type, bool with_spec,
                     struct strmap *ret)
{
    const struct value *inventory = recall->known->inventory;

    for (size_t i = 0; i < value_count(inventory); i++) {
        const struct value *entry = value_at(inventory, i);
        const char *id = value_get_string(entry, "id");

        if (id && str_equal(value_get_string(entry, "type"), type))
            strmap_put(ret, id, ret);
    }
    for (size_t i = 0; with_spec && recall->spec && i < recall->spec->n_resources; i++)
        if (str_equal(recall->spec->resources[i].type, type))
            strmap_put(ret, recall->spec->resources[i].id, ret);
}

/* ---- Objects that State alone knows ---- */

/* An object in an older State may have been replaced since. One that a whole inventory does not
 * have any more was deleted since, or left to others: it is not this Spec's. */
static void doubt_record(struct recalling *recall, const struct record *record,
                         const struct strmap *inventory)
{
    struct record doubted = *record;

    if (record->deposed || record->is_only_read || operation_is_doubtful(record))
        return;
    doubted.lost_revision = recall->known->revision;
    if (recall->known->is_whole && !strmap_get(inventory, record->id))
        add_recalled(recall, (struct ledger_change){.id = record->id});
    else
        add_recalled(recall, (struct ledger_change){.put = record_new(&doubted)});
}

static void recall_recorded(struct recalling *recall, const char *type)
{
    _cleanup_(strmap_done) struct strmap inventory = STRMAP_INIT;

    list_ids(recall, type, false, &inventory);
    for (size_t i = 0; i < recall->records.count; i++)
        if (str_equal(recall->records.items[i]->type, type))
            doubt_record(recall, recall->records.items[i], &inventory);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&inventory, e));) {
        const struct record lost = {.status = RECORD_CREATING,
                                    .id = e->key,
                                    .type = type,
                                    .revision = recall->known->revision,
                                    .action = PLAN_CREATE,
                                    .lost_revision = recall->known->revision};

        if (!has_record(recall, e->key))
            add_recalled(recall, (struct ledger_change){.put = record_new(&lost)});
    }
}

/* ---- Objects that carry the Spec's mark ---- */

/* Adds an intent, as if the creation had been begun: the object is looked for, and goes if it is
 * the Spec's. Objects that were left where they are, by `prune: false`, say, keep their mark: a
 * whole inventory does not have them. */
static void expect_object(struct recalling *recall, const char *type,
                          const struct strmap *inventory, const struct value *found)
{
    const char *id = value_get_string(found, "id");
    bool is_listed = value_bool(value_get(found, "listed"), false);
    bool was_left = recall->known->is_whole && !strmap_get(inventory, id);
    const struct record intent = {.status = RECORD_INTENT,
                                  .id = id,
                                  .type = type,
                                  .attributes = value_get(found, "attributes"),
                                  .revision = recall->known->revision,
                                  .action = PLAN_CREATE,
                                  .call = {.term = ledger_term(recall->operation->ledger)}};

    if ((recall->known->only_listed && !is_listed) || was_left || has_record(recall, id))
        return;
    add_recalled(recall, (struct ledger_change){.put = record_new(&intent)});
}

static const struct value *list_keys(const struct strmap *ids)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    value_begin_array(b);
    for (struct strmap_entry *e = NULL; (e = strmap_next(ids, e));)
        value_add_string(b, e->key);
    value_end_array(b);
    return value_finish(b);
}

/* The session is not the operation's: that one is opened with the records that State has then. */
static int list_own(const struct recalling *recall, struct runtime *runtime,
                    const struct value *ids, const struct value **ret, struct error *error)
{
    struct operation *operation = recall->operation;
    struct runtime_scope scope = operation->config.scope;
    struct runtime_call call = {.deadline = operation_now(operation) + LIST_TIMEOUT,
                                .cancel = operation->cancel};
    struct runtime_session *session = NULL;
    _cleanup_(arena_done) struct arena arena = ARENA_INIT;
    struct state_head head;
    int r;

    ledger_head(operation->ledger, &arena, &head);
    scope.place = head.place;
    scope.records = recall->records.items;
    scope.n_records = recall->records.count;
    r = runtime->ops->open(runtime, &scope, &call, &session, error);
    if (r >= 0)
        r = runtime->ops->list_own(session, ids, &call, ret, error);
    runtime->ops->close(session);
    return r;
}

static int recall_marked(struct recalling *recall, struct runtime *runtime, struct error *error)
{
    const char *type = runtime->ops->type;
    _cleanup_value_ const struct value *list = NULL, *found = NULL;
    struct strmap ids = STRMAP_INIT, inventory = STRMAP_INIT;
    int r = 0;

    list_ids(recall, type, false, &inventory);
    list_ids(recall, type, true, &ids);
    for (size_t i = 0; i < recall->records.count; i++)
        if (str_equal(recall->records.items[i]->type, type))
            strmap_put(&ids, recall->records.items[i]->id, &ids);
    list = list_keys(&ids);
    strmap_done(&ids);
    if (value_count(list))
        r = list_own(recall, runtime, list, &found, error);
    for (size_t i = 0; r >= 0 && i < value_count(found); i++)
        expect_object(recall, type, &inventory, value_at(found, i));
    strmap_done(&inventory);
    return r;
}

/* ---- All ---- */

/* Saves that State was recalled, in one write with the records: it is done once. */
static int save_recalled(struct recalling *recall, struct error *error)
{
    struct ledger *ledger = recall->operation->ledger;
    _cleanup_(arena_done) struct arena arena = ARENA_INIT;
    struct state_head head;
    int64_t before;
    int r;

    ledger_head(ledger, &arena, &head);
    before = head.recalled_revision;
    head.recalled_revision = recall->known->revision;
    ledger_set_head(ledger, &head);
    r = ledger_begin(ledger, recall->changes, recall->n_changes, error);
    head.recalled_revision = before;
    if (r < 0)
        ledger_set_head(ledger, &head);
    return r;
}

int operation_recall(struct operation *operation, const struct spec *spec,
                     const struct operation_recall *known, struct error *error)
{
    _cleanup_(recall_done) struct recalling recall = {.operation = operation,
                                                      .spec = spec,
                                                      .known = known,
                                                      .records = ledger_records(operation->ledger)};
    int r = 0;

    for (size_t i = 0; r >= 0 && i < operation->config.n_runtimes; i++) {
        struct runtime *runtime = operation->bindings[i].runtime;

        if (runtime->ops->flags & RUNTIME_IS_RECORDED)
            recall_recorded(&recall, runtime->ops->type);
        else if (runtime->ops->list_own)
            r = recall_marked(&recall, runtime, error);
    }
    if (r >= 0)
        r = save_recalled(&recall, error);
    return r;
}
