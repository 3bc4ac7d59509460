/*
 * Checks YAML text before libyaml reads it: for errors that libyaml would report without a useful
 * position, and text that it would read slowly.
 */
#pragma once

#include <stddef.h>

#include "engine/base/error.h"

/*
 * ERR_INVALID with line and column: the text is not UTF-8 (UTF-16 is refused, too), or has a
 * character that YAML does not allow. ERR_TOO_LARGE: more than LIMIT_DOCUMENT_BYTES, or too many
 * %-directives (libyaml compares each with all others).
 */
int yaml_text_check(const char *text, size_t length, struct error *error);
