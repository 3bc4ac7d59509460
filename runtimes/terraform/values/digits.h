/*
 * Numbers as Terraform writes them into strings: digits without an exponent.
 */
#pragma once

#include <stdbool.h>

#include "engine/base/buf.h"

/* 1e3 becomes 1000. False: the number (in JSON's syntax) has more than LIMIT_NUMBER_BYTES digits
 * before its point, or zeros after it. */
bool tf_add_digits(struct buf *to, const char *number);
