/*
 * UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing
 * past U+10FFFF.
 */
#ifndef ENGINE_BASE_UTF8_H
#define ENGINE_BASE_UTF8_H

#include <stddef.h>

/* Bytes of the character that text begins with; 0 if it is not one, or if
 * length ends inside it. */
size_t utf8_char(const char *text, size_t length);

/* Bytes from the start of text that are whole, valid characters. */
size_t utf8_valid(const char *text, size_t length);

#endif
