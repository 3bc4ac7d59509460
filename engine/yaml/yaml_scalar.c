#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/limits.h"
#include "engine/yaml/yaml_private.h"

#define CORE_TAG "tag:yaml.org,2002:"

static const struct word {
    const char *text;
    enum value_type type;
    bool boolean;
} words[] = {
    {"", VALUE_NULL, false},      {"~", VALUE_NULL, false},     {"null", VALUE_NULL, false},
    {"Null", VALUE_NULL, false},  {"NULL", VALUE_NULL, false},  {"y", VALUE_BOOL, true},
    {"Y", VALUE_BOOL, true},      {"yes", VALUE_BOOL, true},    {"Yes", VALUE_BOOL, true},
    {"YES", VALUE_BOOL, true},    {"on", VALUE_BOOL, true},     {"On", VALUE_BOOL, true},
    {"ON", VALUE_BOOL, true},     {"true", VALUE_BOOL, true},   {"True", VALUE_BOOL, true},
    {"TRUE", VALUE_BOOL, true},   {"n", VALUE_BOOL, false},     {"N", VALUE_BOOL, false},
    {"no", VALUE_BOOL, false},    {"No", VALUE_BOOL, false},    {"NO", VALUE_BOOL, false},
    {"off", VALUE_BOOL, false},   {"Off", VALUE_BOOL, false},   {"OFF", VALUE_BOOL, false},
    {"false", VALUE_BOOL, false}, {"False", VALUE_BOOL, false}, {"FALSE", VALUE_BOOL, false},
};

/* JSON has no number for these. */
static const char *const not_finite[] = {
    ".nan",  ".NaN",  ".NAN",  ".inf",  ".Inf",  ".INF",
    "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF",
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const struct word *find_word(const char *text, size_t length)
{
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strlen(words[i].text) == length && memcmp(words[i].text, text, length) == 0)
            return &words[i];
    return NULL;
}

static bool is_not_finite(const char *text, size_t length)
{
    for (size_t i = 0; i < ARRAY_SIZE(not_finite); i++)
        if (strlen(not_finite[i]) == length && memcmp(not_finite[i], text, length) == 0)
            return true;
    return false;
}

/* Takes the base's prefix off *text; 10: it has none. A 0 alone asks for octal. */
static unsigned take_base(const char **text)
{
    static const struct {
        char lower, upper;
        unsigned base;
    } prefixes[] = {{'x', 'X', 16}, {'o', 'O', 8}, {'b', 'B', 2}};

    if ((*text)[0] != '0')
        return 10;
    for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
        if ((*text)[1] == prefixes[i].lower || (*text)[1] == prefixes[i].upper) {
            *text += 2;
            return prefixes[i].base;
        }
    return 8;
}

static unsigned digit_value(char c)
{
    if (is_digit(c))
        return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (unsigned)(c - 'a') + 10;
    if (c >= 'A' && c <= 'F')
        return (unsigned)(c - 'A') + 10;
    return UINT_MAX;
}

/*
 * An integer of any base. With a sign it must fit int64, without one uint64; kubectl reads larger
 * ones as floats or strings, and so does this reader.
 */
static bool read_integer(struct arena *arena, const char *text, struct yaml_scalar *ret)
{
    char sign = *text == '-' || *text == '+' ? *text++ : '\0';
    unsigned base = take_base(&text);
    uint64_t value = 0;

    if (!*text)
        return false;
    for (; *text; text++) {
        unsigned digit = digit_value(*text);

        if (digit >= base || __builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    if (sign && value > (uint64_t)INT64_MAX + (sign == '-'))
        return false;
    ret->type = VALUE_NUMBER;
    ret->text = arena_printf(arena, "%s%" PRIu64, sign == '-' && value ? "-" : "", value);
    ret->length = strlen(ret->text);
    return true;
}

static size_t count_digits(const char *text)
{
    size_t n = 0;

    while (is_digit(text[n]))
        n++;
    return n;
}

/*
 * [-+]? (digits [. digits*] | . digits) ([eE] [-+]? digits)?, rewritten only as far as JSON needs
 * it: 1.10 stays 1.10, and .5 becomes 0.5.
 */
static bool read_float(struct arena *arena, const char *text, struct yaml_scalar *ret)
{
    const char *sign = *text == '-' ? "-" : "";
    const char *whole, *fraction = "", *exponent;
    size_t n_whole, n_fraction = 0, n_exponent = 0;

    if (*text == '-' || *text == '+')
        text++;
    whole = text;
    n_whole = count_digits(whole);
    text += n_whole;
    if (*text == '.') {
        fraction = text + 1;
        n_fraction = count_digits(fraction);
        text = fraction + n_fraction;
    }
    if (n_whole + n_fraction == 0)
        return false;
    exponent = text;
    if (*text == 'e' || *text == 'E') {
        text += text[1] == '-' || text[1] == '+' ? 2 : 1;
        n_exponent = count_digits(text);
        if (n_exponent == 0)
            return false;
        text += n_exponent;
        n_exponent = (size_t)(text - exponent);
    }
    if (*text)
        return false;
    for (; n_whole > 0 && *whole == '0'; whole++)
        n_whole--;
    ret->type = VALUE_NUMBER;
    ret->text = arena_printf(arena, "%s%.*s%s%.*s%.*s", sign, n_whole ? (int)n_whole : 1,
                             n_whole ? whole : "0", n_fraction ? "." : "", (int)n_fraction,
                             fraction, (int)n_exponent, exponent);
    ret->length = strlen(ret->text);
    return true;
}

/* A number that begins with a dot may have _ only between digits; elsewhere _ is ignored. */
static bool underscores_are_inside(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] == '_' && (i == 0 || !is_digit(text[i - 1]) || !is_digit(text[i + 1])))
            return false;
    return true;
}

static bool read_number(struct arena *arena, const char *text, size_t length,
                        struct yaml_scalar *ret)
{
    char *bare;
    size_t n = 0;

    if (length == 0 || !(is_digit(*text) || strchr("+-.", *text)) || memchr(text, 0, length))
        return false;
    if (strspn(text, "0123456789abcdefABCDEFxXoO_+-.") != length)
        return false;
    if (*text == '.' && !underscores_are_inside(text, length))
        return false;
    bare = arena_alloc(arena, length + 1);
    for (size_t i = 0; i < length; i++)
        if (text[i] != '_')
            bare[n++] = text[i];
    return read_integer(arena, bare, ret) || read_float(arena, bare, ret);
}

/* Hashes are taken for numbers: 0e0967014998816. */
#define MOST_EXPONENT 9 /* digits, of json.h */

static size_t exponent_digits(const char *number)
{
    const char *exponent = strpbrk(number, "eE");

    if (!exponent)
        return 0;
    exponent += 1 + (exponent[1] == '+' || exponent[1] == '-');
    return strspn(exponent, "0123456789");
}

/* Resolves a plain scalar without a tag. */
static int resolve_plain(struct arena *arena, const char *text, size_t length,
                         struct yaml_scalar *ret, struct error *error)
{
    const struct word *word = find_word(text, length);
    struct yaml_scalar scalar = {.type = VALUE_STRING, .text = text, .length = length};
    struct yaml_scalar number = {0};

    if (is_not_finite(text, length))
        return err_set(error, ERR_INVALID, "Invalid",
                       "%s is not a number that JSON has; quote it if it is a text", text);
    if (word) {
        scalar.type = word->type;
        scalar.boolean = word->boolean;
    } else if (read_number(arena, text, length, &number) && isfinite(strtod(number.text, NULL))) {
        if (exponent_digits(number.text) > MOST_EXPONENT)
            return err_set(error, ERR_INVALID, "Invalid",
                           "%.64s is a number with an exponent of more than %d digits; quote it if "
                           "it is a text",
                           text, MOST_EXPONENT);
        if (number.length > LIMIT_NUMBER_BYTES)
            return err_set(error, ERR_TOO_LARGE, "TooLarge",
                           "a number of %zu digits, of at most %d", number.length,
                           LIMIT_NUMBER_BYTES);
        scalar = number;
    }
    *ret = scalar;
    return 0;
}

/* The name after "!!", or NULL. */
static const char *core_tag(const char *tag)
{
    size_t n = strlen(CORE_TAG);

    return strncmp(tag, CORE_TAG, n) == 0 ? tag + n : NULL;
}

bool yaml_tag_fits(const char *tag, enum value_type type)
{
    const char *name;

    if (!tag || strcmp(tag, "!") == 0)
        return true;
    name = core_tag(tag);
    return name && strcmp(name, type == VALUE_OBJECT ? "map" : "seq") == 0;
}

static bool is_whole(const char *number)
{
    return !strpbrk(number, ".eE");
}

/* Whether a scalar that resolved to this may have the tag !!name. */
static bool name_fits(const char *name, const struct yaml_scalar *scalar)
{
    switch (scalar->type) {
    case VALUE_NULL:
        return strcmp(name, "null") == 0;
    case VALUE_BOOL:
        return strcmp(name, "bool") == 0;
    case VALUE_NUMBER:
        return strcmp(name, "float") == 0 || (strcmp(name, "int") == 0 && is_whole(scalar->text));
    default:
        return false;
    }
}

static bool is_scalar_tag(const char *name)
{
    static const char *const names[] = {"null", "bool", "int", "float"};

    for (size_t i = 0; name && i < ARRAY_SIZE(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

int yaml_scalar_read(struct arena *arena, const char *text, size_t length, const char *tag,
                     bool plain, struct yaml_scalar *ret, struct error *error)
{
    struct yaml_scalar string = {.type = VALUE_STRING, .text = text, .length = length};
    struct yaml_scalar scalar = {0};
    const char *name = tag ? core_tag(tag) : NULL;
    int r;

    if (!tag && plain)
        return resolve_plain(arena, text, length, ret, error);
    if (!tag || strcmp(tag, "!") == 0 || (name && strcmp(name, "str") == 0)) {
        *ret = string;
        return 0;
    }
    if (!is_scalar_tag(name))
        return err_set(error, ERR_INVALID, "Invalid", "the tag %s%.64s is not for scalars here",
                       name ? "!!" : "", name ? name : tag);
    r = resolve_plain(arena, text, length, &scalar, error);
    if (r < 0)
        return r;
    /* A plain number that no float can hold is a string. The writer tags it !!float to keep it a
     * number. */
    if (scalar.type == VALUE_STRING && strcmp(name, "float") == 0 && length <= LIMIT_NUMBER_BYTES)
        read_number(arena, text, length, &scalar);
    if (!name_fits(name, &scalar))
        return err_set(error, ERR_INVALID, "Invalid", "\"%.64s\" is not what its tag !!%s says",
                       text, name);
    *ret = scalar;
    return 0;
}

/* As Go's strconv formats a float32: the fewest digits that read back the same. */
static const char *format_single(struct arena *arena, const char *number)
{
    float f = strtof(number, NULL);
    int digits = 0, exponent;
    const char *text;

    if (!isfinite(f))
        return number;
    do {
        text = arena_printf(arena, "%.*e", digits, (double)f);
    } while (strtof(text, NULL) != f && ++digits < 9);
    exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
    if (exponent < -4 || exponent >= 6)
        return text;
    return arena_printf(arena, "%.*f", digits > exponent ? digits - exponent : 0, (double)f);
}

static bool fits_integer(const char *number)
{
    char *end;

    if (!is_whole(number))
        return false;
    errno = 0;
    if (*number == '-')
        strtoll(number, &end, 10);
    else
        strtoull(number, &end, 10);
    return errno == 0 && !*end;
}

int yaml_scalar_key(struct arena *arena, const struct yaml_scalar *scalar, const char **ret,
                    size_t *ret_length, struct error *error)
{
    const char *text = scalar->text;
    size_t length = scalar->length;

    if (scalar->type == VALUE_NULL)
        return err_set(error, ERR_INVALID, "Invalid", "a key is null; quote it if it is a name");
    if (scalar->type == VALUE_BOOL)
        text = scalar->boolean ? "true" : "false";
    else if (scalar->type == VALUE_NUMBER && !fits_integer(text))
        text = format_single(arena, text);
    if (scalar->type != VALUE_STRING)
        length = strlen(text);
    *ret = text;
    *ret_length = length;
    return 0;
}
