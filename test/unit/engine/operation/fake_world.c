#include "test/unit/engine/operation/fake_world.h"

#include <time.h>

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

static void wait_until(const struct clock_source *clock, pthread_cond_t *condition,
                       pthread_mutex_t *mutex, int64_t until)
{
    struct fake_world *world = world_of(clock);
    int64_t before = atomic_load(&world->now);

    if (world->jumps) {
        if (until > before)
            atomic_store(&world->now, until);
        return;
    }
    wait_a_millisecond(condition, mutex);
    atomic_fetch_add(&world->now, PACE);
}

void fake_world_init(struct fake_world *world)
{
    *world = (struct fake_world){
        .clock = {.now = monotonic, .monotonic = monotonic, .wait = wait_until},
        .now = BEGINNING,
        .jumps = true,
    };
    pthread_mutex_init(&world->lock, NULL);
    buf_init(&world->log, 0);
    buf_init(&world->lies, 0);
}

void fake_world_done(struct fake_world *world)
{
    buf_done(&world->log);
    buf_done(&world->lies);
    pthread_mutex_destroy(&world->lock);
}

void fake_world_start(struct fake_world *world, struct cancel *cancel)
{
    buf_reset(&world->log);
    world->steps = 0;
    world->dead = false;
    world->cancel = cancel;
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
    killed = world->dead = world->steps == world->kill_at;
    cancelled = killed || world->steps == world->cancel_at;
    pthread_mutex_unlock(&world->lock);
    /* Without the lock: who listens takes others. */
    if (cancelled)
        cancel_fire(world->cancel, killed ? "Killed" : "Superseded");
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

const char *short_name(const char *id)
{
    const char *colon = strrchr(id, ':');

    return colon ? colon + 1 : id;
}
