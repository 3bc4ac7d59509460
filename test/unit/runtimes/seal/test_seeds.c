/* When a seed is drawn, when the source is asked, and what happens while it does not answer. */
#include "engine/base/str.h"
#include "engine/threads/thread.h"
#include "runtimes/seal/format.h"
#include "runtimes/seal/seeds.h"
#include "test/unit/runtimes/seal/fake_source.h"
#include "test/unit/suite.h"

#define HOUR (INT64_C(3600) * 1000)

static const struct store_call plain;

struct desk {
    struct fake_source fake;
    struct seal_keys *keys;
    struct error error;
};

static struct seal_keys *make_keys(struct fake_source *fake)
{
    return seal_keys_new((struct seal_source *[]){&fake->base}, 1, false, &late_clock);
}

static void desk_init(struct desk *desk)
{
    *desk = (struct desk){0};
    fake_source_init(&desk->fake);
    desk->keys = make_keys(&desk->fake);
}

static void desk_done(struct desk *desk)
{
    seal_keys_free(desk->keys);
    fake_source_done(&desk->fake);
}

/* The seed's first bytes as a number; 0: an error. */
static unsigned current(struct desk *desk)
{
    struct seed *seed = NULL;
    unsigned first = 0;

    err_clear(&desk->error);
    if (seal_keys_current(desk->keys, &plain, &seed, &desk->error) < 0)
        return 0;
    memcpy(&first, seed->bytes, sizeof(first));
    seed_unref(seed);
    return first;
}

static void expect_calls(struct desk *desk, unsigned currents, unsigned wraps, unsigned unwraps,
                         const char *note)
{
    EXPECT_INT(fake_source_calls(&desk->fake, FAKE_CURRENT), currents, note);
    EXPECT_INT(fake_source_calls(&desk->fake, FAKE_WRAP), wraps, note);
    EXPECT_INT(fake_source_calls(&desk->fake, FAKE_UNWRAP), unwraps, note);
}

static void one_seed_serves_for_a_day(void)
{
    struct desk desk;
    unsigned first;

    desk_init(&desk);
    first = current(&desk);
    EXPECT(first, desk.error.message);
    expect_calls(&desk, 1, 1, 1, "drawn, and proved");
    EXPECT_INT(current(&desk), first, "the same");
    late_clock_add(23 * HOUR);
    EXPECT_INT(current(&desk), first, "the same");
    expect_calls(&desk, 3, 1, 1, "nothing but the question");
    late_clock_add(HOUR);
    EXPECT(current(&desk) != first, "a day later");
    expect_calls(&desk, 4, 2, 2, "another");
    desk_done(&desk);
}

static void another_key_draws_another_seed(void)
{
    struct desk desk;
    unsigned first;

    desk_init(&desk);
    first = current(&desk);
    desk.fake.key = "b";
    EXPECT(current(&desk) != first, "another key");
    expect_calls(&desk, 2, 2, 2, "another");
    desk_done(&desk);
}

/* Whatever fails, and whoever asks: the seed at hand goes on for two days. */
static void a_source_that_fails_stops_nothing_at_first(void)
{
    for (int call = FAKE_CURRENT; call < FAKE_CALLS; call++) {
        struct desk desk;
        unsigned first;

        desk_init(&desk);
        first = current(&desk);
        desk.fake.fails[call] = true;
        desk.fake.key = "b";
        EXPECT_INT(current(&desk), first, "goes on");
        EXPECT_INT(fake_source_calls(&desk.fake, FAKE_CURRENT), 2, "asked");
        EXPECT_INT(current(&desk), first, "goes on");
        EXPECT_INT(fake_source_calls(&desk.fake, FAKE_CURRENT), 2, "not again for a while");
        late_clock_add(11 * 1000);
        EXPECT_INT(current(&desk), first, "goes on");
        EXPECT_INT(fake_source_calls(&desk.fake, FAKE_CURRENT), 3, "again");
        late_clock_add(47 * HOUR);
        EXPECT_INT(current(&desk), first, "goes on");
        late_clock_add(HOUR);
        EXPECT_INT(current(&desk), 0, "it is too old");
        EXPECT_INT(desk.error.code, ERR_UNAVAILABLE, "its code");
        EXPECT_STR(desk.error.reason, SEAL_UNAVAILABLE, "its reason");
        EXPECT(strstr(desk.error.message, "the fake says no"), desk.error.message);
        desk.fake.fails[call] = false;
        EXPECT(current(&desk), "at once when it answers");
        desk_done(&desk);
    }
}

static void a_seed_that_does_not_come_back_is_not_used(void)
{
    struct desk desk;

    desk_init(&desk);
    desk.fake.fails[FAKE_UNWRAP] = true;
    EXPECT_INT(current(&desk), 0, "cannot be unwrapped");
    EXPECT(strstr(desk.error.message, "cannot be unwrapped, so it is not used"),
           desk.error.message);
    desk.fake.fails[FAKE_UNWRAP] = false;
    desk.fake.exchanges = true;
    EXPECT_INT(current(&desk), 0, "another came back");
    EXPECT(strstr(desk.error.message, "another one came back"), desk.error.message);
    EXPECT_STR(desk.error.reason, SEAL_UNAVAILABLE, "its reason");
    desk.fake.exchanges = false;
    EXPECT(current(&desk), "right");
    desk_done(&desk);
}

/* ---- Seeds of parts ---- */

/* A block of a part that another process sealed. */
static void make_block(struct buf *to, unsigned number)
{
    struct seal_wrapped wrapped = SEAL_WRAPPED_INIT;
    unsigned char seed[SEAL_SEED_SIZE] = {0};

    memcpy(seed, &number, sizeof(number));
    wrapped.provider = str_new("fake");
    wrapped.key_id = str_new("a");
    buf_add(&wrapped.bytes, seed, sizeof(seed));
    seal_block_write(to, &wrapped);
    seal_wrapped_done(&wrapped);
}

static int unwrap(struct desk *desk, unsigned number, const struct store_call *call)
{
    _cleanup_buf_ struct buf block = BUF_INIT;
    struct seed *seed = NULL;
    unsigned first = 0;
    int r;

    make_block(&block, number);
    err_clear(&desk->error);
    r = seal_keys_unwrap(desk->keys, call, block.data, block.length, &seed, &desk->error);
    if (r < 0)
        return r;
    memcpy(&first, seed->bytes, sizeof(first));
    EXPECT_INT(first, number, "the right seed");
    seed_unref(seed);
    return 0;
}

static void a_few_seeds_are_remembered(void)
{
    struct desk desk;

    desk_init(&desk);
    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 0; i < 64; i++)
            EXPECT_INT(unwrap(&desk, 1000 + i, &plain), 0, desk.error.message);
    EXPECT_INT(fake_source_calls(&desk.fake, FAKE_UNWRAP), 64, "each once");
    EXPECT_INT(unwrap(&desk, 1, &plain), 0, "one more");
    EXPECT_INT(unwrap(&desk, 1063, &plain), 0, "used lately");
    EXPECT_INT(fake_source_calls(&desk.fake, FAKE_UNWRAP), 65, "remembered");
    EXPECT_INT(unwrap(&desk, 1000, &plain), 0, "the oldest");
    EXPECT_INT(fake_source_calls(&desk.fake, FAKE_UNWRAP), 66, "forgotten");
    desk_done(&desk);
}

static void a_failure_is_not_remembered(void)
{
    struct desk desk;

    desk_init(&desk);
    desk.fake.fails[FAKE_UNWRAP] = true;
    EXPECT_INT(unwrap(&desk, 5, &plain), ERR_UNAVAILABLE, "fails");
    EXPECT_STR(desk.error.reason, SEAL_UNAVAILABLE, "its reason");
    desk.fake.fails[FAKE_UNWRAP] = false;
    EXPECT_INT(unwrap(&desk, 5, &plain), 0, "asked anew");
    desk_done(&desk);
}

static void a_block_that_is_none_is_damage(void)
{
    static const char *const blocks[] = {"", "\0\4fake", "\0\1a\0\1b\0\1c\xff\xff"};
    struct desk desk;
    struct seed *seed = NULL;

    desk_init(&desk);
    for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
        EXPECT_INT(seal_keys_unwrap(desk.keys, &plain, blocks[i],
                                    i == 0   ? 0
                                    : i == 1 ? 6
                                             : 11,
                                    &seed, &desk.error),
                   ERR_CORRUPT, "no block");
    EXPECT_INT(fake_source_calls(&desk.fake, FAKE_UNWRAP), 0, "nobody was asked");
    desk_done(&desk);
}

/* ---- Many at once ---- */

struct reader {
    struct desk *desk;
    struct cancel *cancel;
    int r;
};

static void *run_reader(void *arg)
{
    struct reader *reader = arg;
    struct desk own = {.keys = reader->desk->keys};
    const struct store_call call = {.cancel = reader->cancel};

    reader->r = unwrap(&own, 77, &call);
    return NULL;
}

static void many_wait_for_one_answer(void)
{
    for (int fails = 0; fails < 2; fails++) {
        struct reader readers[8];
        pthread_t threads[8];
        struct desk desk;

        desk_init(&desk);
        desk.fake.holds = true;
        desk.fake.fails[FAKE_UNWRAP] = fails;
        for (size_t i = 0; i < ARRAY_SIZE(readers); i++) {
            readers[i] = (struct reader){.desk = &desk};
            threads[i] = thread_must_start("reader", run_reader, &readers[i]);
        }
        fake_source_wait(&desk.fake, FAKE_UNWRAP, 1);
        fake_source_release(&desk.fake);
        for (size_t i = 0; i < ARRAY_SIZE(readers); i++) {
            pthread_join(threads[i], NULL);
            EXPECT_INT(readers[i].r, fails ? ERR_UNAVAILABLE : 0, "its answer");
        }
        EXPECT(fails || fake_source_calls(&desk.fake, FAKE_UNWRAP) == 1, "asked once");
        desk_done(&desk);
    }
}

static void who_waits_can_be_cancelled(void)
{
    _cleanup_(cancel_free_p) struct cancel *cancel = cancel_new(NULL);
    struct desk desk;
    struct reader first = {.desk = &desk}, second = {.desk = &desk, .cancel = cancel};
    pthread_t threads[2];

    desk_init(&desk);
    desk.fake.holds = true;
    threads[0] = thread_must_start("reader", run_reader, &first);
    fake_source_wait(&desk.fake, FAKE_UNWRAP, 1);
    threads[1] = thread_must_start("reader", run_reader, &second);
    cancel_fire(cancel, "Superseded");
    pthread_join(threads[1], NULL);
    EXPECT_INT(second.r, ERR_CANCELLED, "it does not wait");
    fake_source_release(&desk.fake);
    pthread_join(threads[0], NULL);
    EXPECT_INT(first.r, 0, "the other one does");
    desk_done(&desk);
}

static void who_waits_waits_no_longer_than_it_may(void)
{
    struct desk desk;
    struct reader first = {.desk = &desk};
    struct store_call call = {0};
    pthread_t thread;

    desk_init(&desk);
    desk.fake.holds = true;
    thread = thread_must_start("reader", run_reader, &first);
    fake_source_wait(&desk.fake, FAKE_UNWRAP, 1);
    call.deadline = late_clock.monotonic(&late_clock) + 20;
    EXPECT_INT(unwrap(&desk, 77, &call), ERR_UNAVAILABLE, "its time is over");
    EXPECT(strstr(desk.error.message, "another call still waits"), desk.error.message);
    fake_source_release(&desk.fake);
    pthread_join(thread, NULL);
    desk_done(&desk);
}

static void *run_current(void *arg)
{
    struct reader *reader = arg;
    struct desk own = {.keys = reader->desk->keys};

    reader->r = current(&own) ? 0 : own.error.code;
    return NULL;
}

static void who_waits_in_vain_is_told_what_failed_before(void)
{
    struct desk desk;
    struct reader first = {.desk = &desk};
    struct store_call call = {0};
    struct seed *seed = NULL;
    pthread_t thread;

    desk_init(&desk);
    desk.fake.fails[FAKE_CURRENT] = true;
    EXPECT_INT(current(&desk), 0, "no seed");
    desk.fake.fails[FAKE_CURRENT] = false;
    desk.fake.holds = true;
    thread = thread_must_start("sealer", run_current, &first);
    fake_source_wait(&desk.fake, FAKE_UNWRAP, 1);
    call.deadline = late_clock.monotonic(&late_clock) + 20;
    err_clear(&desk.error);
    EXPECT_INT(seal_keys_current(desk.keys, &call, &seed, &desk.error), ERR_UNAVAILABLE, "in vain");
    EXPECT(strstr(desk.error.message, "the fake says no"), desk.error.message);
    fake_source_release(&desk.fake);
    pthread_join(thread, NULL);
    EXPECT_INT(first.r, 0, "the other one has its seed");
    desk_done(&desk);
}

/* ---- Several sources ---- */

static void the_first_seals_and_all_open(void)
{
    struct fake_source old, new;
    struct seal_keys *before, *both;
    struct seed *seed = NULL, *back = NULL, *fresh = NULL;
    struct error error = {0};

    fake_source_init(&old);
    fake_source_init(&new);
    before = make_keys(&old);
    both = seal_keys_new((struct seal_source *[]){&new.base, &old.base}, 2, false, &late_clock);
    EXPECT_INT(seal_keys_current(before, &plain, &seed, &error), 0, error.message);
    new.fails[FAKE_UNWRAP] = true; /* as if it were another KMS */
    EXPECT_INT(seal_keys_unwrap(both, &plain, seed->block.data, seed->block.length, &back, &error),
               0, error.message);
    EXPECT(memcmp(back->bytes, seed->bytes, SEAL_SEED_SIZE) == 0, "the second one opened it");
    new.fails[FAKE_UNWRAP] = false;
    EXPECT_INT(seal_keys_current(both, &plain, &fresh, &error), 0, error.message);
    EXPECT_INT(fake_source_calls(&new, FAKE_WRAP), 1, "the first one seals");
    EXPECT_INT(fake_source_calls(&old, FAKE_WRAP), 1, "only before");
    seed_unref(seed);
    seed_unref(back);
    seed_unref(fresh);
    seal_keys_free(before);
    seal_keys_free(both);
    fake_source_done(&old);
    fake_source_done(&new);
}

SUITE(seal_seeds, TEST(one_seed_serves_for_a_day), TEST(another_key_draws_another_seed),
      TEST(a_source_that_fails_stops_nothing_at_first),
      TEST(a_seed_that_does_not_come_back_is_not_used), TEST(a_few_seeds_are_remembered),
      TEST(a_failure_is_not_remembered), TEST(a_block_that_is_none_is_damage),
      TEST(many_wait_for_one_answer), TEST(who_waits_can_be_cancelled),
      TEST(who_waits_waits_no_longer_than_it_may),
      TEST(who_waits_in_vain_is_told_what_failed_before), TEST(the_first_seals_and_all_open))
