#include "engine/base/cleanup.h"
#include "engine/base/clock.h"
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

static void formats_and_parses_the_same_instants(void)
{
    char text[TIMESTAMP_SIZE];

    for (size_t i = 0; i < ARRAY_SIZE(instants); i++) {
        timestamp_format(instants[i].ms, text);
        EXPECT_STR(text, instants[i].text, NULL);
        EXPECT_INT(timestamp_parse(text), instants[i].ms, text);
        timestamp_format(instants[i].ms + 999, text);
        EXPECT_STR(text, instants[i].text, "milliseconds are dropped");
    }
}

static void every_day_of_four_centuries_comes_back(void)
{
    char text[TIMESTAMP_SIZE], before[TIMESTAMP_SIZE] = "";
    int wrong = 0;

    for (int64_t day = 0; day < 146097; day++) {
        timestamp_format(day * 86400000 + 12345000, text);
        if (timestamp_parse(text) != day * 86400000 + 12345000 || strcmp(before, text) >= 0)
            wrong++;
        memcpy(before, text, sizeof(before));
    }
    EXPECT_INT(wrong, 0, "days");
    EXPECT_STR(text, "2369-12-31T03:25:45Z", "the last of them");
}

static void formats_microseconds(void)
{
    char text[TIMESTAMP_SIZE];

    timestamp_format_micro(INT64_C(1767323045678), text);
    EXPECT_STR(text, "2026-01-02T03:04:05.678000Z", NULL);
    timestamp_format_micro(INT64_C(1767323045006), text);
    EXPECT_STR(text, "2026-01-02T03:04:05.006000Z", NULL);
    EXPECT_INT(timestamp_parse(text), INT64_C(1767323045006), NULL);
}

static void formats_the_past_and_clamps_what_has_no_year(void)
{
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {
        {-1, "1969-12-31T23:59:59Z"},
        {-86400000, "1969-12-31T00:00:00Z"},
        {INT64_C(-62135596800000), "0001-01-01T00:00:00Z"},
        {INT64_C(-62135596800001), "0001-01-01T00:00:00Z"},
        {INT64_MIN, "0001-01-01T00:00:00Z"},
        {INT64_C(253402300800000), "9999-12-31T23:59:59Z"},
        {INT64_MAX, "9999-12-31T23:59:59Z"},
    };
    char text[TIMESTAMP_SIZE];

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        timestamp_format(rows[i].ms, text);
        EXPECT_STR(text, rows[i].text, NULL);
    }
    timestamp_format_micro(INT64_MAX, text);
    EXPECT_STR(text, "9999-12-31T23:59:59.999000Z", NULL);
}

static void parses_fractions_and_zones(void)
{
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = {
        {"2026-01-02T03:04:05.6Z", INT64_C(1767323045600)},
        {"2026-01-02T03:04:05.678Z", INT64_C(1767323045678)},
        {"2026-01-02T03:04:05.678999999999Z", INT64_C(1767323045678)},
        {"2026-01-02T03:04:05.000001Z", INT64_C(1767323045000)},
        {"2026-01-02T03:04:05z", INT64_C(1767323045000)},
        {"2026-01-02t03:04:05Z", INT64_C(1767323045000)},
        {"2026-01-02T05:04:05+02:00", INT64_C(1767323045000)},
        {"2026-01-01T21:34:05-05:30", INT64_C(1767323045000)},
        {"2026-01-02T03:04:05-00:00", INT64_C(1767323045000)},
        {"2026-01-02T03:04:05.5+00:00", INT64_C(1767323045500)},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        EXPECT_INT(timestamp_parse(rows[i].text), rows[i].ms, rows[i].text);
}

static void refuses_what_is_no_timestamp(void)
{
    static const char *const rows[] = {
        "",
        "2026",
        "2026-01-02",
        "2026-01-02T03:04:05",
        "2026-01-02T03:04Z",
        "2026-01-02 03:04:05Z",
        "2026-01-02T03:04:05Z ",
        " 2026-01-02T03:04:05Z",
        "2026-1-2T03:04:05Z",
        "2026-13-02T03:04:05Z",
        "2026-00-02T03:04:05Z",
        "2026-02-29T03:04:05Z",
        "2100-02-29T03:04:05Z",
        "2026-04-31T03:04:05Z",
        "2026-01-00T03:04:05Z",
        "2026-01-02T24:00:00Z",
        "2026-01-02T03:60:05Z",
        "2026-01-02T03:04:60Z",
        "2026-01-02T03:04:05.Z",
        "2026-01-02T03:04:05,5Z",
        "2026-01-02T03:04:05+2:00",
        "2026-01-02T03:04:05+0200",
        "2026-01-02T03:04:05+24:00",
        "2026-01-02T03:04:05+00:60",
        "+2026-01-02T03:04:05Z",
        "12026-01-02T03:04:05Z",
        "0000-01-02T03:04:05Z",
        "0001-01-01T00:00:00Z",
        "1969-12-31T23:59:59Z",
        "1970-01-01T00:00:00+00:01",
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        EXPECT_INT(timestamp_parse(rows[i]), -1, rows[i]);
    EXPECT_INT(timestamp_parse(NULL), -1, "NULL");
}

static void parses_durations(void)
{
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = {
        {"0", 0},
        {"+0", 0},
        {"0s", 0},
        {"1s", 1000},
        {"+1s", 1000},
        {"10m0s", 600000},
        {"1h30m", 5400000},
        {"250ms", 250},
        {"1.5h", 5400000},
        {".5s", 500},
        {"1.s", 1000},
        {"0.1m", 6000},
        {"30m1h", 5400000},
        {"1m1ms", 60001},
        {"1000us", 1},
        {"1000\u00b5s", 1},
        {"1000\u03bcs", 1},
        {"1ns", 1},
        {"1500us", 2},
        {"0ns", 0},
        {"1.0000000000000000000000000001s", 1000},
        {"2562047h47m16.854775807s", INT64_C(9223372036855)},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        EXPECT_INT(duration_parse(rows[i].text), rows[i].ms, rows[i].text);
}

static void refuses_what_is_no_duration(void)
{
    static const char *const rows[] = {
        "",
        "+",
        "-",
        "1",
        "00",
        "0.0",
        "s",
        ".s",
        ".",
        "-1s",
        "-0s",
        "1s ",
        " 1s",
        "1 s",
        "1S",
        "1d",
        "1mm",
        "1h30",
        "1..5s",
        "1.5.5s",
        "1e3s",
        "++1s",
        "1s-1ms",
        "2562047h47m16.854775808s",
        "2562047.99h",
        "9223372036854775807h",
        "9223372036854775808ns",
        "99999999999999999999s",
        "2562047h2562047h",
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        EXPECT_INT(duration_parse(rows[i]), -1, rows[i]);
    EXPECT_INT(duration_parse(NULL), -1, "NULL");
}

SUITE(clock, TEST(formats_and_parses_the_same_instants),
      TEST(every_day_of_four_centuries_comes_back), TEST(formats_microseconds),
      TEST(formats_the_past_and_clamps_what_has_no_year), TEST(parses_fractions_and_zones),
      TEST(refuses_what_is_no_timestamp), TEST(parses_durations), TEST(refuses_what_is_no_duration))
