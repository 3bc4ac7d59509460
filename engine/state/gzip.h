/*
 * Gzip, by zlib.
 *
 * The results are codes without messages: what is too large, or damaged, only the caller can say.
 */
#pragma once

#include <stdbool.h>

#include "engine/base/buf.h"
#include "engine/base/error.h"

/* Adds to `to`. The header holds neither a name nor a time, so equal bytes give equal bytes.
 * ERR_TOO_LARGE: the buffer's maximum; ERR_INTERNAL. */
int gzip_compress(const void *bytes, size_t length, struct buf *to);
/* Adds to `to`. ERR_TOO_LARGE: the buffer's maximum. ERR_CORRUPT: it is not one gzip stream, whole
 * and with nothing after it. */
int gzip_expand(const void *bytes, size_t length, struct buf *to);
/* The same in pieces, for what may become too large to be kept. If fn returns false, that ends it:
 * ERR_TOO_LARGE. */
typedef bool gzip_on_piece(void *arg, const void *piece, size_t length);
int gzip_expand_each(const void *bytes, size_t length, gzip_on_piece *fn, void *arg);
/* Whether the bytes begin as gzip does. */
bool gzip_is(const void *bytes, size_t length);
