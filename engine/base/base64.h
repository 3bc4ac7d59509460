/*
 * Standard base64 with padding (RFC 4648, 4).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/buf.h"

/* Adds to a buffer. */
void base64_encode(struct buf *to, const void *data, size_t length);
/* The same. False: it is not base64 of exactly this form, and nothing was added. */
bool base64_decode(struct buf *to, const char *text, size_t length);
