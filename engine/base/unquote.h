/*
 * Takes quoting out of text, for comparing texts that were quoted in different ways.
 *
 * A value comes to the same bytes whether it stands in a text plainly, or as JSON, Go (%q), YAML, C
 * or a shell quote it, or as a URL escapes it, once or several times over. The bytes are those of
 * the text with escapes resolved, and without what quoting adds, removes or replaces: quotes,
 * backslashes, blanks, control characters, commas, "?" and what is not UTF-8. Of Base64's two
 * alphabets one is left. So texts that differ in these alone are equal, too.
 *
 * One pass; time and memory are linear in the text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a byte comes from. */
struct unquoted_place {
    uint32_t begin, end; /* of the text */
    bool is_apart;       /* the text has something else between this byte and the one before */
};

struct unquoted {
    unsigned char *bytes;          /* printable ASCII except what is left out, and whole UTF-8 */
    struct unquoted_place *places; /* one for each byte; NULL without has_places */
    size_t count, capacity;
    bool has_places; /* set by the caller; then a text has less than 4 GiB */
};
void unquoted_done(struct unquoted *unquoted);

/* Replaces what was there. */
void unquote(const char *text, size_t length, struct unquoted *ret);
