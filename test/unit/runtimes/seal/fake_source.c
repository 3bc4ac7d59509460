#include "test/unit/runtimes/seal/fake_source.h"

#include <stdatomic.h>
#include <string.h>

#include "engine/base/str.h"
#include "runtimes/io/clock.h"

/* Lock taken. An error if it is to fail. */
static int begin(struct fake_source *fake, enum fake_call call, struct error *error)
{
    pthread_mutex_lock(&fake->lock);
    fake->calls[call]++;
    pthread_cond_broadcast(&fake->changed);
    return fake->fails[call] ? err_set(error, ERR_TIMEOUT, NULL, "the fake says no") : 0;
}

static void fake_free(struct seal_source *base)
{
    (void)base;
}

static int fake_current(struct seal_source *base, const struct store_call *call, char **ret,
                        struct error *error)
{
    struct fake_source *fake = (struct fake_source *)base;
    int r = begin(fake, FAKE_CURRENT, error);

    (void)call;
    if (r >= 0)
        *ret = str_new(fake->key);
    pthread_mutex_unlock(&fake->lock);
    return r;
}

static int fake_wrap(struct seal_source *base, const struct store_call *call,
                     const unsigned char seed[SEAL_SEED_SIZE], struct seal_wrapped *ret,
                     struct error *error)
{
    struct fake_source *fake = (struct fake_source *)base;
    int r = begin(fake, FAKE_WRAP, error);

    (void)call;
    if (r >= 0) {
        ret->provider = str_new("fake");
        ret->key_id = str_new(fake->key);
        buf_add(&ret->bytes, seed, SEAL_SEED_SIZE); /* it is no secret here */
    }
    pthread_mutex_unlock(&fake->lock);
    return r;
}

static int fake_unwrap(struct seal_source *base, const struct store_call *call,
                       const struct seal_wrapped *wrapped, unsigned char ret_seed[SEAL_SEED_SIZE],
                       struct error *error)
{
    struct fake_source *fake = (struct fake_source *)base;
    int r = begin(fake, FAKE_UNWRAP, error);

    (void)call;
    while (fake->holds)
        pthread_cond_wait(&fake->changed, &fake->lock);
    if (r >= 0) {
        memcpy(ret_seed, wrapped->bytes.data, SEAL_SEED_SIZE);
        ret_seed[0] ^= fake->exchanges;
    }
    pthread_mutex_unlock(&fake->lock);
    return r;
}

void fake_source_init(struct fake_source *fake)
{
    static const struct seal_source_ops ops = {"fake", fake_free, fake_current, fake_wrap,
                                               fake_unwrap};

    *fake = (struct fake_source){.base = {&ops}, .key = "a"};
    pthread_mutex_init(&fake->lock, NULL);
    pthread_cond_init(&fake->changed, NULL);
}

void fake_source_done(struct fake_source *fake)
{
    pthread_cond_destroy(&fake->changed);
    pthread_mutex_destroy(&fake->lock);
}

unsigned fake_source_calls(struct fake_source *fake, enum fake_call call)
{
    unsigned count;

    pthread_mutex_lock(&fake->lock);
    count = fake->calls[call];
    pthread_mutex_unlock(&fake->lock);
    return count;
}

void fake_source_wait(struct fake_source *fake, enum fake_call call, unsigned count)
{
    pthread_mutex_lock(&fake->lock);
    while (fake->calls[call] < count)
        pthread_cond_wait(&fake->changed, &fake->lock);
    pthread_mutex_unlock(&fake->lock);
}

void fake_source_release(struct fake_source *fake)
{
    pthread_mutex_lock(&fake->lock);
    fake->holds = false;
    pthread_cond_broadcast(&fake->changed);
    pthread_mutex_unlock(&fake->lock);
}

/* ---- The clock ---- */

static _Atomic int64_t added;

static int64_t late_monotonic(const struct clock_source *clock)
{
    (void)clock;
    return system_clock.monotonic(&system_clock) + added;
}

static void late_wait(const struct clock_source *clock, pthread_cond_t *condition,
                      pthread_mutex_t *mutex, int64_t until)
{
    (void)clock;
    system_clock.wait(&system_clock, condition, mutex,
                      until == CLOCK_FOREVER ? until : until - added);
}

const struct clock_source late_clock = {.monotonic = late_monotonic, .wait = late_wait};

void late_clock_add(int64_t ms)
{
    added += ms;
}
