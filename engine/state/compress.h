/*
 * A value as gzipped JSON, for stored documents. Equal values give equal bytes. The sensitive bit
 * is lost: codec.h is for values that have it.
 */
#pragma once

#include "engine/base/buf.h"
#include "engine/base/error.h"
#include "engine/value/value.h"

/* *ret: initialised by the caller; bytes are added. ERR_TOO_LARGE past LIMIT_DOCUMENT_BYTES, as
 * text or compressed. */
int value_compress(const struct value *value, struct buf *ret, struct error *error);
/* ERR_CORRUPT: no gzip, more than one, no JSON in it, or too large. */
int value_expand(const void *bytes, size_t length, const struct value **ret, struct error *error);
