/*
 * What the fuzzers share. Each is one file here, NAME.c, with the entry point of libFuzzer: it
 * is fed with any bytes, and aborts where something does not hold that must.
 *
 * The preset `fuzz` links it with libFuzzer (hack/soak fuzz NAME). Under sanitizers without it,
 * it is linked with replay/, which feeds it what is in corpus/NAME: one of the unit tests.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define must(holds)                                                                  \
    do {                                                                             \
        if (!(holds)) {                                                              \
            fprintf(stderr, "%s:%d: must hold: %s\n", __FILE__, __LINE__, #holds);   \
            abort();                                                                 \
        }                                                                            \
    } while (0)

/* A failure has a code, a reason and a message, all else none of them. */
static inline void must_agree(int returned, const struct error *error)
{
    must(returned <= 0 && error->code == returned);
    must((returned < 0) == (*error->reason != '\0') && (returned < 0 || !*error->message));
}

/* The input's next line, as a string to free(), without its end; the last line may lack one. */
static inline char *take_line(const uint8_t **data, size_t *size)
{
    const uint8_t *end = *size ? memchr(*data, '\n', *size) : NULL;
    size_t length = end ? (size_t)(end - *data) : *size;
    char *line = calloc(1, length + 1);

    must(line);
    if (length)
        memcpy(line, *data, length);
    *data += end ? length + 1 : length;
    *size -= end ? length + 1 : length;
    return line;
}
