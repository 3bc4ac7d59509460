/* A store that is not the one that the operator knows: nothing is made or deleted until the right
 * one is back, or a person has accepted it; and then nothing is made twice. */
#include <ftw.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "test/unit/controller/scene.h"

#define WEB   SPECS "/web"
#define CLAIM STATES "/kusion-store"

struct stage {
    struct scene scene;
    char folder[64], *copy, *flags;
};

static int remove_file(const char *path, const struct stat *status, int type, struct FTW *at)
{
    (void)status, (void)type, (void)at;
    return remove(path);
}

static void remove_folder(const char *path)
{
    nftw(path, remove_file, 8, FTW_PHYS | FTW_DEPTH);
}

static void copy_folder(const char *from, const char *to)
{
    int status = -1;
    pid_t pid;

    remove_folder(to);
    pid = fork();
    if (pid == 0) {
        execlp("cp", "cp", "-a", from, to, (char *)NULL);
        _exit(127);
    }
    EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, to);
}

/* Of web, with State in a folder, or (is_file false) in ConfigMaps. */
static void stage_init(struct stage *stage, bool is_file)
{
    *stage = (struct stage){0};
    str_copy(stage->folder, sizeof(stage->folder), "/tmp/kusion-store-XXXXXX");
    CU_ASSERT_FATAL(mkdtemp(stage->folder) != NULL);
    stage->copy = str_printf("%s-copy", stage->folder);
    stage->flags = str_printf("--state-backend=%s%s", is_file ? "file:" : "configmap",
                              is_file ? stage->folder : "");
    stage->scene.flags = stage->flags;
    scene_begin(&stage->scene);
    scene_spec(&stage->scene, "web", "", CONFIGMAP("a", "1") "," CONFIGMAP("b", "1"));
    scene_expect_ready(&stage->scene, "web", "True", NULL);
    scene_expect_quiet(&stage->scene);
}

static void stage_done(struct stage *stage)
{
    scene_end(&stage->scene);
    remove_folder(stage->folder);
    remove_folder(stage->copy);
    free(stage->copy);
    free(stage->flags);
}

static char *uid_of(struct scene *scene, const char *path)
{
    _cleanup_value_ const struct value *object = api_server_get(scene->server, path);

    return str_new(value_string(value_path(object, "metadata", "uid", NULL)));
}

/* ---- What is put in the store's place ---- */

static void empty_folder(struct stage *stage)
{
    scene_kill(&stage->scene);
    copy_folder(stage->folder, stage->copy);
    remove_folder(stage->folder);
}

static void restore_folder(struct stage *stage)
{
    scene_kill(&stage->scene);
    copy_folder(stage->folder, stage->copy);
    scene_start(&stage->scene); /* that is after the copy */
    scene_expect_quiet(&stage->scene);
    scene_kill(&stage->scene);
    remove_folder(stage->folder);
    copy_folder(stage->copy, stage->folder);
}

static void delete_claim(struct stage *stage)
{
    scene_kill(&stage->scene);
    api_server_delete(stage->scene.server, CLAIM);
}

static void delete_documents(struct stage *stage)
{
    scene_kill(&stage->scene);
    scene_remove_states(&stage->scene, STATES "?labelSelector=api.kusion.io/state");
}

static const struct way {
    const char *note;
    bool is_file;
    void (*replace)(struct stage *stage);
    const char *reason;
} ways[] = {
    {"the folder is empty", true, empty_folder, "StoreReplaced"},
    {"the folder is of yesterday", true, restore_folder, "StoreRestored"},
    {"the record is gone, and State is in files", true, delete_claim, "StoreReplaced"},
    {"the record is gone, and State is in ConfigMaps", false, delete_claim, "StoreReplaced"},
    {"all ConfigMaps of State are gone", false, delete_documents, "StoreReplaced"},
};

/* ---- Until somebody does something ---- */

static void expect_untouched(struct stage *stage, const struct way *way)
{
    struct scene *scene = &stage->scene;

    api_server_mark(scene->server);
    scene_start(scene);
    scene_expect_ready(scene, "web", "Unknown", way->reason);
    scene_spec(scene, "web", "", CONFIGMAP("a", "2") "," CONFIGMAP("c", "1"));
    scene_expect_ready(scene, "web", "Unknown", way->reason);
    api_server_delete(scene->server, WEB);
    scene_expect_quiet(scene);
    EXPECT_DATA(scene, "a", "1");
    EXPECT_DATA(scene, "b", "1");
    EXPECT_DATA(scene, "c", NULL);
    scene_expect_there(scene, WEB);
}

static void nothing_is_made_or_deleted(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        _cleanup_free_ char *message = NULL;
        struct stage stage;

        stage_init(&stage, ways[i].is_file);
        ways[i].replace(&stage);
        expect_untouched(&stage, &ways[i]);
        message = scene_message(&stage.scene, "web");
        EXPECT(strstr(message, "; before that, Ready was True (ReconciliationSucceeded)"), message);
        scene_expect_logged(&stage.scene, "--accept-store=");
        stage_done(&stage);
    }
}

static void its_return_is_seen(void)
{
    _cleanup_free_ char *before = NULL, *after = NULL;
    struct stage stage;

    stage_init(&stage, true);
    before = uid_of(&stage.scene, CONFIGMAPS "/a");
    empty_folder(&stage);
    scene_start(&stage.scene);
    scene_expect_ready(&stage.scene, "web", "Unknown", "StoreReplaced");
    copy_folder(stage.copy, stage.folder);
    scene_expect_ready(&stage.scene, "web", "True", "ReconciliationSucceeded");
    after = uid_of(&stage.scene, CONFIGMAPS "/a");
    EXPECT_STR(after, before, "the same object");
    stage_done(&stage);
}

/* The volume is taken away under a running process, which is asked for a change. */
static void a_store_that_goes_away_while_it_works(void)
{
    struct stage stage;

    stage_init(&stage, true);
    copy_folder(stage.folder, stage.copy);
    scene_stop(&stage.scene);
    scene_start(&stage.scene);
    scene_expect_quiet(&stage.scene);
    remove_folder(stage.folder);
    scene_spec(&stage.scene, "web", "", CONFIGMAP("a", "2") "," CONFIGMAP("b", "1"));
    scene_expect_ready(&stage.scene, "web", "Unknown", "StoreReplaced");
    EXPECT_DATA(&stage.scene, "a", "1");
    stage_done(&stage);
}

static char *phase_of(struct scene *scene, const char *path)
{
    _cleanup_value_ const struct value *object = api_server_get(scene->server, path);
    const char *phase = value_string(value_path(object, "status", "phase", NULL));

    return str_new(phase ? phase : "");
}

/* It shows what State says, so it waits for State, and is then made. */
static void a_preview_waits_for_the_store(void)
{
    struct scene *scene;
    struct stage stage;

    stage_init(&stage, true);
    scene = &stage.scene;
    empty_folder(&stage);
    scene_start(scene);
    scene_expect_ready(scene, "web", "Unknown", "StoreReplaced");
    api_server_create(scene->server,
                      "{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Release\",\"metadata\":{"
                      "\"namespace\":\"team\",\"name\":\"look\"},\"spec\":{\"specRef\":{\"name\":"
                      "\"web\"},\"operation\":\"Preview\"}}");
    for (int ms = 0; ms < 20000; ms += 100) {
        _cleanup_free_ char *phase = phase_of(scene, RELEASES "/look");

        EXPECT(!str_equal(phase, "failed") && !str_equal(phase, "succeeded"), phase);
        if (str_equal(phase, "previewing"))
            break;
        usleep(100000);
    }
    copy_folder(stage.copy, stage.folder);
    scene_expect_ready(scene, "web", "True", NULL);
    for (int ms = 0; ms < 60000; ms += 100) {
        _cleanup_free_ char *phase = phase_of(scene, RELEASES "/look");

        if (str_equal(phase, "succeeded"))
            break;
        usleep(100000);
    }
    {
        _cleanup_free_ char *phase = phase_of(scene, RELEASES "/look");

        EXPECT_STR(phase, "succeeded", "made by now");
    }
    stage_done(&stage);
}

/* ---- Accepted ---- */

static void what_was_accepted_makes_nothing_twice(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        _cleanup_free_ char *before = NULL, *after = NULL;
        struct scene *scene;
        struct stage stage;

        stage_init(&stage, ways[i].is_file);
        scene = &stage.scene;
        before = uid_of(scene, CONFIGMAPS "/a");
        ways[i].replace(&stage);
        scene_start(scene);
        scene_expect_ready(scene, "web", "Unknown", ways[i].reason);
        scene_accept_store(scene, "web");
        scene_expect_ready(scene, "web", "True", "ReconciliationSucceeded");
        after = uid_of(scene, CONFIGMAPS "/a");
        EXPECT_STR(after, before, ways[i].note);
        scene_kill(scene);
        scene_start(scene); /* without the flag */
        scene_spec(scene, "web", "", CONFIGMAP("a", "2"));
        scene_expect_ready(scene, "web", "True", "ReconciliationSucceeded");
        EXPECT_DATA(scene, "a", "2");
        EXPECT_DATA(scene, "b", NULL);
        stage_done(&stage);
    }
}

/* The Spec is deleted, while the store that was accepted knows nothing of it. */
static void a_deletion_leaves_nothing_behind(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        struct scene *scene;
        struct stage stage;

        stage_init(&stage, ways[i].is_file);
        scene = &stage.scene;
        ways[i].replace(&stage);
        scene_start(scene);
        scene_expect_ready(scene, "web", "Unknown", ways[i].reason);
        api_server_delete(scene->server, WEB);
        scene_accept_store(scene, "web");
        scene_expect_gone(scene, WEB);
        EXPECT_INT(api_server_size(scene->server, CONFIGMAPS), 0, ways[i].note);
        stage_done(&stage);
    }
}

SUITE(scenario_store, TEST(nothing_is_made_or_deleted), TEST(its_return_is_seen),
      TEST(a_store_that_goes_away_while_it_works), TEST(a_preview_waits_for_the_store),
      TEST(what_was_accepted_makes_nothing_twice), TEST(a_deletion_leaves_nothing_behind))
