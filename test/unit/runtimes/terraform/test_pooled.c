#include "runtimes/terraform/pooled.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/str.h"
#include "runtimes/terraform/plugin/folder.h"
#include "test/unit/runtimes/terraform/package/make_package.h"
#include "test/unit/suite.h"

#define MIB   (INT64_C(1) << 20)
#define LIMIT (512 * MIB)

static struct pooled_list list;

/* A process that does not exist. */
static struct pooled *add_of(const char *namespace_name, int64_t memory, struct package *package)
{
    _cleanup_(source_done) struct source source = {0};
    const struct need_owner owner = {.namespace_name = namespace_name};
    struct need *need;
    struct pooled *pooled;

    CU_ASSERT_FATAL(source_read("acme/cloud", '/', &source, NULL) == 0);
    need = need_new(&source, &owner, NULL);
    pooled = pooled_add(&list, NULL, package, need);
    need_free(need);
    pooled->memory = memory;
    pooled->users = 1;
    return pooled;
}

static struct pooled *add(const char *namespace_name, int64_t memory)
{
    return add_of(namespace_name, memory, NULL);
}

static void clear(void)
{
    struct pooled *pooled;

    while ((pooled = LIST_FIRST(&list))) {
        LIST_REMOVE(pooled, entry);
        pooled_free(pooled);
    }
}

static void one_that_has_all_memory_does_not_hold_up_others(void)
{
    clear();
    add("hog", 4 * LIMIT);
    EXPECT_INT(pooled_ask(&list, "hog", LIMIT), QUOTA_OWN_FULL, "it gets no more");
    EXPECT_INT(pooled_ask(&list, "quiet", LIMIT), QUOTA_BEYOND, "another gets its first");
    add("quiet", QUOTA_USUAL_MEMORY)->is_beyond = true;
    EXPECT_INT(pooled_ask(&list, "quiet", LIMIT), QUOTA_FULL, "and no second one");
    EXPECT_INT(pooled_ask(&list, "calm", LIMIT), QUOTA_BEYOND, "a third namespace gets its first");
    add("calm", QUOTA_USUAL_MEMORY)->is_beyond = true;
    EXPECT_INT(pooled_ask(&list, "late", LIMIT), QUOTA_FIRST_FULL, "they are no more than a few");
    clear();
}

/* By namespaces first: whoever has much in many small ones makes room, too. */
static void the_largest_makes_room(void)
{
    struct pooled *small, *large, *of_many, *other;

    clear();
    EXPECT(!pooled_find_largest(&list), "there is none");
    small = add("many", 100 * MIB);
    of_many = add("many", 150 * MIB);
    large = add("one", 200 * MIB);
    other = add("many", 120 * MIB);
    EXPECT(pooled_find_largest(&list) == of_many, "the largest of the largest namespace");
    of_many->is_retired = true;
    EXPECT(pooled_find_largest(&list) == other, "its next");
    other->is_retired = small->is_retired = true;
    EXPECT(pooled_find_largest(&list) == large, "the next namespace's");
    large->is_retired = true;
    EXPECT(!pooled_find_largest(&list), "all are on their way");
    clear();
}

static struct pooled *add_grown(const char *namespace_name, int64_t first, int64_t memory)
{
    struct pooled *pooled = add(namespace_name, memory);

    pooled->phase = POOLED_READY;
    pooled->first_memory = first;
    return pooled;
}

/* A namespace with many small ones does not get another one's killed. */
static void the_most_grown_is_of_the_namespace_with_the_most_memory(void)
{
    struct pooled *of_many, *one;

    clear();
    EXPECT(!pooled_find_grown(&list, LIMIT), "there is none");
    one = add_grown("one", 50 * MIB, 200 * MIB);
    for (int i = 0; i < 6; i++)
        add_grown("many", 60 * MIB, 70 * MIB);
    EXPECT(!pooled_find_grown(&list, LIMIT), "together they are within the limit");
    of_many = add_grown("many", 40 * MIB, 65 * MIB);
    EXPECT(pooled_find_grown(&list, LIMIT) == of_many, "the most grown of the largest namespace");
    EXPECT(!pooled_find_grown(&list, 0), "there is no limit");
    for (int i = 0; i < 9; i++)
        add("starting", QUOTA_USUAL_MEMORY);
    EXPECT(pooled_find_grown(&list, LIMIT) == of_many, "what those that start have is not known");
    one->memory = 600 * MIB;
    EXPECT(pooled_find_grown(&list, LIMIT) == one, "whoever has most, in whatever number");
    of_many->phase = one->phase = POOLED_STARTING;
    EXPECT(!pooled_find_grown(&list, LIMIT), "the others are within the limit");
    clear();
}

static unsigned count_retired(void)
{
    const struct pooled *pooled;
    unsigned count = 0;

    LIST_FOREACH(pooled, &list, entry) {
        count += pooled->is_retired;
    }
    return count;
}

/* A Spec's resources wait side by side, and each would retire somebody else's process. */
static void many_callers_of_a_namespace_retire_one(void)
{
    static const struct {
        const char *note, *namespace_name;
        int64_t now, since;
        unsigned retired;
    } rows[] = {
        {"the first caller", "late", 100, 100, 1},
        {"its second", "late", 100, 100, 1},
        {"its third, later", "late", 109, 100, 1},
        {"of another namespace", "later", 109, 109, 2},
        {"it has not ended in time", "late", 110, 110, 3},
        {"nor has that one", "late", 119, 110, 3},
        {"there is no other", "late", 120, 120, 3},
    };

    clear();
    for (int i = 1; i <= 3; i++)
        add("hog", i * MIB);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        EXPECT_INT(pooled_retire(&list, rows[i].namespace_name, rows[i].now, 10), rows[i].since,
                   rows[i].note);
        EXPECT_INT(count_retired(), rows[i].retired, rows[i].note);
    }
    clear();
}

static void what_is_retired_serves_nobody_new(void)
{
    struct pooled *pooled;

    clear();
    pooled = add("team", MIB);
    EXPECT(pooled_find(&list, NULL, pooled->key) == pooled, "it serves");
    pooled->is_retired = true;
    EXPECT(!pooled_find(&list, NULL, pooled->key), "it does no more");
    clear();
}

/* Its calls may take long, and the namespace's others are served meanwhile. */
static void who_has_only_one_that_is_retired_gets_another(void)
{
    struct pooled *pooled;

    clear();
    add("others", LIMIT / 2);
    pooled = add("team", LIMIT / 4);
    EXPECT_INT(pooled_ask(&list, "team", LIMIT), QUOTA_FULL, "a second one");
    pooled->is_retired = true;
    EXPECT_INT(pooled_ask(&list, "team", LIMIT), QUOTA_FREE, "another first one");
    pooled = add("team", QUOTA_USUAL_MEMORY);
    EXPECT_INT(pooled_ask(&list, "team", LIMIT), QUOTA_FULL, "and no third one");
    pooled->is_retired = true;
    EXPECT_INT(pooled_ask(&list, "team", LIMIT), QUOTA_FULL, "whatever becomes of it");
    EXPECT_INT(pooled_ask(&list, "quiet", LIMIT), QUOTA_FREE, "others' first are not held up");
    clear();
}

static void the_one_that_was_idle_longest_is_found(void)
{
    struct pooled *first, *second;

    clear();
    first = add("first", MIB);
    second = add("second", MIB);
    EXPECT(!pooled_find_idle(&list, NULL), "all are in use");
    first->users = second->users = 0;
    first->idle_since = 2;
    second->idle_since = 1;
    EXPECT(pooled_find_idle(&list, NULL) == second, "of all");
    EXPECT(pooled_find_idle(&list, "first") == first, "of a namespace");
    EXPECT(!pooled_find_idle(&list, "third"), "of another");
    clear();
}

/* ---- Room for copies of packages ---- */

/* 100 bytes are all that the cache has, of which these processes hold 90. */
static void idle_ones_make_room_for_a_package(void)
{
    static const struct {
        size_t bytes;       /* of its package */
        int64_t idle_since; /* 0: it is in use */
    } processes[] = {{30, 1}, {20, 4}, {20, 3}, {15, 0}, {15, 2}, {25, 5}};
    static const struct {
        const char *note;
        uint64_t bytes;
        bool has_room;
        const char *ended;
    } rows[] = {
        {"there is room", 10, true, ""},
        {"the oldest", 40, true, "0"},
        {"those that share a copy, too", 41, true, "012"},
        {"one of these would end in vain", 65, true, "05"},
        {"all but the one whose copy is in use", 85, true, "0125"},
        {"it does not fit: nothing", 86, false, ""},
    };
    char folder[] = "/tmp/kusion-test-XXXXXX", h1[PACKAGE_H1_SIZE];
    struct pooled *all[ARRAY_SIZE(processes)];
    struct cache *cache;

    clear();
    CU_ASSERT_FATAL(mkdtemp(folder) != NULL);
    CU_ASSERT_FATAL(cache_new(folder, MAKE_PACKAGE_MOST, &cache, NULL) == 0);
    for (size_t i = 0; i < ARRAY_SIZE(processes); i++) {
        struct package *package = NULL;

        CU_ASSERT_FATAL(make_package(cache, processes[i].bytes, h1, &package, NULL) == 0);
        all[i] = add_of("team", MIB, package);
        all[i]->users = !processes[i].idle_since;
        all[i]->idle_since = processes[i].idle_since;
    }
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct pooled *found[QUOTA_PROCESSES];
        char ended[ARRAY_SIZE(processes) + 1] = "";
        size_t n = 0, at = 0;

        EXPECT(pooled_find_room(&list, cache, rows[i].bytes, found, &n) == rows[i].has_room,
               rows[i].note);
        for (size_t p = 0; p < ARRAY_SIZE(processes); p++)
            for (size_t f = 0; f < n; f++)
                if (found[f] == all[p])
                    ended[at++] = (char)('0' + p);
        EXPECT_STR(ended, rows[i].ended, rows[i].note);
    }
    clear();
    cache_free(cache);
    folder_remove(str_new(folder));
}

SUITE(terraform_pooled, TEST(one_that_has_all_memory_does_not_hold_up_others),
      TEST(the_largest_makes_room), TEST(the_most_grown_is_of_the_namespace_with_the_most_memory),
      TEST(many_callers_of_a_namespace_retire_one), TEST(what_is_retired_serves_nobody_new),
      TEST(who_has_only_one_that_is_retired_gets_another),
      TEST(the_one_that_was_idle_longest_is_found), TEST(idle_ones_make_room_for_a_package))
