#include "test/unit/engine/operation/fake_world.h"

#include <string.h>
#include <time.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"

#define BEGINNING 1000000 /* ms: no zero, which means "not" */
#define PACE      20

static struct fake_world *world_of(const struct clock_source *clock)
{
    return (struct fake_world *)(uintptr_t)clock;
}

static int64_t monotonic(const struct clock_source *clock)
{
    return atomic_load(&world_of(clock)->now);
}

static void wait_a_millisecond(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, &until);
}

/* Never backwards, whatever other threads do to the clock. */
static void jump_to(struct fake_world *world, int64_t until)
{
    int64_t now = atomic_load(&world->now);

    while (now < until && !atomic_compare_exchange_weak(&world->now, &now, until))
        ;
}

static void wait_until(const struct clock_source *clock, pthread_cond_t *condition,
                       pthread_mutex_t *mutex, int64_t until)
{
    struct fake_world *world = world_of(clock);

    if (world->pace == FAKE_CLOCK_JUMPS && until != CLOCK_FOREVER) {
        jump_to(world, until);
        return;
    }
    wait_a_millisecond(condition, mutex);
    if (world->pace == FAKE_CLOCK_PACES && until != CLOCK_FOREVER)
        atomic_fetch_add(&world->now, PACE);
}

static int ask(void *arg, enum permit_use use, struct error *error)
{
    struct fake_world *world = arg;
    bool refused;

    pthread_mutex_lock(&world->lock);
    refused = world->is_fenced && use == PERMIT_ACT;
    pthread_mutex_unlock(&world->lock);
    return refused ? err_set(error, ERR_FENCED, "Fenced", "another leads") : 0;
}

void fake_world_init(struct fake_world *world)
{
    *world = (struct fake_world){
        .clock = {.now = monotonic, .monotonic = monotonic, .wait = wait_until},
        .now = BEGINNING,
        .permit = {ask, world},
    };
    pthread_mutex_init(&world->lock, NULL);
    pthread_cond_init(&world->changed, NULL);
    buf_init(&world->log, 0);
    buf_init(&world->lies, 0);
}

void fake_world_done(struct fake_world *world)
{
    for (size_t i = 0; i < world->n_calls; i++)
        free(world->calls[i]);
    free(world->calls);
    buf_done(&world->log);
    buf_done(&world->lies);
    pthread_cond_destroy(&world->changed);
    pthread_mutex_destroy(&world->lock);
}

void fake_world_start(struct fake_world *world)
{
    buf_reset(&world->log);
    world->steps = 0;
    world->dead = false;
    if (world->n_calls)
        fake_world_lie(world, "a call about %s outlived its process", world->calls[0]);
}

void fake_world_fence(struct fake_world *world, bool is_fenced)
{
    pthread_mutex_lock(&world->lock);
    world->is_fenced = is_fenced;
    pthread_mutex_unlock(&world->lock);
}

void fake_world_pass(struct fake_world *world, int64_t ms)
{
    atomic_fetch_add(&world->now, ms);
}

static int no_answer(struct error *error)
{
    return err_set(error, ERR_UNAVAILABLE, "NoAnswer", "no answer");
}

int fake_world_enter(struct fake_world *world, struct error *error)
{
    pthread_mutex_lock(&world->lock);
    if (!world->dead)
        return 0;
    pthread_mutex_unlock(&world->lock);
    return no_answer(error);
}

void fake_world_leave(struct fake_world *world)
{
    pthread_mutex_unlock(&world->lock);
}

static void interrupt(struct fake_world *world, const char *reason)
{
    if (world->on_interrupt)
        world->on_interrupt(world->arg, reason);
}

void fake_world_kill(struct fake_world *world)
{
    pthread_mutex_lock(&world->lock);
    world->dead = true;
    pthread_cond_broadcast(&world->changed);
    pthread_mutex_unlock(&world->lock);
    interrupt(world, "Killed");
}

int fake_world_step(struct fake_world *world, struct error *error, const char *format, ...)
{
    _cleanup_free_ char *text = NULL;
    bool killed, cancelled;
    va_list args;

    va_start(args, format);
    text = str_vprintf(format, args);
    va_end(args);
    buf_printf(&world->log, "%s%s", world->log.length ? "; " : "", text);
    if (world->after_step)
        world->after_step(world->arg);
    atomic_fetch_add(&world->now, world->step_takes);
    world->steps++;
    killed = world->steps == world->kill_at;
    cancelled = world->steps == world->cancel_at;
    world->dead = world->dead || killed;
    pthread_cond_broadcast(&world->changed);
    pthread_mutex_unlock(&world->lock);
    if (killed || cancelled)
        interrupt(world, killed ? "Killed" : "Superseded");
    return killed ? no_answer(error) : 0;
}

void fake_world_lie(struct fake_world *world, const char *format, ...)
{
    _cleanup_free_ char *text = NULL;
    va_list args;

    va_start(args, format);
    text = str_vprintf(format, args);
    va_end(args);
    buf_printf(&world->lies, "%s; ", text);
}

void fake_world_call(struct fake_world *world, const char *id)
{
    pthread_mutex_lock(&world->lock);
    for (size_t i = 0; i < world->n_calls; i++)
        if (str_equal(world->calls[i], id))
            fake_world_lie(world, "two calls at once about %s", id);
    world->calls =
        mem_grow(world->calls, world->n_calls, &world->calls_capacity, sizeof(*world->calls));
    world->calls[world->n_calls++] = str_new(id);
    pthread_mutex_unlock(&world->lock);
}

void fake_world_return(struct fake_world *world, const char *id)
{
    pthread_mutex_lock(&world->lock);
    for (size_t i = 0; i < world->n_calls; i++)
        if (str_equal(world->calls[i], id)) {
            free(world->calls[i]);
            world->calls[i] = world->calls[--world->n_calls];
            break;
        }
    pthread_mutex_unlock(&world->lock);
}

const char *short_name(const char *id)
{
    const char *colon = strrchr(id, ':');

    return colon ? colon + 1 : id;
}
