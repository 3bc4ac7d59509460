/* Which requests are repeated, and for how long. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "runtimes/io/clock.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

#define BUSY \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"reason\":\"TooManyRequests\",\"code\":429}"
#define FAILED(reason) "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"reason\":\"" reason "\"}"

static int64_t now(void)
{
    return system_clock.monotonic(&system_clock);
}

enum how { PLAIN, IDEMPOTENT, DRY_RUN };

static void repeats_what_may_be_repeated(void)
{
    static const struct fake_step busy = {.status = 429, .body = BUSY},
                                  dropped = {.end = FAKE_DROP},
                                  failed = {.status = 500, .body = FAILED("InternalError")},
                                  broken = {.status = 200, .body = "{\"a\":1}", .end = FAKE_BREAK},
                                  forbidden = {.status = 403, .body = FAILED("Forbidden")},
                                  not_found = {.status = 404,
                                               .body = "404 page not found",
                                               .type = "text/plain"},
                                  unavailable = {.status = 503, .body = "busy"},
                                  gateway = {.status = 504},
                                  page = {.status = 200, .body = "<html>"};
    static const struct {
        const char *note, *method;
        enum how how;
        const struct fake_step *first; /* the next answer is 200 */
        int code;                      /* 0: it is repeated */
        const char *reason;
    } rows[] = {
        {"GET 500", "GET", PLAIN, &failed, 0, ""},
        {"GET 503", "GET", PLAIN, &unavailable, 0, ""},
        {"GET broken", "GET", PLAIN, &broken, 0, ""},
        {"GET dropped", "GET", PLAIN, &dropped, 0, ""},
        {"GET 403", "GET", PLAIN, &forbidden, ERR_FORBIDDEN, "Forbidden"},
        {"GET plain 404", "GET", PLAIN, &not_found, ERR_UNAVAILABLE, "NotServed"},
        {"GET no JSON", "GET", PLAIN, &page, ERR_UNAVAILABLE, "UnexpectedAnswer"},
        {"POST 429", "POST", PLAIN, &busy, 0, ""},
        {"POST 500", "POST", PLAIN, &failed, ERR_UNAVAILABLE, "InternalError"},
        {"POST dropped", "POST", PLAIN, &dropped, ERR_UNAVAILABLE, "OutcomeUnknown"},
        {"POST dropped, idempotent", "POST", IDEMPOTENT, &dropped, 0, ""},
        {"POST dropped, dry-run", "POST", DRY_RUN, &dropped, 0, ""},
        {"PATCH 504, idempotent", "PATCH", IDEMPOTENT, &gateway, 0, ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct fake_step steps[] = {*rows[i].first, {.status = 200, .body = "{}"}};
        size_t requests = rows[i].code ? 1 : 2;
        struct kube_request request = {.method = rows[i].method,
                                       .path = "/a",
                                       .dry_run = rows[i].how == DRY_RUN,
                                       .idempotent = rows[i].how == IDEMPOTENT};
        const struct value *answer = NULL;
        struct kube_client_stats stats;
        struct error error = {0};
        struct harness harness;

        harness_start(&harness, steps, ARRAY_SIZE(steps), NULL);
        EXPECT_INT(kube_do(harness.client, &request, &answer, &error), rows[i].code, rows[i].note);
        EXPECT_STR(error.reason, rows[i].reason, rows[i].note);
        EXPECT_INT(fake_server_count(harness.server), requests, rows[i].note);
        kube_client_stats(harness.client, &stats);
        EXPECT_INT(stats.retries, requests - 1, rows[i].note);
        value_unref(answer);
        harness_stop(&harness, false);
    }
}

/* Each request that is dropped is sent once more, at once: a script has no third answer. */
static void a_person_does_not_wait_for_more_than_one_repetition(void)
{
    static const struct fake_step steps[] = {
        {.end = FAKE_DROP}, {.status = 200, .body = "{}"}, {.end = FAKE_DROP}, {.end = FAKE_DROP}};
    struct kube_client_config config = {.is_interactive = true};
    struct error error = {0};
    struct harness harness;

    harness_start(&harness, steps, ARRAY_SIZE(steps), &config);
    EXPECT_INT(harness_get(harness.client, "/a", NULL, &error), 0, "repeated");
    EXPECT_INT(harness_get(harness.client, "/b", NULL, &error), ERR_UNAVAILABLE, "dropped twice");
    EXPECT_INT(fake_server_count(harness.server), 4, "");
    harness_stop(&harness, true);
}

static void does_not_repeat_a_schema_error(void)
{
    static const struct fake_step steps[] = {
        {.status = 500,
         .body = "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"message\":\".spec.x: "
                 "field not declared in schema\",\"code\":500}"},
    };
    struct kube_request request = {
        .method = "PATCH", .path = "/a", .content_type = KUBE_APPLY_PATCH, .idempotent = true};
    struct error error = {0};
    struct harness harness;

    harness_start(&harness, steps, 1, NULL);
    EXPECT_INT(kube_do(harness.client, &request, NULL, &error), ERR_INVALID, "permanent");
    EXPECT_STR(error.reason, "InvalidSchema", error.message);
    harness_stop(&harness, true);
}

static void obeys_retry_after(void)
{
    static const struct fake_step steps[] = {
        {.status = 429, .body = BUSY, .headers = "Retry-After: 1\r\n"},
        {.status = 200, .body = "{}"},
        {.status = 429, .body = BUSY, .headers = "Retry-After: 900\r\n"},
    };
    struct kube_request request = {.method = "GET", .path = "/a", .timeout = 600000};
    struct error error = {0};
    int64_t start = now();
    struct harness harness;

    harness_start(&harness, steps, ARRAY_SIZE(steps), NULL);
    EXPECT_INT(kube_do(harness.client, &request, NULL, &error), 0, error.message);
    EXPECT(now() - start >= 950, "a second");
    start = now();
    EXPECT_INT(kube_do(harness.client, &request, NULL, &error), ERR_UNAVAILABLE, "too long");
    EXPECT_STR(error.reason, "TooManyRequests", "the server's answer, not a time-out");
    EXPECT(now() - start < 600000, "there is no point in waiting for what the deadline forbids");
    harness_stop(&harness, true);
}

struct patient {
    struct kube_client *client;
    struct cancel *cancel;
    atomic_bool has_ended;
    int code;
};

static void *ask_patiently(void *arg)
{
    struct patient *patient = arg;
    struct kube_request request = {
        .method = "GET", .path = "/patient", .timeout = 600000, .cancel = patient->cancel};

    patient->code = kube_do(patient->client, &request, NULL, NULL);
    atomic_store(&patient->has_ended, true);
    return NULL;
}

/* Another, of a later deadline, that was begun before still goes on then. */
static void keeps_its_deadline_over_all_retries(void)
{
    static const struct fake_step steps[] = {{.status = 503, .repeat = true}};
    _cleanup_(cancel_free_p) struct cancel *cancel = cancel_new(NULL);
    struct kube_request request = {.method = "GET", .path = "/a", .timeout = 2000};
    struct patient patient = {.cancel = cancel};
    struct error error = {0};
    struct harness harness;
    pthread_t thread;

    harness_start(&harness, steps, 1, NULL);
    patient.client = harness.client;
    pthread_create(&thread, NULL, ask_patiently, &patient);
    EXPECT(fake_server_wait(harness.server, 2), "the other is begun, and repeated");
    EXPECT_INT(kube_do(harness.client, &request, NULL, &error), ERR_UNAVAILABLE, error.message);
    EXPECT(!atomic_load(&patient.has_ended), "the deadline of each is its own");
    cancel_fire(cancel, "Superseded");
    pthread_join(thread, NULL);
    EXPECT_INT(patient.code, ERR_CANCELLED, "it went on");
    harness_stop(&harness, true);
}

static void *fire_soon(void *arg)
{
    usleep(200000);
    cancel_fire(arg, "Superseded");
    return NULL;
}

static void ends_a_wait_when_cancelled(void)
{
    static const struct fake_step steps[] = {
        {.status = 429, .body = BUSY, .headers = "Retry-After: 300\r\n", .repeat = true}};
    _cleanup_(cancel_free_p) struct cancel *cancel = cancel_new(NULL);
    struct kube_request request = {
        .method = "GET", .path = "/a", .timeout = 600000, .cancel = cancel};
    struct error error = {0};
    int64_t start = now();
    struct harness harness;
    pthread_t thread;

    harness_start(&harness, steps, 1, NULL);
    pthread_create(&thread, NULL, fire_soon, cancel);
    EXPECT_INT(kube_do(harness.client, &request, NULL, &error), ERR_CANCELLED, error.message);
    EXPECT(now() - start < 300000, "at once");
    EXPECT_INT(kube_do(harness.client, &request, NULL, &error), ERR_CANCELLED, "before it begins");
    pthread_join(thread, NULL);
    harness_stop(&harness, false);
}

static void retries_refused_connections(void)
{
    bool in_doubt = true;
    struct kube_request request = {
        .method = "POST", .path = "/a", .timeout = 2000, .ret_in_doubt = &in_doubt};
    struct kube_config nowhere = {.server = (char *)(uintptr_t) "http://127.0.0.1:1"};
    struct kube_client_config config = {.config = &nowhere};
    struct kube_client_stats stats;
    struct harness harness = {0};
    struct error error = {0};

    harness_connect(&harness, &config);
    EXPECT_INT(kube_do(harness.client, &request, NULL, &error), ERR_UNAVAILABLE, error.message);
    EXPECT(strcmp(error.reason, "OutcomeUnknown") != 0, "it was certainly not done");
    EXPECT(!in_doubt, "it was certainly not done");
    kube_client_stats(harness.client, &stats);
    EXPECT(stats.retries >= 1, "although it is a POST");
    EXPECT_INT(stats.writes, 0, "nothing was sent");
    harness_stop(&harness, true);
}

/* Of a tenant's object, the caller tries again. */
static void gives_errors_of_the_server_back(void)
{
#define WEBHOOKS(message)                                                                        \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"code\":500,\"reason\":" \
    "\"InternalError\",\"message\":\"" message "\"}"
    static const struct {
        const char *note;
        struct fake_step step;
        bool for_tenant, in_doubt;
        int64_t timeout, at_least; /* ms */
    } rows[] = {
        {"a webhook's at once, and nothing was done",
         {.status = 500, .body = WEBHOOKS("failed calling webhook w")},
         true,
         false,
         600000,
         0},
        {"others after a while",
         {.status = 500, .body = WEBHOOKS("no"), .repeat = true},
         true,
         true,
         600000,
         2000},
        {"of the controller's own, at its deadline",
         {.status = 500, .body = WEBHOOKS("failed calling webhook w"), .repeat = true},
         false,
         false,
         8000,
         3000},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        bool in_doubt = false;
        struct kube_request request = {.method = "PATCH",
                                       .path = "/a",
                                       .idempotent = true,
                                       .for_tenant = rows[i].for_tenant,
                                       .timeout = rows[i].timeout,
                                       .ret_in_doubt = &in_doubt};
        int64_t start = now();
        struct harness harness;

        harness_start(&harness, &rows[i].step, 1, NULL);
        EXPECT_INT(kube_do(harness.client, &request, NULL, NULL), ERR_UNAVAILABLE, rows[i].note);
        EXPECT_INT(in_doubt, rows[i].in_doubt, rows[i].note);
        EXPECT(now() - start >= rows[i].at_least && now() - start < 600000, rows[i].note);
        harness_stop(&harness, true);
    }
}

/* The answer of a change that was sent is awaited for a second more, and not for a minute. */
static void a_tenants_call_that_hangs_ends_in_time(void)
{
    static const struct fake_step steps[] = {
        {.status = 200, .body = "{}", .delay = 1520},
        {.status = 200, .body = "{}", .delay = 20000, .repeat = true},
    };
    bool in_doubt = false;
    struct kube_request request = {.method = "PATCH",
                                   .path = "/a",
                                   .timeout = 1500,
                                   .for_tenant = true,
                                   .complete_once_sent = true,
                                   .ret_in_doubt = &in_doubt};
    struct harness harness;
    int64_t start;

    harness_start(&harness, steps, ARRAY_SIZE(steps), NULL);
    EXPECT_INT(kube_do(harness.client, &request, NULL, NULL), 0, "it came");
    start = now();
    EXPECT_INT(kube_do(harness.client, &request, NULL, NULL), ERR_TIMEOUT, "it did not");
    EXPECT(in_doubt, "it was sent");
    EXPECT(now() - start >= 2400 && now() - start < 15000, "a second more");
    harness_stop(&harness, false);
}

SUITE(kube_client_retry, TEST(a_person_does_not_wait_for_more_than_one_repetition),
      TEST(gives_errors_of_the_server_back), TEST(a_tenants_call_that_hangs_ends_in_time),
      TEST(repeats_what_may_be_repeated), TEST(does_not_repeat_a_schema_error),
      TEST(obeys_retry_after), TEST(keeps_its_deadline_over_all_retries),
      TEST(ends_a_wait_when_cancelled), TEST(retries_refused_connections))
