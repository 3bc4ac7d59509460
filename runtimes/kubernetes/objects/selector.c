#include "runtimes/kubernetes/objects/selector.h"

#include <string.h>

/* A word of the selector, borrowed from it. */
struct word {
    const char *at;
    size_t length;
};

static const char *skip_spaces(const char *at)
{
    return at + strspn(at, " \t");
}

static struct word take_word(const char **at)
{
    struct word word = {.at = skip_spaces(*at)};

    word.length = strspn(word.at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789-_./");
    *at = skip_spaces(word.at + word.length);
    return word;
}

static bool is_word(struct word word, const char *text)
{
    return strlen(text) == word.length && memcmp(word.at, text, word.length) == 0;
}

static bool takes(const char **at, const char *token)
{
    size_t length = strlen(token);

    if (strncmp(*at, token, length) != 0)
        return false;
    *at = skip_spaces(*at + length);
    return true;
}

static const char *value_of(struct word key, const struct value *labels)
{
    return value_string(value_get_n(labels, key.at, key.length));
}

/* Reads "(a, b)". *ret: whether it has the value. */
static const char *read_set(const char **at, const char *value, bool *ret)
{
    if (!takes(at, "("))
        return "`in` and `notin` need a list in parentheses";
    *ret = false;
    do {
        struct word word = take_word(at);

        *ret = *ret || (value && is_word(word, value));
    } while (takes(at, ","));
    return takes(at, ")") ? NULL : "a list of values does not end with )";
}

/* Reads one requirement. *ret: whether it holds. */
static const char *read_requirement(const char **at, const struct value *labels, bool *ret)
{
    bool is_negated = takes(at, "!"), has = false;
    struct word key = take_word(at), operator;
    const char *value = value_of(key, labels), *problem;
    const char *rest = *at;

    if (!key.length)
        return "a requirement has no key";
    if (is_negated || !**at || **at == ',') {
        *ret = is_negated != (value != NULL);
        return NULL;
    }
    if (takes(at, "!=") || takes(at, "==") || takes(at, "=")) {
        struct word wanted = take_word(at);

        has = value && is_word(wanted, value);
        *ret = (*rest == '!') != has;
        return NULL;
    }
    operator= take_word(at);
    if (!is_word(operator, "in") && !is_word(operator, "notin"))
        return "after a key come =, ==, !=, in, notin, or nothing";
    problem = read_set(at, value, &has);
    *ret = is_word(operator, "notin") != has;
    return problem;
}

static const char *evaluate(const char *selector, const struct value *labels, bool *ret)
{
    const char *at = skip_spaces(selector);

    *ret = true;
    if (!*at)
        return NULL;
    do {
        bool holds = false;
        const char *problem = read_requirement(&at, labels, &holds);

        if (problem)
            return problem;
        *ret = *ret && holds;
    } while (takes(&at, ","));
    return *at ? "requirements are separated by commas" : NULL;
}

const char *selector_check(const char *selector)
{
    bool holds;

    return evaluate(selector, NULL, &holds);
}

bool selector_matches(const char *selector, const struct value *labels)
{
    bool holds;

    return !evaluate(selector, labels, &holds) && holds;
}

/* What followed the last * is tried again one character further. */
bool pattern_matches(const char *pattern, const char *text)
{
    const char *star = NULL, *again = text;

    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            again = text;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++again;
        } else {
            return false;
        }
    }
    return !pattern[strspn(pattern, "*")];
}
