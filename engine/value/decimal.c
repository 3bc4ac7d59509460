#include "engine/value/decimal.h"

#include <string.h>

/* A decimal is written plainly if its point lies within these bounds of its first digit, else with
 * an exponent. */
#define PLAIN_BEFORE_POINT 40
#define PLAIN_ZEROS        6

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads digits, without leading zeros of the number; moves *text past them. */
static size_t read_digits(struct decimal *to, const char **text, const char *end)
{
    const char *start = *text, *at = start;

    for (; at < end && is_digit(*at); at++)
        if (*at != '0' || to->count)
            to->digits[to->count++] = *at;
    *text = at;
    return (size_t)(at - start);
}

/* Reads the exponent after the "e". False: it is out of bounds. */
static bool read_exponent(const char **text, const char *end, int64_t *ret)
{
    const char *at = *text, *significant;
    int64_t exponent = 0;
    bool negative = at < end && *at == '-';

    if (at < end && (*at == '-' || *at == '+'))
        at++;
    if (at == end || !is_digit(*at))
        return false;
    while (at < end && *at == '0')
        at++;
    significant = at;
    for (; at < end && is_digit(*at); at++) {
        if (at - significant >= DECIMAL_EXPONENT_DIGITS)
            return false;
        exponent = exponent * 10 + (*at - '0');
    }
    *text = at;
    *ret = negative ? -exponent : exponent;
    return true;
}

bool decimal_read(struct decimal *ret, const char *text, size_t length)
{
    const char *at = text, *end = text + length;
    int64_t exponent = 0;
    size_t n_fraction = 0;

    if (length > LIMIT_NUMBER_BYTES)
        return false;
    ret->count = 0;
    ret->negative = at < end && *at == '-';
    if (ret->negative)
        at++;
    if (at == end || !is_digit(*at) || (*at == '0' && at + 1 < end && is_digit(at[1])))
        return false;
    read_digits(ret, &at, end);
    if (at < end && *at == '.') {
        at++;
        n_fraction = read_digits(ret, &at, end);
        if (!n_fraction)
            return false;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (!read_exponent(&at, end, &exponent))
            return false;
    }
    if (at != end)
        return false;
    ret->exponent = exponent - (int64_t)n_fraction;
    while (ret->count && ret->digits[ret->count - 1] == '0') {
        ret->count--;
        ret->exponent++;
    }
    if (!ret->count) {
        ret->negative = false;
        ret->exponent = 0;
    }
    return true;
}

bool decimal_equal(const struct decimal *a, const struct decimal *b)
{
    return a->negative == b->negative && a->exponent == b->exponent && a->count == b->count &&
           memcmp(a->digits, b->digits, a->count) == 0;
}

bool decimal_to_int64(const struct decimal *decimal, int64_t *ret)
{
    int64_t number = 0;

    /* An int64_t has at most 19 digits. */
    if (decimal->exponent < 0 || decimal->count > 19 || decimal->exponent > 19)
        return false;
    for (size_t i = 0; i < decimal->count + (size_t)decimal->exponent; i++) {
        int digit = i < decimal->count ? decimal->digits[i] - '0' : 0;

        /* Computed as a negative number, because INT64_MIN has no positive counterpart. */
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_sub_overflow(number, digit, &number))
            return false;
    }
    if (!decimal->negative && __builtin_sub_overflow(0, number, &number))
        return false;
    *ret = number;
    return true;
}

static void add_zeros(struct buf *to, int64_t count)
{
    while (count-- > 0)
        buf_add_char(to, '0');
}

void decimal_write(struct buf *to, const struct decimal *decimal)
{
    int64_t count = (int64_t)decimal->count;
    int64_t point = count + decimal->exponent; /* digits before the decimal point */

    if (decimal->negative)
        buf_add_char(to, '-');
    if (!count) {
        buf_add_char(to, '0');
    } else if (point > 0 && point <= PLAIN_BEFORE_POINT) {
        buf_add(to, decimal->digits, (size_t)(point < count ? point : count));
        add_zeros(to, point - count);
        if (point < count) {
            buf_add_char(to, '.');
            buf_add(to, decimal->digits + point, (size_t)(count - point));
        }
    } else if (point <= 0 && point > -PLAIN_ZEROS) {
        buf_add_str(to, "0.");
        add_zeros(to, -point);
        buf_add(to, decimal->digits, decimal->count);
    } else {
        buf_add(to, decimal->digits, 1);
        if (count > 1) {
            buf_add_char(to, '.');
            buf_add(to, decimal->digits + 1, decimal->count - 1);
        }
        buf_printf(to, "e%+lld", (long long)(point - 1));
    }
}
