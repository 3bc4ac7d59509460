#include "runtimes/terraform/finder.h"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "runtimes/terraform/plugin/folder.h"
#include "runtimes/terraform/wanted.h"
#include "test/unit/runtimes/terraform/finder_stage.h"
#include "test/unit/suite.h"

/* ---- Copies ---- */

static void what_is_there_is_not_downloaded_again(void)
{
    struct stage stage;
    struct found found = {0};

    stage_init(&stage);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT(stage_find(&stage, "good", NULL, &found, NULL) == 0);
        stage_expect(&stage, &found, "again");
        found_done(&found);
        if (i == 1)
            stage_restart(&stage); /* the next operator asks, and has it */
    }
    EXPECT_INT(stage_requests(&stage, "/files/good/terraform"), 1, "downloads");
    EXPECT_INT(stage_requests(&stage, "/versions"), 2, "one for each operator");
    stage_done(&stage);
}

static void a_copy_that_was_changed_is_not_used(void)
{
    struct stage stage;
    struct found found = {0};

    stage_init(&stage);
    CU_ASSERT_FATAL(stage_find(&stage, "good", NULL, &found, NULL) == 0);
    spoil(found.program);
    found_done(&found);
    stage_restart(&stage);
    CU_ASSERT_FATAL(stage_find(&stage, "good", NULL, &found, NULL) == 0);
    stage_expect(&stage, &found, "a new one");
    EXPECT_INT(stage_requests(&stage, "/files/good/terraform"), 2, "downloads");
    found_done(&found);
    stage_done(&stage);
}

/* What runs is what was hashed. */
static void a_change_of_the_mirror_does_not_reach_the_copy(void)
{
    struct stage stage;
    struct found found = {0}, other = {0};
    _cleanup_free_ char *mirror = NULL, *program = NULL;
    char h1[PACKAGE_H1_SIZE];

    stage_init(&stage);
    mirror = str_printf("%s/files", stage.script.folder);
    program = str_printf("%s/%s/good/random/1.0.0/" PLATFORM "/terraform-provider-random_v1.0.0",
                         mirror, stage.host);
    make_folders(program);
    spoil((stage_copy(&stage, "good.zip", program), program));
    stage.config.mirror = mirror;
    CU_ASSERT_FATAL(stage_find(&stage, "good", NULL, &found, NULL) == 0);
    str_copy(h1, sizeof(h1), found.package->h1);
    EXPECT(!str_has_prefix(found.program, mirror), "a copy");
    spoil(program);
    CU_ASSERT_FATAL(stage_find(&stage, "good", NULL, &other, NULL) == 0);
    EXPECT_STR(other.package->h1, h1, "the same operator uses the same copy");
    EXPECT_STR(other.program, found.program, "the same program");
    found_done(&found);
    found_done(&other);
    stage_restart(&stage);
    CU_ASSERT_FATAL(stage_find(&stage, "good", NULL, &other, NULL) == 0);
    EXPECT(!str_equal(other.package->h1, h1), "the next one sees that it changed");
    found_done(&other);
    stage_done(&stage);
}

static void what_was_not_used_for_long_makes_room(void)
{
    struct stage stage;
    struct found found = {0}, large = {0};
    struct error error = {0};

    stage_init(&stage);
    stage.config.cache_bytes = (5 << 20) + 10;
    CU_ASSERT_FATAL(stage_find(&stage, "good", NULL, &found, NULL) == 0);
    /* In use, it stays, and leaves no room. */
    EXPECT_INT(stage_find(&stage, "large", NULL, &large, &error), ERR_UNAVAILABLE, error.message);
    EXPECT_STR(error.reason, "ProviderCacheFull", error.message);
    CU_ASSERT(access(found.program, X_OK) == 0);
    found_done(&found);
    stage_restart(&stage);
    EXPECT_INT(stage_find(&stage, "large", NULL, &large, &error), 0, error.message);
    found_done(&large);
    CU_ASSERT(stage_find(&stage, "good", NULL, &found, NULL) == 0);
    EXPECT_INT(stage_requests(&stage, "/files/good/terraform"), 2, "the first had made room");
    found_done(&found);
    CU_ASSERT(stage_is_tidy(&stage));
    stage_done(&stage);
}

static bool give_back(void *arg, struct cache *cache, uint64_t bytes)
{
    struct found *found = arg;
    bool is_enough = cache_fits(cache, bytes, &found->package, 1);

    EXPECT(!cache_fits(cache, bytes, NULL, 0), "it is asked when there is no room");
    if (is_enough)
        found_done(found);
    return is_enough;
}

static void what_is_given_back_makes_room(void)
{
    struct stage stage;
    struct found idle = {0}, large = {0};
    struct error error = {0};

    stage_init(&stage);
    stage.config.cache_bytes = (5 << 20) + 10;
    stage.config.make_room = give_back;
    stage.config.arg = &idle;
    CU_ASSERT_FATAL(stage_find(&stage, "good", NULL, &idle, NULL) == 0);
    EXPECT_INT(stage_find(&stage, "large", NULL, &large, &error), 0, error.message);
    EXPECT(!idle.package && large.package, "in its place");
    found_done(&large);
    CU_ASSERT(stage_is_tidy(&stage));
    stage_done(&stage);
}

static void what_a_killed_operator_left_is_removed(void)
{
    struct stage stage;
    struct found found = {0};
    _cleanup_free_ char *left = NULL;

    stage_init(&stage);
    left = str_printf("%s/kusion-packages/.new-abcdef/files/program", stage.cache);
    make_folders(left);
    EXPECT(!stage_is_tidy(&stage), "left");
    chmod(stage.cache, 0700);
    {
        _cleanup_free_ char *packages = str_printf("%s/kusion-packages", stage.cache);

        chmod(packages, 0700);
    }
    CU_ASSERT(stage_find(&stage, "good", NULL, &found, NULL) == 0);
    CU_ASSERT(stage_is_tidy(&stage));
    found_done(&found);
    stage_done(&stage);
}

static void a_folder_that_others_may_write_is_refused(void)
{
    struct stage stage;
    struct found found = {0};
    struct error error = {0};
    _cleanup_free_ char *packages = NULL;

    stage_init(&stage);
    packages = str_printf("%s/kusion-packages/", stage.cache);
    make_folders(packages);
    chmod(packages, 0777);
    CU_ASSERT(stage_find(&stage, "good", NULL, &found, &error) == ERR_UNAVAILABLE);
    EXPECT_STR(error.reason, "ProviderCacheFailed", error.message);
    stage_done(&stage);
}

/* Somebody empties the folder while the operator runs. */
static void a_copy_that_is_gone_is_made_anew(void)
{
    struct stage stage;
    struct found used = {0}, found = {0};
    struct error error = {0};
    _cleanup_free_ char *packages = NULL;

    stage_init(&stage);
    packages = str_printf("%s/kusion-packages", stage.cache);
    CU_ASSERT_FATAL(stage_find(&stage, "good", NULL, &used, NULL) == 0);
    for (int i = 0; i < 2; i++) {
        folder_remove(str_new(i ? packages : used.package->folder));
        EXPECT_INT(stage_find(&stage, "good", NULL, &found, &error), 0, error.message);
        if (found.package)
            stage_expect(&stage, &found, i ? "the whole folder" : "one copy, which is in use");
        found_done(&found);
    }
    EXPECT_INT(stage_requests(&stage, "/files/good/terraform"), 3, "downloads");
    found_done(&used);
    stage_done(&stage);
}

/* ---- Many callers ---- */

struct caller {
    struct stage *stage;
    int result;
    pthread_t thread;
};

static void *call(void *arg)
{
    struct caller *caller = arg;
    struct found found = {0};

    caller->result = stage_find(caller->stage, "slow", NULL, &found, NULL);
    found_done(&found);
    return NULL;
}

static void many_callers_make_one_download(void)
{
    struct stage stage;
    struct caller callers[12];

    stage_init(&stage);
    stage_restart(&stage);
    for (size_t i = 0; i < ARRAY_SIZE(callers); i++) {
        callers[i] = (struct caller){.stage = &stage};
        CU_ASSERT_FATAL(pthread_create(&callers[i].thread, NULL, call, &callers[i]) == 0);
    }
    for (size_t i = 0; i < ARRAY_SIZE(callers); i++) {
        pthread_join(callers[i].thread, NULL);
        EXPECT_INT(callers[i].result, 0, "found");
    }
    EXPECT_INT(stage_requests(&stage, "/files/slow/terraform"), 1, "downloads");
    stage_done(&stage);
}

static void a_caller_does_not_wait_for_long(void)
{
    struct stage stage;
    struct found found = {0};
    struct error error = {0};
    int64_t begun = system_clock.monotonic(&system_clock);

    stage_init(&stage);
    stage.config.patience = 50;
    CU_ASSERT(stage_find(&stage, "slow", NULL, &found, &error) == ERR_UNAVAILABLE);
    EXPECT_STR(error.reason, "ProviderDownloading", error.message);
    while (stage_find(&stage, "slow", NULL, &found, &error) == ERR_UNAVAILABLE &&
           system_clock.monotonic(&system_clock) < begun + STAGE_LONG)
        ;
    EXPECT(found.package, "it went on meanwhile");
    EXPECT_INT(stage_requests(&stage, "/files/slow/terraform"), 1, "downloads");
    found_done(&found);
    stage_done(&stage);
}

static void the_end_does_not_wait_for_a_download(void)
{
    struct stage stage;
    struct found found = {0};
    int64_t begun;

    stage_init(&stage);
    stage.config.patience = 50;
    CU_ASSERT(stage_find(&stage, "hangs", NULL, &found, NULL) == ERR_UNAVAILABLE);
    begun = system_clock.monotonic(&system_clock);
    finder_free(TAKE(stage.finder));
    CU_ASSERT(system_clock.monotonic(&system_clock) < begun + STAGE_LONG / 2);
    stage_done(&stage);
}

SUITE(terraform_finder, TEST(what_is_there_is_not_downloaded_again),
      TEST(a_copy_that_was_changed_is_not_used),
      TEST(a_change_of_the_mirror_does_not_reach_the_copy),
      TEST(what_was_not_used_for_long_makes_room), TEST(what_is_given_back_makes_room),
      TEST(what_a_killed_operator_left_is_removed), TEST(a_folder_that_others_may_write_is_refused),
      TEST(a_copy_that_is_gone_is_made_anew), TEST(many_callers_make_one_download),
      TEST(a_caller_does_not_wait_for_long), TEST(the_end_does_not_wait_for_a_download))
