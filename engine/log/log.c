#include "engine/log/log.h"

#include <stdarg.h>
#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/cleanup.h"
#include "engine/base/timestamp.h"
#include "engine/base/utf8.h"
#include "engine/value/json.h"

static const char *const level_names[] = {
    [LOG_DEBUG] = "debug",
    [LOG_INFO] = "info",
    [LOG_WARN] = "warn",
    [LOG_ERROR] = "error",
};

static const char *const level_labels[] = {
    [LOG_DEBUG] = "DEBUG",
    [LOG_INFO] = "INFO ",
    [LOG_WARN] = "WARN ",
    [LOG_ERROR] = "ERROR",
};

static struct log_sink installed;

void log_open(const struct log_sink *sink)
{
    installed = sink ? *sink : (struct log_sink){0};
}

bool log_level_parse(const char *name, enum log_level *ret)
{
    for (size_t i = 0; name && i < ARRAY_SIZE(level_names); i++)
        if (strcmp(name, level_names[i]) == 0) {
            *ret = (enum log_level)i;
            return true;
        }
    return false;
}

static void add_json_member(struct buf *line, const char *key, const char *value)
{
    buf_add_char(line, line->length ? ',' : '{');
    json_write_string(line, key, strlen(key));
    buf_add_char(line, ':');
    json_write_string(line, value, strlen(value));
}

static void write_json(struct buf *line, const char *time, enum log_level level,
                       const char *message, va_list fields)
{
    const char *key, *value;

    add_json_member(line, "time", time);
    add_json_member(line, "level", level_names[level]);
    add_json_member(line, "message", message);
    while ((key = va_arg(fields, const char *))) {
        value = va_arg(fields, const char *);
        if (value)
            add_json_member(line, key, value);
    }
    buf_add_str(line, "}\n");
}

static bool has_hidden_character(const char *text)
{
    size_t length = strlen(text);

    for (size_t at = 0, n; at < length; at += n) {
        n = utf8_char(text + at, length - at);
        if (!n || utf8_is_hidden(utf8_code_point(text + at, n)))
            return true;
    }
    return false;
}

/* Quotes text with hidden characters, and values with spaces, quotes or '='. So a line stays one
 * line, and the end of a value is clear. */
static void add_text(struct buf *line, const char *text, bool is_value)
{
    if (has_hidden_character(text) || (is_value && (!*text || strpbrk(text, " \"="))))
        json_write_string(line, text, strlen(text));
    else
        buf_add_str(line, text);
}

static void write_text(struct buf *line, const char *time, enum log_level level,
                       const char *message, va_list fields)
{
    const char *key, *value;

    buf_add(line, time + strlen("2026-01-02T"), strlen("03:04:05"));
    buf_printf(line, " %s ", level_labels[level]);
    add_text(line, message, false);
    for (bool first = true; (key = va_arg(fields, const char *));) {
        value = va_arg(fields, const char *);
        if (!value)
            continue;
        buf_add_str(line, first ? "  " : " ");
        first = false;
        buf_add_str(line, key);
        buf_add_char(line, '=');
        add_text(line, value, true);
    }
    buf_add_char(line, '\n');
}

static void log_line(enum log_level level, const char *message, va_list fields)
{
    _cleanup_buf_ struct buf line = BUF_INIT;
    char time[TIMESTAMP_SIZE];

    if (!installed.write || level < installed.level)
        return;
    timestamp_format_milli(installed.now ? installed.now() : 0, time);
    if (installed.text)
        write_text(&line, time, level, message, fields);
    else
        write_json(&line, time, level, message, fields);
    installed.write(line.data, line.length);
}

#define DEFINE_LOG_FUNCTION(name, level)  \
    void name(const char *message, ...)   \
    {                                     \
        va_list fields;                   \
                                          \
        va_start(fields, message);        \
        log_line(level, message, fields); \
        va_end(fields);                   \
    }

DEFINE_LOG_FUNCTION(log_debug, LOG_DEBUG)
DEFINE_LOG_FUNCTION(log_info, LOG_INFO)
DEFINE_LOG_FUNCTION(log_warn, LOG_WARN)
DEFINE_LOG_FUNCTION(log_error, LOG_ERROR)
