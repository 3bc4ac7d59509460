#include "engine/base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"

#define ELLIPSIS "\xe2\x80\xa6"

#define DNS_LABEL_MAX     63
#define DNS_SUBDOMAIN_MAX 253

char *str_new(const char *s)
{
    return s ? str_new_n(s, strlen(s)) : NULL;
}

char *str_new_n(const char *s, size_t length)
{
    char *copy = mem_resize(NULL, length + 1, 1);

    if (length)
        memcpy(copy, s, length);
    copy[length] = '\0';
    return copy;
}

char *str_vprintf(const char *format, va_list args)
{
    char *text;

    if (vasprintf(&text, format, args) < 0)
        abort();
    return text;
}

char *str_printf(const char *format, ...)
{
    va_list args;
    char *text;

    va_start(args, format);
    text = str_vprintf(format, args);
    va_end(args);
    return text;
}

void str_free_secret(char *secret)
{
    if (secret)
        explicit_bzero(secret, strlen(secret));
    free(secret);
}

bool str_equal(const char *a, const char *b)
{
    if (!a || !b)
        return a == b;
    return strcmp(a, b) == 0;
}

bool str_is_variable(const char *s)
{
    static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";

    return *s && strchr(capitals, *s) && !s[strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")];
}

bool str_has_prefix(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_has_suffix(const char *s, const char *suffix)
{
    size_t length = strlen(s), tail = strlen(suffix);

    return tail <= length && memcmp(s + length - tail, suffix, tail) == 0;
}

int str_compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The largest cut of s, at most `at`, that is not inside a UTF-8 character. */
static size_t char_boundary(const char *s, size_t at)
{
    while (at > 0 && ((unsigned char)s[at] & 0xc0) == 0x80)
        at--;
    return at;
}

bool str_copy(char *to, size_t size, const char *from)
{
    size_t length = strlen(from), mark = strlen(ELLIPSIS), cut;

    if (length < size) {
        memcpy(to, from, length + 1);
        return true;
    }
    if (size == 0)
        return false;
    if (size <= mark)
        mark = 0;
    cut = char_boundary(from, size - 1 - mark);
    memcpy(to, from, cut);
    memcpy(to + cut, ELLIPSIS, mark);
    to[cut + mark] = '\0';
    return false;
}

bool str_to_int64(const char *s, int64_t *ret)
{
    const char *digits = s && *s == '-' ? s + 1 : s;
    int64_t number;
    char *end;

    if (!digits || *digits < '0' || *digits > '9')
        return false;
    errno = 0;
    number = strtoll(s, &end, 10);
    if (*end || errno)
        return false;
    *ret = number;
    return true;
}

static bool is_alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_dns_label(const char *s, size_t length)
{
    if (length == 0 || length > DNS_LABEL_MAX)
        return false;
    if (!is_alphanumeric(s[0]) || !is_alphanumeric(s[length - 1]))
        return false;
    for (size_t i = 0; i < length; i++)
        if (!is_alphanumeric(s[i]) && s[i] != '-')
            return false;
    return true;
}

bool str_is_dns_label(const char *s)
{
    return s && is_dns_label(s, strlen(s));
}

/* Kubernetes limits the length of a subdomain, but not of its labels. */
bool str_is_dns_subdomain(const char *s)
{
    size_t length = s ? strlen(s) : 0;

    if (length == 0 || length > DNS_SUBDOMAIN_MAX)
        return false;
    for (size_t i = 0; i < length; i++) {
        bool is_edge = i == 0 || i + 1 == length || s[i - 1] == '.' || s[i + 1] == '.';

        if (is_alphanumeric(s[i]))
            continue;
        if (is_edge || (s[i] != '-' && s[i] != '.'))
            return false;
    }
    return true;
}
