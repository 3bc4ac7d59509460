/* Drift that is corrected again and again, and absences that are none. */
#include <unistd.h>

#include "engine/base/str.h"
#include "test/unit/controller/scene.h"

#define WEB SPECS "/web"

/* ---- Corrections that repeat ---- */

static int64_t count_corrections(struct scene *scene)
{
    _cleanup_value_ const struct value *web = api_server_get(scene->server, WEB);

    return value_int(value_path(web, "status", "driftCorrections", "count", NULL), 0);
}

/* Somebody changes an object; the next check changes it back. patch NULL: deletes it. */
static void correct(struct scene *scene, const char *path, const char *patch)
{
    if (patch)
        api_server_edit(scene->server, path, patch);
    else
        api_server_delete(scene->server, path);
    scene_ask(scene, "web");
    scene_expect_handled(scene, "web");
    scene_expect_ready(scene, "web", "True", "ReconciliationSucceeded");
}

static void begin_corrections(struct scene *scene)
{
    *scene = (struct scene){0};
    scene_begin(scene);
    scene_spec(scene, "web", "", CONFIGMAP("a", "1") "," CONFIGMAP("b", "1"));
    scene_expect_ready(scene, "web", "True", "ReconciliationSucceeded");
    scene_expect_quiet(scene);
}

/* A watch may tell before the request comes: then that it is handled is another status. */
static void expect_one_correction(struct scene *scene)
{
    static const char once[] = "apply configmaps, update configmaps 2, update specs/status";
    _cleanup_free_ char *summary = api_server_write_summary(scene->server);

    EXPECT(str_has_prefix(summary, once), summary);
    EXPECT(str_equal(summary + sizeof(once) - 1, "") || str_equal(summary + sizeof(once) - 1, " 2"),
           summary);
}

static void the_same_again_is_counted(void)
{
    struct scene scene;

    begin_corrections(&scene);
    for (int n = 1; n <= 5; n++) {
        _cleanup_free_ char *patch = str_printf("{\"data\":{\"x\":\"theirs %d\"}}", n);

        api_server_mark(scene.server);
        correct(&scene, CONFIGMAPS "/a", patch);
        EXPECT_DATA(&scene, "a", "1");
        EXPECT_INT(count_corrections(&scene), n, "counted");
        EXPECT_INT(api_server_size(scene.server, RELEASES), 2, "the apply, and one correction");
        if (n > 1)
            scene_expect_quiet(&scene);
        if (n > 1)
            expect_one_correction(&scene);
    }
    for (int n = 6; n <= 8; n++) {
        correct(&scene, CONFIGMAPS "/b", NULL);
        EXPECT_DATA(&scene, "b", "1");
        EXPECT_INT(count_corrections(&scene), n, "counted");
        EXPECT_INT(api_server_size(scene.server, RELEASES), 3, "another one, once");
    }
    correct(&scene, CONFIGMAPS "/a", "{\"data\":{\"x\":\"6\"}}");
    EXPECT_INT(api_server_size(scene.server, RELEASES), 3, "this one is known, too");
    scene_end(&scene);
}

static void anything_new_gets_a_release(void)
{
    struct scene scene;

    begin_corrections(&scene);
    correct(&scene, CONFIGMAPS "/a", "{\"data\":{\"x\":\"2\"}}");
    correct(&scene, CONFIGMAPS "/a", "{\"data\":{\"x\":\"2\"}}");
    EXPECT_INT(api_server_size(scene.server, RELEASES), 2, "one");
    correct(&scene, CONFIGMAPS "/b", "{\"data\":{\"x\":\"2\"}}");
    EXPECT_INT(api_server_size(scene.server, RELEASES), 3, "of another object");
    correct(&scene, CONFIGMAPS "/a", NULL);
    EXPECT_INT(api_server_size(scene.server, RELEASES), 4, "deleted, not changed");
    scene_spec(&scene, "web", "", CONFIGMAP("a", "1") "," CONFIGMAP("b", "2"));
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_INT(count_corrections(&scene), 0, "of another generation");
    correct(&scene, CONFIGMAPS "/a", NULL);
    EXPECT_INT(api_server_size(scene.server, RELEASES), 6, "of this generation");
    EXPECT_INT(count_corrections(&scene), 1, "counts begin anew");
    scene_end(&scene);
}

/* One that fails is not like the others. */
static void a_correction_that_fails_gets_a_release(void)
{
    struct scene scene;
    unsigned rule;

    begin_corrections(&scene);
    for (int n = 0; n < 2; n++)
        correct(&scene, CONFIGMAPS "/a", NULL);
    EXPECT_PHASE(&scene, "web", 2, "succeeded");
    rule = api_server_rule(scene.server, &(struct api_rule){.verb = "apply",
                                                            .path = CONFIGMAPS "/a",
                                                            .fault = API_ANSWER,
                                                            .status = 422});
    api_server_delete(scene.server, CONFIGMAPS "/a");
    scene_ask(&scene, "web");
    scene_expect_ready(&scene, "web", "False", NULL);
    scene_expect_quiet(&scene);
    EXPECT_PHASE(&scene, "web", 3, "failed");
    api_server_release(scene.server, rule);
    scene_ask(&scene, "web");
    scene_expect_ready(&scene, "web", "True", NULL);
    scene_expect_quiet(&scene);
    EXPECT_DATA(&scene, "a", "1");
    EXPECT_PHASE(&scene, "web", 4, "succeeded");
    scene_end(&scene);
}

/* Killed after so many writes of a correction that repeats. False: it makes fewer. */
static bool correct_and_kill(unsigned writes)
{
    struct scene scene;
    bool was_cut;

    begin_corrections(&scene);
    for (int n = 0; n < 2; n++)
        correct(&scene, CONFIGMAPS "/a", NULL);
    scene_expect_quiet(&scene);
    api_server_mark(scene.server);
    api_server_delete(scene.server, CONFIGMAPS "/a");
    api_server_cut_after(scene.server, writes);
    scene_ask(&scene, "web");
    for (int ms = 0; ms < 1500 && !api_server_is_cut(scene.server); ms += 20)
        usleep(20000);
    was_cut = api_server_is_cut(scene.server);
    scene_kill(&scene);
    api_server_mend(scene.server);
    scene_start(&scene);
    scene_expect_there(&scene, CONFIGMAPS "/a");
    scene_expect_quiet(&scene);
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_DATA(&scene, "a", "1");
    /* What was made and not recorded is found, and recorded, by an operation that is new. */
    EXPECT(api_server_size(scene.server, RELEASES) <= 3, "at most one more");
    correct(&scene, CONFIGMAPS "/a", "{\"data\":{\"x\":\"theirs\"}}");
    EXPECT_DATA(&scene, "a", "1");
    scene_end(&scene);
    return was_cut;
}

static void a_correction_goes_on_where_it_was_killed(void)
{
    unsigned writes = 1;

    while (correct_and_kill(writes))
        writes++;
    EXPECT(writes >= 4, "State, the object, State, Spec");
}

/* ---- Jobs that remove themselves ---- */

#define JOBS       "/apis/batch/v1/namespaces/team/jobs"
#define JOB_PATH   JOBS "/migrate"
#define JOB_STATUS JOB_PATH "/status"
/* ttl: "\"ttlSecondsAfterFinished\":60,", or "". */
#define JOB(ttl, image)                                                                         \
    "{\"id\":\"batch/"                                                                          \
    "v1:Job:team:migrate\",\"type\":\"Kubernetes\",\"attributes\":{\"apiVersion\":"             \
    "\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"migrate\",\"namespace\":\"team\"}," \
    "\"spec\":{" ttl "\"template\":{\"image\":\"" image "\"}}}}"
#define TTL     "\"ttlSecondsAfterFinished\":60,"
#define RUNNING "{\"status\":{\"startTime\":\"2026-01-02T03:04:05Z\"}}"

static void run_job(struct scene *scene)
{
    scene_expect_there(scene, JOB_PATH);
    api_server_edit(scene->server, JOB_STATUS, RUNNING);
    scene_expect_ready(scene, "web", "True", "ReconciliationSucceeded");
    scene_expect_quiet(scene);
}

/* It is gone, as its time to live or a person ends it; and the Spec is checked. */
static void end_job(struct scene *scene)
{
    api_server_delete(scene->server, JOB_PATH);
    scene_ask(scene, "web");
    scene_expect_handled(scene, "web");
    scene_expect_quiet(scene);
}

static void a_job_that_removed_itself_does_not_run_again(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    scene_spec(&scene, "web", "", JOB(TTL, "one"));
    run_job(&scene);
    end_job(&scene);
    EXPECT_INT(api_server_size(scene.server, JOBS), 0, "it has run");
    EXPECT_INT(api_server_size(scene.server, RELEASES), 1, "nothing to do");
    scene_kill(&scene);
    scene_start(&scene);
    scene_ask(&scene, "web");
    scene_expect_handled(&scene, "web");
    EXPECT_INT(api_server_size(scene.server, JOBS), 0, "State knows");
    /* Another resource changes: the Job stays as it is, though everything is verified. */
    scene_spec(&scene, "web", "", JOB(TTL, "one") "," CONFIGMAP("a", "1"));
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    EXPECT_INT(api_server_size(scene.server, JOBS), 0, "not this one");
    scene_spec(&scene, "web", "", JOB(TTL, "two"));
    run_job(&scene);
    EXPECT_INT(api_server_size(scene.server, JOBS), 1, "another Job runs");
    end_job(&scene);
    EXPECT_INT(api_server_size(scene.server, JOBS), 0, "once");
    api_server_delete(scene.server, WEB);
    scene_expect_gone(&scene, WEB);
    scene_end(&scene);
}

static void a_job_without_a_time_to_live_runs_again(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    scene_spec(&scene, "web", "", JOB("", "one"));
    run_job(&scene);
    api_server_delete(scene.server, JOB_PATH);
    scene_ask(&scene, "web");
    scene_expect_there(&scene, JOB_PATH);
    scene_end(&scene);
}

/* Its absence is no success. */
static void a_job_that_failed_runs_again(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    scene_spec(&scene, "web", "\"retryInterval\":\"1s\",", JOB(TTL, "one"));
    scene_expect_there(&scene, JOB_PATH);
    api_server_edit(scene.server, JOB_STATUS,
                    "{\"status\":{\"startTime\":\"2026-01-02T03:04:05Z\",\"conditions\":[{\"type\":"
                    "\"Failed\",\"status\":\"True\"}]}}");
    scene_expect_ready(&scene, "web", "False", NULL);
    api_server_delete(scene.server, JOB_PATH);
    run_job(&scene);
    end_job(&scene);
    EXPECT_INT(api_server_size(scene.server, JOBS), 0, "it has run");
    scene_end(&scene);
}

/* The Spec does not wait until the Job has begun. */
static void a_job_that_nobody_waits_for_does_not_run_again(void)
{
    struct scene scene = {0};

    scene_begin(&scene);
    scene_spec(&scene, "web", "\"wait\":false,", JOB(TTL, "one"));
    scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
    scene_expect_quiet(&scene);
    end_job(&scene);
    EXPECT_INT(api_server_size(scene.server, JOBS), 0, "it has run");
    scene_end(&scene);
}

SUITE(scenario_corrections, TEST(the_same_again_is_counted), TEST(anything_new_gets_a_release),
      TEST(a_correction_that_fails_gets_a_release), TEST(a_correction_goes_on_where_it_was_killed),
      TEST(a_job_that_removed_itself_does_not_run_again),
      TEST(a_job_without_a_time_to_live_runs_again), TEST(a_job_that_failed_runs_again),
      TEST(a_job_that_nobody_waits_for_does_not_run_again))
