/* Whom a Spec that is deleted waits for, and what that costs. */
#include "controller/reconcile/dependents.h"

#include "controller/desk/dependencies.h"
#include "controller/reconcile/attempt.h"
#include "engine/base/str.h"
#include "test/unit/controller/reconcile/records/scene.h"
#include "test/unit/suite.h"

#define DB "/apis/api.kusion.io/v1/namespaces/team/specs/db"

static void list(struct desk *desk, const char *key, bool is_deleting)
{
    desk_observe(desk, DESK_SPEC, key,
                 &(struct object_version){.uid = key, .generation = 1, .is_deleting = is_deleting},
                 false);
}

/* A Spec of another namespace says that it depends on team/db. */
static void depend(struct desk *desk, const char *name, const char *account, bool is_deleting)
{
    const struct spec_key db = {"team", "db"}, spec = {"other", name};
    _cleanup_free_ char *key = str_printf("other/%s", name);
    _cleanup_free_ char *user = str_printf("system:serviceaccount:other:%s", account);

    list(desk, key, is_deleting);
    desk_note_needs(desk, &spec, &(struct desk_needs){.on = &db, .count = 1, .user = user});
}

/* Rows: so many Specs of other/, and how many accounts they have. */
static void others_cost_few_requests(void)
{
    static const struct fake_step steps[] = {{.expect = "GET " DB,
                                              .status = 403,
                                              .body = STATUS(403, "Forbidden", "db"),
                                              .repeat = true}};
    static const struct {
        const char *note;
        size_t specs, accounts;
        bool are_deleting;
        size_t requests;
    } rows[] = {{"of one account", 50, 1, true, 1},
                {"of many accounts", 50, 50, true, 4},
                {"that stay", 50, 50, false, 0}};

    const struct spec_key db = {"team", "db"};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct reconcile_result result = {0};
        struct attempt attempt = {0};
        struct scene scene;

        scene_start(&scene, steps, rows[i].requests ? 1 : 0);
        list(scene.context.desk, "team/db", true);
        desk_note_needs(scene.context.desk, &db, &(struct desk_needs){0});
        for (size_t n = 0; n < rows[i].specs; n++) {
            _cleanup_free_ char *name = str_printf("web-%zu", n);
            _cleanup_free_ char *account = str_printf("a-%zu", n % rows[i].accounts);

            depend(scene.context.desk, name, account, rows[i].are_deleting);
        }
        attempt.run =
            (struct run){.context = &scene.context,
                         .subject.key = {"team", "db"},
                         .object = scene_value(
                             "{\"metadata\":{\"deletionTimestamp\":\"1970-01-01T00:00:00Z\"}}"),
                         .policy.timeout = INT64_MAX};
        EXPECT_INT(dependents_await(&attempt, &result, &scene.error), 0, rows[i].note);
        EXPECT_INT(fake_server_count(scene.api.server), rows[i].requests, rows[i].note);
        value_unref(attempt.run.object);
        attempts_abandon(scene.context.desk);
        scene_stop(&scene);
    }
}

SUITE(dependents, TEST(others_cost_few_requests))
