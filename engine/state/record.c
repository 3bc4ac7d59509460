#include "engine/state/record.h"

#include <stdatomic.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/value_mark.h"

/* A record as allocated: its strings follow it in the same block. */
struct shared_record {
    struct record record; /* first member */
    atomic_size_t references;
    char strings[];
};

static size_t room_for(const char *s)
{
    return s ? strlen(s) + 1 : 0;
}

/* Copies a string to *next, the free room, and moves *next behind it. */
static const char *place_string(char **next, const char *s)
{
    size_t length = room_for(s);
    char *copy = *next;

    if (!s)
        return NULL;
    memcpy(copy, s, length);
    *next += length;
    return copy;
}

static void place_strings(struct record *record, const struct record *like, char *next)
{
    record->id = place_string(&next, like->id);
    record->type = place_string(&next, like->type);
    record->deposed = place_string(&next, like->deposed);
    record->uid = place_string(&next, like->uid);
    record->fields_digest = place_string(&next, like->fields_digest);
    record->call.id = place_string(&next, like->call.id);
}

const struct record *record_new(const struct record *like)
{
    size_t room = room_for(like->id) + room_for(like->type) + room_for(like->deposed) +
                  room_for(like->uid) + room_for(like->fields_digest) + room_for(like->call.id);
    struct shared_record *shared = mem_new(sizeof(*shared) + room);
    struct record *record = &shared->record;

    *record = *like;
    atomic_init(&shared->references, 1);
    place_strings(record, like, shared->strings);
    value_ref(record->attributes);
    value_ref(record->extensions);
    value_ref(record->dependencies);
    value_ref(record->result);
    record->memory = value_sensitive(like->memory);
    return record;
}

static struct shared_record *shared_of(const struct record *record)
{
    return (struct shared_record *)(uintptr_t)record;
}

const struct record *record_ref(const struct record *record)
{
    if (record)
        atomic_fetch_add_explicit(&shared_of(record)->references, 1, memory_order_relaxed);
    return record;
}

void record_unref(const struct record *record)
{
    if (!record ||
        atomic_fetch_sub_explicit(&shared_of(record)->references, 1, memory_order_acq_rel) != 1)
        return;
    value_unref(record->attributes);
    value_unref(record->extensions);
    value_unref(record->dependencies);
    value_unref(record->result);
    value_unref(record->memory);
    free(shared_of(record));
}

/* Equal values, sensitive in the same places. */
static bool same_value(const struct value *a, const struct value *b)
{
    _cleanup_value_ const struct value *secret_a = NULL, *secret_b = NULL;

    if (a == b)
        return true;
    if (!a || !b || !value_equal(a, b) || value_has_sensitive(a) != value_has_sensitive(b))
        return false;
    secret_a = value_sensitive_paths(a);
    secret_b = value_sensitive_paths(b);
    return value_equal(secret_a, secret_b);
}

bool record_equal(const struct record *a, const struct record *b)
{
    return a == b ||
           (a && b && a->status == b->status && str_equal(a->id, b->id) &&
            str_equal(a->type, b->type) && str_equal(a->deposed, b->deposed) &&
            same_value(a->attributes, b->attributes) && same_value(a->extensions, b->extensions) &&
            same_value(a->dependencies, b->dependencies) && same_value(a->result, b->result) &&
            same_value(a->memory, b->memory) && str_equal(a->uid, b->uid) &&
            str_equal(a->fields_digest, b->fields_digest) && a->revision == b->revision &&
            a->action == b->action && str_equal(a->call.id, b->call.id) &&
            a->call.term == b->call.term && a->call.until == b->call.until &&
            a->lost_revision == b->lost_revision && a->is_done == b->is_done &&
            a->is_only_read == b->is_only_read);
}
