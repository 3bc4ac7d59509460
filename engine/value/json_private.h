/*
 * The inside of the reader of JSON: json.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/value/json.h"

/* ---- json_stream.c ---- */

/* A stream of exactly one document; for json_read.c alone. */
struct json_stream *json_single_stream_new(json_on_value *on_value, void *arg);

/* ---- json_scan.c ---- */

/*
 * Checks the strings in JSON text for errors that yajl accepts: invalid UTF-8, and surrogates
 * (\ud800) without their pair. The text may come in pieces. All other checks are left to yajl,
 * which reads the same text.
 */
struct json_scan {
    bool in_string;
    bool in_escape;          /* after a backslash */
    bool after_high;         /* a high surrogate waits for its low one */
    uint8_t hex_left;        /* digits of \uXXXX to come */
    uint8_t utf8_left;       /* bytes of a character to come */
    uint8_t lowest, highest; /* what the next of them may be */
    uint16_t code;           /* of \uXXXX so far */
    size_t string_start;     /* in this piece: where the open string begins */
};

/* Returns the number of valid bytes. If that is not all, *ret_problem describes the next byte's
 * error. */
size_t json_scan(struct json_scan *scan, const char *text, size_t length, const char **ret_problem);
