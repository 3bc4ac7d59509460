#include "test/unit/engine/executor/stage.h"

#include <semaphore.h>

#include "engine/executor/private.h"

static struct task_answer run(void *arg)
{
    struct actor *actor = arg;
    struct stage *stage = actor->stage;
    struct task_answer answer = {0};

    pthread_mutex_lock(&stage->lock);
    answer.ran = actor->pieces > 0;
    answer.due = actor->due;
    actor->runs++;
    if (answer.ran) {
        actor->pieces--;
        if (stage->n_log < sizeof(stage->log) - 1)
            stage->log[stage->n_log++] = actor->name;
    }
    while (answer.ran ? actor->is_held : actor->holds_all)
        pthread_cond_wait(&stage->changed, &stage->lock);
    pthread_mutex_unlock(&stage->lock);
    if (answer.ran && actor->during)
        actor->during(actor);
    pthread_mutex_lock(&stage->lock);
    actor->ended++;
    pthread_mutex_unlock(&stage->lock);
    return answer;
}

void stage_init(struct stage *stage, unsigned threads, unsigned max_threads)
{
    *stage = (struct stage){0};
    still_clock_init(&stage->clock, 1000);
    pthread_mutex_init(&stage->lock, NULL);
    pthread_cond_init(&stage->changed, NULL);
    stage->executor = executor_new(&(struct executor_config){
        .clock = &stage->clock.source, .threads = threads, .max_threads = max_threads});
}

void stage_done(struct stage *stage)
{
    for (size_t i = 0; i < stage->n_actors; i++) {
        actor_release(&stage->actors[i]);
        actor_free(&stage->actors[i]);
    }
    executor_free(stage->executor);
    pthread_cond_destroy(&stage->changed);
    pthread_mutex_destroy(&stage->lock);
    still_clock_done(&stage->clock);
}

struct actor *stage_add(struct stage *stage, const char *namespace_name, const char *name)
{
    struct actor *actor = &stage->actors[stage->n_actors];
    const struct spec_key key = {.namespace_name = namespace_name, .name = name};

    CU_ASSERT_FATAL(stage->n_actors < STAGE_ACTORS);
    *actor = (struct actor){
        .stage = stage, .name = (char)('A' + stage->n_actors++), .due = CLOCK_FOREVER};
    actor->task = task_new(stage->executor, &key, run, actor);
    return actor;
}

static void set_held(struct actor *actor, bool is_held, bool holds_all)
{
    pthread_mutex_lock(&actor->stage->lock);
    actor->is_held = is_held;
    actor->holds_all = holds_all;
    pthread_cond_broadcast(&actor->stage->changed);
    pthread_mutex_unlock(&actor->stage->lock);
}

void actor_hold(struct actor *actor)
{
    set_held(actor, true, false);
}

void actor_hold_all(struct actor *actor)
{
    set_held(actor, true, true);
}

void actor_release(struct actor *actor)
{
    set_held(actor, false, false);
}

void actor_give(struct actor *actor, int pieces)
{
    pthread_mutex_lock(&actor->stage->lock);
    actor->pieces += pieces;
    pthread_mutex_unlock(&actor->stage->lock);
    task_poke(actor->task);
}

static void on_gone(void *arg)
{
    sem_post(arg);
}

void stage_drop_task(struct task *task)
{
    sem_t gone;

    sem_init(&gone, 0, 0);
    task_drop(task, on_gone, &gone);
    sem_wait(&gone);
    sem_destroy(&gone);
}

void actor_free(struct actor *actor)
{
    if (actor->task)
        stage_drop_task(actor->task);
    actor->task = NULL;
}

unsigned actor_runs(struct actor *actor)
{
    unsigned runs;

    pthread_mutex_lock(&actor->stage->lock);
    runs = actor->runs;
    pthread_mutex_unlock(&actor->stage->lock);
    return runs;
}

unsigned actor_held(struct actor *actor)
{
    unsigned held;

    pthread_mutex_lock(&actor->stage->lock);
    held = actor->runs - actor->ended;
    pthread_mutex_unlock(&actor->stage->lock);
    return held;
}

struct executor_stats stage_stats(struct stage *stage)
{
    struct executor_stats stats;

    executor_stats(stage->executor, &stats);
    return stats;
}

bool stage_is_quiet(struct stage *stage)
{
    struct executor *executor = stage->executor;
    unsigned waiters = still_clock_waiters(&stage->clock);
    bool is_quiet;

    pthread_mutex_lock(&executor->lock);
    is_quiet = !executor->waiting.count && executor->n_idle == executor->n_threads &&
               waiters == executor->n_threads;
    pthread_mutex_unlock(&executor->lock);
    return is_quiet;
}

const char *stage_log(struct stage *stage)
{
    static char log[sizeof(stage->log)];

    pthread_mutex_lock(&stage->lock);
    memcpy(log, stage->log, sizeof(log));
    pthread_mutex_unlock(&stage->lock);
    return log;
}
