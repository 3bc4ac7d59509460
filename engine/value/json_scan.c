#include "engine/value/json_private.h"

#include <string.h>

#define BLOCK 64

static const char lone_surrogate[] = "a surrogate that is not one of a pair";
static const char invalid_utf8[] = "invalid UTF-8";

static int hex_digit(unsigned char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *begin_character(struct json_scan *scan, unsigned char c)
{
    if (c < 0xc2 || c > 0xf4)
        return invalid_utf8;
    scan->utf8_left = c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
    scan->lowest = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    scan->highest = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    return NULL;
}

static const char *continue_character(struct json_scan *scan, unsigned char c)
{
    if (c < scan->lowest || c > scan->highest)
        return invalid_utf8;
    scan->utf8_left--;
    scan->lowest = 0x80;
    scan->highest = 0xbf;
    return NULL;
}

static const char *hexadecimal(struct json_scan *scan, unsigned char c)
{
    int digit = hex_digit(c);
    bool is_high, is_low;

    if (digit < 0) { /* yajl refuses it */
        scan->hex_left = 0;
        return NULL;
    }
    scan->code = (uint16_t)(scan->code << 4 | digit);
    if (--scan->hex_left)
        return NULL;
    is_high = (scan->code & 0xfc00) == 0xd800;
    is_low = (scan->code & 0xfc00) == 0xdc00;
    if (is_low != scan->after_high)
        return lone_surrogate;
    scan->after_high = is_high;
    return NULL;
}

static const char *escaped(struct json_scan *scan, unsigned char c)
{
    scan->in_escape = false;
    if (c == 'u') {
        scan->hex_left = 4;
        scan->code = 0;
        return NULL;
    }
    return scan->after_high ? lone_surrogate : NULL;
}

/* Checks the next byte of a string. Returns the error; NULL: it is valid. */
static const char *step(struct json_scan *scan, unsigned char c)
{
    if (scan->utf8_left)
        return continue_character(scan, c);
    if (scan->hex_left)
        return hexadecimal(scan, c);
    if (scan->in_escape)
        return escaped(scan, c);
    if (c == '\\') {
        scan->in_escape = true;
        return NULL;
    }
    if (scan->after_high)
        return lone_surrogate;
    if (c == '"')
        scan->in_string = false;
    return c < 0x80 ? NULL : begin_character(scan, c);
}

static bool is_plain(const struct json_scan *scan)
{
    return !scan->in_escape && !scan->hex_left && !scan->utf8_left && !scan->after_high;
}

/* Bytes of a word that are equal to one: their highest bits (word: ASCII). */
static uint64_t find_byte(uint64_t word, char c)
{
    uint64_t differs = word ^ (0x0101010101010101u * (unsigned char)c);

    return ~(differs + 0x7f7f7f7f7f7f7f7fu) & 0x8080808080808080u;
}

/* Counts the bytes that find_byte() found. (Some supported processors have no instruction for it.)
 * */
static unsigned count_bytes(uint64_t found)
{
    return (unsigned)((found >> 7) * 0x0101010101010101u >> 56);
}

/* True for ASCII without backslashes, where each quote begins or ends a
 * string; most text is such, and needs no look at single bytes. */
static bool is_simple(const char *block, unsigned *ret_quotes)
{
    uint64_t word, others = 0;
    unsigned quotes = 0;

    for (size_t at = 0; at < BLOCK; at += sizeof(word)) {
        memcpy(&word, block + at, sizeof(word));
        if (word & 0x8080808080808080u)
            return false;
        others |= find_byte(word, '\\');
        quotes += count_bytes(find_byte(word, '"'));
    }
    *ret_quotes = quotes;
    return !others;
}

/* Skips simple blocks; the rest is checked byte by byte. */
static size_t skip_blocks(struct json_scan *scan, const char *text, size_t at, size_t length)
{
    size_t opened_before = 0; /* where the open string began in a block that ends here */
    unsigned quotes;

    while (length - at >= BLOCK && is_simple(text + at, &quotes)) {
        at += BLOCK;
        if (quotes % 2)
            scan->in_string = !scan->in_string;
        if (quotes)
            opened_before = at;
    }
    if (scan->in_string && opened_before) {
        const char *quote = memrchr(text, '"', opened_before);

        scan->string_start = (size_t)(quote - text);
    }
    return at;
}

size_t json_scan(struct json_scan *scan, const char *text, size_t length, const char **ret_problem)
{
    size_t at = 0, steps_until = 0;

    scan->string_start = 0;
    while (at < length) {
        const char *problem;

        if (at >= steps_until && is_plain(scan)) {
            at = skip_blocks(scan, text, at, length);
            steps_until = at + BLOCK;
            if (at == length)
                break;
        }
        if (!scan->in_string) {
            if (text[at] == '"') {
                scan->in_string = true;
                scan->string_start = at;
            }
            at++;
            continue;
        }
        problem = step(scan, (unsigned char)text[at]);
        if (problem) {
            *ret_problem = problem;
            return at;
        }
        at++;
    }
    return at;
}
