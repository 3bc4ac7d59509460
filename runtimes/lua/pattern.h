/*
 * Lua's patterns, matched with a budget of steps.
 *
 * Lua's own matcher has no bound: twelve stars against 200 bytes take hours, and no hook runs
 * meanwhile. This one matches the same patterns, with the same captures and the same errors. It
 * takes a step from the budget for each character that it compares, and ends when none are left.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATTERN_CAPTURES 32

enum {
    PATTERN_UNCLOSED = -1, /* length of a capture that has begun */
    PATTERN_POSITION = -2, /* of one that is a position alone: "()" */
};

struct pattern {
    const char *text, *text_end;
    const char *pattern, *pattern_end; /* without the "^" of an anchor */
    int64_t *steps;                    /* the budget; below 0: it is used up */

    const char *error; /* why there is no answer; NULL: there is one. A constant */
    unsigned depth;
    unsigned n_captures;
    struct pattern_capture {
        const char *start;
        ptrdiff_t length; /* or one of the above */
    } captures[PATTERN_CAPTURES];
};

/* The end of the match that begins at `at`, with its captures; NULL: there is none, or an error. */
const char *pattern_match(struct pattern *pattern, const char *at);

/* True if the pattern is a plain text: nothing in it has a meaning. */
bool pattern_is_plain(const char *pattern, size_t length);
