/*
 * A growing byte buffer with a declared maximum.
 *
 * A NUL, which is not counted, always follows buf.data, so text in a buffer is a C string (data is
 * never NULL after buf_init()). A buffer that would exceed its maximum takes nothing more and
 * remembers the overflow. The caller checks buf_overflowed() once, at the end.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "engine/base/cleanup.h"

struct buf {
    char *data;
    size_t length;
    size_t capacity;
    size_t maximum; /* bytes; 0: LIMIT_DOCUMENT_BYTES */
    bool overflowed;
};

#define BUF_INIT {.data = buf_empty}
extern char buf_empty[1];

void buf_init(struct buf *buf, size_t maximum);
void buf_done(struct buf *buf);  /* leaves an empty buffer */
void buf_reset(struct buf *buf); /* empties it, keeping its memory */

void buf_add(struct buf *buf, const void *data, size_t length);
void buf_add_str(struct buf *buf, const char *s);
void buf_add_char(struct buf *buf, char c);
void buf_printf(struct buf *buf, const char *format, ...) PRINTF_LIKE(2, 3);
void buf_reserve(struct buf *buf, size_t more);

/* Hands the bytes out as a string to free(), and leaves the buffer empty. */
char *buf_take(struct buf *buf);

static inline bool buf_overflowed(const struct buf *buf)
{
    return buf->overflowed;
}

#define _cleanup_buf_ _cleanup_(buf_done)
