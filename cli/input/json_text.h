/*
 * Where things stand in JSON text. The text was read by json_read(), or will be: here nothing is
 * checked, and whatever the bytes, these functions stay inside them.
 */
#pragma once

#include <stddef.h>

#include "engine/yaml/yaml.h"

/* Bytes of the blanks that text begins with. */
size_t json_text_blanks(const char *text, size_t length);
/* Bytes of the object or array that text begins with; 0: it begins with none, or has no end. */
size_t json_text_end(const char *text, size_t length);

/* As yaml_find(). */
void json_text_find(const char *text, size_t length, struct place_wanted *wanted, size_t n);

/* Where the byte at `at` stands; columns in characters. */
struct yaml_mark json_text_mark(const char *text, size_t at);
