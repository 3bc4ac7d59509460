#include "engine/base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/limits.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"

#define FIRST_CAPACITY 64

/* The data of all empty buffers; never written. */
char buf_empty[1];

void buf_init(struct buf *buf, size_t maximum)
{
    *buf = (struct buf)BUF_INIT;
    buf->maximum = maximum;
}

void buf_done(struct buf *buf)
{
    if (buf->capacity)
        free(buf->data);
    buf_init(buf, buf->maximum);
}

void buf_reset(struct buf *buf)
{
    buf->length = 0;
    buf->overflowed = false;
    if (buf->capacity)
        buf->data[0] = '\0';
}

/* Room for more bytes and a NUL; false past the maximum. */
static bool make_room(struct buf *buf, size_t more)
{
    size_t maximum = buf->maximum ? buf->maximum : LIMIT_DOCUMENT_BYTES;
    size_t needed, larger;

    if (buf->overflowed || more > maximum || buf->length > maximum - more) {
        buf->overflowed = true;
        return false;
    }
    needed = buf->length + more + 1;
    if (needed <= buf->capacity)
        return true;
    larger = buf->capacity ? buf->capacity * 2 : FIRST_CAPACITY;
    if (larger > maximum + 1)
        larger = maximum + 1;
    if (larger < needed)
        larger = needed;
    buf->data = mem_resize(buf->capacity ? buf->data : NULL, larger, 1);
    buf->data[buf->length] = '\0';
    buf->capacity = larger;
    return true;
}

void buf_add(struct buf *buf, const void *data, size_t length)
{
    if (!length || !make_room(buf, length))
        return;
    memcpy(buf->data + buf->length, data, length);
    buf->length += length;
    buf->data[buf->length] = '\0';
}

void buf_add_str(struct buf *buf, const char *s)
{
    buf_add(buf, s, strlen(s));
}

void buf_add_char(struct buf *buf, char c)
{
    if (!make_room(buf, 1))
        return;
    buf->data[buf->length++] = c;
    buf->data[buf->length] = '\0';
}

void buf_printf(struct buf *buf, const char *format, ...)
{
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0)
        abort();
    if (!make_room(buf, (size_t)length))
        return;
    va_start(args, format);
    vsnprintf(buf->data + buf->length, (size_t)length + 1, format, args);
    va_end(args);
    buf->length += (size_t)length;
}

/* Only a hint: an overflow is reported when bytes are added. */
void buf_reserve(struct buf *buf, size_t more)
{
    bool overflowed = buf->overflowed;

    make_room(buf, more);
    buf->overflowed = overflowed;
}

char *buf_take(struct buf *buf)
{
    char *text = buf->capacity ? buf->data : str_new("");

    buf_init(buf, buf->maximum);
    return text;
}
