/*
 * A clock, which is passed in: the engine has no clock of its own. runtimes/io/clock.h has the real
 * clock; tests use a fake one that they advance.
 */
#ifndef ENGINE_BASE_CLOCK_H
#define ENGINE_BASE_CLOCK_H

#include <pthread.h>
#include <stdint.h>

#define CLOCK_FOREVER INT64_MAX

struct clock_source {
    /* Wall time, ms since 1970 UTC: for what people read. */
    int64_t (*now)(const struct clock_source *clock);
    /* ms since some start. Never jumps, and continues while the machine sleeps. */
    int64_t (*monotonic)(const struct clock_source *clock);
    /* Waits on the condition, mutex held, until signalled or until monotonic()
     * reaches `until` (CLOCK_FOREVER: no limit). May wake early. */
    void (*wait)(const struct clock_source *clock, pthread_cond_t *condition,
                 pthread_mutex_t *mutex, int64_t until);
};

/* RFC 3339 in UTC: "2026-01-02T03:04:05Z" (ms are dropped), or with microseconds as in a Lease:
 * "2026-01-02T03:04:05.678000Z". A time before the year 1 or after 9999 becomes the first or last
 * instant of these years. */
#define TIMESTAMP_SIZE 40
void timestamp_format(int64_t unix_ms, char ret_text[TIMESTAMP_SIZE]);
void timestamp_format_micro(int64_t unix_ms, char ret_text[TIMESTAMP_SIZE]);
/* Reads both forms, with any fraction (cut to ms) and any zone. -1: not a timestamp, or one before
 * 1970, such as Go's zero time. */
int64_t timestamp_parse(const char *text);

/* Durations as Go and Kubernetes write them: "1h30m", "10m0s", "250ms", "0".
 * In ms, rounded up; -1: not a duration, negative, or too large. */
int64_t duration_parse(const char *text);

#endif
