/*
 * Text in which some bytes are written as a mark and two upper-case hexadecimal digits: "%2F".
 */
#pragma once

#include "engine/base/buf.h"

/* Bytes that stay as they are. The mark must not be one of them. */
typedef bool escape_is_plain(char c);

/* Adds the text; bytes that are not plain are escaped. */
void escape_add(struct buf *to, const char *text, size_t length, char mark,
                escape_is_plain *is_plain);
/* The text that escape_add() has made this of; free(). NULL: it has made no such text. */
char *escape_read(const char *escaped, char mark, escape_is_plain *is_plain);

/* Of URLs: A-Z a-z 0-9 - . _ ~ */
bool escape_is_unreserved(char c);
/* Adds a part of a URL: what is reserved (but /, if it separates) is escaped with %. */
void escape_url(struct buf *to, const char *text, bool keep_slashes);
/* A part of a URL that anybody has written: %XX, of digits in either case, is resolved; free().
 * NULL: a % is followed by something else, or by 00. */
char *escape_url_read(const char *text, size_t length);
