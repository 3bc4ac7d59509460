/*
 * A first look at YAML text, before libyaml gets it: what libyaml would
 * report without a useful position, or would be slow on.
 */
#ifndef ENGINE_BASE_YAML_TEXT_H
#define ENGINE_BASE_YAML_TEXT_H

#include <stddef.h>

#include "engine/base/error.h"

/*
 * ERR_INVALID with line and column: not UTF-8 (UTF-16 with its mark neither),
 * or a character that YAML does not allow. ERR_TOO_LARGE: more text than
 * LIMIT_DOCUMENT_BYTES, or more %-directives than anyone writes (libyaml
 * compares each with all before it).
 */
int yaml_text_check(const char *text, size_t length, struct error *error);

/* Bytes of the character that text begins with if YAML's text may hold it as
 * it is; 0 if it has to be escaped, or is not UTF-8. */
size_t yaml_text_char(const char *text, size_t length);

#endif
