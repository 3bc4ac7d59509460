/*
 * XML of servers (lists and errors of S3, answers of WebDAV), as calls for each element. By expat:
 * a library of 170 KB that needs libc alone, is kept well, and knows namespaces and encodings.
 *
 * A document type is refused, and with it all entities but the five. Elements deeper than
 * LIMIT_DEPTH, and more than LIMIT_STRING_BYTES of text in one, are refused.
 */
#pragma once

#include <stddef.h>

#include "engine/base/error.h"

/* Names are without their namespace. A nonzero result ends the reading, and is returned. */
struct xml_handler {
    int (*begin)(void *arg, const char *name, struct error *error); /* may be NULL */
    /* text: the characters between the element's last tag and its end: all, if it has no elements.
     * Borrowed. */
    int (*end)(void *arg, const char *name, const char *text, struct error *error);
};

/* ERR_INVALID InvalidXML: with the line. */
int xml_read(const char *text, size_t length, const struct xml_handler *handler, void *arg,
             struct error *error);
