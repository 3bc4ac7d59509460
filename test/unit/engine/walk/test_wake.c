#include <stdlib.h>

#include "test/unit/engine/walk/stroll.h"
#include "test/unit/suite.h"

static struct stroll stroll;

/* ---- Revisits ---- */

static void comes_back_when_due(void)
{
    for (unsigned seed = 1; seed <= 10; seed++) {
        int64_t longest = 0;

        srand(seed);
        stroll_init(&stroll, &(struct stroll_config){.n = 40});
        stroll.now = 5;
        for (uint32_t i = 0; i < 40; i++) {
            stroll.plan[i].parks = (unsigned)rand() % 4;
            stroll.plan[i].retry_after = 1 + rand() % 500;
            if (stroll.plan[i].parks * stroll.plan[i].retry_after > longest)
                longest = stroll.plan[i].parks * stroll.plan[i].retry_after;
        }
        stroll_run(&stroll, 0);
        EXPECT_INT(stroll.now, 5 + longest, "none before its time, and none after it");
        EXPECT_INT(stroll.counts.done, 40, "all are done");
        for (uint32_t i = 0; i < 40; i++)
            EXPECT_INT(stroll.model[i].visits, stroll.plan[i].parks + 1, "visits");
        stroll_done(&stroll);
    }
}

static void comes_back_after_what_it_says(void)
{
    static const struct {
        const char *note;
        int64_t retry_after, due; /* retry_after -1: not set */
    } rows[] = {
        {"a second when it does not say", -1, 2000},
        {"what it says", 30, 1030},
        {"at once", 0, 1000},
        {"never, by itself", CLOCK_FOREVER, CLOCK_FOREVER},
        {"almost never", CLOCK_FOREVER - 5, CLOCK_FOREVER},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct walk_visit visit;
        int64_t due = -1;

        stroll_init(&stroll, &(struct stroll_config){.n = 1});
        EXPECT_INT(walk_next(stroll.walk, 1000, &visit, &due), WALK_VISIT, rows[i].note);
        if (rows[i].retry_after >= 0)
            visit.retry_after = rows[i].retry_after;
        walk_end_visit(stroll.walk, &visit, WALK_PARKED, 1000);
        EXPECT_INT(walk_next(stroll.walk, 999, &visit, &due), WALK_WAITING, rows[i].note);
        EXPECT_INT(due, rows[i].due, rows[i].note);
        if (due != CLOCK_FOREVER) {
            EXPECT_INT(walk_next(stroll.walk, due, &visit, &due), WALK_VISIT, rows[i].note);
            EXPECT_INT(visit.count, 1, rows[i].note);
            walk_end_visit(stroll.walk, &visit, WALK_PARKED, 1000);
        }
        stroll_done(&stroll);
    }
}

/* ---- Waking ---- */

static void wake_itself_twice(struct stroll *s, uint32_t node)
{
    stroll_wake(s, node);
    stroll_wake(s, node);
}

static void wake_each(struct stroll *s, uint32_t node)
{
    (void)node;
    for (uint32_t i = 0; i < s->config.n; i++)
        stroll_wake(s, i);
}

static void a_wake_during_a_visit_is_not_lost(void)
{
    static const struct {
        const char *note;
        void (*during)(struct stroll *s, uint32_t node);
    } rows[] = {{"itself", wake_itself_twice}, {"each", wake_each}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        for (unsigned parallelism = 1; parallelism <= 3; parallelism++) {
            stroll_init(&stroll, &(struct stroll_config){.n = 3, .parallelism = parallelism});
            stroll.plan[1].parks = 3;
            stroll.plan[1].retry_after = CLOCK_FOREVER;
            stroll.plan[1].during = rows[i].during;
            stroll_run(&stroll, 0);
            EXPECT_INT(stroll.model[1].visits, 4, "one more for each, not for each call");
            EXPECT_INT(stroll.counts.done, 3, "all are done");
            stroll_done(&stroll);
        }
}

/* A wake of one visit does not count for the next. */
static void a_wake_is_used_up(void)
{
    struct walk_visit visit;
    int64_t due;

    stroll_init(&stroll, &(struct stroll_config){.n = 1});
    walk_next(stroll.walk, 0, &visit, &due);
    EXPECT(!walk_wake(stroll.walk, 0), "under way");
    EXPECT(walk_end_visit(stroll.walk, &visit, WALK_PARKED, 0), "again at once");
    EXPECT_INT(walk_next(stroll.walk, 0, &visit, &due), WALK_VISIT, "again");
    EXPECT(!walk_end_visit(stroll.walk, &visit, WALK_PARKED, 0), "parked");
    EXPECT_INT(walk_next(stroll.walk, 0, &visit, &due), WALK_WAITING, "parked");
    EXPECT(walk_wake(stroll.walk, 0), "woken");
    EXPECT(!walk_wake(stroll.walk, 0), "woken before");
    EXPECT_INT(walk_next(stroll.walk, 0, &visit, &due), WALK_VISIT, "again");
    walk_end_visit(stroll.walk, &visit, WALK_PARKED, 0);
    EXPECT_INT(walk_next(stroll.walk, 0, &visit, &due), WALK_WAITING, "parked");
    stroll_done(&stroll);
}

/* Waking is for what is parked: nothing else is visited for it. */
static void a_wake_of_what_is_not_parked_is_nothing(void)
{
    static const struct graph_edge edges[] = {{3, 2}};

    stroll_init(&stroll, &(struct stroll_config){.n = 4, .edges = edges, .n_edges = 1});
    stroll.plan[0].during = stroll.plan[1].during = stroll.plan[3].during = wake_each;
    stroll.plan[2].fails = true;
    stroll_run(&stroll, 0);
    EXPECT_STR(stroll_order(&stroll), "0 1 2", "order");
    EXPECT_INT(stroll.counts.skipped, 1, "3 stays skipped");
    stroll_done(&stroll);
}

/* ---- Stopping ---- */

static void stop(struct stroll *s, uint32_t node)
{
    (void)node;
    stroll_stop(s, false);
    stroll_stop(s, true);
}

static void time_is_up(struct stroll *s, uint32_t node)
{
    (void)node;
    stroll_stop(s, true);
    stroll_stop(s, false);
}

/* 0 is parked, with 1 behind it; 2 is done; the stop comes during the visit of 3, behind which
 * 4 and 5 wait; 6 is free to go, but has not been visited. */
static void ends_what_is_left_when_stopped(void)
{
    static const struct {
        const char *note;
        void (*during)(struct stroll *s, uint32_t node);
        unsigned parks;
        bool fails;
        enum walk_outcome parked, under_way;
    } rows[] = {
        {"cancelled", stop, 0, false, WALK_OUTCOME_CANCELLED, WALK_OUTCOME_DONE},
        {"while it fails", stop, 0, true, WALK_OUTCOME_CANCELLED, WALK_OUTCOME_FAILED},
        {"while it parks", stop, 1, false, WALK_OUTCOME_CANCELLED, WALK_OUTCOME_CANCELLED},
        {"time is up", time_is_up, 0, false, WALK_OUTCOME_TIMED_OUT, WALK_OUTCOME_DONE},
        {"and it fails", time_is_up, 0, true, WALK_OUTCOME_TIMED_OUT, WALK_OUTCOME_FAILED},
        {"and it parks", time_is_up, 1, false, WALK_OUTCOME_TIMED_OUT, WALK_OUTCOME_TIMED_OUT},
    };
    static const struct graph_edge edges[] = {{1, 0}, {4, 3}, {5, 4}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        stroll_init(&stroll, &(struct stroll_config){.n = 7, .edges = edges, .n_edges = 3});
        stroll.plan[0].parks = 1;
        stroll.plan[0].retry_after = i % 2 ? CLOCK_FOREVER : 50;
        stroll.plan[3] = (struct plan_of_node){.during = rows[i].during,
                                               .parks = rows[i].parks,
                                               .fails = rows[i].fails,
                                               .releases_dependents = true};
        stroll_run(&stroll, 0);
        EXPECT_STR(stroll_order(&stroll), "0 2 3", rows[i].note);
        EXPECT_INT(stroll.model[0].outcome, rows[i].parked, rows[i].note);
        EXPECT_INT(stroll.model[1].outcome,
                   rows[i].parked == WALK_OUTCOME_TIMED_OUT ? WALK_OUTCOME_SKIPPED
                                                            : WALK_OUTCOME_CANCELLED,
                   "behind what is parked");
        EXPECT_INT(stroll.model[2].outcome, WALK_OUTCOME_DONE, "done before");
        EXPECT_INT(stroll.model[3].outcome, rows[i].under_way, rows[i].note);
        EXPECT_INT(stroll.model[4].outcome, WALK_OUTCOME_CANCELLED, "never begun");
        EXPECT_INT(stroll.model[6].outcome, WALK_OUTCOME_CANCELLED, "never begun");
        EXPECT(walk_is_over(stroll.walk), rows[i].note);
        stroll_done(&stroll);
    }
}

static void visits_nothing_when_stopped_before_it_begins(void)
{
    for (int up = 0; up < 2; up++) {
        stroll_init(&stroll, &(struct stroll_config){.n = 2});
        stroll_stop(&stroll, up);
        EXPECT(walk_is_over(stroll.walk), "at once");
        stroll_run(&stroll, 0);
        EXPECT_STR(stroll_order(&stroll), "", "no visits");
        EXPECT_INT(stroll.counts.cancelled, 2, "cancelled, as never visited");
        stroll_done(&stroll);
    }
}

SUITE(walk_wake, TEST(comes_back_when_due), TEST(comes_back_after_what_it_says),
      TEST(a_wake_during_a_visit_is_not_lost), TEST(a_wake_is_used_up),
      TEST(a_wake_of_what_is_not_parked_is_nothing), TEST(ends_what_is_left_when_stopped),
      TEST(visits_nothing_when_stopped_before_it_begins))
