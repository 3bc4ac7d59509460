#include "controller/reconcile/apply.h"

#include "controller/core/finalizer.h"
#include "engine/base/str.h"
#include "test/unit/controller/reconcile/scene.h"
#include "test/unit/engine/operation/fake_runtime.h"
#include "test/unit/engine/operation/fake_store.h"
#include "test/unit/suite.h"

#define MAX_STEPS 20

#define SPEC     "/apis/api.kusion.io/v1/namespaces/team/specs/web"
#define RELEASES "/apis/api.kusion.io/v1/namespaces/team/releases"
#define METADATA                                                                            \
    "\"metadata\":{\"namespace\":\"team\",\"name\":\"web\",\"uid\":\"u\",\"generation\":3," \
    "\"resourceVersion\":\"7\""
#define OURS ",\"finalizers\":[\"" KUSION_FINALIZER "\"]}"

/* What the status said before, and of which generation. */
#define SAYS(generation, ready)                                                            \
    "{\"observedGeneration\":" generation ",\"lastAppliedRevision\":1,\"conditions\":[{\"" \
    "type\":\"Ready\",\"status\":\"" ready "\",\"reason\":\"Before\",\"message\":\"\"}]"
#define NEW "{}"
#define OLD SAYS("2", "True") "}"

/* ---- What the API server is asked ---- */

#define ASKED(how, status_, body_)                              \
    {                                                           \
        .expect = (how), .status = (status_), .body = "{" body_ \
    }
#define LIST(items)                 \
    ASKED("GET " RELEASES "?", 200, \
          "\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[" items "]}")
#define RECORD(revision, generation)                                                            \
    "\"metadata\":{\"namespace\":\"team\",\"name\":\"web-" revision "\",\"annotations\":{\""    \
    "api.kusion.io/revision\":\"" revision "\",\"api.kusion.io/spec-generation\":\"" generation \
    "\"}}"
#define NO_RELEASES LIST("")
#define NEWEST(revision, generation, operation, phase)                                            \
    LIST("{" RECORD(revision, generation) "}"),                                                   \
        ASKED("GET " RELEASES "/web-" revision " ", 200,                                          \
              RECORD(revision, generation) ",\"spec\":{\"operation\":\"" operation "\"},\"status" \
                                           "\":{\"phase\":\"" phase "\"}}")
#define MAKE(revision) \
    ASKED("POST " RELEASES " ", 201, RECORD(revision, "3") ",\"spec\":{\"operation\":\"Apply\"}}")
#define PUT(revision) \
    ASKED("PUT " RELEASES "/web-" revision "/status ", 200, RECORD(revision, "3") "}")
#define TELL              ASKED("PUT " SPEC "/status ", 200, METADATA OURS "}")
#define FINALIZE          ASKED("PATCH " SPEC "?", 200, METADATA OURS "}")
#define BEGIN(revision)   MAKE(revision), PUT(revision), PUT(revision), PUT(revision)
#define SUCCEED(revision) BEGIN(revision), TELL, PUT(revision), TELL

/* ---- A Spec {a=1}, and what it is applied to ---- */

struct stand {
    struct scene scene;
    struct fake_world world;
    struct fake_runtime runtime;
    struct fake_store store;
    struct runtime *runtimes[1];
    struct cancel *cancel;
    struct run run;
    int64_t after;
    size_t asked_before; /* requests, without which State is not saved: they come from a thread */
};

static void wait_for_requests(void *arg)
{
    struct stand *stand = arg;

    EXPECT(fake_server_wait(stand->scene.api.server, stand->asked_before), "it was begun");
}

/* "applying" is told while it is applied: before the first step of it, if the script has it so. */
static size_t steps_before_work(const struct fake_step *steps)
{
    for (size_t i = 0; i + 1 < count_steps(steps, MAX_STEPS); i++)
        if (str_has_prefix(steps[i].expect, "PUT " SPEC))
            return i + 1;
    return 0;
}

static void begin_world(struct stand *stand)
{
    fake_world_init(&stand->world);
    fake_runtime_init(&stand->runtime, &stand->world);
    fake_store_init(&stand->store, &stand->world);
    stand->cancel = cancel_new(NULL);
    stand->runtimes[0] = &stand->runtime.base;
    stand->world.after_step = wait_for_requests;
    stand->world.arg = stand;
    fake_world_start(&stand->world, stand->cancel);
}

static const struct value *web(const char *finalizer, const char *status)
{
    _cleanup_free_ char *text = str_printf(
        "{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Spec\"," METADATA "%s,\"spec\":{\"resou"
        "rces\":[{\"id\":\"v1:ConfigMap:team:a\",\"type\":\"Kubernetes\",\"attributes\":{\"api"
        "Version\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"namespace\":\""
        "team\"},\"data\":{\"x\":\"1\"}}}]},\"status\":%s}",
        finalizer, status);

    return scene_value(text);
}

static void begin(struct stand *stand, const struct value *object, const struct fake_step *steps)
{
    struct scene *scene = &stand->scene;

    *stand = (struct stand){.asked_before = steps_before_work(steps)};
    scene_start(scene, steps, count_steps(steps, MAX_STEPS));
    begin_world(stand);
    scene->context.clock = &stand->world.clock;
    scene->context.store = &stand->store.base;
    scene->context.runtimes = stand->runtimes;
    scene->context.n_runtimes = 1;
    stand->run = (struct run){.context = &scene->context,
                              .cancel = stand->cancel,
                              .namespace_name = "team",
                              .name = "web",
                              .object = object,
                              .generation = 3,
                              .subject = {"team", "web", 3, NULL, NULL, NULL}};
    spec_policy_read(object, &stand->run.policy);
}

static int carry_out(struct stand *stand)
{
    int r = reconcile_apply(&stand->run, &stand->after, &stand->scene.error);

    run_settle(&stand->run, NULL);
    return r;
}

static void end(struct stand *stand)
{
    EXPECT_STR(stand->world.lies.data, "", "what must never happen");
    value_unref(stand->run.object);
    fake_store_done(&stand->store);
    fake_runtime_done(&stand->runtime);
    cancel_free(stand->cancel);
    scene_stop(&stand->scene);
    fake_world_done(&stand->world);
}

/* ---- What was told ---- */

static const char *ready_reason(const struct value *status)
{
    return value_get_string(conditions_find(value_get(status, "conditions"), "Ready"), "reason");
}

static void add_told(struct buf *text, const char *method, const struct value *body)
{
    const char *name = value_string(value_path(body, "metadata", "name", NULL));
    const struct value *status = value_get(body, "status");

    if (strcmp(method, "GET ") == 0 || strcmp(method, "PATC") == 0)
        return;
    buf_add_str(text, text->length ? ", " : "");
    if (strcmp(method, "POST") == 0)
        buf_printf(text, "+%s", name);
    else if (str_equal(value_get_string(body, "kind"), "Spec"))
        buf_printf(text, "Spec %s", ready_reason(status));
    else
        buf_printf(text, "%s %s", name, value_get_string(status, "phase"));
}

/* "+web-1, web-1 generating, Spec Progressing": Releases that were made, and statuses. */
static char *told(struct stand *stand)
{
    struct buf text;
    char *request;

    buf_init(&text, 0);
    for (size_t i = 0; (request = fake_server_request(stand->scene.api.server, i)); i++) {
        _cleanup_value_ const struct value *body = NULL;

        request[4] = '\0';
        if (*request == 'P')
            body = scene_body(&stand->scene, i);
        add_told(&text, request, body);
        free(request);
    }
    return buf_take(&text);
}

static void expect_told(struct stand *stand, const char *expected, const char *note)
{
    _cleanup_free_ char *actual = told(stand);

    EXPECT_STR(actual, expected, note);
}

/* ---- One attempt ---- */

#define WORK        "save a?; create a; save a"
#define TOLD_OF(n)  "+web-" n ", web-" n " generating, web-" n " previewing, web-" n " applying"
#define TOLD_END(n) "Spec Progressing, web-" n " succeeded, Spec ReconciliationSucceeded"
#define TOLD_ALL(n) TOLD_OF(n) ", " TOLD_END(n)

struct row {
    const char *note, *status;
    struct fake_step steps[MAX_STEPS];
    const char *told, *log;
};

static void expect_success(struct stand *stand, const struct row *row)
{
    EXPECT_INT(carry_out(stand), 0, row->note);
    EXPECT_INT(stand->after, 600000, row->note);
    EXPECT_STR(stand->world.log.data, row->log, row->note);
    EXPECT(run_says(&stand->run, "True", "ReconciliationSucceeded"), row->note);
    expect_told(stand, row->told, row->note);
}

static void expect_all_succeed(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct stand stand;

        begin(&stand, web(OURS, rows[i].status), rows[i].steps);
        expect_success(&stand, &rows[i]);
        end(&stand);
    }
}

static void tells_of_a_new_generation(void)
{
    static const struct row rows[] = {
        {"the first", NEW, {NO_RELEASES, SUCCEED("1")}, TOLD_ALL("1"), WORK},
        {"after one that succeeded",
         OLD,
         {NEWEST("4", "2", "Apply", "succeeded"), SUCCEED("5")},
         TOLD_ALL("5"),
         WORK},
        {"after one that failed",
         SAYS("2", "False") "}",
         {NEWEST("4", "2", "Apply", "failed"), SUCCEED("5")},
         TOLD_ALL("5"),
         WORK},
        {"after Releases that someone deleted",
         OLD,
         {NO_RELEASES, SUCCEED("2")},
         TOLD_ALL("2"),
         WORK},
    };

    expect_all_succeed(rows, ARRAY_SIZE(rows));
}

static void goes_on_where_this_generation_was_left(void)
{
    static const struct row rows[] = {
        {"made",
         OLD,
         {NEWEST("2", "3", "Apply", ""), PUT("2"), PUT("2"), PUT("2"), TELL, PUT("2"), TELL},
         "web-2 generating, web-2 previewing, web-2 applying, " TOLD_END("2"),
         WORK},
        {"generating",
         OLD,
         {NEWEST("2", "3", "Apply", "generating"), PUT("2"), PUT("2"), TELL, PUT("2"), TELL},
         "web-2 previewing, web-2 applying, " TOLD_END("2"),
         WORK},
        {"previewing",
         OLD,
         {NEWEST("2", "3", "Apply", "previewing"), PUT("2"), TELL, PUT("2"), TELL},
         "web-2 applying, " TOLD_END("2"),
         WORK},
        {"applying",
         OLD,
         {NEWEST("2", "3", "Apply", "applying"), PUT("2"), TELL, PUT("2"), TELL},
         "web-2 applying, " TOLD_END("2"),
         WORK},
    };

    expect_all_succeed(rows, ARRAY_SIZE(rows));
}

static void cancels_what_is_superseded(void)
{
    static const struct row rows[] = {
        {"an older generation",
         OLD,
         {NEWEST("2", "2", "Apply", "applying"), PUT("2"), SUCCEED("3")},
         "web-2 cancelled, " TOLD_ALL("3"),
         WORK},
        {"another operation",
         OLD,
         {NEWEST("2", "3", "Destroy", "destroying"), PUT("2"), SUCCEED("3")},
         "web-2 cancelled, " TOLD_ALL("3"),
         WORK},
    };

    expect_all_succeed(rows, ARRAY_SIZE(rows));
}

/* ---- The finalizer ---- */

static void makes_nothing_without_the_finalizer(void)
{
    static const struct {
        const char *note;
        struct fake_step steps[MAX_STEPS];
        int code;
        const char *told, *log;
    } rows[] = {
        {"added", {FINALIZE, NO_RELEASES, SUCCEED("1")}, 0, TOLD_ALL("1"), WORK},
        {"the Spec changed",
         {ASKED("PATCH " SPEC "?", 409, "\"kind\":\"Status\",\"reason\":\"Conflict\"}"),
          NO_RELEASES, BEGIN("1")},
         ERR_CONFLICT,
         TOLD_OF("1"),
         ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct stand stand;

        begin(&stand, web("}", NEW), rows[i].steps);
        run_begin_finalizer(&stand.run);
        fake_server_wait(stand.scene.api.server, 1);
        EXPECT_INT(carry_out(&stand), rows[i].code, rows[i].note);
        EXPECT_STR(stand.world.log.data, rows[i].log, rows[i].note);
        expect_told(&stand, rows[i].told, rows[i].note);
        end(&stand);
    }
}

/* ---- A Spec that is Ready ---- */

/* All that a later look asks is a mistake of the script's. */
static void writes_nothing_where_there_is_nothing_to_do(void)
{
    static const struct fake_step steps[MAX_STEPS] = {NO_RELEASES, SUCCEED("1")};
    struct stand stand;

    begin(&stand, web(OURS, NEW), steps);
    carry_out(&stand);
    stand.after = 0;
    EXPECT_INT(carry_out(&stand), 0, stand.scene.error.message);
    EXPECT_INT(stand.after, 600000, "it is looked at again");
    EXPECT_STR(stand.world.log.data, WORK, "once");
    expect_told(&stand, TOLD_ALL("1"), "once");
    end(&stand);
}

static void makes_a_release_of_what_drifted(void)
{
    static const struct fake_step steps[MAX_STEPS] = {
        NO_RELEASES, SUCCEED("1"), NEWEST("1", "3", "Apply", "succeeded"), SUCCEED("2")};
    struct stand stand;

    begin(&stand, web(OURS, NEW), steps);
    carry_out(&stand);
    fake_drift(&stand.runtime, "a", "2");
    EXPECT_INT(carry_out(&stand), 0, stand.scene.error.message);
    EXPECT_STR(stand.world.log.data, WORK "; save a; patch a; save a", "mended");
    expect_told(&stand, TOLD_ALL("1") ", " TOLD_ALL("2"), "and told");
    end(&stand);
}

static void warns_of_state_that_is_lost(void)
{
    static const struct fake_step steps[MAX_STEPS] = {NEWEST("1", "3", "Apply", "succeeded"),
                                                      SUCCEED("2")};
    _cleanup_value_ const struct value *event = NULL;
    struct stand stand;

    begin(&stand, web(OURS, SAYS("3", "True") ",\"resources\":{\"total\":1}}"), steps);
    fake_put(&stand.runtime, "a", "1", OWNER_SELF);
    EXPECT_INT(carry_out(&stand), 0, stand.scene.error.message);
    event = scene_event(&stand.scene, 0);
    EXPECT_STR(value_get_string(event, "type"), "Warning", "event");
    EXPECT_STR(value_get_string(event, "reason"), "StateLost", "event");
    end(&stand);
}

/* ---- Failures ---- */

#define FAIL(revision)     BEGIN(revision), TELL, PUT(revision), TELL
#define TOLD_FAIL(n, spec) TOLD_OF(n) ", Spec Progressing, web-" n " failed, Spec " spec

static void tells_of_a_failure(void)
{
    static const struct {
        const char *note;
        unsigned fault;
        bool damaged;
        struct fake_step steps[MAX_STEPS];
        const char *told;
    } rows[] = {
        {"refused", FAKE_REFUSED, false, {NO_RELEASES, FAIL("1")}, TOLD_FAIL("1", "Forbidden")},
        {"not healthy",
         FAKE_SICK,
         false,
         {NO_RELEASES, FAIL("1")},
         TOLD_FAIL("1", "HealthCheckFailed")},
        {"no plan",
         0,
         true,
         {NO_RELEASES, MAKE("1"), PUT("1"), PUT("1"), PUT("1"), TELL},
         "+web-1, web-1 generating, web-1 previewing, web-1 failed, Spec StateCorrupt"},
        {"no Release",
         0,
         false,
         {ASKED("GET " RELEASES "?", 403, "\"kind\":\"Status\",\"reason\":\"Forbidden\"}"), TELL},
         "Spec Forbidden"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct stand stand;

        begin(&stand, web(OURS, NEW), rows[i].steps);
        fake_fault(&stand.runtime, "a", rows[i].fault);
        stand.store.damaged = rows[i].damaged;
        EXPECT_INT(carry_out(&stand), 0, rows[i].note);
        EXPECT_INT(stand.after, 30000, rows[i].note);
        EXPECT(run_says(&stand.run, "False", NULL), rows[i].note);
        expect_told(&stand, rows[i].told, rows[i].note);
        end(&stand);
    }
}

#define FAILED_ONCE NO_RELEASES, FAIL("1"), NEWEST("1", "3", "Apply", "failed")

static void makes_no_release_of_a_retry_before_it_succeeds(void)
{
    static const struct {
        const char *note;
        unsigned fault; /* of the retry */
        struct fake_step steps[MAX_STEPS];
        int64_t after;
        const char *told;
    } rows[] = {
        {"it fails as before", FAKE_REFUSED, {FAILED_ONCE}, 30000, ""},
        {"it fails otherwise", FAKE_SICK, {FAILED_ONCE, TELL}, 30000, ", Spec HealthCheckFailed"},
        {"it succeeds",
         0,
         {FAILED_ONCE, BEGIN("2"), PUT("2"), TELL},
         600000,
         ", " TOLD_OF("2") ", web-2 succeeded, Spec ReconciliationSucceeded"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *expected = str_printf(TOLD_FAIL("1", "Forbidden") "%s", rows[i].told);
        struct stand stand;

        begin(&stand, web(OURS, NEW), rows[i].steps);
        fake_fault(&stand.runtime, "a", FAKE_REFUSED);
        carry_out(&stand);
        fake_fault(&stand.runtime, "a", rows[i].fault);
        EXPECT_INT(carry_out(&stand), 0, rows[i].note);
        EXPECT_INT(stand.after, rows[i].after, rows[i].note);
        expect_told(&stand, expected, rows[i].note);
        end(&stand);
    }
}

/* All is applied, and does not get healthy: others need the worker. */
static void takes_a_short_look_where_it_only_waits(void)
{
    static const struct fake_step steps[MAX_STEPS] = {FAILED_ONCE, TELL};
    struct stand stand;
    int64_t begun;

    begin(&stand, web(OURS, NEW), steps);
    fake_fault(&stand.runtime, "a", FAKE_UNHEALTHY);
    stand.run.policy.timeout = 4000; /* before it is said what is waited for */
    begun = stand.world.now;
    carry_out(&stand);
    EXPECT_INT(stand.world.now - begun, 4000, "the timeout");
    begun = stand.world.now;
    carry_out(&stand);
    EXPECT_INT(stand.world.now - begun, 1000, "the retry");
    expect_told(&stand, TOLD_FAIL("1", "HealthCheckFailed") ", Spec HealthCheckFailed", "its plan");
    end(&stand);
}

/* ---- What is not ours to tell ---- */

static void leaves_it_to_the_next_to_tell(void)
{
    static const struct {
        const char *note;
        bool fired;
        unsigned cancel_at;
        bool fenced;
        struct fake_step steps[MAX_STEPS];
        int code;
        const char *told, *log;
    } rows[] = {
        {"cancelled before it begins", true, 0, false, {{0}}, ERR_CANCELLED, "", ""},
        {"cancelled when intents are saved",
         false,
         1,
         false,
         {NO_RELEASES, BEGIN("1"), TELL},
         ERR_CANCELLED,
         TOLD_OF("1") ", Spec Progressing",
         "save a?; save a?"},
        {"no leader any more",
         false,
         0,
         true,
         {NO_RELEASES, MAKE("1"), PUT("1"), PUT("1")},
         ERR_FENCED,
         "+web-1, web-1 generating, web-1 previewing",
         ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct stand stand;

        begin(&stand, web(OURS, NEW), rows[i].steps);
        stand.world.cancel_at = rows[i].cancel_at;
        if (rows[i].fired)
            cancel_fire(stand.cancel, "Superseded");
        if (rows[i].fenced) {
            stand.scene.store.fails = ERR_FENCED;
            stand.scene.context.store = &stand.scene.store.store;
        }
        EXPECT_INT(carry_out(&stand), rows[i].code, rows[i].note);
        EXPECT_INT(stand.scene.error.code, rows[i].code, rows[i].note);
        EXPECT_STR(stand.world.log.data, rows[i].log, rows[i].note);
        expect_told(&stand, rows[i].told, rows[i].note);
        end(&stand);
    }
}

SUITE(apply, TEST(tells_of_a_new_generation), TEST(goes_on_where_this_generation_was_left),
      TEST(cancels_what_is_superseded), TEST(makes_nothing_without_the_finalizer),
      TEST(writes_nothing_where_there_is_nothing_to_do), TEST(makes_a_release_of_what_drifted),
      TEST(warns_of_state_that_is_lost), TEST(tells_of_a_failure),
      TEST(makes_no_release_of_a_retry_before_it_succeeds),
      TEST(takes_a_short_look_where_it_only_waits), TEST(leaves_it_to_the_next_to_tell))
