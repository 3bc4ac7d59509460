/*
 * The frames of a journal: private.h.
 *
 * A frame is a line of fixed length, the entry's bytes, and a newline. The line has the entry's
 * length, the entry's checksum, and a checksum of the line itself. The entry's checksum includes
 * the write's id and the entry's index, so a frame cannot be mistaken for another. The line's
 * checksum tells a damaged length from a torn end.
 */
#include <stdio.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/file/private.h"

#define LENGTH_DIGITS 10
#define LINE_DIGITS   16 /* hexadecimal digits of the line's checksum */
#define LINE_LENGTH   (LENGTH_DIGITS + 1 + (HASH_HEX_SIZE - 1) + 1 + LINE_DIGITS + 1)

static void line_of(const char *id, size_t index, const void *bytes, size_t length,
                    char ret[LINE_LENGTH + 1])
{
    _cleanup_(hash_free_p) struct hash *hash = hash_new();
    char position[ID_SIZE + 24], checksum[HASH_HEX_SIZE], line[HASH_HEX_SIZE];

    snprintf(position, sizeof(position), "%s %zu", id, index);
    hash_add_str(hash, position);
    hash_add(hash, bytes, length);
    hash_finish_hex(hash, checksum);
    snprintf(ret, LINE_LENGTH + 1, "%0*zu %s ", LENGTH_DIGITS, length, checksum);
    hash_hex(ret, strlen(ret), line);
    snprintf(ret, LINE_LENGTH + 1, "%0*zu %s %.*s\n", LENGTH_DIGITS, length, checksum, LINE_DIGITS,
             line);
}

void file_journal_frame(struct buf *to, const char *id, size_t index, const void *bytes,
                        size_t length)
{
    char line[LINE_LENGTH + 1];

    line_of(id, index, bytes, length, line);
    buf_add(to, line, LINE_LENGTH);
    buf_add(to, bytes, length);
    buf_add_char(to, '\n');
}

enum framed { FRAME_WHOLE, FRAME_TORN, FRAME_DAMAGED };

/* Checks the line's own checksum. *ret_length: the entry's length. */
static bool line_is_whole(const char *line, size_t *ret_length)
{
    size_t checked = LENGTH_DIGITS + 1 + (HASH_HEX_SIZE - 1) + 1;
    _cleanup_free_ char *number = str_new_n(line, LENGTH_DIGITS);
    char actual[HASH_HEX_SIZE];
    int64_t length = 0;

    hash_hex(line, checked, actual);
    if (memcmp(line + checked, actual, LINE_DIGITS) != 0 || line[LINE_LENGTH - 1] != '\n')
        return false;
    while (number[0] == '0' && number[1])
        memmove(number, number + 1, strlen(number));
    if (!str_to_int64(number, &length) || length < 0)
        return false;
    *ret_length = (size_t)length;
    return true;
}

/* Reads the frame at the beginning of `data`. After a power failure a torn end may be zeros. */
static enum framed frame_at(const char *data, size_t size, const char *id, size_t index,
                            size_t *ret_length)
{
    char expected[LINE_LENGTH + 1];
    size_t written = size, length;

    while (written && data[written - 1] == '\0')
        written--;
    if (written < LINE_LENGTH)
        return FRAME_TORN;
    if (!line_is_whole(data, &length))
        return FRAME_DAMAGED;
    if (length > size || written < LINE_LENGTH + length + 1)
        return FRAME_TORN;
    line_of(id, index, data + LINE_LENGTH, length, expected);
    if (memcmp(expected, data, LINE_LENGTH) != 0 || data[LINE_LENGTH + length] != '\n')
        return FRAME_DAMAGED;
    *ret_length = length;
    return FRAME_WHOLE;
}

bool file_journal_parse(const struct buf *journal, const char *id, struct document *to,
                        size_t *ret_length)
{
    size_t at = 0;

    while (at < journal->length) {
        const char *data = journal->data + at;
        size_t length = 0;
        enum framed framed = frame_at(data, journal->length - at, id, to->n_entries, &length);

        if (framed == FRAME_DAMAGED)
            return false;
        if (framed == FRAME_TORN)
            break;
        to->entries = mem_resize(to->entries, to->n_entries + 1, sizeof(struct buf));
        buf_init(&to->entries[to->n_entries], 0);
        buf_add(&to->entries[to->n_entries++], data + LINE_LENGTH, length);
        at += LINE_LENGTH + length + 1;
    }
    *ret_length = at;
    return true;
}
