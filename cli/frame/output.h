/*
 * What is printed: to a terminal or into a pipe, with or without colours.
 *
 * All text goes through here, and all of it is made harmless: a hidden character (utf8.h) is
 * escaped, an end of a line inside a text becomes a blank. So no name, message or value of anybody
 * reaches the terminal as an escape sequence, turns the direction of the text around it, or looks
 * like a line of ours. Formats are ours, and their arguments need no care. Only styles write escape
 * sequences, and only output_end() ends a line.
 *
 * On a terminal, a frame is drawn in the place of the one before, its lines cut at the terminal's
 * width, and no more of them than the terminal has: what has scrolled away cannot be drawn again.
 * Elsewhere frames do not exist: callers print a line for each change (output.is_terminal).
 *
 * Not thread-safe.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>

#include "engine/base/buf.h"
#include "engine/base/error.h"
#include "engine/value/json.h"

enum style { STYLE_PLAIN, STYLE_GOOD, STYLE_BAD, STYLE_WARN, STYLE_DIM, STYLE_BOLD, STYLES };

struct output {
    int fd;
    bool is_terminal, has_colors;
    bool is_broken;         /* nobody reads any more (EPIPE), or it cannot be written */
    unsigned columns, rows; /* of the terminal */
    struct buf text;        /* that is not written yet */
    size_t column;          /* of the line that is being made */
    bool is_cut;            /* that line is at its end already */
    bool is_frame;
    unsigned n_lines, n_drawn; /* of this frame, and of the last one */
    size_t last_at;            /* in text: the last line of this frame that has room */
    struct buf widths;         /* of the lines of the last frame, in columns; unsigned each */
};

/* color: auto, always, never; NULL: auto. ERR_INVALID InvalidOption. */
int output_init(struct output *out, int fd, const char *color, struct error *error);
void output_done(struct output *out); /* writes what is left */

/* Adds to the line. */
void output_add(struct output *out, const char *format, ...) PRINTF_LIKE(2, 3);
void output_paint(struct output *out, enum style style, const char *format, ...) PRINTF_LIKE(3, 4);
void output_paint_v(struct output *out, enum style style, const char *format, va_list args)
    PRINTF_LIKE(3, 0);
/* Adds blanks up to this column (from 0), at least one unless the line is empty. */
void output_tab(struct output *out, size_t column);
void output_end(struct output *out);
/* Adds, and ends the line. */
void output_line(struct output *out, const char *format, ...) PRINTF_LIKE(2, 3);
/* A value as JSON, on lines of its own, with hidden characters escaped. */
void output_json(struct output *out, const struct value *value, bool is_pretty);
/* Lines that were made by this program, such as YAML: their ends are kept, all else is as above. */
void output_lines(struct output *out, const char *text);

/* On a terminal: what is added from now on takes the place of the last frame. */
void output_begin_frame(struct output *out);
void output_end_frame(struct output *out);
/* Erases the last frame: what is added from now on is no frame, however long it is. */
void output_erase_frame(struct output *out);
/* What was drawn last stays, and what follows comes below it. */
void output_keep_frame(struct output *out);

void output_flush(struct output *out);
