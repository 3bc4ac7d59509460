#include "controller/reconcile/run/operation_log.h"

#include <stdatomic.h>

#include "controller/reconcile/run/run.h"
#include "controller/reconcile/status/reason.h"
#include "engine/base/str.h"
#include "engine/log/log.h"
#include "test/unit/runtimes/kubernetes/client/harness.h"
#include "test/unit/suite.h"

/* What was written since the last look. */
static struct buf lines = BUF_INIT;

static void keep(const char *line, size_t length)
{
    buf_add(&lines, line, length);
}

struct fixture {
    struct fake_clock clock;
    struct metrics *metrics;
    struct operation_metrics counted;
    struct reconcile_context context;
    struct run run;
};

static void fixture_start(struct fixture *fixture, enum release_operation operation)
{
    *fixture = (struct fixture){.metrics = metrics_new()};
    fake_clock_init(&fixture->clock);
    operation_metrics_init(&fixture->counted, fixture->metrics);
    fixture->context =
        (struct reconcile_context){.clock = &fixture->clock.source, .metrics = &fixture->counted};
    fixture->run = (struct run){.context = &fixture->context,
                                .subject = {.key = {"team", "web"}, .generation = 3}};
    log_open(&(struct log_sink){.write = keep, .level = LOG_DEBUG});
    operation_log_start(&fixture->run, operation);
    atomic_fetch_add(&fixture->clock.monotonic, 1500);
}

static void fixture_stop(struct fixture *fixture)
{
    log_open(NULL);
    metrics_free(fixture->metrics);
    buf_done(&lines);
    lines = (struct buf)BUF_INIT;
}

/* All but the time, which is that of 1970. */
static void expect_line(const char *level, const char *rest, const char *note)
{
    _cleanup_free_ char *expected = str_printf(
        "{\"time\":\"1970-01-01T00:00:00.000Z\",\"level\":\"%s\",\"message\":\"%s}\n", level, rest);

    EXPECT_STR(lines.data ? lines.data : "", expected, note);
    buf_reset(&lines);
}

static void expect_metric(const struct fixture *fixture, const char *sample)
{
    _cleanup_buf_ struct buf text = BUF_INIT;

    metrics_write(fixture->metrics, &text);
    EXPECT(strstr(text.data, sample), sample);
}

#define SPEC     "\"namespace\":\"team\",\"spec\":\"web\","
#define APPLY    SPEC "\"operation\":\"apply\",\"generation\":\"3\""
#define RELEASE  ",\"release\":\"web-7\",\"revision\":\"7\""
#define DURATION ",\"durationMs\":\"1500\""

static void tells_of_both_ends(void)
{
    struct fixture fixture;
    static char name[] = "web-7";
    const struct release release = {.name = name, .revision = 7};

    fixture_start(&fixture, RELEASE_APPLY);
    operation_log_release(&fixture.run, NULL);
    operation_log_release(&fixture.run, &release);
    operation_log_begin(&fixture.run, 7, false);
    expect_line("info", "operation started\"," APPLY RELEASE, "begun");
    operation_log_success(&fixture.run, "1 created");
    operation_log_success(&fixture.run, "its end was not written, and is told once more");
    expect_line("info",
                "operation succeeded\"," APPLY RELEASE
                ",\"reason\":\"ReconciliationSucceeded\",\"summary\":\"1 created\"" DURATION,
                "ended");
    expect_metric(&fixture, "kusion_operations_total{operation=\"apply\",result=\"succeeded\","
                            "reason=\"ReconciliationSucceeded\"} 1\n");
    expect_metric(&fixture, "kusion_operation_duration_seconds_sum{operation=\"apply\"} 1.5\n");
    fixture_stop(&fixture);
}

static void tells_of_a_failure_at_the_level_that_it_deserves(void)
{
    static const struct {
        const char *note;
        int code;
        bool is_begun, is_repeated;
        const char *level, *message, *result;
    } rows[] = {
        {"a failure", ERR_INVALID, true, false, "warn", "operation failed", "failed"},
        {"before anything began", ERR_INVALID, false, false, "warn", "operation failed", "failed"},
        {"the same again", ERR_INVALID, false, true, "debug", "operation failed", "failed"},
        {"cancelled", ERR_CANCELLED, true, false, "info", "operation cancelled", "cancelled"},
        {"fenced", ERR_FENCED, true, false, "info", "operation cancelled", "cancelled"},
        {"cancelled before it began", ERR_CANCELLED, false, false, "debug", "operation cancelled",
         "cancelled"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *sample =
            str_printf("kusion_operations_total{operation=\"apply\",result=\"%s\",reason="
                       "\"InvalidSpec\"} 1\n",
                       rows[i].result);
        _cleanup_free_ char *rest = str_printf(
            "%s\"," APPLY "%s,\"reason\":\"InvalidSpec\",\"error\":\"so it is\"" DURATION,
            rows[i].message, rows[i].is_begun ? ",\"revision\":\"7\"" : "");
        struct error failure = {0};
        struct fixture fixture;

        err_set(&failure, rows[i].code, "InvalidSpec", "so it is");
        fixture_start(&fixture, RELEASE_APPLY);
        if (rows[i].is_begun)
            operation_log_begin(&fixture.run, 7, false);
        buf_reset(&lines);
        operation_log_failure(&fixture.run, &failure, rows[i].is_repeated);
        expect_line(rows[i].level, rest, rows[i].note);
        expect_metric(&fixture, sample);
        fixture_stop(&fixture);
    }
}

static void begins_a_retry_quietly(void)
{
    struct fixture fixture;

    fixture_start(&fixture, RELEASE_DESTROY);
    operation_log_begin(&fixture.run, 0, true);
    expect_line("debug",
                "operation started\"," SPEC "\"operation\":\"destroy\",\"generation\":\"3\"",
                "retry");
    EXPECT(!fixture.run.log.is_begun, "nobody waits for its end");
    fixture_stop(&fixture);
}

static void counts_evictions_apart(void)
{
    struct fixture fixture;

    fixture_start(&fixture, RELEASE_APPLY);
    operation_log_eviction(&fixture.run);
    expect_line("info", "operation evicted\"," APPLY, "evicted");
    expect_metric(&fixture, "kusion_operation_evictions_total{operation=\"apply\"} 1\n");
    EXPECT(!fixture.run.log.is_ended, "it goes on");
    fixture_stop(&fixture);
}

static void counts_from_nothing(void)
{
    struct fixture fixture;

    fixture_start(&fixture, RELEASE_APPLY);
    expect_metric(&fixture, "\nkusion_drift_corrections_total 0\n");
    expect_metric(&fixture, "\nkusion_drift_warnings_total 0\n");
    expect_metric(&fixture, "\nkusion_operation_evictions_total{operation=\"rollback\"} 0\n");
    fixture_stop(&fixture);
}

static void counts_nothing_without_metrics(void)
{
    struct fixture fixture;

    fixture_start(&fixture, RELEASE_APPLY);
    fixture.context.metrics = NULL;
    operation_log_eviction(&fixture.run);
    operation_log_success(&fixture.run, "");
    fixture_stop(&fixture);
}

static void knows_the_reasons_that_it_counts_by(void)
{
    EXPECT_STR(reason_label("StateLost"), "StateLost", "ours");
    EXPECT_STR(reason_label("AlreadyExists"), "AlreadyExists", "the API server's");
    EXPECT_STR(reason_label("denied-4711"), "Other", "a webhook's");
    EXPECT_STR(reason_label(""), "Other", "none");
    for (int code = -1; code >= ERR_INTERNAL; code--)
        EXPECT_STR(reason_label(err_reason(code)), err_reason(code), "that of a code");
}

SUITE(operation_log, TEST(tells_of_both_ends),
      TEST(tells_of_a_failure_at_the_level_that_it_deserves), TEST(begins_a_retry_quietly),
      TEST(counts_evictions_apart), TEST(counts_from_nothing), TEST(counts_nothing_without_metrics),
      TEST(knows_the_reasons_that_it_counts_by))
