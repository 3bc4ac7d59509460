#include "engine/base/clock.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MS_PER_DAY INT64_C(86400000)

/* 0001-01-01T00:00:00.000Z and 9999-12-31T23:59:59.999Z */
#define FIRST_MS INT64_C(-62135596800000)
#define LAST_MS  INT64_C(253402300799999)

struct date {
    int64_t year;
    int month, day; /* both from 1 */
};

/*
 * The Gregorian calendar repeats every 400 years (146,097 days). This code counts years from March,
 * so that the leap day is the last day of a year, and the first day of a month is a linear function
 * of the month's number.
 */
static int64_t days_from_date(struct date date)
{
    int64_t year = date.month <= 2 ? date.year - 1 : date.year;
    int64_t era = year / 400; /* the year is never negative */
    int64_t year_of_era = year - era * 400;
    int64_t month = (date.month + 9) % 12; /* March is 0 */
    int64_t day_of_year = (153 * month + 2) / 5 + date.day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

    return era * 146097 + day_of_era - 719468; /* 1970-01-01 is 0 */
}

static struct date date_from_days(int64_t days)
{
    int64_t since = days + 719468;
    int64_t era = since / 146097;
    int64_t day_of_era = since - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * day_of_year + 2) / 153;
    struct date date = {
        .year = year_of_era + era * 400 + (month >= 10),
        .month = (int)(month < 10 ? month + 3 : month - 9),
        .day = (int)(day_of_year - (153 * month + 2) / 5 + 1),
    };

    return date;
}

static void format(int64_t unix_ms, bool micro, char ret_text[TIMESTAMP_SIZE])
{
    int64_t ms = unix_ms < FIRST_MS ? FIRST_MS : unix_ms > LAST_MS ? LAST_MS : unix_ms;
    int64_t of_day = (ms % MS_PER_DAY + MS_PER_DAY) % MS_PER_DAY;
    struct date date = date_from_days((ms - of_day) / MS_PER_DAY);
    int length = snprintf(ret_text, TIMESTAMP_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d", (int)date.year,
                          date.month, date.day, (int)(of_day / 3600000), (int)(of_day / 60000 % 60),
                          (int)(of_day / 1000 % 60));

    if (micro)
        snprintf(ret_text + length, TIMESTAMP_SIZE - (size_t)length, ".%03d000Z",
                 (int)(of_day % 1000));
    else
        snprintf(ret_text + length, TIMESTAMP_SIZE - (size_t)length, "Z");
}

void timestamp_format(int64_t unix_ms, char ret_text[TIMESTAMP_SIZE])
{
    format(unix_ms, false, ret_text);
}

void timestamp_format_micro(int64_t unix_ms, char ret_text[TIMESTAMP_SIZE])
{
    format(unix_ms, true, ret_text);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Takes exactly `width` digits off *text, and then `after` unless it is NUL. */
static bool take_number(const char **text, int width, char after, int *ret)
{
    int value = 0;

    for (int i = 0; i < width; i++, (*text)++) {
        if (!is_digit(**text))
            return false;
        value = value * 10 + (**text - '0');
    }
    if (after && **text != after)
        return false;
    if (after)
        (*text)++;
    *ret = value;
    return true;
}

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return month == 2 && leap ? 29 : days[month - 1];
}

static bool take_date(const char **text, struct date *ret)
{
    int year, month, day;

    if (!take_number(text, 4, '-', &year) || !take_number(text, 2, '-', &month) ||
        !take_number(text, 2, 0, &day))
        return false;
    if (year < 1 || month < 1 || month > 12 || day < 1 || day > days_in_month(year, month))
        return false;
    *ret = (struct date){.year = year, .month = month, .day = day};
    return true;
}

static bool take_time(const char **text, int64_t *ret_ms)
{
    int hour, minute, second, ms = 0;

    if (!take_number(text, 2, ':', &hour) || !take_number(text, 2, ':', &minute) ||
        !take_number(text, 2, 0, &second))
        return false;
    if (hour > 23 || minute > 59 || second > 59)
        return false;
    if (**text == '.') {
        (*text)++;
        if (!is_digit(**text))
            return false;
        for (int place = 100; is_digit(**text); place /= 10, (*text)++)
            ms += (**text - '0') * place;
    }
    *ret_ms = ((hour * 60 + minute) * 60 + second) * INT64_C(1000) + ms;
    return true;
}

static bool take_zone(const char **text, int64_t *ret_ms)
{
    char sign = *(*text)++;
    int hours, minutes;

    if (sign == 'Z' || sign == 'z') {
        *ret_ms = 0;
        return true;
    }
    if (sign != '+' && sign != '-')
        return false;
    if (!take_number(text, 2, ':', &hours) || !take_number(text, 2, 0, &minutes) || hours > 23 ||
        minutes > 59)
        return false;
    *ret_ms = (hours * 60 + minutes) * INT64_C(60000) * (sign == '-' ? -1 : 1);
    return true;
}

int64_t timestamp_parse(const char *text)
{
    struct date date;
    int64_t of_day, zone, ms;

    if (!text || !take_date(&text, &date) || (*text != 'T' && *text != 't'))
        return -1;
    text++;
    if (!take_time(&text, &of_day) || !take_zone(&text, &zone) || *text)
        return -1;
    ms = days_from_date(date) * MS_PER_DAY + of_day - zone;
    return ms < 0 ? -1 : ms;
}
