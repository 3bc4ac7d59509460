#include "engine/value/redaction.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/redaction_private.h"

struct redaction *redaction_new(void)
{
    return NEW(struct redaction);
}

void redaction_free(struct redaction *redaction)
{
    if (!redaction)
        return;
    for (size_t i = 0; i < redaction->n_texts; i++)
        text_done(&redaction->texts[i]);
    for (size_t i = 0; i <= PIECE; i++)
        pieces_done(&redaction->pieces[i]);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&redaction->known, e));)
        value_unref(e->value);
    strmap_done(&redaction->known);
    unquoted_done(&redaction->secret);
    free(redaction->texts);
    free(redaction);
}

/* ---- Texts ---- */

static bool has_run(const struct unquoted *text, bool (*is)(unsigned char c))
{
    size_t run = 0;

    for (size_t i = 0; i < text->count && run < PIECE; i++)
        run = is(text->bytes[i]) ? run + 1 : 0;
    return run == PIECE;
}

bool redaction_add(struct redaction *redaction, const char *text)
{
    size_t length = strlen(text);
    struct text *added;

    if (length > REDACTION_BYTES - redaction->bytes)
        return false;
    redaction->texts = mem_grow(redaction->texts, redaction->n_texts, &redaction->capacity,
                                sizeof(*redaction->texts));
    added = &redaction->texts[redaction->n_texts++];
    text_init(added, text, length);
    redaction->bytes += length;
    for (size_t i = 0; i < added->n_views; i++) {
        const struct unquoted *view = &added->views[i].unquoted;

        redaction->n_pieces += view->count;
        redaction->has_hexadecimal = redaction->has_hexadecimal || has_run(view, is_hexadecimal);
        redaction->has_decimal = redaction->has_decimal || has_run(view, is_digit);
    }
    return true;
}

/* ---- What is found ---- */

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

static uint8_t judge(const struct view *view, size_t at, size_t length, uint8_t found)
{
    const struct unquoted *bytes = &view->unquoted;

    if (length == PIECE)
        return found & (FOUND | FOUND_IN_DOCUMENT);
    return (found & FOUND && view->is_text && is_word(bytes, at, length)) ||
                   (found & FOUND_AS_PREFIX && view_is_cut(view, at + length))
               ? FOUND
               : 0;
}

static void cover_pieces(const struct pieces *pieces, const struct view *view, size_t length,
                         uint8_t *covered)
{
    for (size_t i = 0; i + length <= view->unquoted.count; i++) {
        const uint8_t *found = pieces_look_up(pieces, view->unquoted.bytes + i, length);
        uint8_t verdict = found && *found ? judge(view, i, length, *found) : 0;

        for (size_t k = 0; verdict && k < length; k++)
            covered[i + k] |= verdict;
    }
}

static void cover_view(const struct redaction *redaction, const struct view *view, uint8_t *covered)
{
    for (size_t length = 1; length <= PIECE; length++)
        if (redaction->pieces[length].items)
            cover_pieces(&redaction->pieces[length], view, length, covered);
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

/* A secret in Base64 covers all of its digits: what surrounds it may be a part that was left out.
 */
static void cover_base64(const struct redaction *redaction, const struct view *view,
                         uint8_t *covered)
{
    size_t count = view->unquoted.count;
    _cleanup_free_ uint8_t *found = NEW_ARRAY(uint8_t, count + 1);

    cover_view(redaction, view, found);
    uncover_words(&view->unquoted, found);
    if (has(found, 0, count, FOUND | FOUND_IN_DOCUMENT))
        memset(covered + view->begin, FOUND, view->end - view->begin);
}

char *redaction_text(const struct redaction *redaction, size_t index)
{
    const struct text *text = &redaction->texts[index];
    const struct unquoted *own = &text->views[0].unquoted;
    _cleanup_free_ uint8_t *covered = NEW_ARRAY(uint8_t, own->count + 1);

    cover_view(redaction, &text->views[0], covered);
    for (size_t i = 1; i < text->n_views; i++)
        cover_base64(redaction, &text->views[i], covered);
    uncover_words(own, covered);
    cover_whole_words(own, covered);
    cover_whole_characters(own, covered);
    return has(covered, 0, own->count, FOUND | FOUND_IN_DOCUMENT)
               ? replace(text->text, own, covered)
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

/* Of a message; the rest is taken as one. */
#define MOST_HINTS 8

/* Cuts the hints into lines. */
static size_t cut(char *hints, const char *lines[MOST_HINTS])
{
    size_t n = 0;

    for (char *at = hints; *at && n < MOST_HINTS;) {
        *at++ = '\0';
        lines[n++] = at;
        at += strcspn(at, "\n");
    }
    return n;
}

/* The texts of the redaction are the message's line, the reason, and the hints, which remain lines
 * of their own. */
static void write_redacted(struct error *error, struct redaction *redaction,
                           const char *const *hints, size_t n_hints)
{
    _cleanup_free_ char *line = redaction_text(redaction, 0),
                        *reason = redaction_text(redaction, 1);
    size_t length = (size_t)(err_hints(error->message) - error->message);

    error->message[length] = '\0';
    if (line)
        str_copy(error->message, sizeof(error->message), line);
    if (reason)
        str_copy(error->reason, sizeof(error->reason), err_reason(error->code));
    for (size_t i = 0; i < n_hints; i++) {
        _cleanup_free_ char *hint = redaction_text(redaction, 2 + i);

        err_hint(error, "%s", hint ? hint : hints[i]);
    }
}

void redact_error(struct error *error, const struct value *const *values, size_t n)
{
    _cleanup_(redaction_free_p) struct redaction *redaction = NULL;
    _cleanup_free_ char *line = NULL, *below = NULL;
    const char *hints[MOST_HINTS];
    size_t n_hints;

    if (!error || !error->code || !have_secrets(values, n))
        return;
    below = str_new(err_hints(error->message));
    line = str_new_n(error->message, strlen(error->message) - strlen(below));
    n_hints = cut(below, hints);
    redaction = redaction_new();
    redaction_add(redaction, line);
    redaction_add(redaction, error->reason);
    for (size_t i = 0; i < n_hints; i++)
        redaction_add(redaction, hints[i]);
    for (size_t i = 0; i < n; i++)
        redaction_hide(redaction, values[i]);
    write_redacted(error, redaction, hints, n_hints);
}
