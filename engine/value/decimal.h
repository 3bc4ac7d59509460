/*
 * Numbers as decimal text, of any precision: JSON's syntax checked, compared
 * and normalised without floating point.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/buf.h"
#include "engine/base/limits.h"

/* Exponents with more digits are refused. */
#define DECIMAL_EXPONENT_DIGITS 9

/* The number is digits x 10^exponent, without leading or trailing zeros. Zero has no digits, no
 * sign and no exponent. So equal numbers have equal fields. */
struct decimal {
    bool negative;
    int64_t exponent;
    size_t count;
    char digits[LIMIT_NUMBER_BYTES];
};

/* False where text is not a number in JSON's syntax, is longer than
 * LIMIT_NUMBER_BYTES, or has an exponent out of bounds. */
bool decimal_read(struct decimal *ret, const char *text, size_t length);

bool decimal_equal(const struct decimal *a, const struct decimal *b);

/* False where the number is not whole or does not fit. */
bool decimal_to_int64(const struct decimal *decimal, int64_t *ret);

/* The one text that all equal numbers share, in JSON's syntax. */
void decimal_write(struct buf *to, const struct decimal *decimal);
