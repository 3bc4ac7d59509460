/*
 * msgpack, as Terraform's values use it: a writer that adds to a buffer, and a reader that steps
 * through bytes of a provider and trusts none of their lengths.
 *
 * The reader copies nothing and allocates nothing: a header that promises more items than there are
 * bytes is an error, and a value is read by the type that is expected, never into a tree of its
 * own. This is why no library is used: they build the tree first.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/buf.h"

/* ---- Writing ---- */

void msgpack_add_nil(struct buf *to);
void msgpack_add_bool(struct buf *to, bool value);
void msgpack_add_int(struct buf *to, int64_t value);
void msgpack_add_double(struct buf *to, double value);
void msgpack_add_string(struct buf *to, const char *text, size_t length);
void msgpack_add_bytes(struct buf *to, const void *data, size_t length);
void msgpack_add_array(struct buf *to, size_t count); /* count values follow */
void msgpack_add_map(struct buf *to, size_t count);   /* count keys and values follow */
/* Terraform's unknown value: the extension 0 with one byte. */
void msgpack_add_unknown(struct buf *to);

/* ---- Reading ---- */

enum msgpack_type {
    MSGPACK_NIL,
    MSGPACK_BOOL,
    MSGPACK_INT,
    MSGPACK_UNSIGNED, /* an integer above INT64_MAX */
    MSGPACK_DOUBLE,
    MSGPACK_STRING,
    MSGPACK_BYTES,
    MSGPACK_ARRAY,
    MSGPACK_MAP,
    MSGPACK_EXTENSION,
};

struct msgpack_item {
    enum msgpack_type type;
    bool boolean;
    int64_t integer;
    uint64_t unsigned_integer;
    double number;
    const char *data; /* of a string, of bytes, or of an extension; borrowed */
    size_t length;    /* of it in bytes, or count of an array's values or a map's pairs */
};

struct msgpack_reader {
    const unsigned char *at, *end;
};

/* The next item; of an array and a map its header alone. False: the bytes are no msgpack. */
bool msgpack_read(struct msgpack_reader *reader, struct msgpack_item *ret);
