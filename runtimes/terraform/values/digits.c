#include "runtimes/terraform/values/digits.h"

#include "engine/base/limits.h"
#include "engine/value/decimal.h"

static char digit_at(const struct decimal *decimal, int64_t index)
{
    return index >= 0 && index < (int64_t)decimal->count ? decimal->digits[index] : '0';
}

bool tf_add_digits(struct buf *to, const char *number)
{
    struct decimal decimal;
    int64_t point; /* digits before it */

    if (!decimal_read(&decimal, number, strlen(number)))
        return false;
    point = (int64_t)decimal.count + decimal.exponent;
    if (point > LIMIT_NUMBER_BYTES || point < -LIMIT_NUMBER_BYTES)
        return false;
    if (decimal.negative)
        buf_add_char(to, '-');
    if (point <= 0)
        buf_add_char(to, '0');
    for (int64_t i = 0; i < point; i++)
        buf_add_char(to, digit_at(&decimal, i));
    if (point < (int64_t)decimal.count)
        buf_add_char(to, '.');
    for (int64_t i = point; i < (int64_t)decimal.count; i++)
        buf_add_char(to, digit_at(&decimal, i));
    return true;
}
