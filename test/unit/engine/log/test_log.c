#include <pthread.h>

#include "engine/base/buf.h"
#include "engine/base/cleanup.h"
#include "engine/log/log.h"
#include "engine/value/json.h"
#include "test/unit/suite.h"

static struct buf lines;
static size_t n_writes, n_broken;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int64_t fixed_time(void)
{
    return INT64_C(1767323045678);
}

static void keep(const char *line, size_t length)
{
    pthread_mutex_lock(&lock);
    buf_add(&lines, line, length);
    n_writes++;
    if (memchr(line, '\n', length) != line + length - 1)
        n_broken++;
    pthread_mutex_unlock(&lock);
}

static void begin(enum log_level level, bool text)
{
    buf_init(&lines, 0);
    n_writes = n_broken = 0;
    log_open(&(struct log_sink){.now = fixed_time, .write = keep, .level = level, .text = text});
}

static void end(void)
{
    log_open(NULL);
    buf_done(&lines);
}

static void does_nothing_until_opened(void)
{
    buf_init(&lines, 0);
    n_writes = 0;
    log_open(NULL);
    log_error("nobody hears", NULL);
    EXPECT_INT(n_writes, 0, NULL);
    buf_done(&lines);
}

static void writes_fields_in_order(void)
{
    begin(LOG_DEBUG, false);
    log_info("release finished", "spec", "team-a/web", "left-out", NULL, "phase", "Succeeded",
             NULL);
    EXPECT_STR(
        lines.data,
        "{\"time\":\"2026-01-02T03:04:05.678Z\",\"level\":\"info\","
        "\"message\":\"release finished\",\"spec\":\"team-a/web\",\"phase\":\"Succeeded\"}\n",
        NULL);
    EXPECT_INT(n_writes, 1, "a line is one write");
    end();
}

static void every_line_is_json_whatever_it_says(void)
{
    static const char nasty[] = "\"quoted\" \\ \n\r\t\001\x7f \u2028 \xff \U0001f600";
    _cleanup_value_ const struct value *value = NULL;
    struct error error = {0};

    begin(LOG_DEBUG, false);
    log_warn(nasty, nasty, nasty, NULL);
    EXPECT_INT(n_broken, 0, "lines in a line");
    EXPECT_INT(json_read(lines.data, lines.length, &value, &error), 0, error.message);
    EXPECT_STR(value_get_string(value, "message"),
               "\"quoted\" \\ \n\r\t\001\x7f \u2028 \ufffd \U0001f600", NULL);
    EXPECT_INT(value_count(value), 4, NULL);
    end();
}

/* Neither the terminal nor a person is led to see something else. */
static void nothing_is_hidden_in_a_line(void)
{
    static const char *const names[] = {"a\u202eb",
                                        "a\xc2\x9b"
                                        "b",
                                        "a\u200bb", "a\x1b[31mb", "a\U000e0041b"};

    for (int is_text = 0; is_text < 2; is_text++)
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
            begin(LOG_DEBUG, is_text);
            log_warn(names[i], "name", names[i], NULL);
            for (size_t at = 0; at + 1 < lines.length; at++)
                EXPECT((unsigned char)lines.data[at] >= ' ' && (unsigned char)lines.data[at] < 0x7f,
                       names[i]);
            EXPECT(strstr(lines.data, "a\\u"), "escaped");
            end();
        }
}

static void leaves_out_lower_levels(void)
{
    static const enum log_level levels[] = {LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR};

    for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
        begin(levels[i], false);
        log_debug("m", NULL);
        log_info("m", NULL);
        log_warn("m", NULL);
        log_error("m", NULL);
        EXPECT_INT(n_writes, 4 - (int)i, "lines");
        end();
    }
}

static void writes_text_for_people(void)
{
    begin(LOG_DEBUG, true);
    log_info("started", NULL);
    log_warn("odd", "none", NULL, "spec", "team-a/web", "error", "is not there", "empty", "", "a",
             "b=\"c\"", "lines", "1\n2", NULL);
    log_error("two\nlines", NULL);
    EXPECT_STR(lines.data,
               "03:04:05 INFO  started\n"
               "03:04:05 WARN  odd  spec=team-a/web error=\"is not there\" empty=\"\" "
               "a=\"b=\\\"c\\\"\" lines=\"1\\n2\"\n"
               "03:04:05 ERROR \"two\\nlines\"\n",
               NULL);
    end();
}

static void parses_levels(void)
{
    static const char *const names[] = {"debug", "info", "warn", "error"};
    static const char *const wrong[] = {"", "INFO", "information", "warning", " info"};
    enum log_level level;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        level = (enum log_level)99;
        EXPECT(log_level_parse(names[i], &level), names[i]);
        EXPECT_INT(level, (int)i, names[i]);
    }
    level = (enum log_level)99;
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        EXPECT(!log_level_parse(wrong[i], &level), wrong[i]);
    EXPECT(!log_level_parse(NULL, &level), "NULL");
    EXPECT_INT(level, 99, "untouched");
}

static void *write_many(void *name)
{
    for (int i = 0; i < 200; i++)
        log_info("from a thread", "thread", name, NULL);
    return NULL;
}

static void threads_write_whole_lines(void)
{
    static char names[4][2] = {"a", "b", "c", "d"};
    pthread_t threads[4];

    begin(LOG_DEBUG, false);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, write_many, names[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    EXPECT_INT(n_writes, 800, NULL);
    EXPECT_INT(n_broken, 0, NULL);
    end();
}

SUITE(log, TEST(does_nothing_until_opened), TEST(writes_fields_in_order),
      TEST(every_line_is_json_whatever_it_says), TEST(nothing_is_hidden_in_a_line),
      TEST(leaves_out_lower_levels), TEST(writes_text_for_people), TEST(parses_levels),
      TEST(threads_write_whole_lines))
