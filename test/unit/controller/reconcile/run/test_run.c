#include "controller/reconcile/run/run.h"

#include "controller/core/finalizer.h"
#include "controller/core/informer.h"
#include "engine/base/str.h"
#include "test/unit/controller/reconcile/records/scene.h"
#include "test/unit/suite.h"

#define SPEC "/apis/api.kusion.io/v1/namespaces/team/specs/web"
#define METADATA                                                                              \
    "{\"kind\":\"Spec\",\"metadata\":{\"namespace\":\"team\",\"name\":\"web\",\"uid\":\"u\"," \
    "\"generation\":3,\""                                                                     \
    "resourceVersion\":\"7\""
#define WEB    METADATA "}"
#define ANSWER WEB "}"
#define PUT(status_, body_)                                                    \
    {                                                                          \
        .expect = "PUT " SPEC "/status ", .status = (status_), .body = (body_) \
    }
#define PATCH(status_, body_)                                                          \
    {                                                                                  \
        .expect = "PATCH " SPEC "?fieldManager=kusion-operator ", .status = (status_), \
        .body = (body_)                                                                \
    }

static void begin(struct scene *scene, struct run *run, const struct fake_step *steps,
                  size_t n_steps)
{
    scene_start(scene, steps, n_steps);
    *run = (struct run){.context = &scene->context,
                        .subject = {.key = {"team", "web"}, .generation = 3},
                        .object = scene_value(WEB "}")};
    run_read_policy(run);
}

static void end(struct scene *scene, struct run *run)
{
    value_unref(run->object);
    scene_stop(scene);
}

/* ---- The finalizer ---- */

static void goes_on_only_with_a_finalizer(void)
{
    static const struct {
        const char *note;
        struct fake_step step;
        int expected;
    } rows[] = {
        {"added",
         PATCH(200, "{\"kind\":\"PartialObjectMetadata\",\"metadata\":{\"namespace\":\"team\","
                    "\"name\":\"web\",\"uid\":\"u\",\"finalizers\":[\"" KUSION_FINALIZER "\"]}}"),
         0},
        {"the Spec is gone", PATCH(404, STATUS(404, "NotFound", "web")), ERR_NOT_FOUND},
        {"the Spec changed", PATCH(409, STATUS(409, "Conflict", "web")), ERR_CONFLICT},
        {"no right", PATCH(403, STATUS(403, "Forbidden", "web")), ERR_FORBIDDEN},
        {"no room", PATCH(413, STATUS(413, "RequestEntityTooLarge", "web")), ERR_TOO_LARGE},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct scene scene;
        struct run run;

        begin(&scene, &run, &rows[i].step, 1);
        EXPECT_INT(run_add_finalizer(&run, &scene.error), rows[i].expected, rows[i].note);
        EXPECT_INT(scene.error.code, rows[i].expected, rows[i].note);
        EXPECT_INT(finalizer_is_set(value_get(run.object, "metadata")), rows[i].expected == 0,
                   rows[i].note);
        end(&scene, &run);
    }
}

/* ---- The status ---- */

static int fail(struct run *run, const struct error *failure, struct error *error)
{
    return run_write_status(run, &(struct outcome){.verdict = verdict_of_error(failure, false)},
                            error);
}

static const struct outcome done = {
    .verdict = {"True", "ReconciliationSucceeded", "done", PROGRESS_SETTLED, "True"},
    .attempted = 2,
    .applied = 2,
};

static void writes_a_status_once(void)
{
    static const struct fake_step step = PUT(200, ANSWER);
    _cleanup_value_ const struct value *body = NULL, *event = NULL;
    const struct value *status;
    struct scene scene;
    struct run run;

    begin(&scene, &run, &step, 1);
    EXPECT(!run_says(&run, "True", NULL), "before");
    EXPECT_INT(run_write_status(&run, &done, &scene.error), 0, scene.error.message);
    EXPECT(run_says(&run, "True", NULL), "after");
    EXPECT_INT(run_write_status(&run, &done, &scene.error), 0, "says nothing new");
    body = scene_body(&scene, 0);
    status = value_get(body, "status");
    EXPECT_INT(value_int(value_get(status, "observedGeneration"), 0), 3, "generation");
    EXPECT_INT(value_int(value_get(status, "lastAttemptedRevision"), 0), 2, "attempted");
    EXPECT_INT(value_int(value_get(status, "lastAppliedRevision"), 0), 2, "applied");
    event = scene_event(&scene, 0);
    EXPECT(!scene_event(&scene, 1), "one event");
    EXPECT_STR(value_get_string(event, "type"), "Normal", "event");
    EXPECT_STR(value_get_string(event, "reason"), "ReconciliationSucceeded", "event");
    EXPECT_STR(value_string(value_path(event, "involvedObject", "uid", NULL)), "u", "event");
    end(&scene, &run);
}

static void what_was_said_quietly_can_be_told_later(void)
{
    static const struct fake_step step = PUT(200, ANSWER);
    _cleanup_value_ const struct value *event = NULL;
    struct outcome quiet = done, untold = done;
    struct scene scene;
    struct run run;

    quiet.is_quiet = true;
    untold.is_untold = true;
    begin(&scene, &run, &step, 1);
    EXPECT_INT(run_write_status(&run, &quiet, &scene.error), 0, scene.error.message);
    EXPECT_INT(run_write_status(&run, &done, &scene.error), 0, "says nothing new");
    EXPECT_INT(run_write_status(&run, &untold, &scene.error), 0, "is not written again");
    event = scene_event(&scene, 0);
    EXPECT(!scene_event(&scene, 1), "one event");
    EXPECT_STR(value_get_string(event, "message"), "done", "event");
    end(&scene, &run);
}

static void keeps_what_it_knows_of_revisions(void)
{
    static const struct fake_step steps[] = {PUT(200, ANSWER), PUT(200, ANSWER)};
    _cleanup_value_ const struct value *event = NULL;
    struct error failure = {0};
    const struct value *status;
    struct scene scene;
    struct run run;

    begin(&scene, &run, steps, ARRAY_SIZE(steps));
    run_write_status(&run, &done, NULL);
    err_set(&failure, ERR_INVALID, "InvalidSpec", "wrong");
    EXPECT_INT(fail(&run, &failure, &scene.error), 0, scene.error.message);
    status = value_get(run.object, "status");
    EXPECT(!run_says(&run, "True", NULL), "failed");
    EXPECT_INT(value_int(value_get(status, "lastAppliedRevision"), 0), 2, "as before");
    event = scene_event(&scene, 1);
    EXPECT_STR(value_get_string(event, "reason"), "InvalidSpec", "told too");
    end(&scene, &run);
}

static void shows_the_policy_that_was_taken(void)
{
    static const struct {
        const char *note, *spec, *expected;
        bool as_controller;
    } rows[] = {
        {"defaults", WEB "}",
         "{\"serviceAccountName\":\"default\",\"suspend\":false,\"prune\":true,\"wait\":true,"
         "\"force\":false,\"deletionPolicy\":\"MirrorPrune\",\"approval\":{\"mode\":\"Automatic\"},"
         "\"driftDetection\":{\"mode\":\"enabled\"},\"interval\":"
         "\"10m\",\"retryInterval\":\"30s\","
         "\"timeout\":\"5m\",\"conflictPolicy\":\"Force\",\"adoptionPolicy\":\"AdoptIfUnowned\","
         "\"revisionHistoryLimit\":10}",
         false},
        {"the controller's own rights", WEB "}",
         "{\"suspend\":false,\"prune\":true,\"wait\":true,\"force\":false,\"deletionPolicy\":"
         "\"MirrorPrune\","
         "\"driftDetection\":{\"mode\":\"enabled\"},"
         "\"approval\":{\"mode\":\"Automatic\"},\"interval\":\"10m\",\"retryInterval\":\"30s\","
         "\"timeout\":\"5m\","
         "\"conflictPolicy\":\"Force\",\"adoptionPolicy\":\"AdoptIfUnowned\","
         "\"revisionHistoryLimit\":10}",
         true},
        {"as said",
         WEB
         ",\"spec\":{\"serviceAccountName\":\"deployer\",\"prune\":false,\"wait\":false,"
         "\"force\":true,\"deletionPolicy\":\"Orphan\",\"interval\":\"1h30m\",\"timeout\":\"10s\","
         "\"conflictPolicy\":\"Fail\",\"adoptionPolicy\":\"MustMatch\",\"maxDeletions\":3,"
         "\"approval\":{\"mode\":\"Manual\"},\"driftDetection\":{\"mode\":\"warn\"}}}",
         "{\"serviceAccountName\":\"deployer\",\"suspend\":false,\"prune\":false,\"wait\":false,"
         "\"force\":true,\"deletionPolicy\":\"Orphan\",\"approval\":{\"mode\":\"Manual\"},"
         "\"driftDetection\":{\"mode\":\"warn\"},"
         "\"interval\":\"1h30m\",\"retryInterval\":\"30s\","
         "\"timeout\":\"10s\",\"conflictPolicy\":\"Fail\",\"adoptionPolicy\":\"MustMatch\","
         "\"maxDeletions\":3,"
         "\"revisionHistoryLimit\":10}",
         true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        static const struct fake_step step = PUT(200, ANSWER);
        _cleanup_value_ const struct value *expected = scene_value(rows[i].expected);
        struct scene scene;
        struct run run;

        begin(&scene, &run, &step, 1);
        value_unref(run.object);
        run.object = scene_value(rows[i].spec);
        spec_policy_read(run.object, &run.policy);
        scene.context.act_as_controller = rows[i].as_controller;
        run_write_status(&run, &done, NULL);
        EXPECT(value_equal(value_path(run.object, "status", "policy", NULL), expected),
               rows[i].note);
        end(&scene, &run);
    }
}

static void tells_by_an_event_where_no_status_can(void)
{
    static const struct {
        const char *note;
        struct fake_step step;
        int expected;
        const char *event; /* NULL: none */
    } rows[] = {
        {"no room", PUT(413, STATUS(413, "RequestEntityTooLarge", "web")), 0, "it is wrong"},
        {"the Spec is gone", PUT(404, STATUS(404, "NotFound", "web")), 0, NULL},
        {"no right", PUT(403, STATUS(403, "Forbidden", "web")), ERR_FORBIDDEN, "it is wrong"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *event = NULL;
        struct error failure = {0};
        struct scene scene;
        struct run run;

        begin(&scene, &run, &rows[i].step, 1);
        err_set(&failure, ERR_INVALID, "InvalidSpec", "it is wrong");
        EXPECT_INT(fail(&run, &failure, &scene.error), rows[i].expected, rows[i].note);
        EXPECT(!value_get(run.object, "status"), rows[i].note);
        event = scene_event(&scene, 0);
        EXPECT_STR(value_get_string(event, "type"), rows[i].event ? "Warning" : NULL, rows[i].note);
        EXPECT_STR(value_get_string(event, "message"), rows[i].event, rows[i].note);
        end(&scene, &run);
    }
}

static void makes_no_event_in_a_namespace_that_terminates(void)
{
    static const struct fake_step step = PUT(200, ANSWER);
    struct scene scene;
    struct run run;

    begin(&scene, &run, &step, 1);
    run.is_namespace_terminating = true;
    EXPECT_INT(run_write_status(&run, &done, &scene.error), 0, "the status is written");
    EXPECT(!scene_event(&scene, 0), "no event");
    end(&scene, &run);
}

/* ---- Requests for a reconcile ---- */

#define ASKED(annotation, value) METADATA ",\"annotations\":{\"" annotation "\":\"" value "\"}}}"

static const char *handled(const struct run *run)
{
    return value_string(value_path(run->object, "status", "lastHandledReconcileAt", NULL));
}

static void replace_object(struct run *run, const char *text)
{
    value_unref(run->object);
    run->object = scene_value(text);
    run_note_trigger(run);
}

/* What was asked for after the attempt began is left to the next one. */
static void says_at_its_end_which_request_it_has_handled(void)
{
    static const struct fake_step steps[] = {PUT(200, ANSWER), PUT(200, ANSWER), PUT(200, ANSWER)};
    struct outcome progress = {
        .verdict = {"Unknown", "Progressing", "applying", PROGRESS_RECONCILING, NULL}};
    struct outcome ended = done;
    struct scene scene;
    struct run run;

    begin(&scene, &run, steps, ARRAY_SIZE(steps));
    ended.is_end = true;
    replace_object(&run, ASKED("api.kusion.io/reconcile-requested-at", "one"));
    EXPECT_INT(run_write_status(&run, &progress, &scene.error), 0, scene.error.message);
    EXPECT_STR(handled(&run), NULL, "not yet");
    EXPECT_INT(run_write_status(&run, &ended, &scene.error), 0, scene.error.message);
    EXPECT_STR(handled(&run), "one", "at the end");
    EXPECT_INT(run_acknowledge(&run, &scene.error), 0, "nothing new, and no write");
    run.trigger[0] = 'O';
    EXPECT_INT(run_acknowledge(&run, &scene.error), 0, scene.error.message);
    EXPECT_STR(handled(&run), "One", "a look that changes nothing");
    EXPECT(run_says(&run, "True", "ReconciliationSucceeded"), "as before");
    free(run.trigger);
    end(&scene, &run);
}

static void takes_the_annotation_of_either_tool(void)
{
    _cleanup_free_ char *most = str_printf("%01024d", 1), *more = str_printf("%01025d", 1);
    _cleanup_free_ char *most_text =
        str_printf(METADATA ",\"annotations\":{\"" INFORMER_TRIGGER "\":\"%s\"}}}", most);
    _cleanup_free_ char *more_text =
        str_printf(METADATA ",\"annotations\":{\"" INFORMER_TRIGGER "\":\"%s\"}}}", more);
    const struct {
        const char *note, *object, *expected;
    } rows[] = {
        {"none", WEB "}", NULL},
        {"ours", ASKED(INFORMER_TRIGGER, "a"), "a"},
        {"Flux's", ASKED(INFORMER_TRIGGER_FLUX, "b"), "b"},
        {"as long as the schema takes", most_text, most},
        {"longer", more_text, NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct run run = {.object = scene_value(rows[i].object)};

        run_note_trigger(&run);
        EXPECT_STR(run.trigger, rows[i].expected, rows[i].note);
        run_done(&run);
    }
}

/* ---- What may heal ---- */

static const char *progress_of(const struct run *run)
{
    const struct value *all = value_path(run->object, "status", "conditions", NULL);

    return conditions_find(all, "Reconciling") ? "Reconciling"
           : conditions_find(all, "Stalled")   ? "Stalled"
                                               : "settled";
}

static void gives_what_may_heal_as_long_as_timeout(void)
{
    static const struct {
        const char *note;
        int64_t after; /* ms, since the row before */
        int64_t generation;
        const char *ready, *expected;
        const char *since; /* status.failingSince */
    } rows[] = {
        {"first", 0, 3, "False", "Reconciling", "2026-01-02T03:04:05Z"},
        {"again", 9000, 3, "False", "Reconciling", "2026-01-02T03:04:05Z"},
        {"going on", 500, 3, "Unknown", "Reconciling", "2026-01-02T03:04:05Z"},
        {"spent", 500, 3, "False", "Stalled", "2026-01-02T03:04:05Z"},
        {"another generation", 0, 4, "False", "Reconciling", "2026-01-02T03:04:15Z"},
        {"which is well", 9000, 4, "True", "settled", NULL},
        {"and fails later", 9000, 4, "False", "Reconciling", "2026-01-02T03:04:33Z"},
        {"still", 9999, 4, "False", "Reconciling", "2026-01-02T03:04:33Z"},
        {"not any more", 1, 4, "False", "Stalled", "2026-01-02T03:04:33Z"},
        {"a third one is applied", 0, 5, "Unknown", "Reconciling", NULL},
    };
    static const struct fake_step puts = {
        .expect = "PUT " SPEC "/status ", .status = 200, .body = ANSWER, .repeat = true};
    struct error failure = {0};
    struct scene scene;
    struct run run;

    begin(&scene, &run, &puts, 1);
    run.policy.timeout = 10000;
    err_set(&failure, ERR_INVALID, "NamespaceNotFound", "it is not there");
    scene.clock.now = INT64_C(1767323045000);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct outcome status = done;

        scene.clock.now += rows[i].after;
        run.subject.generation = rows[i].generation;
        status.is_end = !str_equal(rows[i].ready, "Unknown");
        if (str_equal(rows[i].ready, "False"))
            status.verdict = run_judge(&run, &failure, false);
        else if (!status.is_end)
            status.verdict =
                (struct verdict){"Unknown", "Progressing", "applying", PROGRESS_RECONCILING, NULL};
        run_write_status(&run, &status, NULL);
        EXPECT_STR(progress_of(&run), rows[i].expected, rows[i].note);
        EXPECT_STR(value_string(value_path(run.object, "status", "failingSince", NULL)),
                   rows[i].since, rows[i].note);
    }
    end(&scene, &run);
}

static void counts_how_long_it_may_still_heal(void)
{
    static const struct {
        const char *note, *since;
        int64_t generation, expected;
    } rows[] = {
        {"it has not failed yet", NULL, 3, 10000},
        {"it fails", "2026-01-02T03:04:00Z", 3, 5000},
        {"it has failed for long", "2026-01-02T03:00:00Z", 3, 0},
        {"an earlier generation failed", "2026-01-02T03:00:00Z", 2, 10000},
        {"somebody wrote something else", "2026-01-02T03:00:00.5+01:00", 3, 10000},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *text =
            str_printf(WEB ",\"status\":{\"observedGeneration\":%d,\"failingSince\":\"%s\"}}",
                       (int)rows[i].generation, rows[i].since ? rows[i].since : "");
        struct scene scene;
        struct run run;

        begin(&scene, &run, NULL, 0);
        run.policy.timeout = 10000;
        scene.clock.now = INT64_C(1767323045000);
        replace_object(&run, text);
        EXPECT_INT(run_patience(&run), rows[i].expected, rows[i].note);
        end(&scene, &run);
    }
}

/* Somebody waits for it. What is said of it stays the same. */
static void a_failure_says_when_it_is_tried_again(void)
{
#define NOW                                                   \
    "kubectl annotate spec web --namespace=team --overwrite " \
    "api.kusion.io/reconcile-requested-at=$(date +%s)"
#define NEXT(time) "it is not there\nto do: x\nnext try within " time "; now: " NOW
    static const struct {
        const char *reason;
        int64_t retry_interval, within;
        const char *way, *message;
    } rows[] = {
        {"ServiceAccountNotFound", 1000, 30000, "x", NEXT("30s")},
        {"ServiceAccountNotFound", 45000, 45000, "x", NEXT("45s")},
        {"Deferred", 1000, 30000, "x", NEXT("30s")},
        {"ClusterChanged", 1000, 30000, "x", NEXT("30s")}, /* a load balancer is no event */
        {"AccessDenied", 1000, 0, "x", NEXT("5m")},
        {"AccessDenied", 5400000, 0, "x", NEXT("1h30m")},
        {"ImmutableField", 1000, 0, "annotate && " NOW,
         "it is not there\nto do: annotate && " NOW "\nnext try within 5m"},
        {"InvalidSpec", 1000, 0, "x", "it is not there\nto do: x"},
        {"Unsupported", 1000, 0, "x", "it is not there\nto do: x"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct run run = {.subject = {.key = {"team", "web"}},
                                .policy = {.retry_interval = rows[i].retry_interval}};
        struct error failure = {0};

        err_set(&failure, ERR_INVALID, rows[i].reason, "it is not there");
        err_hint(&failure, "to do: %s", rows[i].way);
        EXPECT_INT(run_retry_within(&run, &failure), rows[i].within, rows[i].reason);
        run_say_retry(&run, &failure);
        EXPECT_STR(failure.message, rows[i].message, rows[i].reason);
    }
}

/* ---- The policy ---- */

static void a_timeout_is_bounded(void)
{
    static const struct {
        const char *note, *spec;
        int64_t most, timeout;
    } rows[] = {
        {"shorter", "{\"spec\":{\"timeout\":\"1h\"}}", 7200000, 3600000},
        {"longer", "{\"spec\":{\"timeout\":\"99h\"}}", 7200000, 7200000},
        {"the default", "{\"spec\":{}}", 7200000, 300000},
        {"no limit", "{\"spec\":{\"timeout\":\"99h\"}}", 0, 356400000},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct reconcile_context context = {.max_timeout = rows[i].most};
        struct run run = {.context = &context, .object = scene_value(rows[i].spec)};

        run_read_policy(&run);
        EXPECT_INT(run.policy.timeout, rows[i].timeout, rows[i].note);
        value_unref(run.object);
    }
}

static void intervals_are_bounded(void)
{
    static const struct {
        const char *note, *spec;
        int64_t interval, retry_interval;
    } rows[] = {
        {"longer", "{\"spec\":{\"interval\":\"1h\",\"retryInterval\":\"1m\"}}", 3600000, 60000},
        {"shorter", "{\"spec\":{\"interval\":\"1s\",\"retryInterval\":\"1s\"}}", 20000, 5000},
        {"the defaults", "{\"spec\":{}}", 600000, 30000},
    };
    const struct reconcile_context context = {.min_interval = 20000, .min_retry_interval = 5000};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct run run = {.context = &context, .object = scene_value(rows[i].spec)};

        run_read_policy(&run);
        EXPECT_INT(run.policy.interval, rows[i].interval, rows[i].note);
        EXPECT_INT(run.policy.retry_interval, rows[i].retry_interval, rows[i].note);
        value_unref(run.object);
    }
}

SUITE(run, TEST(goes_on_only_with_a_finalizer), TEST(writes_a_status_once),
      TEST(what_was_said_quietly_can_be_told_later), TEST(keeps_what_it_knows_of_revisions),
      TEST(shows_the_policy_that_was_taken), TEST(a_failure_says_when_it_is_tried_again),
      TEST(a_timeout_is_bounded), TEST(intervals_are_bounded),
      TEST(tells_by_an_event_where_no_status_can),
      TEST(makes_no_event_in_a_namespace_that_terminates),
      TEST(says_at_its_end_which_request_it_has_handled), TEST(takes_the_annotation_of_either_tool),
      TEST(gives_what_may_heal_as_long_as_timeout), TEST(counts_how_long_it_may_still_heal))
