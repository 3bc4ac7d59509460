/* How many Releases are kept, and what goes with them. */
#include <ftw.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "test/unit/controller/scene.h"

#define WEB SPECS "/web"

/* One generation after the other, until each is applied. fields: "\"…\":1,". */
static void apply_generations(struct scene *scene, const char *fields, unsigned first,
                              unsigned last)
{
    for (unsigned n = first; n <= last; n++) {
        _cleanup_free_ char *resource = str_printf(
            "{\"id\":\"" CONFIGMAP_ID("a") "\",\"type\":\"Kubernetes\",\"attributes\":"
                                           "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
                                           "\"metadata\":{\"name\":\"a\",\"namespace\":\"team\"},"
                                           "\"data\":{\"x\":\"%u\"}}}",
            n);

        scene_spec(scene, "web", fields, resource);
        scene_expect_ready(scene, "web", "True", "ReconciliationSucceeded");
    }
    scene_expect_quiet(scene);
}

/* Exactly these revisions have a Release. */
static void expect_kept(struct scene *scene, unsigned first, unsigned last)
{
    EXPECT_INT(api_server_size(scene->server, RELEASES), last - first + 1, "as many as are kept");
    for (unsigned n = first; n <= last; n++)
        EXPECT_PHASE(scene, "web", n, "succeeded");
}

static void keeps_the_newest(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    apply_generations(&scene, "\"revisionHistoryLimit\":3,", 1, 3);
    expect_kept(&scene, 1, 3);
    api_server_mark(scene.server);
    apply_generations(&scene, "\"revisionHistoryLimit\":3,", 4, 6);
    expect_kept(&scene, 4, 6);
    EXPECT_INT(api_server_count(scene.server, "delete", RELEASES "/*"), 3, "each once");
    EXPECT_INT(api_server_count(scene.server, "list", RELEASES), 3, "one for each operation");
    scene_end(&scene);
}

static void keeps_ten_unless_told_otherwise(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    apply_generations(&scene, "", 1, 12);
    expect_kept(&scene, 3, 12);
    scene_end(&scene);
}

static void a_lower_limit_holds_at_once(void)
{
    static const struct {
        const char *fields;
        unsigned first; /* that is kept */
    } rows[] = {{"\"revisionHistoryLimit\":2,", 5},
                {"\"revisionHistoryLimit\":1,", 6},
                {"\"revisionHistoryLimit\":0,", 6}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct scene scene = {0};

        scene_begin(&scene);
        apply_generations(&scene, "", 1, 5);
        apply_generations(&scene, rows[i].fields, 5, 5);
        expect_kept(&scene, rows[i].first, 6);
        scene_end(&scene);
    }
}

/* However many generations fail. */
static void keeps_the_last_that_succeeded(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    apply_generations(&scene, "\"revisionHistoryLimit\":2,", 1, 2);
    api_server_rule(scene.server, &(struct api_rule){.verb = "apply",
                                                     .path = CONFIGMAPS "/b",
                                                     .fault = API_ANSWER,
                                                     .status = 422});
    for (unsigned n = 3; n <= 6; n++) {
        _cleanup_free_ char *fields =
            str_printf("\"revisionHistoryLimit\":2,\"interval\":\"%uh\",", n);

        scene_spec(&scene, "web", fields, CONFIGMAP("a", "2") "," CONFIGMAP("b", "1"));
        scene_expect_ready(&scene, "web", "False", NULL);
    }
    scene_expect_quiet(&scene);
    EXPECT_INT(api_server_size(scene.server, RELEASES), 2, "two");
    EXPECT_PHASE(&scene, "web", 2, "succeeded");
    EXPECT_PHASE(&scene, "web", 6, "failed");
    scene_end(&scene);
}

/* The first check of a process lists what an earlier one may have left; the next ones do not. */
static void an_idle_spec_costs_nothing(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    apply_generations(&scene, "\"revisionHistoryLimit\":2,", 1, 4);
    scene_kill(&scene);
    api_server_mark(scene.server);
    scene_start(&scene);
    scene_expect_quiet(&scene);
    EXPECT_WRITES(&scene, "");
    EXPECT_INT(api_server_count(scene.server, "list", RELEASES), 1, "once");
    for (int n = 0; n < 2; n++) {
        scene_ask(&scene, "web");
        scene_expect_handled(&scene, "web");
    }
    scene_expect_quiet(&scene);
    EXPECT_INT(api_server_count(scene.server, "list", RELEASES), 1, "and not again");
    scene_end(&scene);
}

/* Killed after so many writes of the operation that lowers the limit. False: it makes fewer. */
static bool collect_and_kill(unsigned writes)
{
    struct scene scene = {0};
    bool was_cut;

    scene_begin(&scene);
    apply_generations(&scene, "", 1, 5);
    api_server_mark(scene.server);
    api_server_cut_after(scene.server, writes);
    scene_spec(&scene, "web", "\"revisionHistoryLimit\":1,", CONFIGMAP("a", "5"));
    for (int ms = 0; ms < 1500 && !api_server_is_cut(scene.server); ms += 20)
        usleep(20000);
    was_cut = api_server_is_cut(scene.server);
    scene_kill(&scene);
    api_server_mend(scene.server);
    scene_start(&scene);
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    scene_expect_quiet(&scene);
    EXPECT_INT(api_server_size(scene.server, RELEASES), 1, "the newest");
    EXPECT_PHASE(&scene, "web", 6, "succeeded");
    EXPECT_DATA(&scene, "a", "5");
    scene_end(&scene);
    return was_cut;
}

static void goes_on_where_it_was_killed(void)
{
    unsigned writes = 1;

    while (collect_and_kill(writes))
        writes++;
    EXPECT(writes >= 7, "Release, State, Release, Spec, and those that go");
}

static void what_cannot_be_removed_is_tried_again(void)
{
    struct scene scene = {0};
    unsigned rule;

    scene_begin(&scene);
    rule = api_server_rule(scene.server, &(struct api_rule){.verb = "delete",
                                                            .path = RELEASES "/*",
                                                            .fault = API_FORBID});
    apply_generations(&scene, "\"revisionHistoryLimit\":1,", 1, 3);
    EXPECT_INT(api_server_size(scene.server, RELEASES), 3, "refused");
    api_server_release(scene.server, rule);
    scene_ask(&scene, "web");
    scene_expect_handled(&scene, "web");
    scene_expect_quiet(&scene);
    expect_kept(&scene, 3, 3);
    scene_end(&scene);
}

/* ---- In files ---- */

static unsigned files_seen;

/* Locks are files, too, and empty. */
static int see_file(const char *path, const struct stat *status, int type, struct FTW *at)
{
    (void)path, (void)at;
    files_seen += type == FTW_F && status->st_size > 0;
    return 0;
}

static unsigned count_files(const char *directory)
{
    files_seen = 0;
    if (nftw(directory, see_file, 8, FTW_PHYS) != 0)
        abort();
    return files_seen;
}

static int remove_file(const char *path, const struct stat *status, int type, struct FTW *at)
{
    (void)status, (void)type, (void)at;
    return remove(path);
}

/* The records go with their Spec, also if it went while no process ran. */
static void records_in_files_go_with_their_spec(void)
{
    for (int is_killed = 0; is_killed < 2; is_killed++) {
        char directory[] = "/tmp/kusion-retention-XXXXXX";
        _cleanup_free_ char *flags = NULL;
        struct scene scene = {0};

        if (!mkdtemp(directory))
            abort();
        flags = str_printf("--state-backend=file:%s", directory);
        scene.flags = flags;
        scene_begin(&scene);
        apply_generations(&scene, "\"revisionHistoryLimit\":2,", 1, 4);
        EXPECT_INT(count_files(directory), 3, "State and two records");
        if (is_killed) { /* nobody removes the finalizer but a person */
            scene_kill(&scene);
            api_server_edit(scene.server, WEB, "{\"metadata\":{\"finalizers\":null}}");
            api_server_delete(scene.server, WEB);
            scene_start(&scene);
        } else {
            api_server_delete(scene.server, WEB);
        }
        scene_expect_gone(&scene, WEB);
        scene_expect_quiet(&scene);
        EXPECT_INT(count_files(directory), is_killed, "State alone, if it was not destroyed");
        scene_end(&scene);
        EXPECT_INT(nftw(directory, remove_file, 8, FTW_PHYS | FTW_DEPTH), 0, "cleaned up");
    }
}

SUITE(scenario_retention, TEST(keeps_the_newest), TEST(keeps_ten_unless_told_otherwise),
      TEST(a_lower_limit_holds_at_once), TEST(keeps_the_last_that_succeeded),
      TEST(an_idle_spec_costs_nothing), TEST(goes_on_where_it_was_killed),
      TEST(what_cannot_be_removed_is_tried_again), TEST(records_in_files_go_with_their_spec))
