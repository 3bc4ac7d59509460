/* What the texts of a redaction have: redaction_private.h. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/utf8.h"
#include "engine/value/redaction_private.h"

#define LEAST_BASE64  6 /* digits: of a secret of 4 bytes */
#define FILTER_FACTOR 8 /* bits of a filter for each piece, at least */

/* ---- Views ---- */

bool view_is_cut(const struct view *view, size_t at)
{
    const struct unquoted *bytes = &view->unquoted;

    if (at == bytes->count)
        return view->is_cut_off;
    return at + 3 <= bytes->count && (memcmp(bytes->bytes + at, "...", 3) == 0 ||
                                      memcmp(bytes->bytes + at, "\xe2\x80\xa6", 3) == 0);
}

/* The digit of Base64, as unquote.h has its alphabet; negative: none. */
static int digit_of(unsigned char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (is_digit(c))
        return c - '0' + 52;
    return c == '-' ? 62 : c == '_' ? 63 : -1;
}

static struct view *add_view(struct text *text)
{
    struct view *view;

    text->views = mem_grow(text->views, text->n_views, &text->capacity, sizeof(*text->views));
    view = &text->views[text->n_views++];
    *view = (struct view){.unquoted.has_places = true};
    return view;
}

/* What a run of Base64's digits gives, beginning with one of them. */
static void add_decoded(struct text *text, size_t begin, size_t end, size_t skip)
{
    size_t n = (end - begin - skip) * 6 / 8;
    _cleanup_free_ char *bytes = mem_new(n + 1);
    struct view *view = add_view(text);
    const unsigned char *digits = text->views[0].unquoted.bytes + begin + skip;
    uint32_t bits = 0;

    for (size_t i = 0, have = 0, k = 0; k < n; i++) {
        bits = bits << 6 | (uint32_t)digit_of(digits[i]);
        have += 6;
        if (have >= 8) {
            have -= 8;
            bytes[k++] = (char)(bits >> have);
        }
    }
    unquote(bytes, n, &view->unquoted);
    view->is_text = !skip && utf8_valid(bytes, n) == n;
    view->begin = begin;
    view->end = end;
    view->is_cut_off = view_is_cut(&text->views[0], end);
}

static size_t end_of_run(const struct unquoted *text, size_t begin)
{
    size_t end = begin;

    while (end < text->count && digit_of(text->bytes[end]) >= 0 &&
           (end == begin || !text->places[end].is_apart))
        end++;
    return end;
}

/* Where Base64 begins inside a longer run of its digits, each of four digits may be the first. */
static void add_base64(struct text *text)
{
    for (size_t begin = 0; begin < text->views[0].unquoted.count;) {
        size_t end = end_of_run(&text->views[0].unquoted, begin);

        for (size_t skip = 0; skip < 4 && begin + skip + LEAST_BASE64 <= end; skip++)
            add_decoded(text, begin, end, skip);
        begin = end > begin ? end : begin + 1;
    }
}

void text_init(struct text *text, const char *bytes, size_t length)
{
    *text = (struct text){.text = bytes};
    unquote(bytes, length, &add_view(text)->unquoted);
    text->views[0].is_text = true;
    add_base64(text);
}

void text_done(struct text *text)
{
    for (size_t i = 0; i < text->n_views; i++)
        unquoted_done(&text->views[i].unquoted);
    free(text->views);
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

static size_t add_pieces(const struct view *view, size_t length, uint64_t *to)
{
    size_t n = 0;

    for (size_t i = 0; i + length <= view->unquoted.count; i++)
        to[n++] = piece_at(view->unquoted.bytes + i, length);
    return n;
}

void pieces_list(const struct redaction *redaction, size_t length, struct pieces *ret)
{
    size_t n = 0;

    ret->items = NEW_ARRAY(uint64_t, redaction->n_pieces + 1);
    for (size_t t = 0; t < redaction->n_texts; t++)
        for (size_t v = 0; v < redaction->texts[t].n_views; v++)
            n += add_pieces(&redaction->texts[t].views[v], length, ret->items + n);
    qsort(ret->items, n, sizeof(*ret->items), compare_pieces);
    for (size_t i = 0; i < n; i++)
        if (!i || ret->items[i] != ret->items[i - 1])
            ret->items[ret->count++] = ret->items[i];
    ret->found = NEW_ARRAY(uint8_t, ret->count + 1);
    make_filter(ret);
}

uint8_t *pieces_look_up(const struct pieces *pieces, const unsigned char *bytes, size_t length)
{
    uint64_t piece = piece_at(bytes, length);
    size_t hash = hash_of(pieces, piece);
    const uint64_t *item;

    if (!(pieces->filter[hash / 64] >> hash % 64 & 1))
        return NULL;
    item = bsearch(&piece, pieces->items, pieces->count, sizeof(piece), compare_pieces);
    return item ? &pieces->found[item - pieces->items] : NULL;
}

void pieces_done(struct pieces *pieces)
{
    free(pieces->items);
    free(pieces->found);
    free(pieces->filter);
}
