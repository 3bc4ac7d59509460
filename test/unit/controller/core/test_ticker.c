#include "controller/core/ticker.h"

#include <stdatomic.h>
#include <unistd.h>

#include "runtimes/io/clock.h"
#include "test/unit/suite.h"

static void count(void *arg)
{
    atomic_fetch_add((_Atomic int *)arg, 1);
}

static void does_it_again_and_again(void)
{
    _Atomic int count_of = 0;
    int64_t begun = system_clock.monotonic(&system_clock);
    struct ticker *ticker = ticker_new(&system_clock, "ticker", 20, count, &count_of);

    for (unsigned i = 0; i < 60000 && atomic_load(&count_of) < 3; i++)
        usleep(1000);
    EXPECT(count_of >= 3, "in time");
    EXPECT(system_clock.monotonic(&system_clock) - begun >= 60, "not before its time");
    ticker_free(ticker);
    count_of = 0;
    usleep(50000);
    EXPECT_INT(count_of, 0, "over");
}

static void ends_without_waiting_for_its_time(void)
{
    _Atomic int count_of = 0;
    int64_t begun = system_clock.monotonic(&system_clock);
    struct ticker *ticker = ticker_new(&system_clock, "ticker", 3600000, count, &count_of);

    ticker_free(ticker);
    ticker_free(NULL);
    EXPECT(system_clock.monotonic(&system_clock) - begun < 60000, "at once");
    EXPECT_INT(count_of, 0, "never");
}

SUITE(ticker, TEST(does_it_again_and_again), TEST(ends_without_waiting_for_its_time))
