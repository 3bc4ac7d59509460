#include "runtimes/kubernetes/session/health_checks.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/log/log.h"
#include "engine/threads/locked.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/client/watch.h"
#include "runtimes/kubernetes/objects/health_script.h"
#include "runtimes/kubernetes/objects/health_set.h"
#include "runtimes/kubernetes/objects/marks.h"

#define SELECTOR KUBE_HEALTH_LABEL "=enabled"
/* ms until an object is looked at again while the cluster's checks are not read yet. */
#define LOOK_AGAIN 250

/* A ConfigMap. */
struct source {
    char *name;
    struct health_script *scripts;
    size_t n;
};

struct health_checks {
    const struct kube_runtime_config *config;
    struct slots *slots;
    pthread_mutex_t begin_lock; /* of watch */
    struct kube_watch *watch;   /* NULL: not begun */

    pthread_mutex_t lock;   /* of these */
    bool is_read;           /* the ConfigMaps are known, or it is certain that they cannot be */
    bool is_told;           /* that they cannot be read */
    struct source *sources; /* by name */
    size_t n, capacity;
};

/* ---- The cluster's ---- */

static int by_name(const void *a, const void *b)
{
    const struct source *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static void source_done(struct source *source)
{
    free(source->name);
    health_scripts_free(source->scripts, source->n);
}

/* Under the lock. */
static void drop(struct health_checks *checks, const char *name)
{
    for (size_t i = 0; i < checks->n; i++)
        if (str_equal(checks->sources[i].name, name)) {
            source_done(&checks->sources[i]);
            checks->n--;
            memmove(&checks->sources[i], &checks->sources[i + 1],
                    (checks->n - i) * sizeof(*checks->sources));
            return;
        }
}

static void put(struct health_checks *checks, const char *name, const struct value *config_map)
{
    _cleanup_free_ char *problem = NULL;
    struct source source = {.name = str_new(name)};

    source.scripts = health_scripts_read(config_map, &source.n, &problem);
    if (problem)
        log_warn("a ConfigMap has health checks that are wrong", "configMap", name, "problem",
                 problem, NULL);
    LOCKED(&checks->lock);
    drop(checks, name);
    checks->sources =
        mem_grow(checks->sources, checks->n, &checks->capacity, sizeof(*checks->sources));
    checks->sources[checks->n++] = source;
    qsort(checks->sources, checks->n, sizeof(*checks->sources), by_name);
}

/* Without the right there are none. All other errors are those of an outage. */
static void note_failure(struct health_checks *checks, const struct error *error)
{
    LOCKED(&checks->lock);

    if (error->code != ERR_FORBIDDEN)
        return;
    checks->is_read = true;
    if (!checks->is_told)
        log_warn(
            "the operator may not watch ConfigMaps of its namespace, so the cluster has no health "
            "checks of its own",
            "error", error->message, NULL);
    checks->is_told = true;
}

static void on_event(void *arg, enum kube_watch_event event, const struct value *object,
                     const struct error *error)
{
    struct health_checks *checks = arg;
    const char *name = value_string(value_path(object, "metadata", "name", NULL));

    if (event == KUBE_WATCH_UPSERT && name) {
        put(checks, name, object);
    } else if (event == KUBE_WATCH_DELETED && name) {
        LOCKED(&checks->lock);
        drop(checks, name);
    } else if (event == KUBE_WATCH_ERROR) {
        note_failure(checks, error);
    } else if (event == KUBE_WATCH_SYNCED) {
        LOCKED(&checks->lock);
        checks->is_read = true;
    }
}

void health_checks_begin(struct health_checks *checks)
{
    const struct kube_runtime_config *config = checks->config;
    const struct kube_watch_config watch = {
        .ref = {&kube_config_maps, config->health_namespace, NULL, NULL},
        .selector = {.labels = SELECTOR},
        .on_event = on_event,
        .arg = checks};
    struct error error = {0};
    LOCKED(&checks->begin_lock);

    if (config->health_namespace && !checks->watch &&
        kube_watch_new(config->cluster.client, &watch, &checks->watch, &error) < 0)
        log_warn("the cluster's health checks cannot be watched yet", "error", error.message, NULL);
}

struct health_checks *health_checks_new(const struct kube_runtime_config *config)
{
    struct health_checks *checks = NEW(struct health_checks);

    checks->config = config;
    checks->is_read = !config->health_namespace;
    checks->slots =
        slots_new(&(struct slots_config){.clock = config->clock,
                                         .count = HEALTH_CHECKS_AT_ONCE,
                                         .max_per_namespace = HEALTH_CHECKS_OF_NAMESPACE});
    pthread_mutex_init(&checks->lock, NULL);
    pthread_mutex_init(&checks->begin_lock, NULL);
    return checks;
}

void health_checks_free(struct health_checks *checks)
{
    kube_watch_free(checks->watch);
    for (size_t i = 0; i < checks->n; i++)
        source_done(&checks->sources[i]);
    free(checks->sources);
    slots_free(checks->slots);
    pthread_mutex_destroy(&checks->lock);
    pthread_mutex_destroy(&checks->begin_lock);
    free(checks);
}

/* A reference; NULL: there is none. *ret_is_read: whether that is certain. */
static const struct value *find(struct health_checks *checks, const struct object_ref *ref,
                                bool *ret_is_read)
{
    const struct health_script *best = NULL;
    size_t best_rank = 0;
    LOCKED(&checks->lock);

    *ret_is_read = checks->is_read;
    for (size_t i = 0; i < checks->n; i++)
        for (size_t s = 0; s < checks->sources[i].n; s++) {
            const struct health_script *script = &checks->sources[i].scripts[s];
            size_t rank = health_script_rank(script, ref);

            if (rank <= best_rank)
                continue;
            best = script;
            best_rank = rank;
        }
    return best ? value_ref(best->text) : NULL;
}

/* ---- A verdict ---- */

static int run(struct health_checks *checks, const char *spec_namespace, const struct value *text,
               const struct value *object, const struct runtime_call *call, struct health *ret,
               struct error *error)
{
    struct slot slot = {.slots = checks->slots, .namespace_name = spec_namespace};
    int r = slot_take(&slot, call->deadline, call->cancel, error);

    if (r < 0)
        return r;
    health_script_judge(text, object, clock_thread_cpu, ret);
    slot_give_back(&slot);
    return 0;
}

int health_checks_judge(struct health_checks *checks, const char *spec_namespace,
                        const struct value *extensions, const struct value *object,
                        const struct runtime_call *call, struct health *ret, struct error *error)
{
    _cleanup_value_ const struct value *text = value_ref(health_script_own(extensions));
    const struct object_ref ref = object_ref_of(object);
    bool is_read = true;

    if (!ref.api_version || !ref.kind)
        return 0;
    if (!text)
        text = find(checks, &ref, &is_read);
    if (!text && !is_read) {
        health_set(ret, HEALTH_UNKNOWN, "the cluster's health checks are not read yet");
        ret->look_again = LOOK_AGAIN;
    }
    return text ? run(checks, spec_namespace, text, object, call, ret, error) : 0;
}
