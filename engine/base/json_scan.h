/*
 * Watches JSON text go by for what yajl lets pass inside strings: UTF-8 that
 * is not valid, and surrogates (\ud800) that are not pairs. Text may come in
 * pieces. Anything else is left to yajl, which sees the same text.
 */
#ifndef ENGINE_BASE_JSON_SCAN_H
#define ENGINE_BASE_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Returns how many bytes were good; where that is not all, *ret_problem says
 * what is wrong with the next one. */
size_t json_scan(struct json_scan *scan, const char *text, size_t length, const char **ret_problem);

#endif
