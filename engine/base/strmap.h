/*
 * A hash map from strings to pointers: open addressing, keys not copied
 * unless asked for. The hash is seeded once per process, since keys come from
 * users. Iteration is in the order of insertion.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strmap_entry {
    const char *key;
    size_t key_length;
    uint32_t hash;
    void *value; /* never NULL in a live entry */
};

struct strmap {
    struct strmap_entry *entries; /* in order; removed ones have key == NULL */
    size_t n_entries, capacity;   /* used entries, removed ones included */
    uint32_t *slots;              /* 0: free */
    size_t n_slots;
    uint64_t lengths; /* bit n: there was a key whose length is n modulo 64 */
    size_t count;     /* live entries */
};

#define STRMAP_INIT {0}

void strmap_init(struct strmap *map);
void strmap_done(struct strmap *map); /* frees neither keys nor values */
/* Room for so many entries without growing; only a hint. */
void strmap_reserve(struct strmap *map, size_t count);

/* Keys are borrowed: they must live as long as their entry. value: not NULL.
 * Returns the value that was there before, or NULL. */
void *strmap_put(struct strmap *map, const char *key, void *value);
void *strmap_put_n(struct strmap *map, const char *key, size_t length, void *value);

void *strmap_get(const struct strmap *map, const char *key); /* NULL: absent */
void *strmap_get_n(const struct strmap *map, const char *key, size_t length);
/* The entry itself, until the next change of the map: for its key, as it was put. NULL: absent. */
const struct strmap_entry *strmap_find_n(const struct strmap *map, const char *key, size_t length);
void *strmap_remove(struct strmap *map, const char *key); /* the value removed, or NULL */
void *strmap_remove_n(struct strmap *map, const char *key, size_t length);

/* for (struct strmap_entry *e = NULL; (e = strmap_next(map, e));) */
struct strmap_entry *strmap_next(const struct strmap *map, struct strmap_entry *after);
