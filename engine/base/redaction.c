#include "engine/base/redaction.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/base64.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/unquote.h"
#include "engine/base/utf8.h"

#define PIECE          8  /* bytes; one fits into a number */
#define LEAST_PREFIX   4  /* bytes of a piece that was cut off */
#define LEAST_SYMBOLS  4  /* bytes of a secret without letters and digits */
#define DOCUMENT_BYTES 64 /* of a document, or more */
#define LEAST_WORDS    16 /* bytes of a document's piece of letters alone */
/* Bytes of a secret, or more, for forms of it to be looked for; and, for the decimal one, at most:
 * of more, so many numbers come about that some are in any text. */
#define LEAST_ENCODED 4
#define DECIMAL_BYTES 4096
/* Bytes of the parts of a long secret, and of two that they share. */
#define PART_BYTES    (16u << 10)
#define OVERLAP_BYTES 256

#define FILTER_FACTOR 8 /* bits of a filter for each piece, at least */

/* What was found of a piece: bits. */
enum { FOUND = 1, FOUND_IN_DOCUMENT = 2, FOUND_AS_PREFIX = 4 };

/* The pieces of the texts, all of one length. */
struct pieces {
    uint64_t *items; /* sorted, each once; NULL: not listed yet */
    uint8_t *found;  /* of each */
    size_t count;
    uint64_t *filter; /* bits by hash: most of what is looked up is in no text */
    unsigned bits;    /* of a hash */
};

struct redaction {
    const char **texts;
    struct unquoted *unquoted; /* of each text */
    size_t n_texts, capacity, bytes;
    struct pieces pieces[PIECE + 1]; /* by their length */
    struct unquoted secret;          /* reused from one to the next */
};

struct redaction *redaction_new(void)
{
    return NEW(struct redaction);
}

void redaction_free(struct redaction *redaction)
{
    if (!redaction)
        return;
    for (size_t i = 0; i < redaction->n_texts; i++)
        unquoted_done(&redaction->unquoted[i]);
    for (size_t i = 0; i <= PIECE; i++) {
        free(redaction->pieces[i].items);
        free(redaction->pieces[i].found);
        free(redaction->pieces[i].filter);
    }
    unquoted_done(&redaction->secret);
    free(redaction->unquoted);
    free(redaction->texts);
    free(redaction);
}

bool redaction_add(struct redaction *redaction, const char *text)
{
    size_t length = strlen(text), n = redaction->n_texts;

    if (length > REDACTION_BYTES - redaction->bytes)
        return false;
    if (n == redaction->capacity) {
        redaction->capacity = n ? 2 * n : 4;
        redaction->texts =
            mem_resize(redaction->texts, redaction->capacity, sizeof(*redaction->texts));
        redaction->unquoted =
            mem_resize(redaction->unquoted, redaction->capacity, sizeof(*redaction->unquoted));
    }
    redaction->bytes += length;
    redaction->texts[n] = text;
    redaction->unquoted[n] = (struct unquoted){.has_places = true};
    unquote(text, length, &redaction->unquoted[n]);
    redaction->n_texts++;
    return true;
}

/* ---- Pieces ---- */

static uint64_t piece_at(const unsigned char *bytes, size_t length)
{
    uint64_t piece = 0;

    memcpy(&piece, bytes, length);
    return piece;
}

static size_t hash_of(const struct pieces *pieces, uint64_t piece)
{
    return (size_t)(piece * UINT64_C(0x9e3779b97f4a7c15) >> (64 - pieces->bits));
}

static int compare_pieces(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

static void make_filter(struct pieces *pieces)
{
    for (pieces->bits = 6; (size_t)1 << pieces->bits < pieces->count * FILTER_FACTOR;)
        pieces->bits++;
    pieces->filter = NEW_ARRAY(uint64_t, ((size_t)1 << pieces->bits) / 64);
    for (size_t i = 0; i < pieces->count; i++) {
        size_t hash = hash_of(pieces, pieces->items[i]);

        pieces->filter[hash / 64] |= UINT64_C(1) << hash % 64;
    }
}

static void list_pieces(const struct redaction *redaction, size_t length, struct pieces *ret)
{
    size_t n = 0;

    ret->items = NEW_ARRAY(uint64_t, redaction->bytes + 1);
    for (size_t t = 0; t < redaction->n_texts; t++)
        for (size_t i = 0; i + length <= redaction->unquoted[t].count; i++)
            ret->items[n++] = piece_at(redaction->unquoted[t].bytes + i, length);
    qsort(ret->items, n, sizeof(*ret->items), compare_pieces);
    for (size_t i = 0; i < n; i++)
        if (!i || ret->items[i] != ret->items[i - 1])
            ret->items[ret->count++] = ret->items[i];
    ret->found = NEW_ARRAY(uint8_t, ret->count + 1);
    make_filter(ret);
}

/* What was found of a piece; NULL: no text has it. */
static uint8_t *look_up(const struct pieces *pieces, uint64_t piece)
{
    size_t hash = hash_of(pieces, piece);
    const uint64_t *item;

    if (!(pieces->filter[hash / 64] >> hash % 64 & 1))
        return NULL;
    item = bsearch(&piece, pieces->items, pieces->count, sizeof(piece), compare_pieces);
    return item ? &pieces->found[item - pieces->items] : NULL;
}

static void find(struct redaction *redaction, const unsigned char *bytes, size_t length,
                 uint8_t found)
{
    struct pieces *pieces = &redaction->pieces[length];
    uint8_t *to;

    if (!pieces->items)
        list_pieces(redaction, length, pieces);
    to = look_up(pieces, piece_at(bytes, length));
    if (to)
        *to |= found;
}

/* ---- What is secret ---- */

static bool is_letter(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_of_word(unsigned char c)
{
    return is_letter(c) || (c >= '0' && c <= '9');
}

static bool is_of_letters(const unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!is_letter(bytes[i]))
            return false;
    return true;
}

static void find_whole(struct redaction *redaction, const unsigned char *bytes, size_t length)
{
    bool has_word = length >= LEAST_SYMBOLS;

    for (size_t i = 0; i < length; i++)
        has_word = has_word || is_of_word(bytes[i]) || bytes[i] >= 0x80;
    if (has_word)
        find(redaction, bytes, length, FOUND);
}

static void find_pieces(struct redaction *redaction, const unsigned char *bytes, size_t length,
                        uint8_t found)
{
    for (size_t i = 0; i + PIECE <= length; i++)
        find(redaction, bytes + i, PIECE, found);
    for (size_t n = LEAST_PREFIX; n < PIECE; n++)
        find(redaction, bytes, n, FOUND_AS_PREFIX);
}

/* A secret in one of its forms. */
static void find_form(struct redaction *redaction, const char *text, size_t length)
{
    struct unquoted *secret = &redaction->secret;

    unquote(text, length, secret);
    if (secret->count < PIECE)
        find_whole(redaction, secret->bytes, secret->count);
    else
        find_pieces(redaction, secret->bytes, secret->count,
                    secret->count < DOCUMENT_BYTES ? FOUND : FOUND_IN_DOCUMENT);
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

/* As it stands in the Base64 of a longer text: without the characters that other bytes contribute
 * to, and without padding. What is short is found only where it was encoded alone. */
static void find_base64(struct redaction *redaction, const char *bytes, size_t length)
{
    static const char before[2] = "";

    for (size_t shift = 0; shift < 3; shift++) {
        _cleanup_buf_ struct buf text = BUF_INIT, encoded = BUF_INIT;
        size_t skipped = (shift * 8 + 5) / 6, n;

        buf_add(&text, before, shift);
        buf_add(&text, bytes, length);
        base64_encode(&encoded, text.data, text.length);
        for (n = encoded.length; encoded.data[n - 1] == '=';)
            n--;
        if (!shift || n - skipped >= PIECE)
            find_form(redaction, encoded.data + skipped, n - skipped);
    }
}

static void find_hexadecimal(struct redaction *redaction, const char *bytes, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    _cleanup_buf_ struct buf text = BUF_INIT;

    for (size_t i = 0; i < length; i++) {
        buf_add_char(&text, digits[(unsigned char)bytes[i] / 16]);
        buf_add_char(&text, digits[(unsigned char)bytes[i] % 16]);
    }
    find_form(redaction, text.data, text.length);
}

static void find_decimal(struct redaction *redaction, const char *bytes, size_t length)
{
    _cleanup_buf_ struct buf text = BUF_INIT;

    for (size_t i = 0; i < length; i++)
        buf_printf(&text, "%u ", (unsigned char)bytes[i]);
    find_form(redaction, text.data, text.length);
}

static void find_forms(struct redaction *redaction, const char *bytes, size_t length)
{
    find_form(redaction, bytes, length);
    if (length < LEAST_ENCODED)
        return;
    find_base64(redaction, bytes, length);
    find_hexadecimal(redaction, bytes, length);
    if (length <= DECIMAL_BYTES)
        find_decimal(redaction, bytes, length);
}

/* Long ones in parts that overlap, so that a form of one takes little memory. */
static void find_secret(struct redaction *redaction, const char *bytes, size_t length)
{
    size_t at = 0;

    for (; length - at > PART_BYTES; at += PART_BYTES - OVERLAP_BYTES)
        find_forms(redaction, bytes + at, PART_BYTES);
    if (at)
        at = length - PART_BYTES;
    find_forms(redaction, bytes + at, length - at);
    if (memchr(bytes, '\n', length))
        find_lines(redaction, bytes, length);
}

/* What looks like Base64 may be a word: what that would decode to is no text, as a rule. */
static void find_string(struct redaction *redaction, const char *text, size_t length)
{
    _cleanup_buf_ struct buf decoded = BUF_INIT;

    find_secret(redaction, text, length);
    if (base64_decode(&decoded, text, length) &&
        (decoded.length >= PIECE || utf8_valid(decoded.data, decoded.length) == decoded.length))
        find_secret(redaction, decoded.data, decoded.length);
}

static void find_value(struct redaction *redaction, const struct value *value)
{
    size_t length = 0;
    const char *text = value_string_n(value, &length);

    if (value_is(value, VALUE_BOOL))
        text = value_bool(value, false) ? "true" : "false";
    else if (value_is(value, VALUE_NUMBER))
        text = value_number(value);
    if (text && value_is(value, VALUE_STRING))
        find_string(redaction, text, length);
    else if (text)
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

/* ---- Texts ---- */

static bool is_continuation(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

/* Whether the bytes at a place belong to one word with those before it. */
static bool is_inside(const struct unquoted *text, size_t at)
{
    return at && at < text->count && !text->places[at].is_apart &&
           is_of_word(text->bytes[at - 1]) && is_of_word(text->bytes[at]);
}

static bool is_word(const struct unquoted *text, size_t at, size_t length)
{
    return !is_inside(text, at) && !is_inside(text, at + length);
}

static bool is_cut(const struct unquoted *text, size_t at)
{
    return at + 3 <= text->count && (memcmp(text->bytes + at, "...", 3) == 0 ||
                                     memcmp(text->bytes + at, "\xe2\x80\xa6", 3) == 0);
}

static uint8_t judge(const struct unquoted *text, size_t at, size_t length, uint8_t found)
{
    if (length == PIECE)
        return found & (FOUND | FOUND_IN_DOCUMENT);
    return (found & FOUND && is_word(text, at, length)) ||
                   (found & FOUND_AS_PREFIX && is_cut(text, at + length))
               ? FOUND
               : 0;
}

static void cover(const struct redaction *redaction, const struct unquoted *text, uint8_t *covered)
{
    for (size_t length = 1; length <= PIECE; length++) {
        const struct pieces *pieces = &redaction->pieces[length];

        for (size_t i = 0; pieces->items && i + length <= text->count; i++) {
            const uint8_t *found = look_up(pieces, piece_at(text->bytes + i, length));
            uint8_t verdict = found && *found ? judge(text, i, length, *found) : 0;

            for (size_t k = 0; verdict && k < length; k++)
                covered[i + k] |= verdict;
        }
    }
}

static size_t end_of_stretch(const uint8_t *covered, size_t at, size_t count)
{
    while (at < count && covered[at])
        at++;
    return at;
}

static bool has(const uint8_t *covered, size_t at, size_t end, uint8_t found)
{
    for (; at < end; at++)
        if (covered[at] & found)
            return true;
    return false;
}

static void uncover_words(const struct unquoted *text, uint8_t *covered)
{
    for (size_t at = 0, end; at < text->count; at = end + 1) {
        end = end_of_stretch(covered, at, text->count);
        if (end - at < LEAST_WORDS && !has(covered, at, end, FOUND) &&
            is_of_letters(text->bytes + at, end - at))
            memset(covered + at, 0, end - at);
    }
}

/* What is next to a secret and belongs to the same word may be the rest of a similar one: an older
 * one, or what encoding made of the text around it. */
static void cover_whole_words(const struct unquoted *text, uint8_t *covered)
{
    for (size_t i = 1; i < text->count; i++)
        if (is_inside(text, i))
            covered[i] |= covered[i - 1];
    for (size_t i = text->count; i-- > 1;)
        if (is_inside(text, i))
            covered[i - 1] |= covered[i];
}

static void cover_whole_characters(const struct unquoted *text, uint8_t *covered)
{
    for (size_t i = 1; i < text->count; i++)
        if (is_continuation(text->bytes[i]))
            covered[i] |= covered[i - 1];
    for (size_t i = text->count; i-- > 1;)
        if (is_continuation(text->bytes[i]))
            covered[i - 1] |= covered[i];
}

static char *replace(const char *text, const struct unquoted *unquoted, const uint8_t *covered)
{
    struct buf made = BUF_INIT;
    size_t copied = 0;

    for (size_t at = 0, end; at < unquoted->count; at = end + 1) {
        end = end_of_stretch(covered, at, unquoted->count);
        if (end == at)
            continue;
        buf_add(&made, text + copied, unquoted->places[at].begin - copied);
        buf_add_str(&made, REDACTED);
        copied = unquoted->places[end - 1].end;
    }
    buf_add_str(&made, text + copied);
    return buf_take(&made);
}

char *redaction_text(const struct redaction *redaction, size_t index)
{
    const struct unquoted *text = &redaction->unquoted[index];
    _cleanup_free_ uint8_t *covered = NEW_ARRAY(uint8_t, text->count + 1);

    cover(redaction, text, covered);
    uncover_words(text, covered);
    cover_whole_words(text, covered);
    cover_whole_characters(text, covered);
    return has(covered, 0, text->count, FOUND | FOUND_IN_DOCUMENT)
               ? replace(redaction->texts[index], text, covered)
               : NULL;
}

/* ---- Errors ---- */

static bool have_secrets(const struct value *const *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (value_has_sensitive(values[i]))
            return true;
    return false;
}

void redact_error(struct error *error, const struct value *const *values, size_t n)
{
    _cleanup_(redaction_free_p) struct redaction *redaction = NULL;
    _cleanup_free_ char *message = NULL, *reason = NULL;

    if (!error || !error->code || !have_secrets(values, n))
        return;
    redaction = redaction_new();
    redaction_add(redaction, error->message);
    redaction_add(redaction, error->reason);
    for (size_t i = 0; i < n; i++)
        redaction_hide(redaction, values[i]);
    message = redaction_text(redaction, 0);
    reason = redaction_text(redaction, 1);
    if (message)
        str_copy(error->message, sizeof(error->message), message);
    if (reason)
        str_copy(error->reason, sizeof(error->reason), err_reason(error->code));
}
