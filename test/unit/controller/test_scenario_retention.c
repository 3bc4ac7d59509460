/* How many Releases are kept, and what goes with them. */
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/buf.h"
#include "engine/base/str.h"
#include "engine/release/history.h"
#include "test/unit/controller/scene.h"
#include "test/unit/engine/sweep.h"

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
    EXPECT_WRITES(&scene, STARTED);
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
    unsigned writes = sweep_first(0);

    while (collect_and_kill(writes))
        writes = sweep_next(writes);
    EXPECT(writes >= 7, "Release, State, Release, Spec, and those that go");
}

static void what_cannot_be_removed_is_tried_again(void)
{
    struct scene scene = {0};
    unsigned rule;

    scene_begin(&scene);
    rule = api_server_rule(
        scene.server,
        &(struct api_rule){.verb = "delete", .path = RELEASES "/*", .fault = API_FORBID});
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

/* A document has one head. */
/* Heads but that of the store itself. */
static int see_file(const char *path, const struct stat *status, int type, struct FTW *at)
{
    (void)status, (void)at;
    files_seen += type == FTW_F && str_has_suffix(path, ".head") && !strstr(path, "/store.head");
    return 0;
}

static unsigned count_documents(const char *directory)
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
        EXPECT_INT(count_documents(directory), 3, "State, and two records");
        if (is_killed) { /* nobody removes the finalizer but a person */
            scene_kill(&scene);
            api_server_edit(scene.server, WEB, "{\"metadata\":{\"finalizers\":null}}");
            api_server_delete(scene.server, WEB);
            scene_start(&scene);
        } else {
            api_server_delete(scene.server, WEB);
        }
        scene_expect_gone(&scene, WEB);
        for (int ms = 0; ms < 60000 && count_documents(directory) > (unsigned)is_killed; ms += 20)
            usleep(20000);
        EXPECT_INT(count_documents(directory), is_killed, "State alone, if it was not destroyed");
        scene_end(&scene);
        EXPECT_INT(nftw(directory, remove_file, 8, FTW_PHYS | FTW_DEPTH), 0, "cleaned up");
    }
}

/* A process was killed while it removed a document: the next one removes what is left of it. */
static void what_a_killed_removal_left_goes(void)
{
    char directory[] = "/tmp/kusion-test-XXXXXX";
    _cleanup_free_ char *flags = NULL, *team = NULL, *spec = NULL, *secret = NULL;
    struct scene scene = {0};

    if (!mkdtemp(directory))
        abort();
    flags = str_printf("--state-backend=file:%s", directory);
    team = str_printf("%s/team", directory);
    spec = str_printf("%s/gone", team);
    secret = str_printf("%s/state.0123456789abcdef.secret", spec);
    EXPECT_INT(mkdir(team, 0700) + mkdir(spec, 0700), 0, spec);
    EXPECT_INT(symlink("a value", secret), 0, secret);
    scene.flags = flags;
    scene_begin(&scene);
    for (int i = 0; i < 2000 && faccessat(AT_FDCWD, secret, F_OK, AT_SYMLINK_NOFOLLOW) == 0; i++)
        usleep(10000);
    EXPECT(faccessat(AT_FDCWD, secret, F_OK, AT_SYMLINK_NOFOLLOW) < 0, "the value of a Secret");
    scene_end(&scene);
    EXPECT_INT(nftw(directory, remove_file, 8, FTW_PHYS | FTW_DEPTH), 0, "cleaned up");
}

/* A Release of an earlier Spec of the name, of the same generation, says nothing of this one: the
 * garbage collector is about to delete it. */
static void a_spec_made_again_has_a_release_of_its_own(void)
{
    _cleanup_value_ const struct value *web = NULL, *release = NULL;
    struct scene scene = {0};

    scene_begin(&scene);
    apply_generations(&scene, "", 1, 1);
    scene_kill(&scene);
    api_server_edit(scene.server, WEB, "{\"metadata\":{\"finalizers\":null}}");
    api_server_delete(scene.server, WEB);
    scene_spec(&scene, "web", "", CONFIGMAP("a", "1"));
    scene_start(&scene);
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    scene_expect_quiet(&scene);
    EXPECT_PHASE(&scene, "web", 2, "succeeded");
    web = api_server_get(scene.server, WEB);
    release = api_server_get(scene.server, RELEASES "/web-2");
    EXPECT_STR(value_get_string(
                   value_at(value_path(release, "metadata", "ownerReferences", NULL), 0), "uid"),
               value_string(value_path(web, "metadata", "uid", NULL)), "its owner");
    scene_end(&scene);
}

/* ---- Previews ---- */

static void begin_with_flags(struct scene *scene, const char *flags)
{
    *scene = (struct scene){.flags = flags};
    scene_begin(scene);
    scene_spec(scene, "web", "", CONFIGMAP("a", "1"));
    scene_expect_ready(scene, "web", "True", "ReconciliationSucceeded");
}

/* Returns when it has ended. fields: of its spec, each with a comma. */
static void preview(struct scene *scene, const char *name, const char *spec, const char *fields)
{
    _cleanup_free_ char *path = str_printf(RELEASES "/%s", name);
    _cleanup_free_ char *json = str_printf(
        "{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Release\",\"metadata\":{\"name\":\"%s\","
        "\"namespace\":\"team\"},\"spec\":{%s\"specRef\":{\"name\":\"%s\"},\"operation\":"
        "\"Preview\"}}",
        name, fields, spec);

    api_server_create(scene->server, json);
    for (int ms = 0; ms < 60000; ms += 20) {
        _cleanup_value_ const struct value *object = api_server_get(scene->server, path);

        if (!object || release_phase_is_terminal(release_status_phase(value_get(object, "status"))))
            return;
        usleep(20000);
    }
    EXPECT(false, "the preview ends");
}

static void previews_live_for_a_while(void)
{
    static const struct {
        const char *note, *flags, *fields;
        bool goes;
    } rows[] = {
        {"its own", NULL, "\"ttlSecondsAfterFinished\":1,", true},
        {"at once", NULL, "\"ttlSecondsAfterFinished\":0,", true},
        {"the controller's", "--preview-ttl=1s", "", true},
        {"a longer one", "--preview-ttl=1s", "\"ttlSecondsAfterFinished\":100,", false},
        {"a day", NULL, "", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct scene scene;

        begin_with_flags(&scene, rows[i].flags);
        preview(&scene, "look", "web", rows[i].fields);
        if (rows[i].goes)
            scene_expect_gone(&scene, RELEASES "/look");
        else
            sleep(2);
        EXPECT_INT(api_server_size(scene.server, RELEASES), rows[i].goes ? 1 : 2, rows[i].note);
        scene_end(&scene);
    }
}

/* The time counts from the end of the Release, also while no process runs. A longer time that
 * somebody sets meanwhile holds. */
static void a_preview_goes_after_a_restart(void)
{
    for (int is_longer = 0; is_longer < 2; is_longer++) {
        struct scene scene;

        begin_with_flags(&scene, "--preview-ttl=2s");
        preview(&scene, "look", "web", "");
        scene_kill(&scene);
        if (is_longer)
            api_server_edit(scene.server, RELEASES "/look",
                            "{\"spec\":{\"ttlSecondsAfterFinished\":100}}");
        sleep(2);
        scene_start(&scene);
        if (!is_longer)
            scene_expect_gone(&scene, RELEASES "/look");
        scene_expect_quiet(&scene);
        EXPECT_INT(api_server_size(scene.server, RELEASES), 1 + is_longer, "as it is by now");
        scene_end(&scene);
    }
}

static void preview_many(struct scene *scene, const char *spec, int first, int last)
{
    for (int n = first; n <= last; n++) {
        _cleanup_free_ char *name = str_printf("look-at-%s-%d", spec, n);

        preview(scene, name, spec, "");
        if (n % 2) /* ends are told apart by the second */
            usleep(600000);
    }
    scene_expect_quiet(scene);
}

/* They and the records of the controller do not count together. */
static void keeps_so_many_previews_of_a_spec(void)
{
    struct scene scene;

    begin_with_flags(&scene, "--preview-history-limit=2");
    apply_generations(&scene, "\"revisionHistoryLimit\":3,", 1, 5);
    preview_many(&scene, "web", 1, 3);
    scene_kill(&scene);
    scene_start(&scene);
    preview_many(&scene, "web", 4, 5);
    EXPECT_INT(api_server_size(scene.server, RELEASES), 5, "two, and three");
    scene_expect_there(&scene, RELEASES "/look-at-web-5");
    for (unsigned n = 4; n <= 6; n++)
        EXPECT_PHASE(&scene, "web", n, "succeeded");
    scene_end(&scene);
}

#define RESOURCES(one) "\"resources\":[" one "],"

/* Also where the Preview brings resources, whether or not these can be planned. */
static void previews_of_no_spec_share_a_limit(void)
{
    static const char *const fields[] = {"", RESOURCES(CONFIGMAP("b", "1")), RESOURCES("{}")};
    struct scene scene;

    begin_with_flags(&scene, "--preview-history-limit=2");
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        for (int n = 1; n <= 5; n++) {
            _cleanup_free_ char *name = str_printf("nobody-%d-%d", (int)i, n);

            preview(&scene, name, name, fields[i]);
        }
    }
    preview(&scene, "look-1", "web", fields[1]);
    preview(&scene, "look-2", "web", fields[2]);
    scene_expect_quiet(&scene);
    EXPECT_INT(api_server_size(scene.server, RELEASES), 5, "two, the Spec's own, and two of it");
    scene_expect_there(&scene, RELEASES "/look-1");
    scene_expect_there(&scene, RELEASES "/look-2");
    scene_end(&scene);
}

static void previews_go_with_their_spec(void)
{
    struct scene scene;

    begin_with_flags(&scene, NULL);
    scene_spec(&scene, "other", "", CONFIGMAP("b", "1"));
    preview(&scene, "look", "web", "");
    preview(&scene, "other-look", "other", "");
    scene_expect_quiet(&scene);
    api_server_delete(scene.server, WEB);
    scene_expect_gone(&scene, RELEASES "/look");
    scene_expect_quiet(&scene);
    scene_expect_there(&scene, RELEASES "/other-look");
    scene_end(&scene);
}

/* As the garbage collector leaves it, of a Spec that was deleted with --cascade=orphan. */
static void a_record_without_an_owner_goes_some_time(void)
{
    for (int has_spec = 0; has_spec < 2; has_spec++) {
        struct scene scene;

        begin_with_flags(&scene, "--preview-ttl=1s");
        scene_expect_quiet(&scene);
        api_server_edit(scene.server, RELEASES "/web-1",
                        "{\"metadata\":{\"ownerReferences\":null}}");
        if (has_spec) {
            sleep(2);
        } else {
            api_server_delete(scene.server, WEB);
            scene_expect_gone(&scene, RELEASES "/web-1");
        }
        scene_expect_quiet(&scene);
        EXPECT_INT(api_server_size(scene.server, RELEASES), 1,
                   "the destroy, which has an owner; or the record of a Spec that is there");
        scene_end(&scene);
    }
}

/* A Release that goes while no process runs takes its plan along at the next start. */
static void a_plan_goes_with_its_release(void)
{
    _cleanup_free_ char *many = NULL;
    struct buf text = BUF_INIT;
    struct scene scene = {0};
    size_t before;

    for (int i = 0; i < 2010; i++)
        buf_printf(&text,
                   "%s{\"id\":\"v1:ConfigMap:team:m%d\",\"type\":\"Kubernetes\",\"attributes\":{"
                   "\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m%d\","
                   "\"namespace\":\"team\"}}}",
                   i ? "," : "", i, i);
    many = buf_take(&text);
    scene_begin(&scene);
    scene_spec(&scene, "web", "\"suspend\":true,", many);
    preview(&scene, "look", "web", "");
    scene_expect_quiet(&scene);
    before = api_server_size(scene.server, KEPT);
    EXPECT(before > 0, "it has a plan");
    scene_kill(&scene);
    api_server_delete(scene.server, RELEASES "/look");
    scene_start(&scene);
    for (int ms = 0; ms < 60000 && api_server_size(scene.server, KEPT); ms += 50)
        usleep(50000);
    EXPECT_INT(api_server_size(scene.server, KEPT), 0, "gone");
    scene_end(&scene);
}

SUITE(scenario_retention, TEST(keeps_the_newest), TEST(keeps_ten_unless_told_otherwise),
      TEST(a_lower_limit_holds_at_once), TEST(keeps_the_last_that_succeeded),
      TEST(an_idle_spec_costs_nothing), TEST(goes_on_where_it_was_killed),
      TEST(what_cannot_be_removed_is_tried_again), TEST(records_in_files_go_with_their_spec),
      TEST(what_a_killed_removal_left_goes), TEST(a_spec_made_again_has_a_release_of_its_own),
      TEST(previews_live_for_a_while), TEST(a_preview_goes_after_a_restart),
      TEST(keeps_so_many_previews_of_a_spec), TEST(previews_of_no_spec_share_a_limit),
      TEST(previews_go_with_their_spec), TEST(a_record_without_an_owner_goes_some_time),
      TEST(a_plan_goes_with_its_release))
