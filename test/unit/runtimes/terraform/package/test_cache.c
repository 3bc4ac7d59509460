#include "runtimes/terraform/package/cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/terraform/plugin/folder.h"
#include "test/unit/suite.h"

#define MOST    100 /* bytes of all copies here */
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

/* Keeps a package of one file of so many bytes. */
static int keep(struct stage *stage, size_t bytes, char ret_h1[PACKAGE_H1_SIZE],
                struct package **ret, struct error *error)
{
    _cleanup_(staging_done) struct staging staging = STAGING_INIT;
    _cleanup_(package_writer_done) struct package_writer writer;
    char content[MOST] = "";

    CU_ASSERT_FATAL(cache_begin(stage->cache, &staging, NULL) == 0);
    package_writer_init(&writer, staging.files, cache_room(stage->cache));
    CU_ASSERT_FATAL(package_writer_begin(&writer, "program", true, NULL) == 0);
    CU_ASSERT_FATAL(package_writer_add(&writer, content, bytes, NULL) == 0);
    CU_ASSERT_FATAL(package_writer_end(&writer, NULL) == 0);
    package_writer_finish(&writer, ret_h1);
    return cache_keep(stage->cache, &staging, NULL, &writer, ret_h1, ret, error);
}

static bool is_there(const struct stage *stage, const char *h1)
{
    _cleanup_(package_give_back_p) struct package *package = NULL;

    return cache_find_hash(stage->cache, h1, &package, NULL) == 0;
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
    reader->is_right =
        cache_find_hash(reader->stage->cache, reader->h1, &reader->package, NULL) == 0 &&
        str_equal(reader->package->h1, reader->h1);
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

SUITE(terraform_cache, TEST(what_finds_no_room_takes_none),
      TEST(many_hash_the_copy_of_an_earlier_operator))
