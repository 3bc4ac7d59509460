#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "cli/frame/table.h"
#include "cli/frame/width.h"
#include "engine/base/str.h"
#include "test/unit/cli/frame/captured.h"
#include "test/unit/suite.h"

static void text_of_others_is_harmless(void)
{
    static const struct {
        const char *text, *shown;
    } rows[] = {
        {"\033[31mred\033[0m", "\\u001b[31mred\\u001b[0m"},
        {"\033]0;title\007", "\\u001b]0;title\\u0007"},
        {"a\nnext:  rm -rf", "a next:  rm -rf"},
        {"\xc2\x9b"
         "31m",
         "\\u009b31m"}, /* C1: another way to write ESC [ */
        {"\xe2\x80\xae"
         "gpj.exe",
         "\\u202egpj.exe"}, /* right-to-left override */
        {"\xe2\x81\xa6"
         "x",
         "\\u2066x"}, /* isolate */
        {"a\xff"
         "b",
         "a?b"},
        {"a\rb", "a b"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *all = NULL, *expected = NULL;
        struct captured captured;

        captured_init(&captured);
        output_add(&captured.out, "[%s]", rows[i].text);
        output_paint(&captured.out, STYLE_BAD, "[%s]", rows[i].text);
        output_end(&captured.out);
        all = captured_take(&captured);
        expected = str_printf("[%s][%s]\n", rows[i].shown, rows[i].shown);
        EXPECT_STR(all, expected, rows[i].shown);
    }
}

static void only_styles_write_escapes(void)
{
    _cleanup_free_ char *all = NULL;
    struct captured captured;

    captured_init(&captured);
    captured.out.has_colors = true;
    output_paint(&captured.out, STYLE_GOOD, "ok");
    output_paint(&captured.out, STYLE_GOOD, "%s", ""); /* nothing is painted */
    output_paint(&captured.out, STYLE_PLAIN, " x");
    output_end(&captured.out);
    all = captured_take(&captured);
    EXPECT_STR(all, "\033[32mok\033[0m x\n", "");
}

static void a_line_of_a_mebibyte_is_printed_whole(void)
{
    size_t length = 1 << 20;
    char *text = mem_new(length + 1), *all;
    struct captured captured;

    memset(text, 'x', length);
    captured_init(&captured);
    output_line(&captured.out, "%s", text);
    all = captured_take(&captured);
    EXPECT_INT(strlen(all), length + 1, "");
    free(all);
    free(text);
}

static void a_frame_is_cut_at_the_terminal(void)
{
    _cleanup_free_ char *all = NULL;
    struct captured captured;

    captured_init(&captured);
    captured.out.is_frame = true;
    captured.out.columns = 8;
    output_line(&captured.out, "0123456789");
    output_line(&captured.out,
                "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe6\x97\xa5"); /* two wide each */
    output_line(&captured.out, "short");
    EXPECT_INT(captured.out.n_lines, 3, "");
    captured.out.is_frame = false;
    all = captured_take(&captured);
    EXPECT_STR(all, "0123456…\033[K\n\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e…\033[K\nshort\033[K\n",
               "");
}

struct terminal {
    struct output out;
    int keyboard, screen; /* ours, and that of the program */
};

static void terminal_resize(struct terminal *terminal, unsigned short columns, unsigned short rows)
{
    EXPECT_INT(
        ioctl(terminal->keyboard, TIOCSWINSZ, &(struct winsize){.ws_col = columns, .ws_row = rows}),
        0, "");
}

static void terminal_init(struct terminal *terminal, unsigned short columns, unsigned short rows)
{
    struct termios raw;

    terminal->keyboard = posix_openpt(O_RDWR | O_NOCTTY);
    grantpt(terminal->keyboard);
    unlockpt(terminal->keyboard);
    terminal->screen = open(ptsname(terminal->keyboard), O_RDWR | O_NOCTTY);
    tcgetattr(terminal->screen, &raw);
    cfmakeraw(&raw);
    tcsetattr(terminal->screen, TCSANOW, &raw);
    terminal_resize(terminal, columns, rows);
    output_init(&terminal->out, terminal->screen, "never", NULL);
}

/* What was written since the last time; free(). */
static char *terminal_read(struct terminal *terminal)
{
    char text[4096];
    ssize_t n = read(terminal->keyboard, text, sizeof(text));

    return str_new_n(text, n > 0 ? (size_t)n : 0);
}

static void terminal_done(struct terminal *terminal)
{
    output_done(&terminal->out);
    close(terminal->screen);
    close(terminal->keyboard);
}

static char *drawn(struct terminal *terminal, unsigned lines)
{
    output_begin_frame(&terminal->out);
    for (unsigned i = 0; i < lines; i++)
        output_line(&terminal->out, "line number %u", i);
    output_end_frame(&terminal->out);
    return terminal_read(terminal);
}

static void a_frame_has_no_more_lines_than_the_terminal(void)
{
    static const struct {
        unsigned lines;
        const char *text;
    } rows[] = {
        {3, "line number 0\033[K\nline number 1\033[K\nline number 2\033[K\n\033[J"},
        {4, "\033[3A\rline number 0\033[K\nline number 1\033[K\n… and 2 more\033[K\n\033[J"},
        {9, "\033[3A\rline number 0\033[K\nline number 1\033[K\n… and 7 more\033[K\n\033[J"},
        {1, "\033[3A\rline number 0\033[K\n\033[J"},
    };
    struct terminal terminal;

    terminal_init(&terminal, 40, 4);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *text = drawn(&terminal, rows[i].lines);

        EXPECT_STR(text, rows[i].text, "");
    }
    terminal_done(&terminal);
}

static void what_a_narrower_terminal_wrapped_is_drawn_over(void)
{
    _cleanup_free_ char *first = NULL, *second = NULL, *third = NULL;
    struct terminal terminal;

    terminal_init(&terminal, 40, 10);
    first = drawn(&terminal, 2);
    terminal_resize(&terminal, 10, 10); /* a line of 13 columns has two rows now */
    second = drawn(&terminal, 1);
    EXPECT_STR(second, "\033[4A\rline numb…\033[K\n\033[J", "");
    terminal_resize(&terminal, 40, 10);
    third = drawn(&terminal, 1);
    EXPECT_STR(third, "\033[1A\rline number 0\033[K\n\033[J", "");
    terminal_done(&terminal);
}

static void columns_are_in_line(void)
{
    _cleanup_free_ char *all = NULL;
    struct captured captured;
    struct table table;

    table_init(&table, "NAME STATUS");
    table_add(&table, STYLE_PLAIN, "a-long-name");
    table_add(&table, STYLE_GOOD, "ok");
    table_add(&table, STYLE_PLAIN, "\xe6\x97\xa5");
    table_add(&table, STYLE_PLAIN, "x\x1b[1m");
    captured_init(&captured);
    table_write(&table, &captured.out);
    table_done(&table);
    all = captured_take(&captured);
    EXPECT_STR(all,
               "NAME          STATUS\n"
               "a-long-name   ok\n"
               "\xe6\x97\xa5            x\\u001b[1m\n",
               "");
}

static void widths_are_those_of_terminals(void)
{
    static const struct {
        const char *what, *text;
        size_t width;
    } rows[] = {
        {"ASCII", "abc", 3},
        {"a dash, a mark of ours, a letter with an accent", "–✓é", 3},
        {"combining acute", "e\u0301", 1},
        {"CJK", "日本", 4},
        {"a full-width letter, a half-width kana", "Ａｱ", 3},
        {"a picture", "🚀", 2},
        {"emoji of the Basic Multilingual Plane", "✅❌⚡⭐⌚", 10},
        {"newer emoji", "🟢🫠", 4},
        {"a sign that is no emoji by itself", "❤☀", 2},
        {"Hangul, whole and in its parts", "한\u1112\u1161\u11ab", 4},
        {"Thai", "ที่นี่", 2},
        {"Devanagari", "नु्", 1},
        {"Hebrew with points", "שָׁ", 1},
        {"beyond the planes that are in use", "\U000e1000", 1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        EXPECT_INT(text_width(rows[i].text), rows[i].width, rows[i].what);
}

SUITE(cli_output, TEST(text_of_others_is_harmless), TEST(only_styles_write_escapes),
      TEST(a_line_of_a_mebibyte_is_printed_whole), TEST(a_frame_is_cut_at_the_terminal),
      TEST(a_frame_has_no_more_lines_than_the_terminal),
      TEST(what_a_narrower_terminal_wrapped_is_drawn_over), TEST(columns_are_in_line),
      TEST(widths_are_those_of_terminals))
