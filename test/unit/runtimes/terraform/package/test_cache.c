#include "runtimes/terraform/package/cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/terraform/plugin/folder.h"
#include "test/unit/runtimes/terraform/package/make_package.h"
#include "test/unit/suite.h"

#define MOST    MAKE_PACKAGE_MOST /* bytes of all copies here */
#define READERS 8

struct stage {
    char *folder;
    struct cache *cache;
};

static void stage_init(struct stage *stage)
{
    stage->folder = str_new("/tmp/kusion-test-XXXXXX");
    CU_ASSERT_FATAL(mkdtemp(stage->folder) != NULL);
    CU_ASSERT_FATAL(cache_new(stage->folder, MOST, &stage->cache, NULL) == 0);
}

/* Another operator, which has the copies of the one before. */
static void restart(struct stage *stage)
{
    cache_free(stage->cache);
    CU_ASSERT_FATAL(cache_new(stage->folder, MOST, &stage->cache, NULL) == 0);
}

static void stage_done(struct stage *stage)
{
    cache_free(stage->cache);
    folder_remove(stage->folder);
}

static int keep(struct stage *stage, size_t bytes, char ret_h1[PACKAGE_H1_SIZE],
                struct package **ret, struct error *error)
{
    return make_package(stage->cache, bytes, ret_h1, ret, error);
}

static bool is_there(const struct stage *stage, const char *h1)
{
    _cleanup_(package_give_back_p) struct package *package = cache_find_hash(stage->cache, h1);

    return package != NULL;
}

static void what_finds_no_room_takes_none(void)
{
    char used[PACKAGE_H1_SIZE], first[PACKAGE_H1_SIZE], second[PACKAGE_H1_SIZE],
        last[PACKAGE_H1_SIZE];
    struct package *in_use = NULL, *other = NULL;
    struct error error = {0};
    struct stage stage;

    stage_init(&stage);
    CU_ASSERT_FATAL(keep(&stage, 40, used, &in_use, NULL) == 0);
    CU_ASSERT_FATAL(keep(&stage, 20, first, &other, NULL) == 0);
    package_give_back(TAKE(other));
    CU_ASSERT_FATAL(keep(&stage, 25, second, &other, NULL) == 0);
    package_give_back(TAKE(other));
    EXPECT_INT(keep(&stage, 61, last, &other, &error), ERR_UNAVAILABLE, error.message);
    EXPECT_STR(error.reason, "ProviderCacheFull", error.message);
    EXPECT(str_has_prefix(err_hints(error.message),
                          "\nit is tried again; raise --terraform-cache-size"),
           error.message);
    EXPECT(is_there(&stage, first) && is_there(&stage, second), "nothing was dropped in vain");
    EXPECT_INT(keep(&stage, 35, last, &other, &error), 0, error.message);
    package_give_back(TAKE(other));
    EXPECT(!is_there(&stage, first) && is_there(&stage, second), "the oldest has made room");
    EXPECT_INT(keep(&stage, 60, last, &other, &error), 0, error.message);
    EXPECT(!is_there(&stage, second) && is_there(&stage, used), "what is in use stays");
    package_give_back(other);
    package_give_back(in_use);
    stage_done(&stage);
}

static void it_is_known_what_would_make_room(void)
{
    char h1[PACKAGE_H1_SIZE];
    struct package *once = NULL, *twice = NULL, *again = NULL, *unused = NULL;
    struct stage stage;

    stage_init(&stage);
    CU_ASSERT_FATAL(keep(&stage, 40, h1, &once, NULL) == 0);
    CU_ASSERT_FATAL(keep(&stage, 30, h1, &twice, NULL) == 0);
    CU_ASSERT_FATAL(keep(&stage, 30, h1, &again, NULL) == 0 && again == twice);
    CU_ASSERT_FATAL(keep(&stage, 20, h1, &unused, NULL) == 0);
    package_give_back(unused);
    {
        struct package *all[] = {once, twice, again};
        const struct {
            const char *note;
            size_t from, n;
            uint64_t room;
        } rows[] = {
            {"as it is", 0, 0, 30},
            {"one that is used once", 0, 1, 70},
            {"one that is used twice", 1, 1, 30},
            {"and by nobody any more", 1, 2, 60},
            {"all", 0, 3, 100},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
            EXPECT(cache_fits(stage.cache, rows[i].room, all + rows[i].from, rows[i].n),
                   rows[i].note);
            EXPECT(!cache_fits(stage.cache, rows[i].room + 1, all + rows[i].from, rows[i].n),
                   rows[i].note);
        }
    }
    package_give_back(once);
    package_give_back(twice);
    package_give_back(again);
    stage_done(&stage);
}

/* ---- Threads ---- */

struct reader {
    const struct stage *stage;
    const char *h1;
    pthread_barrier_t *start;
    struct package *package;
    bool is_right;
    pthread_t thread;
};

static void *read_one(void *arg)
{
    struct reader *reader = arg;

    pthread_barrier_wait(reader->start);
    reader->package = cache_find_hash(reader->stage->cache, reader->h1);
    reader->is_right = reader->package && str_equal(reader->package->h1, reader->h1);
    return NULL;
}

/* ThreadSanitizer sees whether a hash is written that somebody reads. */
static void many_hash_the_copy_of_an_earlier_operator(void)
{
    struct reader readers[READERS];
    struct package *package = NULL;
    char h1[PACKAGE_H1_SIZE];
    pthread_barrier_t start;
    struct stage stage;

    stage_init(&stage);
    pthread_barrier_init(&start, NULL, READERS);
    CU_ASSERT_FATAL(keep(&stage, 40, h1, &package, NULL) == 0);
    package_give_back(package);
    restart(&stage);
    for (size_t i = 0; i < READERS; i++) {
        readers[i] = (struct reader){.stage = &stage, .h1 = h1, .start = &start};
        CU_ASSERT_FATAL(pthread_create(&readers[i].thread, NULL, read_one, &readers[i]) == 0);
    }
    for (size_t i = 0; i < READERS; i++) {
        pthread_join(readers[i].thread, NULL);
        EXPECT(readers[i].is_right, "it is found, with its hash");
    }
    for (size_t i = 0; i < READERS; i++)
        package_give_back(readers[i].package);
    pthread_barrier_destroy(&start);
    stage_done(&stage);
}

SUITE(terraform_cache, TEST(what_finds_no_room_takes_none), TEST(it_is_known_what_would_make_room),
      TEST(many_hash_the_copy_of_an_earlier_operator))
