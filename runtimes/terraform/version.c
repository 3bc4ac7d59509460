#include "runtimes/terraform/version.h"

#include <string.h>

#include "engine/base/str.h"

#define DIGITS         "0123456789"
#define MOST_DIGITS    9
#define SUFFIX_LETTERS DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-"

/* ---- Versions ---- */

static bool read_part(const char **at, int64_t *ret)
{
    size_t digits = strspn(*at, DIGITS);
    _cleanup_free_ char *text = str_new_n(*at, digits);

    *at += digits;
    return digits > 0 && digits <= MOST_DIGITS && str_to_int64(text, ret);
}

bool version_read(const char *text, struct version *ret)
{
    struct version version = {0};
    size_t length;

    do {
        if (version.written == VERSION_PARTS || !read_part(&text, &version.parts[version.written]))
            return false;
        version.written++;
    } while (*text == '.' && text++);
    if (*text == '-') {
        text++;
        length = strspn(text, SUFFIX_LETTERS);
        if (!length || text[length] || !str_copy(version.suffix, sizeof(version.suffix), text))
            return false;
        text += length;
    }
    *ret = version;
    return !*text;
}

int version_compare(const struct version *a, const struct version *b)
{
    bool a_is_final = !*a->suffix, b_is_final = !*b->suffix;

    for (int i = 0; i < VERSION_PARTS; i++)
        if (a->parts[i] != b->parts[i])
            return a->parts[i] < b->parts[i] ? -1 : 1;
    if (a_is_final || b_is_final)
        return a_is_final - b_is_final;
    return strcmp(a->suffix, b->suffix);
}

/* ---- Constraints ---- */

enum relation { EQUAL, NOT_EQUAL, ABOVE, AT_LEAST, BELOW, AT_MOST, ABOUT };

static const struct {
    const char *text;
    enum relation relation;
} operators[] = {
    {"!=", NOT_EQUAL}, {">=", AT_LEAST}, {"<=", AT_MOST}, {"~>", ABOUT},
    {">", ABOVE},      {"<", BELOW},     {"=", EQUAL},
};

struct term {
    enum relation relation;
    struct version version;
};

/* Reads the next of the terms, which commas separate. False: it is none. */
static bool read_term(const char **at, struct term *ret)
{
    size_t length = strcspn(*at, ",");
    _cleanup_free_ char *text = str_new_n(*at, length);
    char *begin = text + strspn(text, " "), *end = text + length;

    *at += length + ((*at)[length] == ',');
    while (end > begin && end[-1] == ' ')
        *--end = '\0';
    ret->relation = EQUAL;
    for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
        if (str_has_prefix(begin, operators[i].text)) {
            ret->relation = operators[i].relation;
            begin += strlen(operators[i].text);
            begin += strspn(begin, " ");
            break;
        }
    return version_read(begin, &ret->version);
}

/* ~> 3.6 is at least 3.6, and below 4; ~> 3.6.1 is below 3.7. */
static bool is_about(const struct version *version, const struct version *wanted)
{
    if (version_compare(version, wanted) < 0)
        return false;
    for (int i = 0; i < wanted->written - 1; i++)
        if (version->parts[i] != wanted->parts[i])
            return false;
    return true;
}

static bool meets(const struct version *version, const struct term *term)
{
    int order = version_compare(version, &term->version);

    if (*version->suffix && (order != 0 || term->relation == NOT_EQUAL))
        return false;
    switch (term->relation) {
    case EQUAL:
        return order == 0;
    case NOT_EQUAL:
        return order != 0;
    case ABOVE:
        return order > 0;
    case AT_LEAST:
        return order >= 0;
    case BELOW:
        return order < 0;
    case AT_MOST:
        return order <= 0;
    case ABOUT:
        return is_about(version, &term->version);
    }
    return false;
}

int version_check_constraint(const char *constraint, struct error *error)
{
    const char *at = constraint;
    struct term term;

    do
        if (!read_term(&at, &term))
            return err_set(error, ERR_INVALID, "InvalidProvider",
                           "\"%s\" is not a constraint on versions, as \"3.7.2\", \"~> 3.6\" and "
                           "\">= 3.0, < 4.0\" are",
                           constraint);
    while (*at);
    return 0;
}

bool version_matches(const struct version *version, const char *constraint)
{
    const char *at = constraint;
    struct term term;

    while (at && *at)
        if (!read_term(&at, &term) || !meets(version, &term))
            return false;
    return true;
}
