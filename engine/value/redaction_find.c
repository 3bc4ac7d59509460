/* The secrets of a redaction: redaction_private.h. */
#include <string.h>

#include "engine/base/base64.h"
#include "engine/base/utf8.h"
#include "engine/value/redaction_private.h"

#define LEAST_PREFIX   4    /* bytes of a piece that was cut off */
#define LEAST_SYMBOLS  4    /* bytes of a secret without letters and digits */
#define DOCUMENT_BYTES 64   /* of a document, or more */
#define MOST_NUMBERS   4096 /* bytes of a secret that is looked for as numbers */
#define LEAST_KNOWN    32 /* bytes of a secret that is remembered: a shorter one is found as fast */

/* ---- Pieces ---- */

/* What was found of a piece; NULL: no text has it. */
static uint8_t *look_up(struct redaction *redaction, const unsigned char *bytes, size_t length)
{
    struct pieces *pieces = &redaction->pieces[length];

    if (!pieces->items)
        pieces_list(redaction, length, pieces);
    return pieces_look_up(pieces, bytes, length);
}

static void find(struct redaction *redaction, const unsigned char *bytes, size_t length,
                 uint8_t found)
{
    uint8_t *to = look_up(redaction, bytes, length);

    if (to)
        *to |= found;
}

static void find_whole(struct redaction *redaction, const unsigned char *bytes, size_t length)
{
    bool has_word = length >= LEAST_SYMBOLS;

    for (size_t i = 0; i < length; i++)
        has_word = has_word || is_of_word(bytes[i]) || bytes[i] >= 0x80;
    if (has_word)
        find(redaction, bytes, length, FOUND);
}

static bool has_all_pieces(struct redaction *redaction, const unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i + PIECE <= length; i++)
        if (!look_up(redaction, bytes + i, PIECE))
            return false;
    return true;
}

static void find_pieces(struct redaction *redaction, const unsigned char *bytes, size_t length,
                        uint8_t found)
{
    if (redaction->is_whole && !has_all_pieces(redaction, bytes, length))
        return;
    for (size_t i = 0; i + PIECE <= length; i++)
        find(redaction, bytes + i, PIECE, found);
    for (size_t n = LEAST_PREFIX; !redaction->is_whole && n < PIECE; n++)
        find(redaction, bytes, n, FOUND_AS_PREFIX);
}

/* A secret in one of its forms. What is short and no text may be left of a word that was taken for
 * Base64. */
static void find_form(struct redaction *redaction, const char *text, size_t length)
{
    struct unquoted *secret = &redaction->secret;

    unquote(text, length, secret);
    if (secret->count >= PIECE)
        find_pieces(redaction, secret->bytes, secret->count,
                    secret->count < DOCUMENT_BYTES ? FOUND : FOUND_IN_DOCUMENT);
    else if (utf8_valid(text, length) == length)
        find_whole(redaction, secret->bytes, secret->count);
}

/* Of lines, only those that would not be found as pieces of the whole. */
static void find_line(struct redaction *redaction, const char *text, size_t length)
{
    struct unquoted *line = &redaction->secret;

    unquote(text, length, line);
    if (line->count < PIECE)
        find_whole(redaction, line->bytes, line->count);
    else if (line->count < LEAST_WORDS && is_of_letters(line->bytes, line->count))
        find_pieces(redaction, line->bytes, line->count, FOUND);
}

static void find_lines(struct redaction *redaction, const char *text, size_t length)
{
    const char *end;

    for (; (end = memchr(text, '\n', length)); text = end + 1) {
        find_line(redaction, text, (size_t)(end - text));
        length -= (size_t)(end - text) + 1;
    }
    find_line(redaction, text, length);
}

/* Two hexadecimal digits for each byte; or its decimal number, as unquote.h leaves a list of such.
 */
static void add_number(struct buf *to, unsigned char byte, bool is_decimal)
{
    static const char digits[] = "0123456789abcdef";

    if (!is_decimal) {
        buf_add_char(to, digits[byte / 16]);
        buf_add_char(to, digits[byte % 16]);
        return;
    }
    if (byte >= 100)
        buf_add_char(to, digits[byte / 100]);
    if (byte >= 10)
        buf_add_char(to, digits[byte / 10 % 10]);
    buf_add_char(to, digits[byte % 10]);
}

static void find_numbers(struct redaction *redaction, const char *bytes, size_t length,
                         bool is_decimal)
{
    _cleanup_buf_ struct buf text = BUF_INIT;

    for (size_t i = 0; i < length; i++)
        add_number(&text, (unsigned char)bytes[i], is_decimal);
    if (text.length >= PIECE)
        find_form(redaction, text.data, text.length);
}

static void find_secret(struct redaction *redaction, const char *bytes, size_t length)
{
    find_form(redaction, bytes, length);
    if (redaction->has_hexadecimal && length <= MOST_NUMBERS)
        find_numbers(redaction, bytes, length, false);
    if (redaction->has_decimal && length <= MOST_NUMBERS)
        find_numbers(redaction, bytes, length, true);
    if (!redaction->is_whole && memchr(bytes, '\n', length))
        find_lines(redaction, bytes, length);
}

/* One secret is often in several values: in a record, in the step before and after the change. The
 * first of them is remembered. */
static bool is_known(struct redaction *redaction, const struct value *value, const char *text,
                     size_t length)
{
    if (length < LEAST_KNOWN)
        return false;
    if (strmap_get_n(&redaction->known, text, length))
        return true;
    strmap_put_n(&redaction->known, text, length, (void *)(uintptr_t)value_ref(value));
    return false;
}

static void find_string(struct redaction *redaction, const struct value *value)
{
    _cleanup_buf_ struct buf decoded = BUF_INIT;
    size_t length = 0;
    const char *text = value_string_n(value, &length);

    if (is_known(redaction, value, text, length))
        return;
    redaction->n_searched += length;
    find_secret(redaction, text, length);
    if (base64_decode(&decoded, text, length))
        find_secret(redaction, decoded.data, decoded.length);
}

static void find_value(struct redaction *redaction, const struct value *value)
{
    const char *text = NULL;

    if (value_is(value, VALUE_STRING))
        find_string(redaction, value);
    else if (value_is(value, VALUE_BOOL))
        text = value_bool(value, false) ? "true" : "false";
    else if (value_is(value, VALUE_NUMBER))
        text = value_number(value);
    if (text)
        find_secret(redaction, text, strlen(text));
    for (size_t i = 0; i < value_count(value); i++)
        find_value(redaction, value_child(value, i));
}

void redaction_hide(struct redaction *redaction, const struct value *value)
{
    if (value_is_sensitive(value))
        find_value(redaction, value);
    else if (value_has_sensitive(value))
        for (size_t i = 0; i < value_count(value); i++)
            redaction_hide(redaction, value_child(value, i));
}

void redaction_hide_whole(struct redaction *redaction, const struct value *value)
{
    redaction->is_whole = true;
    redaction_hide(redaction, value);
    redaction->is_whole = false;
}
