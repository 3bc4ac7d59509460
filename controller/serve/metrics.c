#include "controller/serve/metrics.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/queue.h>
#include <unistd.h>

#include "controller/serve/server.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "engine/log/log.h"
#include "engine/threads/locked.h"

/* ---- This process ---- */

/* What the kernel says about it. 0 where it says nothing. */

static double seconds(clockid_t id)
{
    struct timespec time;

    return clock_gettime(id, &time) == 0 ? (double)time.tv_sec + (double)time.tv_nsec / 1e9 : 0;
}

/* The start of a small file; "" where it cannot be read. */
static void read_start(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);

    if (fd >= 0)
        close(fd);
    text[length > 0 ? length : 0] = '\0';
}

static double process_resident_bytes(void)
{
    char text[256], *end;

    read_start("/proc/self/statm", text, sizeof(text));
    strtoull(text, &end, 10); /* the first is all of its address space */
    return (double)strtoull(end, NULL, 10) * (double)sysconf(_SC_PAGESIZE);
}

static double process_cpu_seconds(void)
{
    return seconds(CLOCK_PROCESS_CPUTIME_ID);
}

static double process_start_seconds(void)
{
    char text[1024];
    const char *at;

    /* The name, in parentheses, may hold anything; the start is the 20th field after it, in
     * ticks since the machine's. */
    read_start("/proc/self/stat", text, sizeof(text));
    at = strrchr(text, ')');
    for (unsigned i = 0; at && i < 20; i++)
        at = strchr(at + 1, ' ');
    if (!at)
        return 0;
    return seconds(CLOCK_REALTIME) - seconds(CLOCK_BOOTTIME) +
           (double)strtoull(at, NULL, 10) / (double)sysconf(_SC_CLK_TCK);
}

enum metric_kind { COUNTER, GAUGE, HISTOGRAM };

static const char *const kind_names[] = {"counter", "gauge", "histogram"};

static const double bounds[] = {.005, .01, .025, .05, .1,  .25, .5,   1,    2.5,      5,
                                10,   30,  60,   120, 300, 600, 1800, 3600, 4 * 3600, 24 * 3600};

struct series {
    double value;      /* of a histogram: the sum */
    uint64_t count;    /* histograms only, as what follows */
    uint64_t *buckets; /* not cumulative; what is above the last bound is in none */
    char labels[];     /* as written: a="x",b="y" */
};

struct metric {
    struct metrics *metrics;
    enum metric_kind kind;
    char *name, *help;
    char *labels[METRIC_LABELS];
    size_t n_labels;
    struct strmap series; /* by their labels as written */
    bool is_full;         /* and that was said */
    TAILQ_ENTRY(metric) order;
};

struct hook {
    void (*fn)(void *arg);
    void *arg;
};

struct metrics {
    pthread_mutex_t lock;
    TAILQ_HEAD(metric_list, metric) all;
    struct hook *hooks;
    size_t n_hooks, hooks_capacity;
    struct metric *memory, *cpu, *start;
};

/* ---- Registry ---- */

static void metric_free(struct metric *metric)
{
    for (struct strmap_entry *e = NULL; (e = strmap_next(&metric->series, e));) {
        struct series *series = e->value;

        free(series->buckets);
        free(series);
    }
    strmap_done(&metric->series);
    for (size_t i = 0; i < metric->n_labels; i++)
        free(metric->labels[i]);
    free(metric->name);
    free(metric->help);
    free(metric);
}

static void refuse(const char *name, const char *what)
{
    log_error("a metric is used wrongly", "metric", name, "what", what, NULL);
    abort();
}

static struct metric *metric_new(struct metrics *metrics, enum metric_kind kind, const char *name,
                                 const char *help, va_list labels)
{
    struct metric *metric = NEW(struct metric), *other;

    metric->metrics = metrics;
    metric->kind = kind;
    metric->name = str_new(name);
    metric->help = str_new(help);
    strmap_init(&metric->series);
    for (const char *label; (label = va_arg(labels, const char *));) {
        if (metric->n_labels == METRIC_LABELS)
            refuse(name, "too many labels");
        metric->labels[metric->n_labels++] = str_new(label);
    }
    LOCKED(&metrics->lock);
    TAILQ_FOREACH(other, &metrics->all, order)
        if (str_equal(other->name, name))
            refuse(name, "it exists");
    TAILQ_INSERT_TAIL(&metrics->all, metric, order);
    return metric;
}

#define DEFINE_METRIC(function, kind)                                                         \
    struct metric *function(struct metrics *metrics, const char *name, const char *help, ...) \
    {                                                                                         \
        struct metric *metric;                                                                \
        va_list labels;                                                                       \
                                                                                              \
        va_start(labels, help);                                                               \
        metric = metric_new(metrics, kind, name, help, labels);                               \
        va_end(labels);                                                                       \
        return metric;                                                                        \
    }

DEFINE_METRIC(metrics_counter, COUNTER)
DEFINE_METRIC(metrics_gauge, GAUGE)
DEFINE_METRIC(metrics_histogram, HISTOGRAM)

struct metrics *metrics_new(void)
{
    struct metrics *metrics = NEW(struct metrics);

    pthread_mutex_init(&metrics->lock, NULL);
    TAILQ_INIT(&metrics->all);
    metrics->memory = metrics_gauge(metrics, "process_resident_memory_bytes",
                                    "Resident memory size in bytes.", NULL);
    metrics->cpu = metrics_counter(metrics, "process_cpu_seconds_total",
                                   "Total user and system CPU time spent in seconds.", NULL);
    metrics->start = metrics_gauge(metrics, "process_start_time_seconds",
                                   "Start time of the process since unix epoch in seconds.", NULL);
    return metrics;
}

void metrics_free(struct metrics *metrics)
{
    if (!metrics)
        return;
    for (struct metric *metric; (metric = TAILQ_FIRST(&metrics->all));) {
        TAILQ_REMOVE(&metrics->all, metric, order);
        metric_free(metric);
    }
    free(metrics->hooks);
    pthread_mutex_destroy(&metrics->lock);
    free(metrics);
}

void metrics_on_scrape(struct metrics *metrics, void (*fn)(void *arg), void *arg)
{
    metrics->hooks = mem_grow(metrics->hooks, metrics->n_hooks, &metrics->hooks_capacity,
                              sizeof(metrics->hooks[0]));
    metrics->hooks[metrics->n_hooks++] = (struct hook){fn, arg};
}

/* ---- Counting ---- */

/* Backslash and newline, and in a label's value the quote. */
static void add_escaped(struct buf *to, const char *s, bool is_label)
{
    for (; *s; s++) {
        if (*s == '\n')
            buf_add_str(to, "\\n");
        else if (*s == '\\' || (*s == '"' && is_label))
            buf_printf(to, "\\%c", *s);
        else
            buf_add_char(to, *s);
    }
}

static void add_labels(struct buf *to, const struct metric *metric, va_list values)
{
    const char *value;
    size_t n = 0;

    for (; (value = va_arg(values, const char *)); n++) {
        if (n == metric->n_labels)
            break;
        buf_printf(to, "%s%s=\"", n ? "," : "", metric->labels[n]);
        add_escaped(to, value, true);
        buf_add_char(to, '"');
    }
    if (value || n != metric->n_labels)
        refuse(metric->name, "not as many label values as names");
}

/* NULL: there are too many. */
static struct series *series_of(struct metric *metric, const struct buf *labels)
{
    struct series *series = strmap_get(&metric->series, labels->data);

    if (series)
        return series;
    if (metric->series.count >= METRIC_SERIES) {
        if (!metric->is_full)
            log_warn("a metric has too many series: more are left out", "metric", metric->name,
                     NULL);
        metric->is_full = true;
        return NULL;
    }
    series = mem_new(sizeof(*series) + labels->length + 1);
    memcpy(series->labels, labels->data, labels->length + 1);
    if (metric->kind == HISTOGRAM)
        series->buckets = NEW_ARRAY(uint64_t, ARRAY_SIZE(bounds));
    strmap_put(&metric->series, series->labels, series);
    return series;
}

static void observe(struct series *series, double value)
{
    series->value += value;
    series->count++;
    for (size_t i = 0; i < ARRAY_SIZE(bounds); i++) {
        if (value <= bounds[i]) {
            series->buckets[i]++;
            return;
        }
    }
}

enum change { ADD, SET, OBSERVE };

static void change(struct metric *metric, enum change change, double value, va_list values)
{
    _cleanup_buf_ struct buf labels = BUF_INIT;
    struct series *series;

    if ((metric->kind == HISTOGRAM) != (change == OBSERVE) ||
        (metric->kind == COUNTER && (change == SET || value < 0)))
        refuse(metric->name, "not a change for its kind");
    add_labels(&labels, metric, values);
    LOCKED(&metric->metrics->lock);
    series = series_of(metric, &labels);
    if (series && change == ADD)
        series->value += value;
    else if (series && change == SET)
        series->value = value;
    else if (series)
        observe(series, value);
}

#define DEFINE_CHANGE(function, kind)                       \
    void function(struct metric *metric, double value, ...) \
    {                                                       \
        va_list values;                                     \
                                                            \
        va_start(values, value);                            \
        change(metric, kind, value, values);                \
        va_end(values);                                     \
    }

DEFINE_CHANGE(metric_add, ADD)
DEFINE_CHANGE(metric_set, SET)
DEFINE_CHANGE(metric_observe, OBSERVE)

/* ---- Writing ---- */

/* The shortest that reads back as the same number. */
static void add_number(struct buf *to, double value)
{
    char text[32];

    if (isnan(value)) {
        buf_add_str(to, "NaN");
        return;
    }
    if (isinf(value)) {
        buf_add_str(to, value > 0 ? "+Inf" : "-Inf");
        return;
    }
    snprintf(text, sizeof(text), "%.15g", value);
    if (strtod(text, NULL) < value || strtod(text, NULL) > value)
        snprintf(text, sizeof(text), "%.17g", value);
    buf_add_str(to, text);
}

static void add_sample(struct buf *to, const struct metric *metric, const char *suffix,
                       const struct series *series, double value)
{
    buf_printf(to, "%s%s", metric->name, suffix);
    if (*series->labels)
        buf_printf(to, "{%s}", series->labels);
    buf_add_char(to, ' ');
    add_number(to, value);
    buf_add_char(to, '\n');
}

static void add_bucket(struct buf *to, const struct metric *metric, const struct series *series,
                       double bound, uint64_t count)
{
    buf_printf(to, "%s_bucket{%s%sle=\"", metric->name, series->labels, *series->labels ? "," : "");
    add_number(to, bound);
    buf_printf(to, "\"} %llu\n", (unsigned long long)count);
}

static void add_series(struct buf *to, const struct metric *metric, const struct series *series)
{
    uint64_t count = 0;

    if (metric->kind != HISTOGRAM) {
        add_sample(to, metric, "", series, series->value);
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(bounds); i++) {
        count += series->buckets[i];
        add_bucket(to, metric, series, bounds[i], count);
    }
    add_bucket(to, metric, series, INFINITY, series->count);
    add_sample(to, metric, "_sum", series, series->value);
    add_sample(to, metric, "_count", series, (double)series->count);
}

static void add_metric(struct buf *to, const struct metric *metric)
{
    if (metric->series.count == 0)
        return;
    buf_printf(to, "# HELP %s ", metric->name);
    add_escaped(to, metric->help, false);
    buf_printf(to, "\n# TYPE %s %s\n", metric->name, kind_names[metric->kind]);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&metric->series, e));)
        add_series(to, metric, e->value);
}

/* A counter, but one that the kernel keeps. */
static void set_counter(struct metric *metric, double value)
{
    struct buf none = BUF_INIT;
    LOCKED(&metric->metrics->lock);

    series_of(metric, &none)->value = value;
}

void metrics_write(struct metrics *metrics, struct buf *to)
{
    struct metric *metric;

    metric_set(metrics->memory, process_resident_bytes(), NULL);
    metric_set(metrics->start, process_start_seconds(), NULL);
    set_counter(metrics->cpu, process_cpu_seconds());
    for (size_t i = 0; i < metrics->n_hooks; i++)
        metrics->hooks[i].fn(metrics->hooks[i].arg);
    LOCKED(&metrics->lock);
    TAILQ_FOREACH(metric, &metrics->all, order)
        add_metric(to, metric);
}

unsigned metrics_answer(void *metrics, const char *path, struct buf *body)
{
    size_t before = body->length;

    if (!str_equal(path, "/metrics"))
        return server_not_found(body);
    metrics_write(metrics, body);
    if (!buf_overflowed(body))
        return 200;
    body->length = before; /* the server's own bytes stay */
    body->overflowed = false;
    buf_add_str(body, "the metrics are too large\n");
    return 500;
}
