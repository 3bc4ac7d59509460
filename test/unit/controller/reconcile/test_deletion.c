#include "controller/reconcile/deletion.h"

#include "controller/core/finalizer.h"
#include "engine/base/str.h"
#include "test/unit/controller/reconcile/scene.h"
#include "test/unit/suite.h"

#define SPEC "/apis/api.kusion.io/v1/namespaces/team/specs/web"
#define METADATA                                                                            \
    "\"metadata\":{\"namespace\":\"team\",\"name\":\"web\",\"uid\":\"u\",\"generation\":3," \
    "\"resourceVersion\":\"7\",\"deletionTimestamp\":\"2026-01-02T03:04:05Z\","             \
    "\"finalizers\":[\"" KUSION_FINALIZER "\"]}"
#define GOING "{\"metadata\":{\"deletionTimestamp\":\"2026-01-02T03:04:05Z\"}}"

#define RELEASES  "/apis/api.kusion.io/v1/namespaces/team/releases"
#define APPLIED   "{\"lastAppliedRevision\":1,\"resources\":{\"total\":2}}"
#define MAX_STEPS 7

/* What is asked on the way. */
#define DEFINITION(status_, body_)                                                            \
    {                                                                                         \
        .expect = "GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions/specs.api.kus" \
                  "ion.io ",                                                                  \
        .status = (status_), .body = (body_)                                                  \
    }
#define NAMESPACE(body_)                                                         \
    {                                                                            \
        .expect = "GET /api/v1/namespaces/team ", .status = 200, .body = (body_) \
    }
#define LOOK(status_, body_)                                            \
    {                                                                   \
        .expect = "GET " SPEC " ", .status = (status_), .body = (body_) \
    }
#define LET_GO(status_, body_)                                            \
    {                                                                     \
        .expect = "PATCH " SPEC " ", .status = (status_), .body = (body_) \
    }
#define TELL                                                                      \
    {                                                                             \
        .expect = "PUT " SPEC "/status ", .status = 200, .body = "{" METADATA "}" \
    }

#define NEWEST                                                                                  \
    {                                                                                           \
        .expect = "GET " RELEASES "?", .status = 200,                                           \
        .body = "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[{"      \
                "\"metadata\":{\"name\":\"web-2\",\"annotations\":{\"api.kusion.io/revision\":" \
                "\"2\"}}}]}"                                                                    \
    }
#define NO_RELEASES                                                                         \
    {                                                                                       \
        .expect = "GET " RELEASES "?", .status = 200,                                       \
        .body = "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[]}" \
    }
#define RELEASE(operation, phase)                                                        \
    {                                                                                    \
        .expect = "GET " RELEASES "/web-2 ", .status = 200,                              \
        .body = "{\"metadata\":{\"name\":\"web-2\",\"namespace\":\"team\"},\"spec\":{\"" \
                "operation\":\"" operation "\"},\"status\":{\"phase\":\"" phase "\"}}"   \
    }
#define END                                                                  \
    {                                                                        \
        .expect = "PUT " RELEASES "/web-2/status ", .status = 200,           \
        .body = "{\"metadata\":{\"name\":\"web-2\",\"namespace\":\"team\"}}" \
    }

struct deletion {
    struct scene scene;
    struct run run;
    int64_t after;
};

static void begin(struct deletion *deletion, const char *object, const struct fake_step *steps)
{
    struct scene *scene = &deletion->scene;

    scene_start(scene, steps, count_steps(steps, MAX_STEPS));
    deletion->after = 0;
    deletion->run = (struct run){.context = &scene->context,
                                 .namespace_name = "team",
                                 .name = "web",
                                 .object = scene_value(object),
                                 .generation = 3,
                                 .subject = {"team", "web", 3, NULL, NULL, NULL}};
    spec_policy_read(deletion->run.object, &deletion->run.policy);
    scene->store.state = state_new("team", "web", "u");
}

static void add_record(struct deletion *deletion)
{
    struct record *record =
        state_record(deletion->scene.store.state, "v1:ConfigMap:team:a", "Kubernetes");

    record->attributes = scene_value("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":"
                                     "{\"name\":\"a\",\"namespace\":\"team\"}}");
}

static int carry_out(struct deletion *deletion)
{
    return reconcile_deletion(&deletion->run, &deletion->after, &deletion->scene.error);
}

static void end(struct deletion *deletion)
{
    value_unref(deletion->run.object);
    scene_stop(&deletion->scene);
}

static void leaves_alone_what_has_no_finalizer_of_ours(void)
{
    static const struct fake_step none[MAX_STEPS] = {{0}};
    struct deletion deletion;

    begin(&deletion, "{\"metadata\":{\"finalizers\":[\"x/y\"]},\"spec\":{}}", none);
    EXPECT_INT(carry_out(&deletion), 0, "nothing to do");
    EXPECT_INT(deletion.scene.store.removed, 0, "State is not ours to remove");
    end(&deletion);
}

/* Who orphans needs neither the CRD nor any runtime: there is none in these tests. */
static void orphans_where_the_policy_says_so(void)
{
    static const struct fake_step orphaned[MAX_STEPS] = {
        NAMESPACE("{}"), NO_RELEASES, LOOK(200, "{" METADATA "}"), LET_GO(200, "{}")};
    static const struct fake_step held[MAX_STEPS] = {DEFINITION(200, GOING), TELL};
    static const struct {
        const char *spec;
        bool orphans;
    } rows[] = {
        {"{}", false},
        {"{\"deletionPolicy\":\"MirrorPrune\"}", false},
        {"{\"prune\":false}", true},
        {"{\"prune\":false,\"deletionPolicy\":\"MirrorPrune\"}", true},
        {"{\"prune\":false,\"deletionPolicy\":\"Delete\"}", false},
        {"{\"prune\":false,\"deletionPolicy\":\"WaitForTermination\"}", false},
        {"{\"deletionPolicy\":\"Orphan\"}", true},
        {"{\"suspend\":true}", true},
        {"{\"suspend\":true,\"deletionPolicy\":\"Delete\"}", true},
        /* what cannot be read deletes less, not more */
        {"{\"deletionPolicy\":\"delete\"}", true},
        {"{\"prune\":\"true\"}", true},
        {"{\"suspend\":\"false\"}", true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *object = str_printf("{" METADATA ",\"spec\":%s}", rows[i].spec);
        struct deletion deletion;

        begin(&deletion, object, rows[i].orphans ? orphaned : held);
        add_record(&deletion);
        EXPECT_INT(carry_out(&deletion), 0, rows[i].spec);
        EXPECT_INT(deletion.scene.store.removed, rows[i].orphans, rows[i].spec);
        EXPECT_INT(deletion.after, rows[i].orphans ? 0 : 30000, rows[i].spec);
        end(&deletion);
    }
}

static const struct {
    const char *note;
    struct fake_step steps[MAX_STEPS];
} ways_out[] = {
    {"its State is empty",
     {DEFINITION(200, "{}"), NAMESPACE("{}"), NO_RELEASES, LOOK(200, "{" METADATA "}"),
      LET_GO(200, "{}")}},
    {"its namespace terminates",
     {DEFINITION(200, "{}"), NAMESPACE(GOING), LOOK(200, "{" METADATA "}"), LET_GO(200, "{}")}},
    {"it was let go by a person",
     {DEFINITION(200, "{}"), NAMESPACE("{}"), NO_RELEASES,
      LOOK(404, STATUS(404, "NotFound", "web"))}},
    {"it goes while it is let go",
     {DEFINITION(200, "{}"), NAMESPACE("{}"), NO_RELEASES, LOOK(200, "{" METADATA "}"),
      LET_GO(404, STATUS(404, "NotFound", "web"))}},
};

static void lets_go_of_what_has_nothing(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(ways_out); i++) {
        struct deletion deletion;

        begin(&deletion, "{" METADATA ",\"spec\":{}}", ways_out[i].steps);
        EXPECT_INT(carry_out(&deletion), 0, ways_out[i].note);
        EXPECT_INT(deletion.scene.error.code, 0, ways_out[i].note);
        EXPECT_INT(deletion.scene.store.removed, 1, ways_out[i].note);
        end(&deletion);
    }
}

/* There is no State, though the status tells of an apply: it is lost, unless a destroy was about to
 * end. */
static void lets_go_without_state_only_at_the_end_of_a_destroy(void)
{
    static const struct {
        const char *note, *status;
        struct fake_step steps[MAX_STEPS];
        bool held;
    } rows[] = {
        {"nothing was applied",
         "{}",
         {DEFINITION(200, "{}"), NAMESPACE("{}"), NO_RELEASES, LOOK(200, "{" METADATA "}"),
          LET_GO(200, "{}")},
         false},
        {"nothing was left",
         "{\"lastAppliedRevision\":1,\"resources\":{\"total\":0}}",
         {DEFINITION(200, "{}"), NAMESPACE("{}"), NO_RELEASES, LOOK(200, "{" METADATA "}"),
          LET_GO(200, "{}")},
         false},
        {"its namespace terminates",
         APPLIED,
         {DEFINITION(200, "{}"), NAMESPACE(GOING), LOOK(200, "{" METADATA "}"), LET_GO(200, "{}")},
         false},
        {"a destroy did not end",
         APPLIED,
         {DEFINITION(200, "{}"), NAMESPACE("{}"), NEWEST, RELEASE("Destroy", "destroying"), END,
          LOOK(200, "{" METADATA "}"), LET_GO(200, "{}")},
         false},
        {"a destroy ended",
         APPLIED,
         {DEFINITION(200, "{}"), NAMESPACE("{}"), NEWEST, RELEASE("Destroy", "succeeded"),
          LOOK(200, "{" METADATA "}"), LET_GO(200, "{}")},
         false},
        {"a destroy did not begin",
         APPLIED,
         {DEFINITION(200, "{}"), NAMESPACE("{}"), NEWEST, RELEASE("Destroy", ""), TELL},
         true},
        {"a destroy was given up",
         APPLIED,
         {DEFINITION(200, "{}"), NAMESPACE("{}"), NEWEST, RELEASE("Destroy", "cancelled"), TELL},
         true},
        {"the last was an apply",
         APPLIED,
         {DEFINITION(200, "{}"), NAMESPACE("{}"), NEWEST, RELEASE("Apply", "succeeded"), TELL},
         true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *object =
            str_printf("{" METADATA ",\"spec\":{},\"status\":%s}", rows[i].status);
        const struct value *ready;
        struct deletion deletion;

        begin(&deletion, object, rows[i].steps);
        state_free(TAKE(deletion.scene.store.state));
        EXPECT_INT(carry_out(&deletion), 0, rows[i].note);
        EXPECT_INT(deletion.after, rows[i].held ? 30000 : 0, rows[i].note);
        ready =
            conditions_find(value_path(deletion.run.object, "status", "conditions", NULL), "Ready");
        EXPECT_STR(value_get_string(ready, "reason"), rows[i].held ? "StateLost" : NULL,
                   rows[i].note);
        end(&deletion);
    }
}

static void holds_and_says_why(void)
{
    static const struct {
        const char *note;
        struct fake_step steps[MAX_STEPS];
        const char *reason, *message;
    } rows[] = {
        {"the CRD goes",
         {DEFINITION(200, GOING), TELL},
         "DeletionGuardTripped",
         "held: the CRD specs.api.kusion.io is being deleted"},
        {"we may not look",
         {DEFINITION(403, STATUS(403, "Forbidden", "specs.api.kusion.io")), TELL},
         "Forbidden",
         ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *event = NULL;
        const struct value *ready;
        struct deletion deletion;
        const char *message;

        begin(&deletion, "{" METADATA ",\"spec\":{}}", rows[i].steps);
        add_record(&deletion);
        EXPECT_INT(carry_out(&deletion), 0, rows[i].note);
        EXPECT_INT(deletion.after, 30000, rows[i].note);
        EXPECT_INT(deletion.scene.store.removed, 0, rows[i].note);
        ready =
            conditions_find(value_path(deletion.run.object, "status", "conditions", NULL), "Ready");
        message = value_get_string(ready, "message");
        EXPECT_STR(value_get_string(ready, "reason"), rows[i].reason, rows[i].note);
        EXPECT(message && str_has_prefix(message, rows[i].message), rows[i].note);
        event = scene_event(&deletion.scene, 0);
        EXPECT_STR(value_get_string(event, "type"), "Warning", rows[i].note);
        EXPECT_STR(value_get_string(event, "message"), message, rows[i].note);
        end(&deletion);
    }
}

/* Its namespace terminates: the account that it acts as went first, and no event can be made. */
static int open_without_account(struct runtime *runtime, const struct runtime_scope *scope,
                                struct runtime_session **ret, struct error *error)
{
    (void)runtime;
    (void)scope;
    (void)ret;
    return err_set(error, ERR_INVALID, "ServiceAccountNotFound", "there is no account");
}

static void tells_the_way_out_where_rights_are_gone(void)
{
    static const struct runtime_ops ops = {.type = "Kubernetes", .open = open_without_account};
    static const struct fake_step steps[MAX_STEPS] = {DEFINITION(200, "{}"), NAMESPACE(GOING), TELL,
                                                      TELL};
    struct runtime runtime = {&ops}, *runtimes[] = {&runtime};
    const struct value *ready;
    struct deletion deletion;

    begin(&deletion, "{" METADATA ",\"spec\":{}}", steps);
    add_record(&deletion);
    deletion.scene.context.runtimes = runtimes;
    deletion.scene.context.n_runtimes = 1;
    EXPECT_INT(carry_out(&deletion), 0, deletion.scene.error.message);
    EXPECT_INT(deletion.scene.store.removed, 0, "State stays");
    ready = conditions_find(value_path(deletion.run.object, "status", "conditions", NULL), "Ready");
    EXPECT_STR(value_get_string(ready, "reason"), "ServiceAccountNotFound", "reason");
    EXPECT(str_has_prefix(value_get_string(ready, "message"),
                          "held (deletionPolicy Orphan would leave what remains): "),
           value_get_string(ready, "message"));
    EXPECT(!scene_event(&deletion.scene, 0), "no event");
    end(&deletion);
}

SUITE(deletion, TEST(leaves_alone_what_has_no_finalizer_of_ours),
      TEST(orphans_where_the_policy_says_so), TEST(lets_go_of_what_has_nothing),
      TEST(lets_go_without_state_only_at_the_end_of_a_destroy), TEST(holds_and_says_why),
      TEST(tells_the_way_out_where_rights_are_gone))
