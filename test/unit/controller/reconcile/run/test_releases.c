/* Releases over a history of documents in memory, and those that a person made over a scripted
 * server. */
#include "controller/reconcile/records/releases.h"

#include <stdatomic.h>

#include "controller/desk/desk.h"
#include "controller/reconcile/records/plans.h"
#include "controller/reconcile/run/retention.h"
#include "controller/reconcile/status/report.h"
#include "engine/base/str.h"
#include "engine/release/document_history.h"
#include "engine/state/compress.h"
#include "engine/value/json.h"
#include "test/unit/controller/reconcile/records/scene.h"
#include "test/unit/engine/faulty_store.h"
#include "test/unit/engine/memory_store.h"
#include "test/unit/suite.h"

#define RELEASES "/apis/api.kusion.io/v1/namespaces/team/releases"
#define RELEASE(name, operation, status)                                               \
    "{\"kind\":\"Release\",\"metadata\":{\"namespace\":\"team\",\"name\":\"" name      \
    "\",\"uid\":\"u\",\"resourceVersion\":\"7\"},\"spec\":{\"operation\":\"" operation \
    "\"},\"status\":" status "}"
#define LOOK RELEASE("look", "Preview", "{\"phase\":\"previewing\"}")

static const struct store_call plain;
static const struct release_subject subject = {
    .key = {"team", "web"}, .generation = 4, .project = "p", .workspace = "w"};

static void expect_json(const struct value *actual, const char *expected, const char *note)
{
    _cleanup_free_ char *text = json_to_str(actual);

    EXPECT_STR(text, expected, note);
}

/* ---- A history in memory ---- */

struct fixture {
    struct scene scene;
    struct memory_medium *medium;
    struct store_faults *faults;
    struct store *store;
};

static void begin(struct fixture *fixture)
{
    scene_start(&fixture->scene, NULL, 0);
    fixture->medium = memory_medium_new(NULL);
    fixture->faults = store_faults_new();
    fixture->store = faulty_store_new(fixture->faults, memory_store_new(fixture->medium));
    fixture->scene.context.history = document_history_new(fixture->store);
    fixture->scene.context.store = fixture->store;
}

static void end(struct fixture *fixture)
{
    struct reconcile_context *context = &fixture->scene.context;

    context->history->ops->free(context->history);
    fixture->store->ops->free(fixture->store);
    memory_medium_free(fixture->medium);
    store_faults_free(fixture->faults);
    scene_stop(&fixture->scene);
}

static struct release *make(struct fixture *fixture, enum release_operation operation,
                            int64_t revision)
{
    struct release *release = NULL;

    err_clear(&fixture->scene.error);
    EXPECT_INT(release_begin(&fixture->scene.context, &subject, operation, revision, &release,
                             &fixture->scene.error),
               0, fixture->scene.error.message);
    return release;
}

static struct release *latest(struct fixture *fixture)
{
    struct release *release = NULL;

    err_clear(&fixture->scene.error);
    EXPECT_INT(
        releases_latest(&fixture->scene.context, &subject, NULL, &release, &fixture->scene.error),
        0, fixture->scene.error.message);
    return release;
}

static int write(struct scene *scene, struct release *release, enum release_phase phase,
                 const struct operation_results *results)
{
    static const struct verdict verdict = {"True", "ReconciliationSucceeded", "done",
                                           PROGRESS_SETTLED, NULL};
    struct outcome outcome = {.phase = phase, .results = results};

    if (release_phase_is_terminal(phase))
        outcome.verdict = verdict;
    err_clear(&scene->error);
    return release_write(&scene->context, &subject, release, &outcome, &scene->error);
}

/* ---- Beginning and finding ---- */

static void reads_what_a_persons_release_says(void)
{
    static const struct {
        const char *note, *object;
        enum release_operation operation;
        enum release_phase phase;
        int64_t own_generation;
    } rows[] = {
        {"a preview", LOOK, RELEASE_PREVIEW, PHASE_PREVIEWING, 1},
        {"ended", RELEASE("a", "Destroy", "{\"phase\":\"succeeded\"}"), RELEASE_DESTROY,
         PHASE_SUCCEEDED, 1},
        {"not begun", RELEASE("a", "Preview", "{\"observedGeneration\":-1}"), RELEASE_PREVIEW,
         PHASE_NONE, 1},
        {"a phase that is none", RELEASE("a", "Rollback", "{\"phase\":\"x\"}"), RELEASE_ROLLBACK,
         PHASE_NONE, 1},
        {"approved", "{\"metadata\":{\"name\":\"a\",\"generation\":2},\"spec\":{}}", RELEASE_APPLY,
         PHASE_NONE, 2},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *object = scene_value(rows[i].object);
        _cleanup_(release_free_p) struct release *release = release_of(object);

        EXPECT_INT(release->revision, 0, rows[i].note);
        EXPECT_INT(release->generation, 0, rows[i].note);
        EXPECT_INT(release->operation, rows[i].operation, rows[i].note);
        EXPECT_INT(release->phase, rows[i].phase, rows[i].note);
        EXPECT_INT(release->own_generation, rows[i].own_generation, rows[i].note);
        EXPECT(!release->version, "in no history");
        EXPECT(value_equal(release->status, value_get(object, "status")), rows[i].note);
    }
}

static void begins_one_and_finds_it(void)
{
    _cleanup_(release_free_p) struct release *none = NULL, *made = NULL, *found = NULL;
    struct fixture fixture;

    begin(&fixture);
    none = latest(&fixture);
    EXPECT(!none, "none yet");
    made = make(&fixture, RELEASE_DESTROY, 3);
    found = latest(&fixture);
    for (int i = 0; i < 2; i++) {
        const struct release *release = i ? found : made;
        const char *note = i ? "found" : "made";

        EXPECT_STR(release->name, "web-3", note);
        EXPECT_INT(release->revision, 3, note);
        EXPECT_INT(release->generation, 4, note);
        EXPECT_INT(release->operation, RELEASE_DESTROY, note);
        EXPECT_INT(release->phase, PHASE_NONE, note);
        EXPECT(release->version && !release->metadata, note);
    }
    end(&fixture);
}

/* Killed after it was made, or its answer was lost. */
static void takes_up_what_was_left(void)
{
    static const struct {
        const char *note;
        enum store_fault fault;
        int expected;
        bool is_there;
    } rows[] = {
        {"there", FAULT_NONE, 0, true},
        {"made, and the answer lost", FAULT_AFTER, 0, false},
        {"not made, and no answer", FAULT_BEFORE, ERR_UNAVAILABLE, false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(release_free_p) struct release *before = NULL, *release = NULL;
        struct fixture fixture;

        begin(&fixture);
        if (rows[i].is_there) {
            before = make(&fixture, RELEASE_APPLY, 3);
            EXPECT_INT(write(&fixture.scene, before, PHASE_APPLYING, NULL), 0, rows[i].note);
        }
        store_faults_fail(fixture.faults, rows[i].fault ? 1 : 0, rows[i].fault);
        EXPECT_INT(release_begin(&fixture.scene.context, &subject, RELEASE_APPLY, 3, &release,
                                 &fixture.scene.error),
                   rows[i].expected, rows[i].note);
        EXPECT_INT(fixture.scene.error.code, rows[i].expected, rows[i].note);
        EXPECT(!release == (rows[i].expected < 0), rows[i].note);
        if (release) {
            EXPECT_INT(release->phase, rows[i].is_there ? PHASE_APPLYING : PHASE_NONE,
                       rows[i].note);
            EXPECT_INT(write(&fixture.scene, release, PHASE_SUCCEEDED, NULL), 0, "it goes on");
        }
        end(&fixture);
    }
}

/* ---- Phases ---- */

static struct release *object_of(const char *object)
{
    _cleanup_value_ const struct value *value = scene_value(object);

    return release_of(value);
}

static void writes_nothing_where_there_is_nothing_to_write(void)
{
    static const struct {
        const char *note, *object; /* NULL: no Release */
        enum release_phase phase;
        int expected;
    } rows[] = {
        {"no Release", NULL, PHASE_APPLYING, 0},
        {"one that succeeded", RELEASE("a", "Apply", "{\"phase\":\"succeeded\"}"), PHASE_FAILED, 0},
        {"one that failed", RELEASE("a", "Apply", "{\"phase\":\"failed\"}"), PHASE_APPLYING, 0},
        {"one that was cancelled", RELEASE("a", "Apply", "{\"phase\":\"cancelled\"}"),
         PHASE_CANCELLED, 0},
        {"backwards", RELEASE("a", "Apply", "{\"phase\":\"applying\"}"), PHASE_PREVIEWING,
         ERR_INTERNAL},
        {"what another operation does", RELEASE("a", "Apply", "{\"phase\":\"applying\"}"),
         PHASE_DESTROYING, ERR_INTERNAL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(release_free_p) struct release *release =
            rows[i].object ? object_of(rows[i].object) : NULL;
        enum release_phase before = release ? release->phase : PHASE_NONE;
        struct scene scene;

        scene_start(&scene, NULL, 0);
        EXPECT_INT(write(&scene, release, rows[i].phase, NULL), rows[i].expected, rows[i].note);
        EXPECT_STR(scene.error.reason, rows[i].expected ? "PhaseOrder" : "", rows[i].note);
        EXPECT_INT(release ? release->phase : PHASE_NONE, before, rows[i].note);
        scene_stop(&scene);
    }
}

static void results_init(struct operation_results *results, size_t n)
{
    arena_init(&results->arena);
    results->items = ARENA_ARRAY(&results->arena, struct operation_result, n);
    results->count = n;
    for (size_t i = 0; i < n; i++) {
        struct plan_change *change = ARENA_NEW(&results->arena, struct plan_change);

        change->id = arena_printf(&results->arena, "id-%zu", i);
        results->items[i] = (struct operation_result){
            .change = change, .action = PLAN_CREATE, .status = RESULT_SUCCEEDED};
    }
}

/* Its Spec is retried; the Release itself has ended. */
static void one_that_failed_does_not_reconcile(void)
{
    static const struct {
        enum release_phase phase;
        const char *expected;
    } rows[] = {{PHASE_APPLYING, "Reconciling"}, {PHASE_FAILED, "Stalled"}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        static const struct verdict verdict = {"False", "KindNotFound", "it is not there",
                                               PROGRESS_RECONCILING, NULL};
        const struct outcome outcome = {.phase = rows[i].phase, .verdict = verdict};
        _cleanup_(release_free_p) struct release *release = NULL;
        const char *note = release_phase_name(rows[i].phase);
        const struct value *conditions;
        struct fixture fixture;

        begin(&fixture);
        release = make(&fixture, RELEASE_APPLY, 1);
        EXPECT_INT(write(&fixture.scene, release, PHASE_PREVIEWING, NULL), 0, note);
        EXPECT_INT(write(&fixture.scene, release, PHASE_APPLYING, NULL), 0, note);
        EXPECT_INT(release_write(&fixture.scene.context, &subject, release, &outcome,
                                 &fixture.scene.error),
                   0, fixture.scene.error.message);
        conditions = value_get(release->status, "conditions");
        EXPECT(conditions_find(conditions, rows[i].expected), note);
        EXPECT_STR(value_get_string(conditions_find(conditions, "Finished"), "status"),
                   i ? "True" : "False", note);
        end(&fixture);
    }
}

static void writes_phases_and_keeps_what_was_said(void)
{
    _cleanup_(release_free_p) struct release *release = NULL, *first = NULL, *last = NULL;
    struct operation_results results;
    struct fixture fixture;

    begin(&fixture);
    release = make(&fixture, RELEASE_APPLY, 3);
    EXPECT_INT(write(&fixture.scene, release, PHASE_GENERATING, NULL), 0,
               fixture.scene.error.message);
    EXPECT_INT(release->phase, PHASE_GENERATING, "followed");
    first = latest(&fixture);
    atomic_fetch_add(&fixture.scene.clock.now, 60000);
    EXPECT_INT(write(&fixture.scene, release, PHASE_APPLYING, NULL), 0,
               fixture.scene.error.message);
    results_init(&results, 1);
    EXPECT_INT(write(&fixture.scene, release, PHASE_SUCCEEDED, &results), 0,
               fixture.scene.error.message);
    operation_results_done(&results);
    last = latest(&fixture);
    expect_json(first->status,
                "{\"createTime\":\"" SCENE_NOW "\",\"modifiedTime\":\"" SCENE_NOW
                "\",\"project\":\"p\",\"workspace\":\"w\",\"revision\":3,"
                "\"specGeneration\":4,\"phase\":\"generating\",\"observedGeneration\":1}",
                "the first phase");
    expect_json(last->status,
                "{\"createTime\":\"" SCENE_NOW "\",\"modifiedTime\":"
                "\"2026-01-02T03:05:05Z\",\"project\":\"p\",\"workspace\":\"w\",\"revision\":3,"
                "\"specGeneration\":4,\"phase\":\"succeeded\",\"observedGeneration\":1,"
                "\"results\":[{\"id\":\"id-0\","
                "\"action\":\"create\",\"outcome\":\"succeeded\"}],\"omitted\":0,\"counts\":{"
                "\"total\":1,\"succeeded\":1,"
                "\"failed\":0,\"skipped\":0,\"pending\":0},\"conditions\":[{\"type\":\"Ready\","
                "\"status\":\"True\",\"observedGeneration\":1,\"lastTransitionTime\":"
                "\"2026-01-02T03:05:05Z\",\"reason\":\"ReconciliationSucceeded\",\"message\":"
                "\"done\"},{\"type\":\"Finished\","
                "\"status\":\"True\",\"observedGeneration\":1,\"lastTransitionTime\":"
                "\"2026-01-02T03:05:05Z\",\"reason\":\"ReconciliationSucceeded\",\"message\":"
                "\"done\"}],\"summary\":\"done\"}",
                "the last");
    end(&fixture);
}

/* One that somebody deletes does not stop the work; one that cannot be written does. */
static void survives_that_it_is_deleted(void)
{
    _cleanup_(release_free_p) struct release *release = NULL, *none = NULL;
    struct fixture fixture;

    begin(&fixture);
    release = make(&fixture, RELEASE_APPLY, 3);
    store_faults_fail(fixture.faults, 1, FAULT_BEFORE);
    EXPECT_INT(write(&fixture.scene, release, PHASE_APPLYING, NULL), ERR_UNAVAILABLE, "no answer");
    EXPECT_INT(release->phase, PHASE_NONE, "not written");
    fixture.scene.context.history->ops->remove(fixture.scene.context.history, &subject.key, 3,
                                               RELEASE_ANYWAY, &plain, NULL);
    EXPECT_INT(write(&fixture.scene, release, PHASE_SUCCEEDED, NULL), 0,
               fixture.scene.error.message);
    EXPECT_INT(release->phase, PHASE_SUCCEEDED, "it is done with");
    none = latest(&fixture);
    EXPECT(!none, "it is not made again");
    end(&fixture);
}

/* What came between is no conflict for long; but an end stays. */
static void looks_again_after_a_conflict(void)
{
    static const struct {
        enum release_phase by_another, written, expected;
    } rows[] = {
        {PHASE_GENERATING, PHASE_APPLYING, PHASE_APPLYING},
        {PHASE_APPLYING, PHASE_SUCCEEDED, PHASE_SUCCEEDED},
        {PHASE_SUCCEEDED, PHASE_CANCELLED, PHASE_SUCCEEDED},
        {PHASE_CANCELLED, PHASE_APPLYING, PHASE_CANCELLED},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *note = release_phase_name(rows[i].by_another);
        _cleanup_(release_free_p) struct release *release = NULL, *other = NULL, *now = NULL;
        struct fixture fixture;

        begin(&fixture);
        release = make(&fixture, RELEASE_APPLY, 3);
        other = latest(&fixture);
        EXPECT_INT(write(&fixture.scene, other, rows[i].by_another, NULL), 0, note);
        EXPECT_INT(write(&fixture.scene, release, rows[i].written, NULL), 0, note);
        now = latest(&fixture);
        EXPECT_INT(now->phase, rows[i].expected, note);
        EXPECT_INT(release->phase, rows[i].expected, note);
        EXPECT_STR(value_get_string(release->status, "phase"), release_phase_name(rows[i].expected),
                   note);
        end(&fixture);
    }
}

/* ---- A person's ---- */

#define PUT(status_, body_)                                                             \
    {                                                                                   \
        .expect = "PUT " RELEASES "/look/status ", .status = (status_), .body = (body_) \
    }

static void writes_a_persons_release(void)
{
    static const struct {
        const char *note;
        struct fake_step steps[2];
        int expected;
        enum release_phase phase;
    } rows[] = {
        {"written", {PUT(200, LOOK)}, 0, PHASE_SUCCEEDED},
        {"deleted by somebody", {PUT(404, STATUS(404, "NotFound", "look"))}, 0, PHASE_SUCCEEDED},
        {"refused", {PUT(403, STATUS(403, "Forbidden", "look"))}, ERR_FORBIDDEN, PHASE_PREVIEWING},
        {"no room",
         {PUT(413, STATUS(413, "RequestEntityTooLarge", "look"))},
         ERR_TOO_LARGE,
         PHASE_PREVIEWING},
        /* A stale Release was read, say: it had ended, and its end stays. */
        {"ended",
         {PUT(409, STATUS(409, "Conflict", "look")),
          {.expect = "GET " RELEASES "/look/status ",
           .status = 200,
           .body = RELEASE("look", "Preview", "{\"phase\":\"failed\"}")}},
         0,
         PHASE_FAILED},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(release_free_p) struct release *release = object_of(LOOK);
        struct scene scene;

        scene_start(&scene, rows[i].steps, count_steps(rows[i].steps, 2));
        EXPECT_INT(write(&scene, release, PHASE_SUCCEEDED, NULL), rows[i].expected, rows[i].note);
        EXPECT_INT(scene.error.code, rows[i].expected, rows[i].note);
        EXPECT_INT(release->phase, rows[i].phase, rows[i].note);
        EXPECT_STR(value_get_string(release->status, "phase"), release_phase_name(rows[i].phase),
                   rows[i].note);
        scene_stop(&scene);
    }
}

/* ---- Plans that are too long ---- */

static size_t count_plans(struct fixture *fixture)
{
    return memory_documents(fixture->medium);
}

static void keeps_beside_it_what_is_too_long(void)
{
    const struct document_name name = {DOCUMENT_PLAN, subject.key, "web-3"};
    _cleanup_(release_free_p) struct release *release = NULL;
    _cleanup_value_ const struct value *all = NULL;
    _cleanup_free_ char *place = NULL;
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;
    struct operation_results results;
    struct fixture fixture;

    begin(&fixture);
    release = make(&fixture, RELEASE_APPLY, 3);
    results_init(&results, REPORT_RESULTS + 7);
    for (int i = 0; i < 2; i++)
        EXPECT_INT(write(&fixture.scene, release, PHASE_APPLYING, &results), 0, "twice");
    operation_results_done(&results);
    EXPECT_INT(value_int(value_get(release->status, "omitted"), 0), 7, "omitted");
    place = fixture.store->ops->describe(fixture.store, &name);
    EXPECT_STR(value_string(value_path(release->status, "planRef", "name", NULL)), place,
               "where people find it");
    fixture.store->ops->open(fixture.store, &name, STORE_READ, &plain, &file, NULL);
    EXPECT_INT(fixture.store->ops->read(file, &plain, &document, NULL), 0, "the document");
    EXPECT_INT(value_expand(document.open.data, document.open.length, &all, NULL), 0, "gzip");
    EXPECT_INT(value_count(all), REPORT_RESULTS + 7, "all of them");
    EXPECT_INT(document.secret.length, 0, "nothing of it is secret");
    fixture.store->ops->close(file);
    document_done(&document);
    end(&fixture);
}

/* The Release is gone, and so is what was kept of it: by this process, or one before it. */
static int drop(const struct reconcile_context *context, const char *release)
{
    return plans_drop(context, &(struct spec_key){"team", release}, &plain, NULL);
}

static void drops_what_was_kept_of_a_release(void)
{
    for (int is_another = 0; is_another < 2; is_another++) {
        const struct document_name kept[] = {
            {DOCUMENT_PLAN, subject.key, "look"},     {DOCUMENT_PLAN, {"team", "other"}, "look"},
            {DOCUMENT_PLAN, {"else", "web"}, "look"}, {DOCUMENT_PLAN, subject.key, "look-2"},
            {DOCUMENT_APPROVAL, subject.key, "look"}, {DOCUMENT_PLAN, subject.key, "look"},
        };
        _cleanup_value_ const struct value *list = value_pack("[s]", "a");
        struct reconcile_context *context;
        struct fixture fixture;

        begin(&fixture);
        context = &fixture.scene.context;
        for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
            _cleanup_value_ const struct value *read = NULL;
            _cleanup_free_ char *place = NULL;

            EXPECT_INT(plans_keep(context, &kept[i], list, &plain, &place, NULL), 0, "keep");
            EXPECT_INT(plans_load(context, &kept[i], &plain, &read, NULL), 0, "load");
            EXPECT(value_equal(read, list), "as it was kept");
        }
        EXPECT_INT(count_plans(&fixture), 5, "the last replaces the first");
        if (is_another)
            scene_desk(&fixture.scene, 0);
        EXPECT_INT(drop(context, "another"), 0, "none");
        EXPECT_INT(count_plans(&fixture), 5, "nothing");
        store_faults_fail(fixture.faults, 1, FAULT_BEFORE);
        EXPECT_INT(drop(context, "look"), ERR_UNAVAILABLE, "");
        EXPECT_INT(drop(context, "look"), 0, "tried again");
        EXPECT_INT(count_plans(&fixture), 2, "of both Specs, and of both kinds");
        EXPECT_INT(plans_load(context, &kept[4], &plain, NULL, NULL), ERR_NOT_FOUND, "gone");
        EXPECT_INT(drop(context, "look"), 0, "again");
        EXPECT_INT(count_plans(&fixture), 2, "the others stay");
        end(&fixture);
    }
}

static int look_at_the_desk(void *arg, const struct document_name *name, struct error *error)
{
    const struct spec_key release = {name->spec.namespace_name, name->item};
    struct desk *desk = arg;
    struct desk_documents documents = {0};

    (void)error;
    desk_documents_of(desk, &release, &documents);
    EXPECT_INT(documents.count, 1, "it is known already");
    desk_documents_done(&documents);
    return 0;
}

/* A store may take long: others go on meanwhile. (With a lock, this would hang.) */
static void no_lock_is_held_while_the_store_is_listed(void)
{
    const struct document_name name = {DOCUMENT_PLAN, subject.key, "web-1"};
    _cleanup_value_ const struct value *list = value_pack("[s]", "a");
    _cleanup_free_ char *place = NULL;
    struct reconcile_context *context;
    struct fixture fixture;

    begin(&fixture);
    context = &fixture.scene.context;
    EXPECT_INT(plans_keep(context, &name, list, &plain, &place, NULL), 0, "keep");
    scene_desk(&fixture.scene, 0);
    EXPECT_INT(plans_list(context, &plain, look_at_the_desk, context->desk, NULL), 0, "list");
    end(&fixture);
}

static void keep(struct fixture *fixture, enum document_kind kind, const char *release)
{
    const struct document_name name = {kind, subject.key, release};
    _cleanup_value_ const struct value *list = value_pack("[s]", "a");
    _cleanup_free_ char *place = NULL;

    EXPECT_INT(plans_keep(&fixture->scene.context, &name, list, &plain, &place, NULL), 0, "");
}

/* Two Releases were left: one has ended, one has not. */
static void removes_nothing_of_a_release_that_goes_on(void)
{
    for (int is_another = 0; is_another < 2; is_another++) {
        _cleanup_(release_revisions_done) struct release_revisions found = {0};
        _cleanup_(release_free_p) struct release *ended = NULL, *goes_on = NULL, *newest = NULL;
        struct fixture fixture;
        struct run run;

        begin(&fixture);
        run = (struct run){
            .context = &fixture.scene.context, .subject = subject, .policy = {.history_limit = 1}};
        ended = make(&fixture, RELEASE_APPLY, 1);
        goes_on = make(&fixture, RELEASE_APPLY, 2);
        newest = make(&fixture, RELEASE_APPLY, 3);
        write(&fixture.scene, ended, PHASE_CANCELLED, NULL);
        write(&fixture.scene, goes_on, PHASE_APPLYING, NULL);
        keep(&fixture, DOCUMENT_PLAN, "web-1");
        keep(&fixture, DOCUMENT_PLAN, "web-2");
        if (is_another)
            scene_desk(&fixture.scene, 0);
        release_revisions_add(&found, 2, NULL);
        release_revisions_add(&found, 1, NULL);
        retention_collect(&run, &found, 3, PHASE_SUCCEEDED);
        EXPECT_INT(count_plans(&fixture), 3, "two Releases, and the plan of the one that goes on");
        release_revisions_done(&found);
        EXPECT_INT(releases_list(run.context, &subject, NULL, &found, NULL), 0, "list");
        EXPECT_INT(found.count, 2, "and so is that one");
        EXPECT_INT(found.items[1], 2, "the other stays");
        end(&fixture);
    }
}

/* Only the newest Release can be approved, or retried. */
static void drops_what_nobody_can_approve_any_more(void)
{
    static const struct {
        enum release_phase phase;
        unsigned kept;
    } rows[] = {{PHASE_AWAITING_APPROVAL, 2}, {PHASE_FAILED, 2}, {PHASE_SUCCEEDED, 1}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct document_name other = {DOCUMENT_APPROVAL, {"team", "other"}, "web-1"};
        _cleanup_value_ const struct value *list = value_pack("[s]", "a");
        _cleanup_free_ char *place = NULL;
        struct fixture fixture;
        struct run run;

        begin(&fixture);
        run = (struct run){
            .context = &fixture.scene.context, .subject = subject, .policy = {.history_limit = 10}};
        plans_keep(run.context, &other, list, &plain, &place, NULL);
        keep(&fixture, DOCUMENT_APPROVAL, "web-1");
        keep(&fixture, DOCUMENT_APPROVAL, "web-2");
        keep(&fixture, DOCUMENT_APPROVAL, "web-3");
        retention_collect(&run, NULL, 3, rows[i].phase);
        EXPECT_INT(count_plans(&fixture), rows[i].kept, release_phase_name(rows[i].phase));
        end(&fixture);
    }
}

SUITE(releases, TEST(reads_what_a_persons_release_says), TEST(begins_one_and_finds_it),
      TEST(takes_up_what_was_left), TEST(writes_nothing_where_there_is_nothing_to_write),
      TEST(one_that_failed_does_not_reconcile), TEST(writes_phases_and_keeps_what_was_said),
      TEST(survives_that_it_is_deleted), TEST(looks_again_after_a_conflict),
      TEST(writes_a_persons_release), TEST(keeps_beside_it_what_is_too_long),
      TEST(drops_what_was_kept_of_a_release), TEST(no_lock_is_held_while_the_store_is_listed),
      TEST(removes_nothing_of_a_release_that_goes_on), TEST(drops_what_nobody_can_approve_any_more))
