/*
 * "Did you mean": the candidate that is most like a text, by the number of letters that were
 * mistyped, left out, added or swapped with their neighbour.
 */
#pragma once

#include <stddef.h>

/* Longer texts are like nothing. */
#define SIMILAR_BYTES 256

struct similar {
    const char *text;  /* borrowed */
    const char *found; /* the best candidate so far, borrowed; NULL: none is like the text */
    size_t distance;   /* of it; before that, one more than is allowed */
};

/* A quarter of the letters may differ, and at most three. */
void similar_begin(struct similar *similar, const char *text);
/* Of candidates that are equally like the text, the first stays. Equal ones are no candidates. */
void similar_offer(struct similar *similar, const char *candidate);
