#include "runtimes/io/random.h"
#include "test/unit/suite.h"

static void stays_below_its_bound(void)
{
    static const uint64_t bounds[] = {1, 2, 3, 7, 1000, UINT64_C(1) << 63, UINT64_MAX};

    EXPECT_INT(random_below(0), 0, "0");
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
        for (int n = 0; n < 200; n++)
            CU_ASSERT(random_below(bounds[i]) < bounds[i]);
}

static void gives_all_numbers_about_as_often(void)
{
    unsigned counts[8] = {0};

    for (int n = 0; n < 8000; n++)
        counts[random_below(8)]++;
    for (int i = 0; i < 8; i++)
        CU_ASSERT(counts[i] > 800 && counts[i] < 1200);
}

static void backs_off_up_to_its_maximum(void)
{
    static const struct {
        unsigned attempt;
        int64_t base, maximum, whole;
    } rows[] = {
        {0, 100, 30000, 100},
        {1, 100, 30000, 200},
        {8, 100, 30000, 25600},
        {9, 100, 30000, 30000},
        {4000000000u, 100, 30000, 30000},
        {63, 1, INT64_MAX, INT64_MAX},
        {200, 3, INT64_MAX, INT64_MAX},
        {0, 500, 100, 100},
        {5, 0, 100, 0},
        {0, 1, 1, 1},
        {3, 100, 0, 0},
        {3, -5, 100, 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (int n = 0; n < 100; n++) {
            int64_t delay = backoff_delay(rows[i].attempt, rows[i].base, rows[i].maximum);

            CU_ASSERT(delay <= rows[i].whole);
            CU_ASSERT(delay >= rows[i].whole - rows[i].whole / 2);
        }
}

static void spreads_its_delays(void)
{
    int64_t least = INT64_MAX, most = 0;

    for (int n = 0; n < 1000; n++) {
        int64_t delay = backoff_delay(0, 10000, 10000);

        least = delay < least ? delay : least;
        most = delay > most ? delay : most;
    }
    CU_ASSERT(least < 5500);
    CU_ASSERT(most > 9500);
}

SUITE(random, TEST(stays_below_its_bound), TEST(gives_all_numbers_about_as_often),
      TEST(backs_off_up_to_its_maximum), TEST(spreads_its_delays))
