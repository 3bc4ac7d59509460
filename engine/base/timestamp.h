/*
 * Timestamps as Kubernetes writes them: RFC 3339 in UTC. A time before 1970 or after 9999 becomes
 * the first or last instant of these years.
 */
#pragma once

#include <stdint.h>

#define TIMESTAMP_SIZE 32

/* 2026-01-02T03:04:05Z */
void timestamp_format(int64_t unix_ms, char ret_text[TIMESTAMP_SIZE]);
/* 2026-01-02T03:04:05.678Z */
void timestamp_format_milli(int64_t unix_ms, char ret_text[TIMESTAMP_SIZE]);
/* 2026-01-02T03:04:05.678000Z, as in a Lease */
void timestamp_format_micro(int64_t unix_ms, char ret_text[TIMESTAMP_SIZE]);

/* ms since 1970 of a time as timestamp_format() writes it; 0: the text is none. */
int64_t timestamp_parse(const char *text);
