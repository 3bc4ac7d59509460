/*
 * Time, as something that is handed in: the engine has no clock of its own.
 * runtimes/io/clock.h has the real one; tests step a fake.
 */
#ifndef ENGINE_BASE_CLOCK_H
#define ENGINE_BASE_CLOCK_H

#include <pthread.h>
#include <stdint.h>

#define CLOCK_FOREVER INT64_MAX

struct clock_source {
    /* Wall time, ms since 1970 UTC: for what people read. */
    int64_t (*now)(const struct clock_source *clock);
    /* Never steps; goes on while the machine sleeps. ms since some start. */
    int64_t (*monotonic)(const struct clock_source *clock);
    /* Waits on the condition, mutex held, until signalled or until monotonic()
     * reaches `until` (CLOCK_FOREVER: no limit). May wake early. */
    void (*wait)(const struct clock_source *clock, pthread_cond_t *condition,
                 pthread_mutex_t *mutex, int64_t until);
};

/* RFC 3339 in UTC: "2026-01-02T03:04:05Z" (ms are dropped), or with micro-
 * seconds as a Lease has them: "2026-01-02T03:04:05.678000Z". What is before
 * the year 1 or after 9999 becomes the first or the last instant of these. */
#define TIMESTAMP_SIZE 40
void timestamp_format(int64_t unix_ms, char ret_text[TIMESTAMP_SIZE]);
void timestamp_format_micro(int64_t unix_ms, char ret_text[TIMESTAMP_SIZE]);
/* Takes either, any fraction (cut to ms) and any zone; -1: not a timestamp,
 * or one before 1970, as Go's zero time is. */
int64_t timestamp_parse(const char *text);

/* Durations as Go and Kubernetes write them: "1h30m", "10m0s", "250ms", "0".
 * In ms, rounded up; -1: not a duration, negative, or too large. */
int64_t duration_parse(const char *text);

#endif
