/*
 * Structured logs: one JSON object a line, fields in the order given.
 *   {"time":"2026-01-02T03:04:05.678Z","level":"info","message":"…","spec":"team-a/web",…}
 *
 * log_info("release finished", "spec", key, "phase", phase, NULL);
 * Field values are strings (NULL: the field is left out). What is secret is not
 * for logs; nothing here can tell them apart.
 *
 * The engine has no clock and no file: what writes a line, and what the time
 * is, are installed once at start (log_open), before threads. Until then, and
 * in tests, logging does nothing. Lines are written whole, from any thread.
 */
#ifndef ENGINE_BASE_LOG_H
#define ENGINE_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

struct log_sink {
    int64_t (*now)(void);                                /* Unix time in ms */
    void (*write)(const char *line, size_t length);      /* line ends with \n; thread-safe */
    enum log_level level;                                /* what is below is left out */
    bool text;                                           /* for people, instead of JSON */
};

void log_open(const struct log_sink *sink);

void log_debug(const char *message, ...) __attribute__((sentinel));
void log_info(const char *message, ...) __attribute__((sentinel));
void log_warn(const char *message, ...) __attribute__((sentinel));
void log_error(const char *message, ...) __attribute__((sentinel));

/* "debug", "info", "warn", "error"; false: none of them. */
bool log_level_parse(const char *name, enum log_level *ret);

#endif
