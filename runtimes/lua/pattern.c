#include "runtimes/lua/pattern.h"

#include <ctype.h>
#include <string.h>

/* Calls inside each other: of captures, and of repeated items. Lua has the same bound. */
#define MOST_NESTED 200

static const char *match(struct pattern *p, const char *at, const char *item);

static const char *fail(struct pattern *p, const char *why)
{
    if (!p->error)
        p->error = why;
    return NULL;
}

/* False: the budget is used up. */
static bool take_steps(struct pattern *p, size_t n)
{
    *p->steps -= (int64_t)n;
    if (*p->steps >= 0)
        return true;
    fail(p, "too many steps");
    return false;
}

/* ---- One character ---- */

static bool is_in_class(unsigned char c, unsigned char class)
{
    bool is_in;

    switch (tolower(class)) {
    case 'a':
        is_in = isalpha(c);
        break;
    case 'c':
        is_in = iscntrl(c);
        break;
    case 'd':
        is_in = isdigit(c);
        break;
    case 'g':
        is_in = isgraph(c);
        break;
    case 'l':
        is_in = islower(c);
        break;
    case 'p':
        is_in = ispunct(c);
        break;
    case 's':
        is_in = isspace(c);
        break;
    case 'u':
        is_in = isupper(c);
        break;
    case 'w':
        is_in = isalnum(c);
        break;
    case 'x':
        is_in = isxdigit(c);
        break;
    case 'z':
        is_in = c == '\0';
        break;
    default:
        return class == c;
    }
    return isupper(class) ? !is_in : is_in;
}

/* set: behind its "["; end: at its "]". */
static bool is_in_set(unsigned char c, const char *set, const char *end)
{
    bool wanted = *set != '^';

    if (!wanted)
        set++;
    for (; set < end; set++) {
        if (*set == '%') {
            if (is_in_class(c, (unsigned char)*++set))
                return wanted;
        } else if (end - set > 2 && set[1] == '-') {
            if ((unsigned char)*set <= c && c <= (unsigned char)set[2])
                return wanted;
            set += 2;
        } else if ((unsigned char)*set == c) {
            return wanted;
        }
    }
    return !wanted;
}

/* Behind the item, without what repeats it. NULL: an error. */
static const char *end_of_item(struct pattern *p, const char *item)
{
    const char *end = p->pattern_end;
    char first = *item++;

    if (first == '%')
        return item < end ? item + 1 : fail(p, "malformed pattern (ends with '%')");
    if (first != '[')
        return item;
    if (item < end && *item == '^')
        item++;
    do { /* a "]" that comes first is one of the set */
        if (item == end)
            return fail(p, "malformed pattern (missing ']')");
        if (*item++ == '%' && item < end)
            item++;
    } while (item == end || *item != ']');
    return item + 1;
}

/* Whether the character at `at` is one of the item's. */
static bool is_one(struct pattern *p, const char *at, const char *item, const char *end)
{
    if (!take_steps(p, 1 + (size_t)(end - item) / 8) || at >= p->text_end)
        return false;
    switch (*item) {
    case '.':
        return true;
    case '%':
        return is_in_class((unsigned char)*at, (unsigned char)item[1]);
    case '[':
        return is_in_set((unsigned char)*at, item + 1, end - 1);
    default:
        return *item == *at;
    }
}

/* ---- Repeated items ---- */

/* As many as there are, then fewer. */
static const char *match_most(struct pattern *p, const char *at, const char *item, const char *end)
{
    const char *last = at;

    while (is_one(p, last, item, end))
        last++;
    for (;; last--) {
        const char *found = match(p, last, end + 1);

        if (found || p->error || last == at)
            return found;
    }
}

/* As few as will do. */
static const char *match_fewest(struct pattern *p, const char *at, const char *item,
                                const char *end)
{
    for (;; at++) {
        const char *found = match(p, at, end + 1);

        if (found || p->error || !is_one(p, at, item, end))
            return found;
    }
}

/* ---- Captures ---- */

static const char *begin_capture(struct pattern *p, const char *at, const char *item,
                                 ptrdiff_t length)
{
    const char *found;

    if (p->n_captures == PATTERN_CAPTURES)
        return fail(p, "too many captures");
    p->captures[p->n_captures++] = (struct pattern_capture){at, length};
    found = match(p, at, item);
    if (!found)
        p->n_captures--;
    return found;
}

static const char *end_capture(struct pattern *p, const char *at, const char *item)
{
    unsigned i = p->n_captures;
    const char *found;

    while (i > 0 && p->captures[i - 1].length != PATTERN_UNCLOSED)
        i--;
    if (!i)
        return fail(p, "invalid pattern capture");
    p->captures[i - 1].length = at - p->captures[i - 1].start;
    found = match(p, at, item);
    if (!found)
        p->captures[i - 1].length = PATTERN_UNCLOSED;
    return found;
}

/* "%1": the text of a capture once more. */
static const char *match_again(struct pattern *p, const char *at, char digit)
{
    unsigned i = (unsigned)(digit - '1');
    size_t length;

    if (digit == '0' || i >= p->n_captures || p->captures[i].length == PATTERN_UNCLOSED)
        return fail(p, "invalid capture index");
    if (p->captures[i].length == PATTERN_POSITION)
        return NULL;
    length = (size_t)p->captures[i].length;
    if (!take_steps(p, length / 8) || (size_t)(p->text_end - at) < length ||
        memcmp(p->captures[i].start, at, length) != 0)
        return NULL;
    return at + length;
}

/* ---- "%bxy", "%f[set]" ---- */

static const char *match_balanced(struct pattern *p, const char *at, const char *item)
{
    size_t open = 1;

    if (p->pattern_end - item < 2)
        return fail(p, "malformed pattern (missing arguments to '%b')");
    if (at >= p->text_end || *at != item[0])
        return NULL;
    while (++at < p->text_end && take_steps(p, 1)) {
        if (*at == item[1] && --open == 0)
            return at + 1;
        if (*at == item[0] && *at != item[1])
            open++;
    }
    return NULL;
}

/* item: behind "%f". Returns where the pattern goes on; NULL: no frontier, or an error. */
static const char *match_frontier(struct pattern *p, const char *at, const char *item)
{
    unsigned char before = at == p->text ? 0 : (unsigned char)at[-1];
    unsigned char now = at == p->text_end ? 0 : (unsigned char)*at;
    const char *end;

    if (item >= p->pattern_end || *item != '[')
        return fail(p, "missing '[' after '%f' in pattern");
    end = end_of_item(p, item);
    if (!end || !take_steps(p, 1 + (size_t)(end - item) / 4))
        return NULL;
    return !is_in_set(before, item + 1, end - 1) && is_in_set(now, item + 1, end - 1) ? end : NULL;
}

/* ---- A pattern ---- */

/* An item that begins with "%" and is more than one character of the text. True: it is one; *at and
 * *item are behind it, or *at is NULL. */
static bool match_special(struct pattern *p, const char **at, const char **item)
{
    const char *what = *item + 1;

    if (what >= p->pattern_end)
        return false;
    if (*what == 'b') {
        *at = match_balanced(p, *at, what + 1);
        *item = what + 3;
    } else if (*what == 'f') {
        *item = match_frontier(p, *at, what + 1);
        *at = *item ? *at : NULL;
    } else if (isdigit((unsigned char)*what)) {
        *at = match_again(p, *at, *what);
        *item = what + 1;
    } else {
        return false;
    }
    return true;
}

static const char *match_items(struct pattern *p, const char *at, const char *item)
{
    while (take_steps(p, 1)) {
        const char *end, *found;

        if (item == p->pattern_end)
            return at;
        if (*item == '(' && item + 1 < p->pattern_end && item[1] == ')')
            return begin_capture(p, at, item + 2, PATTERN_POSITION);
        if (*item == '(')
            return begin_capture(p, at, item + 1, PATTERN_UNCLOSED);
        if (*item == ')')
            return end_capture(p, at, item + 1);
        if (*item == '$' && item + 1 == p->pattern_end)
            return at == p->text_end ? at : NULL;
        if (*item == '%' && match_special(p, &at, &item)) {
            if (!at)
                return NULL;
            continue;
        }
        end = end_of_item(p, item);
        if (!end)
            return NULL;
        switch (end < p->pattern_end ? *end : '\0') {
        case '*':
            return match_most(p, at, item, end);
        case '+':
            return is_one(p, at, item, end) ? match_most(p, at + 1, item, end) : NULL;
        case '-':
            return match_fewest(p, at, item, end);
        case '?':
            found = is_one(p, at, item, end) ? match(p, at + 1, end + 1) : NULL;
            if (found || p->error)
                return found;
            item = end + 1;
            break;
        default:
            if (!is_one(p, at, item, end))
                return NULL;
            at++;
            item = end;
        }
    }
    return NULL;
}

static const char *match(struct pattern *p, const char *at, const char *item)
{
    const char *found;

    if (p->depth == MOST_NESTED)
        return fail(p, "pattern too complex");
    p->depth++;
    found = match_items(p, at, item);
    p->depth--;
    return p->error ? NULL : found;
}

const char *pattern_match(struct pattern *pattern, const char *at)
{
    pattern->depth = pattern->n_captures = 0;
    pattern->error = NULL;
    return match(pattern, at, pattern->pattern);
}

bool pattern_is_plain(const char *pattern, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (pattern[i] && strchr("^$*+?.([%-", pattern[i]))
            return false;
    return true;
}
