#include "engine/state/state.h"

#include "engine/base/buf.h"
#include "engine/base/hash.h"
#include "engine/base/json.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"

#define STATE_FORMAT 1

struct state *state_new(const char *spec_namespace, const char *spec_name, const char *spec_uid)
{
    struct state *state = NEW(struct state);

    strmap_init(&state->by_id);
    state->spec_namespace = str_new(spec_namespace);
    state->spec_name = str_new(spec_name);
    state->spec_uid = str_new(spec_uid);
    return state;
}

static void record_free(struct record *record)
{
    value_unref(record->attributes);
    value_unref(record->extensions);
    value_unref(record->dependencies);
    free(record->id);
    free(record->type);
    free(record->uid);
    free(record->digest);
    free(record->footprint);
    free(record);
}

void state_free(struct state *state)
{
    if (!state)
        return;
    for (size_t i = 0; i < state->n_records; i++)
        record_free(state->records[i]);
    free(state->records);
    strmap_done(&state->by_id);
    free(state->spec_namespace);
    free(state->spec_name);
    free(state->spec_uid);
    value_unref(state->policy);
    free(state);
}

struct record *state_find(const struct state *state, const char *id)
{
    return strmap_get(&state->by_id, id);
}

struct record *state_record(struct state *state, const char *id, const char *type)
{
    struct record *record = state_find(state, id);

    if (record)
        return record;
    record = NEW(struct record);
    record->status = RECORD_INTENT;
    record->id = str_new(id);
    record->type = str_new(type);
    state->records =
        mem_grow(state->records, state->n_records, &state->capacity, sizeof(*state->records));
    record->place = state->n_records;
    record->serial = state->next_serial++;
    state->records[state->n_records++] = record;
    strmap_put(&state->by_id, record->id, record);
    return record;
}

void state_drop(struct state *state, const char *id)
{
    struct record *record = strmap_remove(&state->by_id, id), *last;

    if (!record)
        return;
    last = state->records[--state->n_records];
    last->place = record->place;
    state->records[last->place] = last;
    record_free(record);
}

static int by_serial(const void *a, const void *b)
{
    const struct record *const *x = a, *const *y = b;

    return ((*x)->serial > (*y)->serial) - ((*x)->serial < (*y)->serial);
}

/* Its records in the order recorded; free(). */
static const struct record **in_order(const struct state *state)
{
    const struct record **records = NEW_ARRAY(const struct record *, state->n_records + 1);
    bool ordered = true;

    for (size_t i = 0; i < state->n_records; i++) {
        records[i] = state->records[i];
        ordered = ordered && (!i || records[i - 1]->serial < records[i]->serial);
    }
    if (!ordered)
        qsort(records, state->n_records, sizeof(*records), by_serial);
    return records;
}

static void record_copy(struct record *to, const struct record *from)
{
    to->status = from->status;
    value_assign(&to->attributes, from->attributes);
    value_assign(&to->extensions, from->extensions);
    value_assign(&to->dependencies, from->dependencies);
    record_set_str(&to->uid, from->uid);
    record_set_str(&to->digest, from->digest);
    record_set_str(&to->footprint, from->footprint);
}

struct state *state_copy(const struct state *state)
{
    struct state *copy = state_new(state->spec_namespace, state->spec_name, state->spec_uid);
    _cleanup_free_ const struct record **records = in_order(state);

    for (size_t i = 0; i < state->n_records; i++)
        record_copy(state_record(copy, records[i]->id, records[i]->type), records[i]);
    copy->revision = state->revision;
    copy->applied_revision = state->applied_revision;
    copy->generation = state->generation;
    copy->epoch = state->epoch;
    value_assign(&copy->policy, state->policy);
    return copy;
}

void record_set_str(char **field, const char *s)
{
    char *before = *field;

    *field = str_new(s);
    free(before);
}

char *attributes_digest(const struct value *attributes)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    char hex[HASH_HEX_SIZE];

    json_write(&text, attributes, JSON_CANONICAL);
    hash_hex(text.data, text.length, hex);
    return str_new(hex);
}

/* ---- As a value ---- */

static const struct value *record_to_value(const struct record *record)
{
    _cleanup_value_ const struct value *own =
        value_pack("{s:b, s:s?, s:s?, s:s?}", "applied", record->status == RECORD_APPLIED, "uid",
                   record->uid, "digest", record->digest, "footprint", record->footprint);

    return value_pack("{s:s, s:s, s:v, s:v?, s:v?, s:v}", "id", record->id, "type", record->type,
                      "attributes", record->attributes, "dependsOn", record->dependencies,
                      "extensions", record->extensions, "record", own);
}

const struct value *state_to_value(const struct state *state)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_free_ const struct record **records = in_order(state);
    _cleanup_value_ const struct value *resources = NULL;

    value_begin_array(b);
    for (size_t i = 0; i < state->n_records; i++) {
        _cleanup_value_ const struct value *record = record_to_value(records[i]);

        value_add(b, record);
    }
    value_end_array(b);
    if (value_builder_finish(b, &resources, NULL) < 0)
        return NULL;
    return value_pack("{s:i, s:{s:s?, s:s?, s:s?}, s:I, s:I, s:I, s:I, s:v?, s:v}", "format",
                      STATE_FORMAT, "spec", "namespace", state->spec_namespace, "name",
                      state->spec_name, "uid", state->spec_uid, "revision", state->revision,
                      "appliedRevision", state->applied_revision, "generation", state->generation,
                      "epoch", state->epoch, "policy", state->policy, "resources", resources);
}

static int record_from_value(struct state *state, const struct value *entry, size_t index,
                             struct error *error)
{
    const struct value *own = value_get(entry, "record");
    const char *id = value_get_string(entry, "id"), *type = value_get_string(entry, "type");
    struct record *record;

    if (!id || !type || !value_is(value_get(entry, "attributes"), VALUE_OBJECT) ||
        state_find(state, id))
        return err_set(error, ERR_CORRUPT, "StateCorrupt", "State's resource %zu is not a record",
                       index);
    record = state_record(state, id, type);
    record->status = value_bool(value_get(own, "applied"), false) ? RECORD_APPLIED : RECORD_INTENT;
    value_assign(&record->attributes, value_get(entry, "attributes"));
    value_assign(&record->extensions, value_get(entry, "extensions"));
    value_assign(&record->dependencies, value_get(entry, "dependsOn"));
    record_set_str(&record->uid, value_get_string(own, "uid"));
    record_set_str(&record->digest, value_get_string(own, "digest"));
    record_set_str(&record->footprint, value_get_string(own, "footprint"));
    return 0;
}

int state_from_value(const struct value *value, struct state **ret, struct error *error)
{
    const struct value *spec = value_get(value, "spec"), *resources = value_get(value, "resources");
    _cleanup_(state_free_p) struct state *state = NULL;
    int64_t format = value_int(value_get(value, "format"), 0);

    if (format != STATE_FORMAT || !value_is(resources, VALUE_ARRAY))
        return err_set(error, ERR_CORRUPT, "StateCorrupt",
                       "State is of format %lld, which this version does not read",
                       (long long)format);
    state = state_new(value_get_string(spec, "namespace"), value_get_string(spec, "name"),
                      value_get_string(spec, "uid"));
    state->revision = value_int(value_get(value, "revision"), 0);
    state->applied_revision = value_int(value_get(value, "appliedRevision"), 0);
    state->generation = value_int(value_get(value, "generation"), 0);
    value_assign(&state->policy, value_get(value, "policy"));
    state->epoch = value_int(value_get(value, "epoch"), 0);
    for (size_t i = 0; i < value_count(resources); i++) {
        int r = record_from_value(state, value_at(resources, i), i, error);

        if (r < 0)
            return r;
    }
    *ret = TAKE(state);
    return 0;
}
