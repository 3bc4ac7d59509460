#include "engine/spec/resource.h"

#include <string.h>

#include "engine/spec/private.h"

static const struct value *object_or_null(const struct value *value)
{
    return value_is(value, VALUE_OBJECT) ? value : NULL;
}

/* Reads all members in one pass: looking up each member would be slow in a Spec of 100,000 entries.
 * */
struct entry entry_of(const struct value *value)
{
    struct entry entry = {0};
    const struct {
        const char *key;
        size_t length;
        const struct value **member;
    } members[] = {
        {"id", 2, &entry.id},
        {"type", 4, &entry.type},
        {"attributes", 10, &entry.attributes},
        {"dependsOn", 9, &entry.depends_on},
        {"extensions", 10, &entry.extensions},
    };

    for (size_t i = 0; value_is(value, VALUE_OBJECT) && i < value_count(value); i++) {
        size_t length = 0;
        const char *key = value_member_key(value, i, &length);

        for (size_t m = 0; m < ARRAY_SIZE(members); m++)
            if (length == members[m].length && memcmp(key, members[m].key, length) == 0)
                *members[m].member = value_member(value, i);
    }
    return entry;
}

struct resource entry_resource(struct arena *arena, const struct entry *entry)
{
    size_t count = value_is(entry->depends_on, VALUE_ARRAY) ? value_count(entry->depends_on) : 0;
    const char **ids = count ? ARENA_ARRAY(arena, const char *, count) : NULL;
    size_t n_ids = 0;

    for (size_t i = 0; i < count; i++) {
        const char *id = value_string(value_at(entry->depends_on, i));

        if (id)
            ids[n_ids++] = id;
    }
    return (struct resource){
        .id = value_string(entry->id),
        .type = value_string(entry->type),
        .attributes = object_or_null(entry->attributes),
        .extensions = object_or_null(entry->extensions),
        .depends_on = ids,
        .n_depends_on = n_ids,
    };
}
