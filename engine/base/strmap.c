#include "engine/base/strmap.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "engine/base/mem.h"

#define FIRST_CAPACITY 8

static uint64_t hash_seed;
static pthread_once_t hash_seeded = PTHREAD_ONCE_INIT;

/* Without entropy (early at boot), the seed comes from the address space's random layout. */
static void seed_from_system(void)
{
    if (hash_seed)
        return;
    if (getrandom(&hash_seed, sizeof(hash_seed), GRND_NONBLOCK) != sizeof(hash_seed))
        hash_seed = (uintptr_t)&hash_seed ^ (uintptr_t)&seed_from_system << 20;
}

/* Folds the halves of a 128-bit product: each input bit changes about half of the result's bits. */
static inline uint64_t mix(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint32_t hash_of(const char *key, size_t length)
{
    uint64_t hash = hash_seed ^ 0x9e3779b97f4a7c15u;
    uint64_t part;

    for (size_t left = length; left; left -= left < 8 ? left : 8) {
        part = 0;
        memcpy(&part, key + (length - left), left < 8 ? left : 8);
        hash = mix(hash ^ part, 0xd6e8feb86659fd93u ^ hash_seed);
    }
    return (uint32_t)mix(hash ^ length, 0xa0761d6478bd642fu);
}

static uint64_t length_bit(size_t length)
{
    return (uint64_t)1 << (length % 64);
}

void strmap_init(struct strmap *map)
{
    *map = (struct strmap)STRMAP_INIT;
}

void strmap_done(struct strmap *map)
{
    free(map->entries);
    free(map->slots);
    strmap_init(map);
}

/* A slot's low bits hold an entry's index + 1, its high bits those of the entry's hash. So most
 * entries with another key are skipped without a look at their key. */
static uint32_t tag_of(const struct strmap *map, uint32_t slot_or_hash)
{
    return slot_or_hash & ~(uint32_t)(map->n_slots - 1);
}

static struct strmap_entry *entry_at(const struct strmap *map, uint32_t slot)
{
    return &map->entries[(slot & (map->n_slots - 1)) - 1];
}

static void put_in_slot(struct strmap *map, uint32_t hash, size_t index)
{
    size_t slot = hash & (map->n_slots - 1);

    while (map->slots[slot])
        slot = (slot + 1) & (map->n_slots - 1);
    map->slots[slot] = tag_of(map, hash) | (uint32_t)(index + 1);
}

static void fill_slots(struct strmap *map)
{
    memset(map->slots, 0, map->n_slots * sizeof(*map->slots));
    for (size_t i = 0; i < map->n_entries; i++)
        put_in_slot(map, map->entries[i].hash, i);
}

/* Drops the removed entries, which kept their slots until now. */
static void compact(struct strmap *map)
{
    size_t kept = 0;

    for (size_t i = 0; i < map->n_entries; i++)
        if (map->entries[i].key)
            map->entries[kept++] = map->entries[i];
    map->n_entries = kept;
}

static void set_capacity(struct strmap *map, size_t capacity)
{
    if (capacity > UINT32_MAX / 2)
        abort();
    map->entries = mem_resize(map->entries, capacity, sizeof(*map->entries));
    map->slots = mem_resize(map->slots, capacity * 2, sizeof(*map->slots));
    map->capacity = capacity;
    map->n_slots = capacity * 2;
}

static void make_room(struct strmap *map)
{
    if (map->n_entries < map->capacity)
        return;
    compact(map);
    if (map->n_entries >= map->capacity / 4 * 3)
        set_capacity(map, map->capacity ? map->capacity * 2 : FIRST_CAPACITY);
    fill_slots(map);
}

void strmap_reserve(struct strmap *map, size_t count)
{
    size_t capacity = FIRST_CAPACITY;

    while (capacity < count && capacity < UINT32_MAX / 4)
        capacity *= 2;
    if (capacity <= map->capacity)
        return;
    set_capacity(map, capacity);
    fill_slots(map);
}

static struct strmap_entry *find(const struct strmap *map, const char *key, size_t length,
                                 uint32_t hash)
{
    if (!map->count)
        return NULL;
    for (size_t slot = hash & (map->n_slots - 1); map->slots[slot];
         slot = (slot + 1) & (map->n_slots - 1)) {
        struct strmap_entry *entry = entry_at(map, map->slots[slot]);

        if (tag_of(map, map->slots[slot]) == tag_of(map, hash) && entry->key &&
            entry->key_length == length && memcmp(entry->key, key, length) == 0)
            return entry;
    }
    return NULL;
}

void *strmap_put(struct strmap *map, const char *key, void *value)
{
    return strmap_put_n(map, key, strlen(key), value);
}

void *strmap_put_n(struct strmap *map, const char *key, size_t length, void *value)
{
    struct strmap_entry *entry;
    uint32_t hash;

    if (!key || !value)
        abort();
    pthread_once(&hash_seeded, seed_from_system);
    hash = hash_of(key, length);
    entry = find(map, key, length, hash);
    if (entry) {
        void *before = entry->value;

        entry->value = value;
        return before;
    }
    make_room(map);
    map->entries[map->n_entries] = (struct strmap_entry){key, length, hash, value};
    put_in_slot(map, hash, map->n_entries++);
    map->lengths |= length_bit(length);
    map->count++;
    return NULL;
}

void *strmap_get(const struct strmap *map, const char *key)
{
    return strmap_get_n(map, key, strlen(key));
}

void *strmap_get_n(const struct strmap *map, const char *key, size_t length)
{
    const struct strmap_entry *entry = strmap_find_n(map, key, length);

    return entry ? entry->value : NULL;
}

const struct strmap_entry *strmap_find_n(const struct strmap *map, const char *key, size_t length)
{
    if (!map->count || !(map->lengths & length_bit(length)))
        return NULL;
    return find(map, key, length, hash_of(key, length));
}

void *strmap_remove(struct strmap *map, const char *key)
{
    return strmap_remove_n(map, key, strlen(key));
}

void *strmap_remove_n(struct strmap *map, const char *key, size_t length)
{
    struct strmap_entry *entry;
    void *value;

    if (!map->count)
        return NULL;
    entry = find(map, key, length, hash_of(key, length));
    if (!entry)
        return NULL;
    value = entry->value;
    entry->key = NULL;
    entry->value = NULL;
    map->count--;
    return value;
}

struct strmap_entry *strmap_next(const struct strmap *map, struct strmap_entry *after)
{
    size_t i = after ? (size_t)(after - map->entries) + 1 : 0;

    while (i < map->n_entries && !map->entries[i].key)
        i++;
    return i < map->n_entries ? &map->entries[i] : NULL;
}
