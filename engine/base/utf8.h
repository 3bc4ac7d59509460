/*
 * UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing
 * past U+10FFFF.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/* Bytes of the character that text begins with; 0 if it is not one, or if
 * length ends inside it. */
size_t utf8_char(const char *text, size_t length);

/* The code point of a valid character of n bytes. */
uint32_t utf8_code_point(const char *text, size_t n);

/*
 * Names and messages of tenants are shown to administrators, on terminals. A hidden character does
 * something there instead of being seen: controls (C0, DEL, C1), characters without width or shape
 * (Unicode's Default_Ignorable_Code_Point), and those that change the direction of the text around
 * them.
 */
bool utf8_is_hidden(uint32_t code_point);

/* The text as one line that is what it looks like: blanks for tabs and ends of lines, \u202e or
 * \U000e0041 for other hidden characters, ? for what is no UTF-8. free() it. */
char *utf8_show(const char *text);
/* The same, with ends of lines (LF) as they are: for messages, whose lines are ours (error.h). */
char *utf8_show_lines(const char *text);

/* Bytes from the start of text that are whole, valid characters. */
size_t utf8_valid(const char *text, size_t length);
