/* Sessions of the runtime, over a scripted server. */
#include "engine/base/str.h"
#include "runtimes/kubernetes/change/observe.h"
#include "runtimes/kubernetes/runtime.h"
#include "test/unit/runtimes/kubernetes/session/script.h"
#include "test/unit/suite.h"

static void opens_for_an_account_or_itself(void)
{
    static const struct {
        const char *note, *account;
        bool act_as_controller;
        int code;
    } rows[] = {
        {"an account", "deployer", false, 0},
        {"the controller's own", NULL, true, 0},
        {"where that is not allowed", NULL, false, ERR_FORBIDDEN},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *identity =
            rows[i].account ? value_pack("{s:s}", "serviceAccountName", rows[i].account) : NULL;
        struct runtime_scope scope = {.key = {"team", "web"}, .identity = identity};
        struct runtime_session *session = NULL;
        struct stage stage;

        stage_start(&stage, NULL, NULL, 0);
        stage.runtime.config.act_as_controller = rows[i].act_as_controller;
        EXPECT_INT(
            kube_session_open(&stage.runtime.base, &scope, &stage_call, &session, &stage.error),
            rows[i].code, rows[i].note);
        EXPECT_INT(session != NULL, rows[i].code == 0, rows[i].note);
        if (session)
            EXPECT_STR(session->field_manager, "kusion-operator-a5cb1ff62f8ed32c", "its own");
        session_unref(session);
        stage_stop(&stage);
    }
}

/* By the first plan or prefetch; what is known then is not asked for again. */
static void looks_the_account_up_once(void)
{
#define ACCOUNT                                                                              \
    "{\"kind\":\"PartialObjectMetadata\",\"metadata\":{\"name\":\"deployer\",\"namespace\":" \
    "\"team\",\"uid\":\"u\"}}"
#define LOOK_UP .expect = "GET /api/v1/namespaces/team/serviceaccounts/deployer "
    static const struct {
        const char *note;
        bool terminating, identity_leaves;
        struct fake_step steps[3];
        int first, second;
        const char *reason; /* of the second */
    } rows[] = {
        {"there", false, false, {{LOOK_UP, .status = 200, .body = ACCOUNT}}, 0, 0, ""},
        {"not there",
         false,
         false,
         {{LOOK_UP, .status = 404, .body = MISSING("deployer")}},
         ERR_INVALID,
         ERR_INVALID,
         "ServiceAccountNotFound"},
        {"not to be known at first",
         false,
         false,
         {{LOOK_UP, .status = 403, .body = DENIED}, {LOOK_UP, .status = 200, .body = ACCOUNT}},
         ERR_FORBIDDEN,
         0,
         ""},
        {"its namespace is going", true, false, {{.status = 0}}, 0, 0, ""},
        {"it leaves", false, true, {{.status = 0}}, 0, 0, ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error error = {0};
        struct call call;

        call_begin(&call, rows[i].steps, count_steps(rows[i].steps), MAP("a"));
        call.session->is_account_known = false;
        call.session->terminating = rows[i].terminating;
        call.session->identity_leaves = rows[i].identity_leaves;
        EXPECT_INT(kube_prefetch(call.session, NULL, 0, &stage_call, NULL, NULL), rows[i].first,
                   rows[i].note);
        EXPECT_INT(session_check_account(call.session, &stage_call, &error), rows[i].second,
                   rows[i].note);
        EXPECT_STR(error.reason, rows[i].reason, rows[i].note);
        EXPECT_INT(session_check_account(call.session, &stage_call, NULL), rows[i].second,
                   rows[i].note);
        EXPECT(!rows[i].steps[0].status || !call_impersonates(&call, 0), "as the controller");
        call_end(&call);
    }
}

/* Sessions of other Specs, opened within a few seconds, know it; not that it is missing. */
static void knows_the_account_for_a_while(void)
{
    static const struct {
        const char *note;
        struct fake_step steps[3];
        int64_t later; /* ms */
        int first, second;
    } rows[] = {
        {"there", {{LOOK_UP, .status = 200, .body = ACCOUNT}}, 4999, 0, 0},
        {"there, a while ago",
         {{LOOK_UP, .status = 200, .body = ACCOUNT},
          {LOOK_UP, .status = 404, .body = MISSING("deployer")}},
         5000,
         0,
         ERR_INVALID},
        {"made meanwhile",
         {{LOOK_UP, .status = 404, .body = MISSING("deployer")},
          {LOOK_UP, .status = 200, .body = ACCOUNT}},
         0,
         ERR_INVALID,
         0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct runtime_session *other;
        struct call call;

        call_begin(&call, rows[i].steps, count_steps(rows[i].steps), MAP("a"));
        call.session->cache->accounts_since =
            call.stage.clock.source.monotonic(&call.stage.clock.source);
        call.session->is_account_known = false;
        EXPECT_INT(session_check_account(call.session, &stage_call, NULL), rows[i].first,
                   rows[i].note);
        call.stage.clock.monotonic += rows[i].later;
        other = stage_open(&call.stage, "team", "other", "deployer");
        other->is_account_known = false;
        EXPECT_INT(session_check_account(other, &stage_call, NULL), rows[i].second, rows[i].note);
        session_unref(other);
        call_end(&call);
    }
}

static void tells_health_by_what_was_seen(void)
{
    _cleanup_value_ const struct value *object = stage_value(MAP("a"));
    const struct observation nothing = {0},
                             there = {.presence = PRESENCE_PRESENT, .result = object};
    struct health health;
    struct call call;

    call_begin(&call, NULL, 0, MAP("a"));
    EXPECT_INT(kube_judge_health(call.session, &call.target, &nothing, &stage_call, &health, NULL),
               0, "nothing was read");
    EXPECT_INT(health.status, HEALTH_UNKNOWN, health.message);
    EXPECT_INT(kube_judge_health(call.session, &call.target, &there, &stage_call, &health, NULL), 0,
               "a map");
    EXPECT_INT(health.status, HEALTH_CURRENT, health.message);
    call_end(&call);
}

/* As the engine uses it. */
static void is_a_table_of_functions(void)
{
    const struct runtime_scope scope = {.key = {"team", "web"}};
    struct runtime_session *session = NULL;
    struct runtime *runtime;
    struct stage stage;

    stage_start(&stage, NULL, NULL, 0);
    runtime = kube_runtime_new(&stage.runtime.config);
    EXPECT_STR(runtime->ops->type, "Kubernetes", "its type");
    EXPECT_INT(runtime->ops->open(runtime, &scope, &stage_call, &session, NULL), 0, "a session");
    runtime->ops->close(session);
    runtime->ops->free(runtime);
    stage_stop(&stage);
}

SUITE(kube_runtime, TEST(is_a_table_of_functions), TEST(opens_for_an_account_or_itself),
      TEST(looks_the_account_up_once), TEST(knows_the_account_for_a_while),
      TEST(tells_health_by_what_was_seen))
