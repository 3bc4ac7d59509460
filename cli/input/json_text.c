#include "cli/input/json_text.h"

#include <string.h>

#include "engine/value/json.h"
#include "engine/yaml/place_wanted.h"

size_t json_text_blanks(const char *text, size_t length)
{
    size_t n = 0;

    while (n < length && strchr(" \t\r\n", text[n]) && text[n])
        n++;
    return n;
}

/* Bytes of a string with its quotes. */
static size_t string_end(const char *text, size_t length)
{
    size_t at = 1;

    while (at < length && text[at] != '"')
        at += text[at] == '\\' ? 2 : 1;
    return at < length ? at + 1 : length;
}

size_t json_text_end(const char *text, size_t length)
{
    size_t depth = 0;

    for (size_t at = 0; at < length;) {
        char c = text[at];

        if (c == '"') {
            at += string_end(text + at, length - at);
            continue;
        }
        at++;
        if (c == '{' || c == '[')
            depth++;
        else if ((c == '}' || c == ']') && (depth == 0 || --depth == 0))
            return at;
        else if (depth == 0)
            return 0;
    }
    return 0;
}

/* Moves the mark from one byte to a later one. */
static void advance(struct yaml_mark *mark, const char *text, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (text[i] == '\n')
            *mark = (struct yaml_mark){mark->line + 1, 1};
        else if (((unsigned char)text[i] & 0xc0) != 0x80)
            mark->column++;
}

struct yaml_mark json_text_mark(const char *text, size_t at)
{
    struct yaml_mark mark = {1, 1};

    advance(&mark, text, 0, at);
    return mark;
}

/* ---- Down the paths ---- */

struct finder {
    const char *text;
    size_t length, at;
    size_t marked; /* the byte of `mark`, at or before `at` */
    struct yaml_mark mark;
};

static struct yaml_mark mark(struct finder *f)
{
    advance(&f->mark, f->text, f->marked, f->at);
    f->marked = f->at;
    return f->mark;
}

static char next(const struct finder *f)
{
    return f->at < f->length ? f->text[f->at] : '\0';
}

static void skip_blanks(struct finder *f)
{
    f->at += json_text_blanks(f->text + f->at, f->length - f->at);
}

/* Goes past this character, and the blanks around it. False: another one is there. */
static bool skip_char(struct finder *f, char c)
{
    skip_blanks(f);
    if (next(f) != c)
        return false;
    f->at++;
    skip_blanks(f);
    return true;
}

static void skip_value(struct finder *f)
{
    const char *from = f->text + f->at;
    size_t left = f->length - f->at, end;

    if (next(f) == '"') {
        f->at += string_end(from, left);
    } else if (next(f) == '{' || next(f) == '[') {
        end = json_text_end(from, left);
        f->at += end ? end : left;
    } else {
        while (f->at < f->length && !strchr(",]} \t\r\n", f->text[f->at]))
            f->at++;
    }
}

static void visit(struct finder *f, struct place_wanted **set, size_t n);

/* At a key. */
static size_t find_key(struct finder *f, struct place_wanted **set, size_t n)
{
    size_t length = string_end(f->text + f->at, f->length - f->at), key_length = 0;
    _cleanup_value_ const struct value *key = NULL;
    const char *text;

    if (json_read(f->text + f->at, length, &key, NULL) < 0)
        return 0;
    text = value_string_n(key, &key_length);
    return text ? place_wanted_key(set, n, text, key_length, mark(f)) : 0;
}

/* Those that go on below a member or an item are at the front of the set: they are done with. */
static void visit_object(struct finder *f, struct place_wanted **set, size_t n)
{
    while (n && next(f) == '"') {
        size_t found = find_key(f, set, n);

        skip_value(f);
        if (!skip_char(f, ':'))
            return;
        visit(f, set, found);
        set += found;
        n -= found;
        if (!skip_char(f, ','))
            break;
    }
}

static void visit_array(struct finder *f, struct place_wanted **set, size_t n)
{
    for (size_t i = 0; n && next(f) && next(f) != ']'; i++) {
        size_t found = place_wanted_index(set, n, i, mark(f));

        visit(f, set, found);
        set += found;
        n -= found;
        if (!skip_char(f, ','))
            break;
    }
}

static void visit(struct finder *f, struct place_wanted **set, size_t n)
{
    size_t from = f->at;

    n = place_wanted_open(set, n);
    if (n && skip_char(f, '{'))
        visit_object(f, set, n);
    else if (n && skip_char(f, '['))
        visit_array(f, set, n);
    f->at = from;
    skip_value(f);
}

void json_text_find(const char *text, size_t length, struct place_wanted *wanted, size_t n)
{
    struct finder f = {.text = text, .length = length, .mark = {1, 1}};
    _cleanup_free_ struct place_wanted **set = NULL;

    skip_blanks(&f);
    set = place_wanted_begin(wanted, n, mark(&f));
    visit(&f, set, n);
    place_wanted_end(wanted, n);
}
