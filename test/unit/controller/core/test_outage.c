#include "controller/core/outage.h"

#include "test/unit/suite.h"

static void expect(struct outage *outage, const char *what, const char *note)
{
    _cleanup_buf_ struct buf text = BUF_INIT;

    EXPECT_INT(outage_is(outage, &text), what != NULL, note);
    EXPECT_STR(text.data, what ? what : "", note);
    EXPECT_INT(outage_is(outage, NULL), what != NULL, note);
}

static void tells_how_long_it_lasts(void)
{
    struct error error = {.code = ERR_UNAVAILABLE, .reason = "Unavailable"};
    struct outage outage;

    outage_init(&outage, "nothing is known yet");
    EXPECT_INT(outage_lasts(&outage, 500), 0, "nothing failed");
    outage_goes_on(&outage, &error, 1000);
    outage_goes_on(&outage, &error, 3000);
    EXPECT_INT(outage_lasts(&outage, 3500), 2500, "since the first failure");
    outage_ends(&outage);
    EXPECT_INT(outage_lasts(&outage, 4000), 0, "over");
    outage_goes_on(&outage, &error, 5000);
    EXPECT_INT(outage_lasts(&outage, 5001), 1, "another");
    outage_done(&outage);
}

static void lasts_until_it_ends(void)
{
    struct outage outage;
    struct error error = {0};

    outage_init(&outage, "nothing is known yet");
    expect(&outage, "nothing is known yet", "before the first try");
    err_set(&error, ERR_FORBIDDEN, "Forbidden", "we may not");
    outage_goes_on(&outage, &error, 0);
    expect(&outage, "Forbidden (the log has the message)", "failed");
    outage_ends(&outage);
    expect(&outage, NULL, "ended");
    outage_goes_on(&outage, &error, 0);
    expect(&outage, "Forbidden (the log has the message)", "failed again");
    outage_done(&outage);
}

static void is_logged_when_it_is_new_and_every_minute(void)
{
    static const struct {
        const char *note;
        int64_t at;
        const char *reason; /* NULL: it ends */
        bool is_due;
    } rows[] = {
        {"the first", 1000, "Unavailable", true},
        {"the same", 2000, "Unavailable", false},
        {"another", 3000, "Forbidden", true},
        {"the same as that", 62999, "Forbidden", false},
        {"a minute later", 63000, "Forbidden", true},
        {"and on", 64000, "Forbidden", false},
        {"the end", 65000, NULL, false},
        {"from the beginning", 66000, "Forbidden", true},
    };
    struct outage outage;

    outage_init(&outage, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct error error = {0};

        if (!rows[i].reason) {
            outage_ends(&outage);
            continue;
        }
        err_set(&error, ERR_UNAVAILABLE, rows[i].reason, "at %lld", (long long)rows[i].at);
        EXPECT_INT(outage_goes_on(&outage, &error, rows[i].at), rows[i].is_due, rows[i].note);
    }
    outage_done(&outage);
}

SUITE(outage, TEST(tells_how_long_it_lasts), TEST(lasts_until_it_ends),
      TEST(is_logged_when_it_is_new_and_every_minute))
