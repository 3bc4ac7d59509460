#include "controller/reconcile/run/inventory.h"

#include <string.h>

#include "controller/reconcile/run/recall.h"
#include "engine/base/mem.h"
#include "engine/base/utf8.h"

static int compare_ids(const void *a, const void *b)
{
    return strcmp((*(const struct record *const *)a)->id, (*(const struct record *const *)b)->id);
}

/* Those of objects that exist, or of which only a person can tell whether they do, by id: the same
 * State gives the same inventory. An object that has done its work and removes itself, such as a
 * Job with a time to live, may be gone any time. */
static size_t keep_existing(struct ledger_records *records)
{
    size_t kept = 0;

    for (size_t i = 0; i < records->count; i++) {
        const struct record *record = records->items[i];

        if (record->status == RECORD_INTENT || record->is_done || record->is_only_read)
            continue;
        records->items[i] = records->items[kept];
        records->items[kept++] = record;
    }
    qsort(records->items, kept, sizeof(records->items[0]), compare_ids);
    return kept;
}

/* State alone knows some objects: should it be lost, the inventory has to name them. */
static void put_recorded_first(const struct reconcile_context *context,
                               const struct ledger_records *records, size_t n)
{
    _cleanup_free_ const struct record **others = NEW_ARRAY(const struct record *, n + 1);
    size_t n_first = 0, n_others = 0;

    for (size_t i = 0; i < n; i++)
        if (recall_is_recorded(context, records->items[i]->type))
            records->items[n_first++] = records->items[i];
        else
            others[n_others++] = records->items[i];
    memcpy(records->items + n_first, others, n_others * sizeof(others[0]));
}

static const struct value *list_inventory(const struct ledger_records *records, size_t n)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    size_t bytes = 0;

    value_begin_array(b);
    for (size_t i = 0; i < n && i < INVENTORY_ENTRIES; i++) {
        const struct record *record = records->items[i];
        /* Texts of tenants, which administrators read. */
        _cleanup_free_ char *id = utf8_show(record->id), *type = utf8_show(record->type);
        _cleanup_value_ const struct value *entry = NULL;

        bytes += strlen(record->id) + strlen(record->type);
        if (bytes > INVENTORY_BYTES)
            break;
        entry = value_pack("{s:s, s:s}", "id", id, "type", type);
        value_add(b, entry);
    }
    value_end_array(b);
    return value_finish(b);
}

const struct value *inventory_value(const struct reconcile_context *context, struct ledger *ledger)
{
    struct ledger_records records = ledger_records(ledger);
    size_t n = keep_existing(&records);
    _cleanup_value_ const struct value *entries = NULL;

    put_recorded_first(context, &records, n);
    entries = list_inventory(&records, n);
    ledger_records_done(&records);
    return value_pack("{s:I, s:v, s:I}", "total", (int64_t)n, "entries", entries, "omitted",
                      (int64_t)(n - value_count(entries)));
}
