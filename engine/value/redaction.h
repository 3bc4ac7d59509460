/*
 * Hides secret values in texts that others wrote, such as a server's reason for a refusal.
 *
 * A secret is a sensitive string, number or boolean of a value (value.h). It is found by content,
 * wherever and however a text quotes it: plainly, quoted and escaped (unquote.h), in Base64, alone
 * or inside of more, and decoded from Base64. One of at most 4 KiB is also found as hexadecimal,
 * and as Go prints bytes ([104 117]). What is found becomes REDACTED, with the rest of the words
 * that it begins and ends in, which may be the rest of a similar secret.
 *
 *   - Of a secret of 8 bytes or more, every piece of 8 bytes or more is found, so it does not help
 *     to cut it, to split it, or to show one of its lines. A piece that was cut off, with "…" or
 *     "..." after it, is found from 4 bytes on if the secret begins with it.
 *   - A shorter secret, or line of a secret, is found as a whole, and not inside of a longer word
 *     of letters and digits. So messages remain readable if a secret is "true" or "1". Of less than
 *     4 bytes, it must contain a letter or a digit.
 *   - Of a secret of 64 bytes or more, a document rather than a password, pieces of less than 16
 *     bytes that are letters alone are not hidden, unless they are a line of it: documents consist
 *     of words that messages need, too.
 *
 * Bytes are counted as unquote.h gives them. Not found are shorter pieces, and secrets that were
 * changed in other ways: encrypted, hashed, reversed, in another case.
 *
 * All texts are added first, and then the values. All secrets that a text may contain have to be
 * hidden at once: what is left of one when a similar one was hidden is not recognised later.
 *
 * Time is linear in the texts and the values, but for the logarithm of the texts' size; of equal
 * strings, one is read. Memory is linear in the texts, the longest string, and the number of
 * strings. Not thread-safe.
 */
#pragma once

#include "engine/base/error.h"
#include "engine/value/value.h"

#define REDACTED "(sensitive value)"

/* Bytes of all texts of one redaction. */
#define REDACTION_BYTES (32u << 10)

struct redaction;

struct redaction *redaction_new(void);
void redaction_free(struct redaction *redaction);
DEFINE_CLEANUP(struct redaction *, redaction_free)

/* Borrows the text. False: it is too long, or there are too many, and it was not added. */
bool redaction_add(struct redaction *redaction, const char *text);
/* Hides what is sensitive in the value; NULL: nothing. */
void redaction_hide(struct redaction *redaction, const struct value *value);
/* The same, but only of secrets of which the texts have every piece. A text that is a piece of a
 * secret, as a host is of a URL with a password, is not hidden. */
void redaction_hide_whole(struct redaction *redaction, const struct value *value);
/* The text by its number, in the order of adding, without secrets; free(). NULL: it has none. */
char *redaction_text(const struct redaction *redaction, size_t index);

/* Hides what is sensitive in the values, which may be NULL. A reason with a secret in it becomes
 * that of the code. error: NULL, or not set: nothing happens. */
void redact_error(struct error *error, const struct value *const *values, size_t n);
