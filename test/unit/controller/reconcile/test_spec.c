#include "controller/reconcile/spec.h"

#include "controller/reconcile/attempt.h"
#include "controller/reconcile/release.h"
#include "test/unit/controller/reconcile/records/scene.h"
#include "test/unit/suite.h"

typedef struct reconcile_result reconcile_fn(void *arg, const char *key, struct cancel *cancel);

static enum desk_kind kind_of(reconcile_fn *reconcile)
{
    return reconcile == reconcile_spec ? DESK_SPEC : DESK_RELEASE;
}

static void expect_none_kept(struct attempt *attempt)
{
    EXPECT_STR(attempt->object.name, "none", "an attempt is kept");
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
    struct desk *desk;
    struct scene scene;

    for (size_t i = 0; i < ARRAY_SIZE(script); i++)
        script[i] = steps[i % ARRAY_SIZE(steps)];
    scene_start(&scene, script, ARRAY_SIZE(script));
    desk = scene_desk(&scene, 10);
    desk_observe(desk, DESK_SPEC, "team/web", &listed, false);
    first = attempt_enter(desk, DESK_SPEC, "team/first");
    EXPECT(attempt_reserve(first, 10), "all that there is");
    attempt = attempt_enter(desk, DESK_SPEC, "team/web");
    EXPECT(!attempt_reserve(attempt, 10), "it waits");
    attempt_leave(attempt);
    attempt_leave(first);
    for (size_t i = 0; i < ARRAY_SIZE(script); i += ARRAY_SIZE(steps)) {
        struct reconcile_result result = reconcile_spec(&scene.context, "team/web", NULL);

        EXPECT_INT(result.kind, RECONCILE_RETRY, "its status was refused");
        EXPECT(attempt->reservation.ticket, "it keeps its ticket");
    }
    attempts_abandon(scene.context.desk);
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
        struct desk *desk;
        struct scene scene;

        scene_start(&scene, rows[i].steps, rows[i].n_steps);
        desk = scene_desk(&scene, 10);
        desk_observe(desk, kind_of(rows[i].reconcile), "team/web", &shown, false);
        result = rows[i].reconcile(&scene.context, "team/web", NULL);
        EXPECT_INT(result.kind, RECONCILE_RETRY, rows[i].note); /* and nothing else is asked */
        attempts_abandon(scene.context.desk);
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
        struct budget_stats stats;
        struct desk *desk;
        struct attempt *first, *attempt;
        struct reconcile_result result;
        enum desk_kind kind = kind_of(rows[i].reconcile);
        struct scene scene;

        scene_start(&scene, NULL, 0);
        desk = scene_desk(&scene, 10);
        first = attempt_enter(desk, kind, "team/first");
        EXPECT(attempt_reserve(first, 10), "all that there is");
        attempt = attempt_enter(desk, kind, "team/web");
        EXPECT(!attempt_reserve(attempt, 10), "it waits");
        attempt_leave(attempt);
        attempt_leave(first);
        budget_stats(desk_budget(desk, kind), &stats);
        EXPECT_INT((long long)stats.reserved, 10, "granted");
        cancel_fire(cancel, "Shutdown");
        result = rows[i].reconcile(&scene.context, "team/web", cancel);
        EXPECT_INT(result.kind, RECONCILE_DONE, rows[i].note);
        budget_stats(desk_budget(desk, kind), &stats);
        EXPECT_INT((long long)stats.reserved, 0, rows[i].note);
        desk_end_all(desk, expect_none_kept);
        attempts_abandon(scene.context.desk);
        scene_stop(&scene);
    }
}

SUITE(reconcile_spec, TEST(a_cancelled_reconcile_keeps_nothing),
      TEST(reads_again_what_waited_for_memory), TEST(a_stale_answer_is_refused))
