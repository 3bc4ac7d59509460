#include "engine/base/cleanup.h"
#include "engine/base/timestamp.h"
#include "test/unit/suite.h"

static const struct {
    const char *text;
    int64_t ms;
} instants[] = {
    {"1970-01-01T00:00:00Z", 0},
    {"1970-01-01T00:00:01Z", 1000},
    {"1999-12-31T23:59:59Z", INT64_C(946684799000)},
    {"2000-02-29T12:00:00Z", INT64_C(951825600000)},
    {"2000-03-01T00:00:00Z", INT64_C(951868800000)},
    {"2024-02-29T23:59:59Z", INT64_C(1709251199000)},
    {"2026-01-02T03:04:05Z", INT64_C(1767323045000)},
    {"2100-02-28T00:00:00Z", INT64_C(4107456000000)},
    {"2100-03-01T00:00:00Z", INT64_C(4107542400000)},
    {"9999-12-31T23:59:59Z", INT64_C(253402300799000)},
};

static void formats_seconds(void)
{
    char text[TIMESTAMP_SIZE];

    for (size_t i = 0; i < ARRAY_SIZE(instants); i++) {
        timestamp_format(instants[i].ms, text);
        EXPECT_STR(text, instants[i].text, NULL);
        timestamp_format(instants[i].ms + 999, text);
        EXPECT_STR(text, instants[i].text, "milliseconds are dropped");
    }
}

static void parses_seconds(void)
{
    static const char *const others[] = {"",
                                         "2026-01-02",
                                         "2026-01-02T03:04:05",
                                         "2026-01-02T03:04:05.5Z",
                                         "2026-13-02T03:04:05Z",
                                         "2026-01-02T03:04:05Z ",
                                         "yesterday"};

    for (size_t i = 0; i < ARRAY_SIZE(instants); i++)
        EXPECT_INT(timestamp_parse(instants[i].text), instants[i].ms, instants[i].text);
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        EXPECT_INT(timestamp_parse(others[i]), 0, others[i]);
}

static void formats_fractions(void)
{
    char text[TIMESTAMP_SIZE];

    timestamp_format_micro(INT64_C(1767323045678), text);
    EXPECT_STR(text, "2026-01-02T03:04:05.678000Z", NULL);
    timestamp_format_micro(INT64_C(1767323045006), text);
    EXPECT_STR(text, "2026-01-02T03:04:05.006000Z", NULL);
    timestamp_format_milli(INT64_C(1767323045006), text);
    EXPECT_STR(text, "2026-01-02T03:04:05.006Z", NULL);
}

static void clamps_the_year(void)
{
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {
        {-1, "1970-01-01T00:00:00.000000Z"},
        {INT64_MIN, "1970-01-01T00:00:00.000000Z"},
        {INT64_C(253402300799999), "9999-12-31T23:59:59.999000Z"},
        {INT64_C(253402300800000), "9999-12-31T23:59:59.999000Z"},
        {INT64_MAX, "9999-12-31T23:59:59.999000Z"},
    };
    char text[TIMESTAMP_SIZE];

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        timestamp_format_micro(rows[i].ms, text);
        EXPECT_STR(text, rows[i].text, NULL);
    }
}

SUITE(timestamp, TEST(formats_seconds), TEST(parses_seconds), TEST(formats_fractions),
      TEST(clamps_the_year))
