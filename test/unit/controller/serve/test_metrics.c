#include "controller/serve/metrics.h"

#include <math.h>
#include <pthread.h>

#include "engine/base/str.h"
#include "test/unit/suite.h"

static char *write(struct metrics *metrics)
{
    struct buf text = BUF_INIT;

    metrics_write(metrics, &text);
    return buf_take(&text);
}

static void expect_line(const char *text, const char *line)
{
    _cleanup_free_ char *whole = str_printf("\n%s\n", line);

    EXPECT(strstr(text, whole), line);
}

static void writes_what_prometheus_reads(void)
{
    static const char *const lines[] = {
        "# HELP jobs_total Jobs \\\\ done.\\nAll.",
        "# TYPE jobs_total counter",
        "jobs_total{kind=\"spec\",result=\"a\\\"b\\\\c\\nd\"} 3.5",
        "jobs_total{kind=\"release\",result=\"\"} 1",
        "# TYPE depth gauge",
        "depth -2",
        "# TYPE took_seconds histogram",
        "took_seconds_bucket{kind=\"spec\",le=\"0.005\"} 1",
        "took_seconds_bucket{kind=\"spec\",le=\"0.01\"} 1",
        "took_seconds_bucket{kind=\"spec\",le=\"1\"} 2",
        "took_seconds_bucket{kind=\"spec\",le=\"600\"} 2",
        "took_seconds_bucket{kind=\"spec\",le=\"+Inf\"} 3",
        "took_seconds_sum{kind=\"spec\"} 1000.755",
        "took_seconds_count{kind=\"spec\"} 3",
    };
    struct metrics *metrics = metrics_new();
    struct metric *jobs =
        metrics_counter(metrics, "jobs_total", "Jobs \\ done.\nAll.", "kind", "result", NULL);
    struct metric *depth = metrics_gauge(metrics, "depth", "Depth.", NULL);
    struct metric *took = metrics_histogram(metrics, "took_seconds", "Took.", "kind", NULL);
    _cleanup_free_ char *text = NULL;

    metrics_gauge(metrics, "never_set", "Never.", NULL);
    metric_add(jobs, 1.5, "spec", "a\"b\\c\nd", NULL);
    metric_add(jobs, 2, "spec", "a\"b\\c\nd", NULL);
    metric_add(jobs, 1, "release", "", NULL);
    metric_set(depth, 5, NULL);
    metric_add(depth, -7, NULL);
    metric_observe(took, .005, "spec", NULL);
    metric_observe(took, .75, "spec", NULL);
    metric_observe(took, 1000, "spec", NULL);
    text = write(metrics);
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
        expect_line(text, lines[i]);
    EXPECT(!strstr(text, "never_set"), "no series");
    metrics_free(metrics);
}

static void writes_numbers_exactly(void)
{
    static const struct {
        double value;
        const char *line;
    } rows[] = {
        {0.1, "x 0.1"},
        {1e300, "x 1e+300"},
        {1.0 / 3, "x 0.33333333333333331"},
        {NAN, "x NaN"},
        {INFINITY, "x +Inf"},
        {-INFINITY, "x -Inf"},
        {1 << 30, "x 1073741824"},
    };
    struct metrics *metrics = metrics_new();
    struct metric *x = metrics_gauge(metrics, "x", "X.", NULL);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *text = NULL;

        metric_set(x, rows[i].value, NULL);
        text = write(metrics);
        expect_line(text, rows[i].line);
    }
    metrics_free(metrics);
}

static double number_after(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    return at ? strtod(at + strlen(name), NULL) : -1;
}

static void knows_its_process(void)
{
    struct metrics *metrics = metrics_new();
    _cleanup_free_ char *text = write(metrics);
    double now = (double)time(NULL), start;

    start = number_after(text, "\nprocess_start_time_seconds ");
    EXPECT(start > now - 600 && start <= now + 1, "started in the last minutes");
    EXPECT(number_after(text, "\nprocess_resident_memory_bytes ") > 100000, "memory");
    EXPECT(number_after(text, "\nprocess_cpu_seconds_total ") > 0, "cpu");
    metrics_free(metrics);
}

static void bounds_its_series(void)
{
    struct metrics *metrics = metrics_new();
    struct metric *x = metrics_counter(metrics, "x_total", "X.", "n", NULL);
    _cleanup_free_ char *text = NULL;
    size_t n = 0;

    for (unsigned i = 0; i < METRIC_SERIES + 10; i++) {
        _cleanup_free_ char *value = str_printf("%u", i);

        metric_add(x, 1, value, NULL);
    }
    metric_add(x, 1, "0", NULL);
    text = write(metrics);
    for (const char *at = text; (at = strstr(at, "\nx_total{")); at++)
        n++;
    EXPECT_INT((long long)n, METRIC_SERIES, "series");
    expect_line(text, "x_total{n=\"0\"} 2");
    metrics_free(metrics);
}

static void set_on_scrape(void *arg)
{
    metric_add(arg, 1, NULL);
}

static void asks_before_a_scrape(void)
{
    struct metrics *metrics = metrics_new();
    struct metric *x = metrics_gauge(metrics, "x", "X.", NULL);
    _cleanup_free_ char *first = NULL, *second = NULL;

    metrics_on_scrape(metrics, set_on_scrape, x);
    first = write(metrics);
    second = write(metrics);
    expect_line(first, "x 1");
    expect_line(second, "x 2");
    metrics_free(metrics);
}

static void *count_up(void *arg)
{
    for (unsigned i = 0; i < 1000; i++)
        metric_add(arg, 1, i % 2 ? "odd" : "even", NULL);
    return NULL;
}

static void counts_from_many_threads(void)
{
    struct metrics *metrics = metrics_new();
    struct metric *x = metrics_counter(metrics, "x_total", "X.", "n", NULL);
    _cleanup_free_ char *text = NULL;
    pthread_t threads[4];

    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        pthread_create(&threads[i], NULL, count_up, x);
    free(write(metrics));
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        pthread_join(threads[i], NULL);
    text = write(metrics);
    expect_line(text, "x_total{n=\"odd\"} 2000");
    expect_line(text, "x_total{n=\"even\"} 2000");
    metrics_free(metrics);
}

static void answers_a_scrape(void)
{
    _cleanup_(metrics_free_p) struct metrics *metrics = metrics_new();
    struct metric *x = metrics_counter(metrics, "x_total", "X.", NULL);
    struct buf body = BUF_INIT, small, other = BUF_INIT;

    metric_add(x, 1, NULL);
    EXPECT_INT(metrics_answer(metrics, "/metrics", &body), 200, "status");
    EXPECT(strstr(body.data, "x_total 1\n"), body.data);
    buf_init(&small, 64);
    buf_add_str(&small, "before "); /* as the server has bytes there */
    EXPECT_INT(metrics_answer(metrics, "/metrics", &small), 500, "too large");
    EXPECT_STR(small.data, "before the metrics are too large\n", "says so");
    EXPECT_INT(metrics_answer(metrics, "/healthz", &other), 404, "another page");
    buf_done(&body);
    buf_done(&small);
    buf_done(&other);
}

SUITE(metrics, TEST(answers_a_scrape), TEST(writes_what_prometheus_reads),
      TEST(writes_numbers_exactly), TEST(knows_its_process), TEST(bounds_its_series),
      TEST(asks_before_a_scrape), TEST(counts_from_many_threads))
