/*
 * Structured logs: one JSON object a line, fields in the order given.
 *   {"time":"2026-01-02T03:04:05.678Z","level":"info","message":"…","spec":"team-a/web",…}
 *
 *   log_info("release finished", "spec", key, "phase", phase, NULL);
 *
 * Field values are strings (NULL: the field is left out). Callers must not log secrets; the log
 * cannot recognise them.
 *
 * The engine has no clock and no file. log_open() installs the function that writes a line and the
 * clock, once at start, before other threads run. Before that, and in tests, logging does nothing.
 * Lines are written whole. Thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

struct log_sink {
    int64_t (*now)(void);                                /* Unix time in ms */
    void (*write)(const char *line, size_t length);      /* line ends with \n; thread-safe */
    enum log_level level;                                /* lines below this level are dropped */
    bool text;                                           /* for people, instead of JSON */
};

void log_open(const struct log_sink *sink);

void log_debug(const char *message, ...) __attribute__((sentinel));
void log_info(const char *message, ...) __attribute__((sentinel));
void log_warn(const char *message, ...) __attribute__((sentinel));
void log_error(const char *message, ...) __attribute__((sentinel));

/* Reads "debug", "info", "warn" or "error". False: another text. */
bool log_level_parse(const char *name, enum log_level *ret);
