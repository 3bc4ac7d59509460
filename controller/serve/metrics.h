/*
 * Metrics for Prometheus: counters, gauges and histograms with labels, in a
 * registry that is written as text (format 0.0.4) when it is scraped. Names
 * and labels are the callers' (controller_runtime_reconcile_total, …); those
 * of the process itself (process_resident_memory_bytes,
 * process_cpu_seconds_total, process_start_time_seconds) are in every
 * registry.
 *
 * Metrics are made at start and live as long as their registry. One has at
 * most METRIC_SERIES combinations of label values; past that, new ones are
 * left out, with a line in the log. Labels are given as NULL-terminated lists,
 * as many values as there are names; anything else is a bug and aborts.
 * Thread-safe.
 */
#pragma once

#include "engine/base/buf.h"

#define METRIC_LABELS 8
#define METRIC_SERIES 1000

struct metrics;
struct metric;

struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);
DEFINE_CLEANUP(struct metrics *, metrics_free)

/* All strings are copied. A name twice aborts. After it, names of labels, then NULL:
 * metrics_counter(m, "x_total", "Number of x.", "controller", "result", NULL) */
struct metric *metrics_counter(struct metrics *metrics, const char *name, const char *help, ...)
    __attribute__((sentinel));
struct metric *metrics_gauge(struct metrics *metrics, const char *name, const char *help, ...)
    __attribute__((sentinel));
/* Of durations in seconds: buckets from 5 ms to 24 h, the longest timeout of a Spec. */
struct metric *metrics_histogram(struct metrics *metrics, const char *name, const char *help, ...)
    __attribute__((sentinel));

/* Then the values of the labels, then NULL: metric_add(m, 1, "spec", "success", NULL). */
void metric_add(struct metric *metric, double by, ...) __attribute__((sentinel));
void metric_set(struct metric *metric, double to, ...) __attribute__((sentinel));
void metric_observe(struct metric *metric, double value, ...) __attribute__((sentinel));

/* Calls fn(arg) before each scrape, without a lock: it sets gauges of what is looked up only then.
 * Before the server starts. */
void metrics_on_scrape(struct metrics *metrics, void (*fn)(void *arg), void *arg);

void metrics_write(struct metrics *metrics, struct buf *to);
/* The page /metrics of a server (server.h), in Prometheus' text format 0.0.4. */
unsigned metrics_answer(void *metrics, const char *path, struct buf *body);
