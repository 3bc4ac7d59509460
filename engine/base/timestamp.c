#include "engine/base/timestamp.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define LAST_MS INT64_C(253402300799999) /* 9999-12-31T23:59:59.999Z */

static int64_t clamp(int64_t unix_ms)
{
    return unix_ms < 0 ? 0 : unix_ms > LAST_MS ? LAST_MS : unix_ms;
}

int64_t timestamp_parse(const char *text)
{
    struct tm utc = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &utc);

    return end && !*end ? clamp((int64_t)timegm(&utc) * 1000) : 0;
}

void timestamp_format(int64_t unix_ms, char ret_text[TIMESTAMP_SIZE])
{
    time_t seconds = clamp(unix_ms) / 1000;
    struct tm utc;

    gmtime_r(&seconds, &utc);
    strftime(ret_text, TIMESTAMP_SIZE, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

/* zeros: written after the milliseconds. */
static void format_fraction(int64_t unix_ms, const char *zeros, char ret_text[TIMESTAMP_SIZE])
{
    size_t before_zone;

    timestamp_format(unix_ms, ret_text);
    before_zone = strlen(ret_text) - 1;
    snprintf(ret_text + before_zone, TIMESTAMP_SIZE - before_zone, ".%03d%sZ",
             (int)(clamp(unix_ms) % 1000), zeros);
}

void timestamp_format_milli(int64_t unix_ms, char ret_text[TIMESTAMP_SIZE])
{
    format_fraction(unix_ms, "", ret_text);
}

void timestamp_format_micro(int64_t unix_ms, char ret_text[TIMESTAMP_SIZE])
{
    format_fraction(unix_ms, "000", ret_text);
}
