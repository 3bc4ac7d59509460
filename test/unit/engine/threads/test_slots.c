#include <pthread.h>
#include <unistd.h>

#include "engine/threads/slots.h"
#include "test/unit/suite.h"

#define PATIENCE 2000 /* x 1 ms */

/* A clock on which it is always 1. */
static int64_t now(const struct clock_source *clock)
{
    (void)clock;
    return 1;
}

static void wait(const struct clock_source *clock, pthread_cond_t *condition,
                 pthread_mutex_t *mutex, int64_t until)
{
    (void)clock, (void)until;
    pthread_cond_wait(condition, mutex);
}

static const struct clock_source frozen = {.monotonic = now, .wait = wait};

static struct slot slot_of(struct slots *slots, const char *namespace_name)
{
    return (struct slot){.slots = slots, .namespace_name = namespace_name};
}

static int try_now(struct slot *slot)
{
    return slot_take(slot, 0, NULL, NULL);
}

static void a_namespace_has_its_part(void)
{
    static const struct {
        const char *note, *namespace_name;
        int code;
    } rows[] = {
        {"the first", "a", 0},
        {"the second is its part", "a", 0},
        {"and no more", "a", ERR_TIMEOUT},
        {"another one passes it", "b", 0},
        {"as far as there are slots", "b", ERR_TIMEOUT},
        {"whoever asks", "c", ERR_TIMEOUT},
    };
    _cleanup_(slots_free_p) struct slots *slots =
        slots_new(&(struct slots_config){.clock = &frozen, .count = 3, .max_per_namespace = 2});
    struct slot taken[ARRAY_SIZE(rows)];
    struct slots_stats stats;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        taken[i] = slot_of(slots, rows[i].namespace_name);
        EXPECT_INT(try_now(&taken[i]), rows[i].code, rows[i].note);
        EXPECT_INT(taken[i].is_taken, rows[i].code == 0, rows[i].note);
    }
    EXPECT_INT(try_now(&taken[0]), 0, "it has one");
    slots_stats(slots, &stats);
    EXPECT_INT(stats.taken, 3, "one for each that has one");
    EXPECT_INT(stats.waiting, 0, "nobody waits");
    slot_give_back(&taken[0]);
    EXPECT_INT(try_now(&taken[5]), 0, "one is free again");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        slot_give_back(&taken[i]);
    slots_stats(slots, &stats);
    EXPECT_INT(stats.taken, 0, "all are free");
}

static void without_slots_there_is_no_bound(void)
{
    struct slot slot = {0};

    EXPECT_INT(try_now(&slot), 0, NULL);
    EXPECT(slot.is_taken, "it may read what is large");
    slot_give_back(&slot);
    EXPECT(!slot.is_taken, NULL);
}

/* ---- Waiting ---- */

struct caller {
    struct slot slot;
    struct cancel *cancel;
    pthread_t thread;
    int code;
};

static void *call(void *arg)
{
    struct caller *caller = arg;

    caller->code = slot_take(&caller->slot, CLOCK_FOREVER, caller->cancel, NULL);
    return NULL;
}

static void begin(struct caller *caller, struct slots *slots, unsigned n_waiting)
{
    struct slots_stats stats = {0};

    caller->slot = slot_of(slots, caller->slot.namespace_name);
    pthread_create(&caller->thread, NULL, call, caller);
    for (int i = 0; i < PATIENCE && stats.waiting < n_waiting; i++) {
        usleep(1000);
        slots_stats(slots, &stats);
    }
    EXPECT_INT(stats.waiting, n_waiting, "it waits");
}

static void the_oldest_that_may_comes_first(void)
{
    _cleanup_(slots_free_p) struct slots *slots =
        slots_new(&(struct slots_config){.clock = &frozen, .count = 2, .max_per_namespace = 1});
    struct slot a = slot_of(slots, "a"), b = slot_of(slots, "b");
    struct caller again = {.slot = {.namespace_name = "a"}}, c = {.slot = {.namespace_name = "c"}};

    try_now(&a);
    try_now(&b);
    begin(&again, slots, 1);
    begin(&c, slots, 2);
    slot_give_back(&b);
    pthread_join(c.thread, NULL);
    EXPECT_INT(c.code, 0, "a has its part: c passes");
    EXPECT(!again.slot.is_taken, "it waits for a's");
    slot_give_back(&a);
    pthread_join(again.thread, NULL);
    EXPECT_INT(again.code, 0, "then it has it");
    slot_give_back(&again.slot);
    slot_give_back(&c.slot);
}

static void a_cancel_ends_the_wait(void)
{
    _cleanup_(slots_free_p) struct slots *slots =
        slots_new(&(struct slots_config){.clock = &frozen, .count = 1});
    _cleanup_(cancel_free_p) struct cancel *cancel = cancel_new(NULL);
    struct slot first = slot_of(slots, "a");
    struct caller caller = {.slot = {.namespace_name = "b"}, .cancel = cancel};

    try_now(&first);
    begin(&caller, slots, 1);
    cancel_fire(cancel, "Superseded");
    pthread_join(caller.thread, NULL);
    EXPECT_INT(caller.code, ERR_CANCELLED, NULL);
    slot_give_back(&caller.slot);
    slot_give_back(&first);
    EXPECT_INT(try_now(&first), 0, "none is lost");
    slot_give_back(&first);
}

SUITE(base_slots, TEST(a_namespace_has_its_part), TEST(without_slots_there_is_no_bound),
      TEST(the_oldest_that_may_comes_first), TEST(a_cancel_ends_the_wait))
