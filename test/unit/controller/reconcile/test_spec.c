#include "controller/reconcile/spec.h"

#include "controller/reconcile/operations_private.h"
#include "controller/reconcile/release.h"
#include "test/unit/controller/reconcile/scene.h"
#include "test/unit/suite.h"

typedef struct reconcile_result reconcile_fn(void *arg, const char *key, struct cancel *cancel);

static void enqueue(void *arg, const char *key)
{
    (void)arg, (void)key;
}

/* A Spec that was granted memory after it had waited, and is suspended by now. Its status cannot be
 * written, so it keeps its ticket, and is read again at the next try: what it was before is freed.
 * (The sanitizer looks.) */
static void reads_again_what_waited_for_memory(void)
{
    static const struct fake_step steps[] = {
        {.expect = "GET /apis/api.kusion.io/v1/namespaces/team/specs/web ",
         .status = 200,
         .body = "{\"apiVersion\":\"api.kusion.io/"
                 "v1\",\"kind\":\"Spec\",\"metadata\":{\"namespace\":\"team\",\"name\":\"web\","
                 "\"uid\":\"u\","
                 "\"generation\":3,\"resourceVersion\":\"7\"},\"spec\":{\"suspend\":true},"
                 "\"status\":{\"observedGeneration\":3,\"conditions\":[{\"type\":\"Ready\","
                 "\"status\":\"Unknown\",\"reason\":\"Suspended\",\"message\":\"so it was\"}]}}"},
        {.expect = "PUT /apis/api.kusion.io/v1/namespaces/team/specs/web/status ",
         .status = 403,
         .body = STATUS(403, "Forbidden", "web")},
    };
    struct fake_step script[6];
    struct object_version listed = {.uid = "u", .generation = 3};
    struct attempt *first, *attempt;
    struct operations *operations;
    struct scene scene;

    for (size_t i = 0; i < ARRAY_SIZE(script); i++)
        script[i] = steps[i % ARRAY_SIZE(steps)];
    scene_start(&scene, script, ARRAY_SIZE(script));
    operations = operations_new(&(struct operations_config){
        .enqueue = enqueue, .clock = &scene.clock.source, .memory = 10});
    scene.context.operations = operations;
    operations_observe(operations, "team/web", &listed, false);
    first = operations_enter(operations, "team/first");
    EXPECT(operations_reserve(first, 10), "all that there is");
    attempt = operations_enter(operations, "team/web");
    EXPECT(!operations_reserve(attempt, 10), "it waits");
    operations_leave(attempt);
    operations_leave(first);
    for (size_t i = 0; i < ARRAY_SIZE(script); i += ARRAY_SIZE(steps)) {
        struct reconcile_result result = reconcile_spec(&scene.context, "team/web", NULL);

        EXPECT_INT(result.kind, RECONCILE_RETRY, "its status was refused");
        EXPECT(attempt->reservation.ticket, "it keeps its ticket");
    }
    operations_free(operations);
    scene_stop(&scene);
}

#define OF_VERSION(version)                                                                   \
    "{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Spec\",\"metadata\":{\"namespace\":"     \
    "\"team\",\"name\":\"web\",\"uid\":\"u\",\"generation\":3,\"resourceVersion\":\"" version \
    "\"},\"spec\":{\"suspend\":true}}"

/* A Spec from before its deletion, say, would not be looked at again for an interval. */
static void a_stale_answer_is_refused(void)
{
    static const char specs[] = "GET /apis/api.kusion.io/v1/namespaces/team/specs/web ";
    static const char newest[] =
        "GET /apis/api.kusion.io/v1/namespaces/team/specs/web?resourceVersion=100 ";
    static const char releases[] = "GET /apis/api.kusion.io/v1/namespaces/team/releases/web ";
    const struct {
        const char *note;
        reconcile_fn *reconcile;
        bool is_new;
        struct fake_step steps[2];
        size_t n_steps;
    } rows[] = {
        {"a Spec",
         reconcile_spec,
         false,
         {{.expect = specs, .status = 200, .body = OF_VERSION("99")}},
         1},
        {"no Spec",
         reconcile_spec,
         false,
         {{.expect = specs, .status = 404, .body = STATUS(404, "NotFound", "web")}},
         1},
        {"a new Spec",
         reconcile_spec,
         true,
         {{.expect = newest, .status = 200, .body = OF_VERSION("99")},
          {.expect = specs, .status = 200, .body = OF_VERSION("99")}},
         2},
        {"a Release",
         reconcile_release,
         false,
         {{.expect = releases, .status = 200, .body = OF_VERSION("99")}},
         1},
        {"no Release",
         reconcile_release,
         false,
         {{.expect = releases, .status = 404, .body = STATUS(404, "NotFound", "web")}},
         1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct object_version shown = {.uid = "u",
                                             .generation = 3,
                                             .is_deleting = true,
                                             .is_new = rows[i].is_new,
                                             .version = "100"};
        struct reconcile_result result;
        struct operations *operations;
        struct scene scene;

        scene_start(&scene, rows[i].steps, rows[i].n_steps);
        operations = operations_new(&(struct operations_config){
            .enqueue = enqueue, .clock = &scene.clock.source, .memory = 10});
        scene.context.operations = scene.context.previews = operations;
        operations_observe(operations, "team/web", &shown, false);
        result = rows[i].reconcile(&scene.context, "team/web", NULL);
        EXPECT_INT(result.kind, RECONCILE_RETRY, rows[i].note); /* and nothing else is asked */
        operations_free(operations);
        scene_stop(&scene);
    }
}

/* A reconcile that is cancelled is not tried again: nothing of the attempt stays. */
static void a_cancelled_reconcile_keeps_nothing(void)
{
    static const struct {
        const char *note;
        reconcile_fn *reconcile;
    } rows[] = {{"a Spec", reconcile_spec}, {"a Preview", reconcile_release}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(cancel_free_p) struct cancel *cancel = cancel_new(NULL);
        struct operations_stats stats;
        struct operations *operations;
        struct attempt *first, *attempt;
        struct reconcile_result result;
        struct scene scene;

        scene_start(&scene, NULL, 0);
        operations = operations_new(&(struct operations_config){
            .enqueue = enqueue, .clock = &scene.clock.source, .memory = 10});
        scene.context.operations = scene.context.previews = operations;
        first = operations_enter(operations, "team/first");
        EXPECT(operations_reserve(first, 10), "all that there is");
        attempt = operations_enter(operations, "team/web");
        EXPECT(!operations_reserve(attempt, 10), "it waits");
        operations_leave(attempt);
        operations_leave(first);
        operations_stats(operations, &stats);
        EXPECT_INT((long long)stats.reserved_bytes, 10, "granted");
        cancel_fire(cancel, "Shutdown");
        result = rows[i].reconcile(&scene.context, "team/web", cancel);
        EXPECT_INT(result.kind, RECONCILE_DONE, rows[i].note);
        operations_stats(operations, &stats);
        EXPECT_INT((long long)stats.reserved_bytes, 0, rows[i].note);
        EXPECT_INT((long long)operations->attempts.count, 0, rows[i].note);
        operations_free(operations);
        scene_stop(&scene);
    }
}

SUITE(reconcile_spec, TEST(a_cancelled_reconcile_keeps_nothing),
      TEST(reads_again_what_waited_for_memory), TEST(a_stale_answer_is_refused))
