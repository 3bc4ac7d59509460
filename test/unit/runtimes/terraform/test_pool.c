/* The pool, with a program that is no provider: what callers of many threads get, and who waits for
 * whom. */
#include "runtimes/terraform/pool.h"

#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "runtimes/terraform/plugin/folder.h"
#include "runtimes/terraform/wanted.h"
#include "test/unit/suite.h"

#define LONG 20000 /* ms */

/* The second has the same package. */
enum { CLOUD, COPIED, ADDRESSES };

struct stage {
    char *folder, *mirror, *cache;
    struct source allowed[ADDRESSES];
    struct pool *pool;
};

/* The program that tests start (test/unit/child), beside their own. */
static void copy_program(const char *to)
{
    char path[PATH_MAX], part[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    _cleanup_free_ char *from = NULL;
    FILE *in, *out;
    size_t n;

    CU_ASSERT_FATAL(length > 0);
    path[length] = '\0';
    from = str_printf("%.*s/child_static", (int)(strrchr(path, '/') - path), path);
    in = fopen(from, "re");
    out = fopen(to, "we");
    CU_ASSERT_FATAL(in && out);
    while ((n = fread(part, 1, sizeof(part), in)) > 0)
        CU_ASSERT(fwrite(part, 1, n, out) == n);
    fclose(in);
    fclose(out);
    chmod(to, 0755);
}

/* Version 1.0.0 of the provider. */
static void make_mirror(const char *mirror, const struct source *source)
{
    _cleanup_free_ char *program =
        str_printf("%s/%s/1.0.0/" PLATFORM "/terraform-provider-cloud", mirror, source->address);

    for (char *slash = strchr(program + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(program, 0755);
        *slash = '/';
    }
    copy_program(program);
}

/* start_time: as in pool.h. */
static void stage_begin(struct stage *stage, int64_t memory, int64_t start_time)
{
    *stage = (struct stage){.folder = str_new("/tmp/kusion-test-XXXXXX")};
    CU_ASSERT_FATAL(mkdtemp(stage->folder) != NULL);
    CU_ASSERT_FATAL(source_read("acme/cloud", '/', &stage->allowed[CLOUD], NULL) == 0);
    CU_ASSERT_FATAL(source_read("copied/cloud", '/', &stage->allowed[COPIED], NULL) == 0);
    stage->mirror = str_printf("%s/mirror", stage->folder);
    stage->cache = str_printf("%s/cache", stage->folder);
    for (size_t i = 0; i < ADDRESSES; i++)
        make_mirror(stage->mirror, &stage->allowed[i]);
    stage->pool = pool_new(&(struct pool_config){
        .finder = {.mirror = stage->mirror, .cache = stage->cache, .cache_bytes = 1 << 30},
        .allowed = stage->allowed,
        .n_allowed = ADDRESSES,
        .folder = stage->folder,
        .memory = memory,
        .start_time = start_time,
        .allow_unconfined = true /* where it must be */});
}

static void stage_init(struct stage *stage, int64_t memory)
{
    stage_begin(stage, memory, 0);
}

static void stage_done(struct stage *stage)
{
    pool_free(stage->pool);
    for (size_t i = 0; i < ADDRESSES; i++)
        source_done(&stage->allowed[i]);
    free(stage->mirror);
    free(stage->cache);
    folder_remove(stage->folder);
}

/* Takes a process that does this (test/unit/child). */
static int take_of(struct stage *stage, const struct source *source, const char *namespace_name,
                   const char *does, int64_t time, struct cancel *cancel, struct error *error)
{
    _cleanup_value_ const struct value *environment = value_pack("{s:s}", "DO", does);
    const struct need_owner owner = {.namespace_name = namespace_name, .environment = environment};
    _cleanup_(need_free_p) struct need *need = need_new(source, &owner, NULL);
    const struct plugin_call call = {.deadline = system_clock.monotonic(&system_clock) + time,
                                     .cancel = cancel};
    struct instance *instance = NULL;
    int r = pool_take(stage->pool, need, &call, &instance, error);

    pool_give_back(stage->pool, instance);
    return r;
}

static int take(struct stage *stage, const char *namespace_name, const char *does, int64_t time,
                struct cancel *cancel, struct error *error)
{
    return take_of(stage, &stage->allowed[CLOUD], namespace_name, does, time, cancel, error);
}

/* What State says of an object's provider is compared with what is wanted, so it has to be the
 * address that its own Spec has, though another's has the same files. */
static void a_package_of_two_addresses_is_two_providers(void)
{
    struct error error = {0};
    struct stage stage;

    stage_init(&stage, 0);
    EXPECT_INT(take(&stage, "first", "complain oh", LONG, NULL, &error), ERR_UNAVAILABLE,
               error.message);
    EXPECT(strstr(error.message, "acme/cloud 1.0.0"), error.message);
    error = (struct error){0};
    EXPECT_INT(take_of(&stage, &stage.allowed[COPIED], "second", "complain oh", LONG, NULL, &error),
               ERR_UNAVAILABLE, error.message);
    EXPECT(strstr(error.message, "copied/cloud 1.0.0"), error.message);
    stage_done(&stage);
}

/* ---- Callers in threads ---- */

struct caller {
    struct stage *stage;
    const char *namespace_name, *does;
    int64_t time;
    struct cancel *cancel;
    int result;
    struct error error;
    pthread_t thread;
};

static void *call(void *arg)
{
    struct caller *caller = arg;

    caller->result = take(caller->stage, caller->namespace_name, caller->does, caller->time,
                          caller->cancel, &caller->error);
    return NULL;
}

static void begin(struct caller *caller)
{
    CU_ASSERT_FATAL(pthread_create(&caller->thread, NULL, call, caller) == 0);
}

static void every_caller_gets_the_error_of_the_start(void)
{
    static const char *const namespaces[] = {"first", "second", "third"};
    struct caller callers[18];
    struct stage stage;

    stage_init(&stage, 0);
    for (size_t i = 0; i < ARRAY_SIZE(callers); i++) {
        callers[i] = (struct caller){.stage = &stage,
                                     .namespace_name = namespaces[i % 3],
                                     .does = i % 2 ? "print hello" : "complain oh",
                                     .time = LONG};
        begin(&callers[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(callers); i++) {
        pthread_join(callers[i].thread, NULL);
        EXPECT_INT(callers[i].result, i % 2 ? ERR_INVALID : ERR_UNAVAILABLE, callers[i].does);
    }
    stage_done(&stage);
}

/* Each process has a folder, beside the lock of all. */
static unsigned count_folders(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    unsigned count = 0;

    while (folder && (entry = readdir(folder)))
        count += *entry->d_name != '.' && entry->d_type == DT_DIR;
    if (folder)
        closedir(folder);
    return count;
}

static unsigned count_processes(const struct stage *stage)
{
    DIR *folder = opendir(stage->folder);
    struct dirent *entry;
    unsigned count = 0;

    while (folder && (entry = readdir(folder))) {
        _cleanup_free_ char *path = str_printf("%s/%s", stage->folder, entry->d_name);

        if (str_has_prefix(entry->d_name, "kusion-tf-"))
            count += count_folders(path);
    }
    closedir(folder);
    return count;
}

static void wait_for_processes(const struct stage *stage, unsigned count)
{
    int64_t limit = system_clock.monotonic(&system_clock) + LONG;

    while (count_processes(stage) < count && system_clock.monotonic(&system_clock) < limit)
        usleep(1000);
    EXPECT_INT(count_processes(stage), count, "processes");
}

/* It hangs while it starts. */
static void a_cancelled_caller_waits_no_more(void)
{
    struct cancel *cancel = cancel_new(NULL);
    struct caller caller;
    struct stage stage;

    stage_init(&stage, 0);
    caller = (struct caller){
        .stage = &stage, .namespace_name = "team", .does = "stay", .time = LONG, .cancel = cancel};
    begin(&caller);
    wait_for_processes(&stage, 1);
    cancel_fire(cancel, "Superseded");
    pthread_join(caller.thread, NULL);
    EXPECT_INT(caller.result, ERR_CANCELLED, "it ended");
    cancel_free(cancel);
    stage_done(&stage);
}

/* It hangs while it starts, and the one who started it has less time than the other. */
static void who_waits_for_a_start_has_its_own_time(void)
{
    struct cancel *cancel = cancel_new(NULL);
    struct caller hasty, patient;
    struct stage stage;

    stage_init(&stage, 0);
    hasty =
        (struct caller){.stage = &stage, .namespace_name = "team", .does = "stay", .time = 1000};
    patient = (struct caller){
        .stage = &stage, .namespace_name = "team", .does = "stay", .time = LONG, .cancel = cancel};
    begin(&hasty);
    wait_for_processes(&stage, 1);
    begin(&patient);
    pthread_join(hasty.thread, NULL);
    EXPECT_INT(hasty.result, ERR_TIMEOUT, "it had one second");
    EXPECT(strstr(hasty.error.message, "raise the timeout of the Spec"), hasty.error.message);
    cancel_fire(cancel, "Superseded");
    pthread_join(patient.thread, NULL);
    EXPECT_INT(patient.result, ERR_CANCELLED, "it went on until it was cancelled");
    stage_done(&stage);
    cancel_free(cancel);
}

static void who_waits_for_a_start_waits_no_longer_than_it_may(void)
{
    struct cancel *cancel = cancel_new(NULL);
    struct caller patient;
    struct error error = {0};
    struct stage stage;

    stage_init(&stage, 0);
    patient = (struct caller){
        .stage = &stage, .namespace_name = "team", .does = "stay", .time = LONG, .cancel = cancel};
    begin(&patient);
    wait_for_processes(&stage, 1);
    EXPECT_INT(take(&stage, "team", "stay", 300, NULL, &error), ERR_TIMEOUT, error.message);
    EXPECT(str_has_prefix(error.message, "the provider acme/cloud 1.0.0 did not start in time"),
           error.message);
    EXPECT(str_has_prefix(err_hints(error.message), "\nit is tried again; if it needs more time"),
           error.message);
    EXPECT_INT(count_processes(&stage), 1, "it was not started twice");
    cancel_fire(cancel, "Superseded");
    pthread_join(patient.thread, NULL);
    EXPECT_INT(patient.result, ERR_CANCELLED, patient.error.message);
    stage_done(&stage);
    cancel_free(cancel);
}

/* No timeout of a Spec changes that: the next start would take as long. */
static void a_start_has_a_time_of_its_own(void)
{
    struct caller callers[2];
    struct stage stage;

    stage_begin(&stage, 0, 1000);
    for (size_t i = 0; i < ARRAY_SIZE(callers); i++) {
        callers[i] = (struct caller){
            .stage = &stage, .namespace_name = "team", .does = "stay", .time = LONG};
        begin(&callers[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(callers); i++) {
        pthread_join(callers[i].thread, NULL);
        EXPECT_INT(callers[i].result, ERR_TIMEOUT, callers[i].error.message);
        EXPECT(strstr(callers[i].error.message, "a start has 60 s, whatever the timeout"),
               callers[i].error.message);
        EXPECT(!strstr(callers[i].error.message, "raise the timeout"), callers[i].error.message);
    }
    stage_done(&stage);
}

/* A process is reckoned with 64 MiB, which is more than all may have. */
static void another_namespace_gets_its_first_process_beside_one_that_has_all_memory(void)
{
    struct cancel *cancel = cancel_new(NULL);
    struct caller hog, second;
    struct error error = {0};
    struct stage stage;

    stage_init(&stage, 1 << 20);
    hog = (struct caller){
        .stage = &stage, .namespace_name = "hog", .does = "stay", .time = LONG, .cancel = cancel};
    second = hog;
    second.namespace_name = "second";
    begin(&hog);
    wait_for_processes(&stage, 1);
    EXPECT_INT(take(&stage, "quiet", "complain oh", LONG, NULL, NULL), ERR_UNAVAILABLE,
               "it was started, and ended");
    EXPECT_INT(take(&stage, "hog", "complain oh", 300, NULL, &error), ERR_TIMEOUT,
               "the same namespace gets no second one");
    EXPECT(str_has_prefix(err_hints(error.message), "\nit is tried again; raise --terraform-mem"),
           error.message);
    begin(&second);
    wait_for_processes(&stage, 2);
    EXPECT_INT(take(&stage, "quiet", "complain oh", 300, NULL, NULL), ERR_TIMEOUT,
               "they are no more than a few");
    cancel_fire(cancel, "Superseded");
    pthread_join(hog.thread, NULL);
    pthread_join(second.thread, NULL);
    EXPECT_INT(take(&stage, "quiet", "complain oh", LONG, NULL, NULL), ERR_UNAVAILABLE,
               "there is room");
    cancel_free(cancel);
    stage_done(&stage);
}

/* An operator that once ran providers is started without any: State has objects of theirs. */
static void a_pool_without_providers_refuses_them(void)
{
    struct pool *pool = pool_new(&(struct pool_config){0});
    struct stage stage = {.pool = pool};
    struct source source = {0};
    struct error error = {0};

    CU_ASSERT_FATAL(source_read("acme/cloud", '/', &source, NULL) == 0);
    EXPECT_INT(take_of(&stage, &source, "team", "stay", LONG, NULL, &error), ERR_UNSUPPORTED,
               error.message);
    EXPECT_STR(error.reason, "ProviderNotAllowed", error.message);
    EXPECT(strstr(error.message, "deletionPolicy: Orphan"), error.message);
    source_done(&source);
    pool_free(pool);
}

SUITE(terraform_pool, TEST(a_pool_without_providers_refuses_them),
      TEST(a_package_of_two_addresses_is_two_providers),
      TEST(every_caller_gets_the_error_of_the_start), TEST(a_cancelled_caller_waits_no_more),
      TEST(who_waits_for_a_start_has_its_own_time),
      TEST(who_waits_for_a_start_waits_no_longer_than_it_may), TEST(a_start_has_a_time_of_its_own),
      TEST(another_namespace_gets_its_first_process_beside_one_that_has_all_memory))
