#include "controller/preflight.h"

#include "engine/base/str.h"
#include "runtimes/kubernetes/client/group.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

#define STATE "GET /api/v1/namespaces/own/configmaps?limit=1 "
#define SPECS "/apis/api.kusion.io/v1/specs?labelSelector=a%3D%3D%3Db"
#define STATUS(code, reason)                                               \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"message\":\"so it is\"," \
    "\"reason\":\"" reason "\",\"code\":" #code "}"

static const struct kube_ref specs = {.kind = &kube_specs};

static void waits_for_an_answer(void)
{
    static const struct {
        const char *note;
        struct fake_step steps[2];
        size_t n_steps;
        int expected;
        const char *message;
    } rows[] = {
        {"at once", {{.expect = STATE, .status = 200, .body = "{}"}}, 1, 0, ""},
        {"at the second try",
         {{.expect = STATE, .status = 404, .body = "not found"},
          {.expect = STATE, .status = 200, .body = "{}"}},
         2,
         0,
         ""},
        {"one that waiting does not change",
         {{.expect = STATE, .status = 403, .body = STATUS(403, "Forbidden")}},
         1,
         ERR_FORBIDDEN,
         "reading State's namespace own: so it is"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct harness harness;
        struct outage outage;
        struct error error = {0};

        harness_start(&harness, rows[i].steps, rows[i].n_steps, NULL);
        outage_init(&outage, "not yet");
        EXPECT_INT(preflight_connect(harness.client, "own", &outage, NULL, &error),
                   rows[i].expected, rows[i].note);
        EXPECT_STR(error.message, rows[i].message, rows[i].note);
        EXPECT_INT(outage_is(&outage, NULL), rows[i].expected < 0, rows[i].note);
        outage_done(&outage);
        harness_stop(&harness, true);
    }
}

static void tells_of_the_outage_until_it_is_cancelled(void)
{
    static const struct fake_step drops = {.end = FAKE_DROP, .repeat = true};
    _cleanup_buf_ struct buf text = BUF_INIT;
    struct cancel *stop = cancel_new(NULL);
    struct harness harness;
    struct outage outage;
    struct error error = {0};

    harness_start(&harness, &drops, 1, NULL);
    outage_init(&outage, "not yet");
    cancel_fire(stop, "Shutdown");
    EXPECT_INT(preflight_connect(harness.client, "own", &outage, stop, &error), ERR_CANCELLED,
               error.message);
    EXPECT(outage_is(&outage, &text), "it did not end");
    outage_done(&outage);
    harness_stop(&harness, false);
    cancel_free(stop);
}

static void refuses_a_selector_that_the_api_server_does(void)
{
    static const struct {
        const char *note;
        struct fake_step step;
        int expected;
        const char *message;
    } rows[] = {
        {"taken", {.status = 200, .body = "{}"}, 0, ""},
        {"refused",
         {.status = 400, .body = STATUS(400, "BadRequest")},
         ERR_INVALID,
         "--watch-label-selector: \"a===b\" is refused: so it is"},
        {"no CRDs yet", {.status = 404, .body = "not found"}, 0, ""},
        {"no right yet", {.status = 403, .body = STATUS(403, "Forbidden")}, 0, ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct fake_step step = rows[i].step;
        struct harness harness;
        struct error error = {0};

        step.expect = "GET " SPECS "&limit=1 ";
        harness_start(&harness, &step, 1, NULL);
        EXPECT_INT(preflight_selector(harness.client, specs, "a===b", NULL, &error),
                   rows[i].expected, rows[i].note);
        EXPECT_STR(error.message, rows[i].message, rows[i].note);
        harness_stop(&harness, true);
    }
}

static void asks_nothing_without_a_selector(void)
{
    struct harness harness;

    harness_start(&harness, NULL, 0, NULL);
    EXPECT_INT(preflight_selector(harness.client, specs, NULL, NULL, NULL), 0, "none");
    harness_stop(&harness, true);
}

SUITE(preflight, TEST(waits_for_an_answer), TEST(tells_of_the_outage_until_it_is_cancelled),
      TEST(refuses_a_selector_that_the_api_server_does), TEST(asks_nothing_without_a_selector))
