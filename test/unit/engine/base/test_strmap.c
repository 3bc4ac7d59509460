#include <stdlib.h>

#include "engine/base/cleanup.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "test/unit/suite.h"

static int numbers[20000];
static char *names[ARRAY_SIZE(numbers)];

static void make_names(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        names[i] = str_printf("name-%zu", i);
}

static void free_names(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        free(names[i]);
}

static void finds_what_was_put(void)
{
    struct strmap map = STRMAP_INIT;
    size_t missing = 0, seen = 0, misplaced = 0;

    make_names();
    EXPECT(!strmap_get(&map, "x") && !strmap_remove(&map, "x") && !strmap_next(&map, NULL),
           "empty");
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        EXPECT(!strmap_put(&map, names[i], &numbers[i]), "nothing before");
    EXPECT_INT(map.count, ARRAY_SIZE(numbers), "count");
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        missing += strmap_get(&map, names[i]) != &numbers[i];
    EXPECT_INT(missing, 0, "all are there");
    for (struct strmap_entry *e = NULL; (e = strmap_next(&map, e)); seen++)
        misplaced += e->value != &numbers[seen];
    EXPECT_INT(seen, ARRAY_SIZE(numbers), "iterates over all");
    EXPECT_INT(misplaced, 0, "in the order of insertion");
    EXPECT(strmap_put(&map, "name-7", &numbers[8]) == &numbers[7], "the value before");
    EXPECT(strmap_get(&map, "name-7") == &numbers[8], "replaced");
    EXPECT(!strmap_get(&map, "name-"), "a prefix is another key");
    EXPECT(strmap_find_n(&map, "name-7x", 6)->key == names[7], "the key as it was put");
    EXPECT(!strmap_find_n(&map, "name-7", 5), "no entry of a prefix");
    strmap_done(&map);
    free_names();
}

static void removes_and_takes_again(void)
{
    struct strmap map = STRMAP_INIT;
    size_t wrong = 0, count = 0;

    make_names();
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        strmap_put(&map, names[i], &numbers[i]);
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i += 2)
        wrong += strmap_remove(&map, names[i]) != &numbers[i];
    EXPECT(!strmap_remove(&map, names[0]), "removed once");
    EXPECT_INT(map.count, ARRAY_SIZE(numbers) / 2, "count");
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        wrong += strmap_get(&map, names[i]) != (i % 2 ? &numbers[i] : NULL);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&map, e)); count++)
        strmap_remove(&map, e->key); /* while iterating */
    EXPECT_INT(count, ARRAY_SIZE(numbers) / 2, "iteration leaves removed ones out");
    EXPECT_INT(wrong, 0, "the right ones went");
    strmap_done(&map);
    free_names();
}

/* A queue's pattern: the map must not grow where its count does not. */
static void reuses_room(void)
{
    struct strmap map = STRMAP_INIT;

    make_names();
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        strmap_put(&map, names[i], &numbers[i]);
        if (i >= 4)
            strmap_remove(&map, names[i - 4]);
    }
    EXPECT_INT(map.count, 4, "count");
    EXPECT(map.capacity <= 32, "small");
    strmap_done(&map);
    free_names();
}

static void takes_any_bytes(void)
{
    struct strmap map = STRMAP_INIT;

    strmap_put_n(&map, "a\0b", 3, &numbers[0]);
    strmap_put_n(&map, "a\0c", 3, &numbers[1]);
    strmap_put_n(&map, "", 0, &numbers[2]);
    strmap_put_n(&map, "a", 1, &numbers[3]);
    EXPECT(strmap_get_n(&map, "a\0b", 3) == &numbers[0], "NUL inside");
    EXPECT(strmap_get_n(&map, "a\0c", 3) == &numbers[1], "NUL inside");
    EXPECT(strmap_get(&map, "") == &numbers[2], "empty");
    EXPECT(strmap_get_n(&map, "ab", 1) == &numbers[3], "part");
    EXPECT(!strmap_get_n(&map, "a\0", 2), "not there");
    strmap_done(&map);
}

static void removes_keys_with_nul(void)
{
    struct strmap map = STRMAP_INIT;
    int a, b;

    strmap_put_n(&map, "x\0a", 3, &a);
    strmap_put_n(&map, "x\0b", 3, &b);
    EXPECT(!strmap_remove(&map, "x"), "another key");
    EXPECT(strmap_remove_n(&map, "x\0a", 3) == &a, "this one");
    EXPECT(strmap_get_n(&map, "x\0b", 3) == &b && map.count == 1, "and no other");
    strmap_done(&map);
}

static void reserves_without_a_change(void)
{
    struct strmap map = STRMAP_INIT;
    size_t capacity, missing = 0;

    make_names();
    strmap_put(&map, names[0], &numbers[0]);
    strmap_put(&map, names[1], &numbers[1]);
    strmap_remove(&map, names[0]);
    strmap_reserve(&map, ARRAY_SIZE(numbers));
    capacity = map.capacity;
    EXPECT(capacity >= ARRAY_SIZE(numbers), "room");
    EXPECT(!strmap_get(&map, names[0]) && strmap_get(&map, names[1]) == &numbers[1], "the same");
    for (size_t i = 0; i < ARRAY_SIZE(numbers) - 1; i++)
        strmap_put(&map, names[i], &numbers[i]);
    EXPECT_INT(map.capacity, capacity, "did not grow");
    for (size_t i = 0; i < ARRAY_SIZE(numbers) - 1; i++)
        missing += strmap_get(&map, names[i]) != &numbers[i];
    EXPECT_INT(missing, 0, "all are there");
    strmap_reserve(&map, 1);
    EXPECT_INT(map.capacity, capacity, "never shrinks");
    strmap_done(&map);
    free_names();
}

SUITE(strmap, TEST(finds_what_was_put), TEST(removes_and_takes_again), TEST(reuses_room),
      TEST(takes_any_bytes), TEST(removes_keys_with_nul), TEST(reserves_without_a_change))
