#include "controller/reconcile/progress.h"

#include <stdatomic.h>

#include "controller/reconcile/attempt.h"
#include "engine/base/str.h"
#include "test/unit/controller/reconcile/records/scene.h"
#include "test/unit/suite.h"

/* A Spec in generation 3. */
#define OBJECT(metadata, status)                                                              \
    "{\"kind\":\"Spec\",\"metadata\":{\"namespace\":\"team\",\"name\":\"web\",\"uid\":\"u\"," \
    "\"generation\":3,\"resourceVersion\":\"7\"" metadata "}" status "}"
#define DELETED ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\",\"deletionGracePeriodSeconds\":0"
#define READY(generation, value, reason)                                     \
    ",\"status\":{\"observedGeneration\":" #generation ",\"conditions\":[{"  \
    "\"type\":\"Ready\",\"status\":\"" value "\",\"reason\":\"" reason "\"," \
    "\"message\":\"so it was\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}"

struct fixture {
    struct scene scene;
    struct attempt *attempt; /* which waits for memory */
};

static void fixture_start(struct fixture *fixture, const struct fake_step *steps, size_t n_steps)
{
    struct attempt *first;
    struct desk *desk;

    scene_start(&fixture->scene, steps, n_steps);
    desk = scene_desk(&fixture->scene, 10);
    first = attempt_enter(desk, DESK_SPEC, "team/first");
    EXPECT(attempt_reserve(first, 10), "all that there is");
    fixture->attempt = attempt_enter(desk, DESK_SPEC, "team/web");
}

static void fixture_stop(struct fixture *fixture)
{
    attempts_abandon(fixture->scene.context.desk);
    scene_stop(&fixture->scene);
}

/* A reconcile that reads the object, and finds no memory for its operation. */
static struct reconcile_result ask_in_vain(struct fixture *fixture, const char *object)
{
    struct attempt *attempt = fixture->attempt;
    struct reconcile_result result = {.kind = RECONCILE_DONE};

    attempt->run = (struct run){.context = &fixture->scene.context,
                                .subject = {.key = attempt->object, .generation = 3},
                                .object = scene_value(object)};
    run_read_policy(&attempt->run);
    EXPECT(!attempt_reserve(attempt, 10), "no memory");
    EXPECT_INT(progress_put_off(attempt, &result, &fixture->scene.error), 0,
               fixture->scene.error.message);
    EXPECT_INT(result.kind, RECONCILE_WAITING, "put off");
    EXPECT(!attempt->run.object, "and not kept");
    attempt_leave(attempt);
    return result;
}

static void says_that_it_waits_for_memory(void)
{
    static const struct {
        const char *note, *object;
        bool is_reported;
    } rows[] = {
        {"a new Spec", OBJECT("", ""), true},
        {"a new generation", OBJECT("", READY(2, "True", "ReconciliationSucceeded")), true},
        {"it was said that it goes on", OBJECT("", READY(3, "Unknown", "Progressing")), true},
        {"a look at what is Ready", OBJECT("", READY(3, "True", "ReconciliationSucceeded")), false},
        {"a retry", OBJECT("", READY(3, "False", "AccessDenied")), false},
        {"a deletion", OBJECT(DELETED, READY(2, "True", "ReconciliationSucceeded")), true},
        {"a retry of a deletion", OBJECT(DELETED, READY(3, "False", "AccessDenied")), false},
    };
    static const struct fake_step put = {.expect = "PUT /apis/api.kusion.io/v1/namespaces/team/"
                                                   "specs/web/status ",
                                         .status = 200,
                                         .body = OBJECT("", "")};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *note = rows[i].note, *message;
        const struct value *ready;
        _cleanup_value_ const struct value *body = NULL;
        struct fixture fixture;
        struct reconcile_result result;
        int64_t after = -1;

        fixture_start(&fixture, &put, rows[i].is_reported);
        result = ask_in_vain(&fixture, rows[i].object);
        EXPECT_INT(result.after, rows[i].is_reported ? PROGRESS_FIRST : 0, note);
        atomic_fetch_add(&fixture.scene.clock.monotonic, PROGRESS_FIRST - 1);
        EXPECT(attempt_waits_for_memory(fixture.attempt, &after), "nothing to do yet");
        EXPECT_INT(after, rows[i].is_reported ? 1 : 0, note);
        atomic_fetch_add(&fixture.scene.clock.monotonic, 1);
        EXPECT_INT(attempt_waits_for_memory(fixture.attempt, &after), !rows[i].is_reported, note);
        result = ask_in_vain(&fixture, rows[i].object);
        EXPECT_INT(result.after, 0, "it is woken");
        EXPECT(attempt_waits_for_memory(fixture.attempt, &after) && !after, note);
        body = rows[i].is_reported ? scene_body(&fixture.scene, 0) : NULL;
        ready = conditions_find(value_path(body, "status", "conditions", NULL), "Ready");
        message = value_get_string(ready, "message");
        EXPECT_STR(value_get_string(ready, "reason"), rows[i].is_reported ? "Progressing" : NULL,
                   note);
        EXPECT_INT(message && strstr(message, "waiting for memory"), rows[i].is_reported, note);
        fixture_stop(&fixture);
    }
}

SUITE(progress, TEST(says_that_it_waits_for_memory))
