#include "engine/base/cleanup.h"
#include "engine/base/duration.h"
#include "test/unit/suite.h"

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

static void shows_durations(void)
{
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {{0, "0s"},        {999, "0s"},        {30000, "30s"},  {300000, "5m"},
                {90000, "1m30s"}, {5400000, "1h30m"}, {3600000, "1h"}, {3661000, "1h1m1s"}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *text = duration_show(rows[i].ms);

        EXPECT_STR(text, rows[i].text, rows[i].text);
    }
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

SUITE(duration, TEST(parses_durations), TEST(shows_durations), TEST(refuses_what_is_no_duration))
