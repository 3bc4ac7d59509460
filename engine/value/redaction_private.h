/*
 * Shared by the files of redaction.h.
 *
 *   redaction_view.c  the texts: their bytes, what Base64 in them gives, and the pieces of both
 *   redaction_find.c  the secrets: their forms, whose pieces are looked up
 *   redaction.c       the texts with what was found replaced
 *
 * The texts are small and the secrets may be large, so the texts' pieces are listed and the secrets
 * pass by: each is read once. Of a string a reference is kept, so that its equals are not read.
 */
#pragma once

#include "engine/base/strmap.h"
#include "engine/base/unquote.h"
#include "engine/value/redaction.h"

#define PIECE       8  /* bytes; one fits into a number */
#define LEAST_WORDS 16 /* bytes of a document's piece of letters alone */

/* What was found of a piece: bits. */
enum {
    FOUND = 1,             /* of less than PIECE bytes: a whole secret */
    FOUND_IN_DOCUMENT = 2,
    FOUND_AS_PREFIX = 4,   /* of less than PIECE bytes: a longer secret begins with it */
};

/* Bytes that a text has, or that Base64 in it gives. */
struct view {
    struct unquoted unquoted;
    bool is_text;      /* it can be read: short secrets are looked for */
    bool is_cut_off;   /* the text goes on with "…" */
    size_t begin, end; /* of Base64: its digits in the text's own view */
};

struct text {
    const char *text;
    struct view *views; /* the first is its own */
    size_t n_views, capacity;
};

/* The pieces of all views, of one length. */
struct pieces {
    uint64_t *items; /* sorted, each once; NULL: not listed yet */
    uint8_t *found;  /* of each */
    size_t count;
    uint64_t *filter; /* bits by hash: most of what is looked up is in no text */
    unsigned bits;    /* of a hash */
};

struct redaction {
    struct text *texts;
    size_t n_texts, capacity;
    size_t bytes;                      /* of the texts */
    size_t n_pieces;                   /* of all views, of one byte */
    bool has_hexadecimal, has_decimal; /* a text has a piece of such digits alone */
    bool is_whole;                     /* only whole secrets are found */
    struct pieces pieces[PIECE + 1];   /* by their length */
    struct unquoted secret;            /* reused from one to the next */
    struct strmap known;               /* strings that were looked for: a reference to the value */
    uint64_t n_searched;               /* bytes of strings that were looked for; for tests */
};

/* ---- redaction_view.c ---- */

void text_init(struct text *text, const char *bytes, size_t length);
void text_done(struct text *text);
/* "…" or "..." at a place. */
bool view_is_cut(const struct view *view, size_t at);

void pieces_list(const struct redaction *redaction, size_t length, struct pieces *ret);
void pieces_done(struct pieces *pieces);
/* What was found of the piece of so many bytes; NULL: no text has it. */
uint8_t *pieces_look_up(const struct pieces *pieces, const unsigned char *bytes, size_t length);

/* ---- Bytes ---- */

static inline bool is_letter(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool is_digit(unsigned char c)
{
    return c >= '0' && c <= '9';
}

static inline bool is_of_word(unsigned char c)
{
    return is_letter(c) || is_digit(c);
}

static inline bool is_hexadecimal(unsigned char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f');
}

static inline bool is_of_letters(const unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!is_letter(bytes[i]))
            return false;
    return true;
}
