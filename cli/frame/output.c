#include "cli/frame/output.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/frame/width.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"

#define FLUSH_AT   65536 /* bytes */
#define TEXT_BYTES (64u << 20)

static const char *const codes[STYLES] = {"", "32", "31", "33", "2", "1"};

/* ---- Lifetime ---- */

static void look_at_terminal(struct output *out)
{
    struct winsize size;

    out->is_terminal = isatty(out->fd);
    out->columns = 80;
    out->rows = 24;
    if (out->is_terminal && ioctl(out->fd, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row) {
        out->columns = size.ws_col;
        out->rows = size.ws_row;
    }
}

int output_init(struct output *out, int fd, const char *color, struct error *error)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

    *out = (struct output){.fd = fd};
    buf_init(&out->text, TEXT_BYTES);
    buf_init(&out->widths, 0);
    look_at_terminal(out);
    /* https://no-color.org: a variable that is there and not empty. */
    out->has_colors =
        out->is_terminal && !(no_color && *no_color) && term && !str_equal(term, "dumb");
    if (!color || str_equal(color, "auto"))
        return 0;
    if (!str_equal(color, "always") && !str_equal(color, "never"))
        return err_set(error, ERR_INVALID, "InvalidOption",
                       "--color: \"%s\" is none of auto, always, never", color);
    out->has_colors = str_equal(color, "always");
    return 0;
}

void output_done(struct output *out)
{
    output_flush(out);
    buf_done(&out->text);
    buf_done(&out->widths);
}

void output_flush(struct output *out)
{
    const char *at = out->text.data, *end = at + out->text.length;

    while (at < end && !out->is_broken) {
        ssize_t n = write(out->fd, at, (size_t)(end - at));

        if (n > 0)
            at += n;
        else if (n < 0 && errno != EINTR)
            out->is_broken = true;
    }
    buf_reset(&out->text);
}

/* ---- A line ---- */

/* Cut where the terminal's line ends, in a frame: a line that wraps would be two to the terminal.
 */
static void add_char(struct output *out, const char *text, size_t n)
{
    unsigned width = width_of(utf8_code_point(text, n));

    if (out->is_cut)
        return;
    if (out->is_frame && out->column + width >= out->columns) {
        out->is_cut = true;
        buf_add_str(&out->text, "…");
        return;
    }
    buf_add(&out->text, text, n);
    out->column += width;
}

/* text: shown already, so valid UTF-8. */
static void add_shown(struct output *out, const char *text)
{
    size_t length = strlen(text);

    for (size_t at = 0, n; at < length; at += n) {
        n = utf8_char(text + at, length - at);
        n = n ? n : 1;
        add_char(out, text + at, n);
    }
}

void output_paint_v(struct output *out, enum style style, const char *format, va_list args)
{
    _cleanup_free_ char *text = str_vprintf(format, args);
    _cleanup_free_ char *shown = utf8_show(text);
    bool is_painted = out->has_colors && style != STYLE_PLAIN && *shown && !out->is_cut;

    if (is_painted)
        buf_printf(&out->text, "\033[%sm", codes[style]);
    add_shown(out, shown);
    if (is_painted)
        buf_add_str(&out->text, "\033[0m");
}

void output_paint(struct output *out, enum style style, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    output_paint_v(out, style, format, args);
    va_end(args);
}

void output_add(struct output *out, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    output_paint_v(out, STYLE_PLAIN, format, args);
    va_end(args);
}

void output_tab(struct output *out, size_t column)
{
    if (out->column && out->column >= column)
        add_shown(out, " ");
    while (out->column < column && !out->is_cut)
        add_shown(out, " ");
}

/* With the cursor below them. */
static unsigned lines_with_room(const struct output *out)
{
    return out->rows > 2 ? out->rows - 1 : 1;
}

static void end_line_of_frame(struct output *out)
{
    unsigned width = (unsigned)out->column + out->is_cut;

    buf_add_str(&out->text, "\033[K\n");
    buf_add(&out->widths, &width, sizeof(width));
    if (out->n_lines + 2 == lines_with_room(out))
        out->last_at = out->text.length;
}

void output_end(struct output *out)
{
    /* Blanks at the end of a line are not seen, and are in the way where lines are compared. */
    while (out->text.length && out->column && out->text.data[out->text.length - 1] == ' ') {
        out->text.data[--out->text.length] = '\0';
        out->column--;
    }
    if (out->is_frame)
        end_line_of_frame(out);
    else
        buf_add_char(&out->text, '\n');
    out->column = 0;
    out->is_cut = false;
    out->n_lines++;
    if (!out->is_frame && (out->is_terminal || out->text.length >= FLUSH_AT))
        output_flush(out);
}

void output_line(struct output *out, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    output_paint_v(out, STYLE_PLAIN, format, args);
    va_end(args);
    output_end(out);
}

void output_lines(struct output *out, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        _cleanup_free_ char *line = str_new_n(text, length);

        output_line(out, "%s", line);
        text += length + (text[length] == '\n');
    }
}

void output_json(struct output *out, const struct value *value, bool is_pretty)
{
    _cleanup_buf_ struct buf text = BUF_INIT;

    text.maximum = TEXT_BYTES;
    json_write(&text, value, is_pretty ? JSON_PRETTY : JSON_VISIBLE);
    if (is_pretty)
        output_lines(out, text.data);
    else
        output_line(out, "%s", text.data);
    output_flush(out);
}

/* ---- Frames ---- */

/* Of the last frame, which a terminal that has become narrower has wrapped. */
static unsigned rows_of_last(const struct output *out)
{
    const unsigned *widths = (const unsigned *)(const void *)out->widths.data;
    unsigned rows = 0;

    for (unsigned i = 0; i < out->n_drawn; i++)
        rows += widths[i] > out->columns ? (widths[i] + out->columns - 1) / out->columns : 1;
    return rows;
}

void output_begin_frame(struct output *out)
{
    look_at_terminal(out);
    output_flush(out);
    out->is_frame = out->is_terminal;
    if (out->is_frame && out->n_drawn)
        buf_printf(&out->text, "\033[%uA\r", rows_of_last(out));
    buf_reset(&out->widths);
    out->n_lines = 0;
    out->last_at = out->text.length;
}

void output_end_frame(struct output *out)
{
    unsigned room = lines_with_room(out), more = out->n_lines - room + 1;

    if (out->is_frame && out->n_lines > room) {
        out->text.length = out->last_at;
        out->n_lines = room - 1;
        out->widths.length = out->n_lines * sizeof(unsigned);
        output_line(out, "… and %u more", more);
    }
    if (out->is_frame)
        buf_add_str(&out->text, "\033[J");
    out->n_drawn = out->is_frame ? out->n_lines : 0;
    out->is_frame = false;
    output_flush(out);
}

void output_erase_frame(struct output *out)
{
    if (out->n_drawn)
        buf_printf(&out->text, "\033[%uA\r\033[J", rows_of_last(out));
    out->n_drawn = 0;
}

void output_keep_frame(struct output *out)
{
    out->n_drawn = 0;
}
