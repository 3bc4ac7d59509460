#include "engine/state/changes.h"

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/state/state_value.h"

void change_done(struct ledger_change *change)
{
    record_unref(change->put);
    free((char *)(uintptr_t)change->id);
    free((char *)(uintptr_t)change->deposed);
}

void changes_done(struct changes *changes)
{
    for (size_t i = 0; i < changes->count; i++)
        change_done(&changes->items[i]);
    free(changes->items);
    *changes = (struct changes)CHANGES_INIT;
}

void changes_add(struct changes *changes, const struct ledger_change *change)
{
    struct ledger_change own = {.put = record_ref(change->put)};

    if (!change->put) {
        own.id = str_new(change->id);
        own.deposed = str_new(change->deposed);
    }
    changes->items =
        mem_grow(changes->items, changes->count, &changes->capacity, sizeof(*changes->items));
    changes->items[changes->count++] = own;
}

const char *change_id(const struct ledger_change *change)
{
    return change->put ? change->put->id : change->id;
}

const char *change_deposed(const struct ledger_change *change)
{
    return change->put ? change->put->deposed : change->deposed;
}

void change_apply(const struct ledger_change *change, struct state *state)
{
    if (change->put)
        state_put(state, change->put);
    else
        state_drop(state, change->id, change->deposed);
}

/* ---- As a value ---- */

static const struct value *change_to_value(const struct ledger_change *change)
{
    if (change->put)
        return value_pack("{s:V}", "put", record_to_value(change->put));
    return value_pack("{s:{s:s, s:s?}}", "drop", "id", change->id, "deposed", change->deposed);
}

const struct value *changes_to_value(const struct changes *changes)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();

    value_begin_array(b);
    for (size_t i = 0; i < changes->count; i++) {
        _cleanup_value_ const struct value *change = change_to_value(&changes->items[i]);

        if (!change)
            return NULL;
        value_add(b, change);
    }
    value_end_array(b);
    return value_finish(b);
}

static int put_from_value(const struct value *value, struct changes *ret, struct error *error)
{
    _cleanup_(record_unref_p) const struct record *record = NULL;
    int r = record_from_value(value, &record, error);

    if (r >= 0)
        changes_add(ret, &(struct ledger_change){.put = record});
    return r;
}

static int drop_from_value(const struct value *value, struct changes *ret, struct error *error)
{
    static const char *const known[] = {"id", "deposed", NULL};
    struct ledger_change change = {0};
    int r = members_check(value, known, error);

    if (r >= 0)
        r = member_text(value, "id", &change.id, error);
    if (r >= 0)
        r = member_text_if(value, "deposed", &change.deposed, error);
    if (r >= 0)
        changes_add(ret, &change);
    return r;
}

static int change_from_value(const struct value *value, struct changes *ret, struct error *error)
{
    const struct value *put = value_get(value, "put"), *drop = value_get(value, "drop");

    if (value_count(value) != 1 || (!put && !drop))
        return state_corrupt(error, "it neither puts nor drops a record");
    return put ? put_from_value(put, ret, error) : drop_from_value(drop, ret, error);
}

int changes_from_value(const struct value *value, struct changes *ret, struct error *error)
{
    if (!value_is(value, VALUE_ARRAY))
        return state_corrupt(error, "the field \"changes\" is missing");
    for (size_t i = 0; i < value_count(value); i++) {
        int r = change_from_value(value_at(value, i), ret, error);

        if (r < 0) {
            err_wrap(error, "change %zu", i);
            return r;
        }
    }
    return 0;
}
