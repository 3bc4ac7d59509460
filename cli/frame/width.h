/*
 * How wide text is on a terminal.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Columns: 0 of a combining mark, 2 of East Asian wide characters and emoji, else 1. A character
 * that is wider than this would wrap a line of a frame, and leave frames on the screen (output.h).
 */
unsigned width_of(uint32_t code_point);
/* Columns of text that is UTF-8. */
size_t text_width(const char *text);
