#include "controller/reconcile/quarantine.h"

#include <pthread.h>
#include <stdio.h>

#include "controller/reconcile/suspects.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/log/log.h"
#include "engine/threads/condition.h"
#include "engine/threads/locked.h"
#include "engine/value/json.h"

#define CAREFUL_TIME    1800000 /* ms without a death until nothing is recorded any more */
#define SUSPECT_TIME    120000  /* ms that a suspect waits for others at most */
#define SETTLE_TIME     2000    /* ms before the first suspect begins */
#define BUSY_TIME       10000   /* ms of an operation of another that a suspect waits for */
#define ASK_INTERVAL    1000    /* ms between questions for a turn */
#define REQUEST_TIMEOUT 5000    /* ms */
#define WRITE_ATTEMPTS  2
#define UNDER_WAY       "api.kusion.io/under-way" /* annotation: suspects_write() */

struct quarantine {
    struct quarantine_config config;
    int64_t started_at;
    pthread_mutex_t lock;
    pthread_cond_t written;
    struct suspects suspects;
    const struct value *metadata; /* of the document as it is there; NULL: there is none */
    bool is_known; /* what the process before left was read; nothing is recorded until then */
    bool is_careful, has_ended;
    bool is_writing, was_logged;
    size_t ready;               /* as quarantine_tick() was told */
    uint64_t changes, recorded; /* counted; what is recorded is up to date where they are equal */
};

static int64_t now(const struct quarantine *quarantine)
{
    return quarantine->config.clock->monotonic(quarantine->config.clock);
}

/* ---- The Lease ---- */

static struct kube_ref ref_of(const struct quarantine *quarantine, bool is_there)
{
    return (struct kube_ref){&kube_leases, quarantine->config.namespace_name,
                             is_there ? quarantine->config.name : NULL, NULL};
}

/* With the lock. process: NULL: it has ended in order. */
static const struct value *make_lease(const struct quarantine *quarantine, const char *process)
{
    const struct quarantine_config *config = &quarantine->config;
    _cleanup_value_ const struct value *objects = suspects_write(&quarantine->suspects);
    _cleanup_buf_ struct buf text = BUF_INIT;

    json_write(&text, objects, JSON_COMPACT);
    return value_pack("{s:s, s:s, s:{s:s, s:s, s:s?, s:{s:s}, s:{s:s}}, s:{s:s?}}", "apiVersion",
                      "coordination.k8s.io/v1", "kind", "Lease", "metadata", "namespace",
                      config->namespace_name, "name", config->name, "resourceVersion",
                      value_get_string(quarantine->metadata, "resourceVersion"), "labels",
                      "app.kubernetes.io/managed-by", "kusion-operator", "annotations", UNDER_WAY,
                      text.data, "spec", "holderIdentity", process);
}

static int read_lease(struct quarantine *quarantine, const struct value **ret, struct error *error)
{
    const struct kube_request request = {
        .method = "GET", .ref = ref_of(quarantine, true), .timeout = REQUEST_TIMEOUT};
    struct error problem = {0};
    int r = kube_do(quarantine->config.client, &request, ret, &problem);

    return r == ERR_NOT_FOUND ? 0 : r < 0 ? err_copy(error, &problem) : 0;
}

/* With the lock, which it frees meanwhile. process: as above. */
static int send(struct quarantine *quarantine, const char *process, bool unguarded,
                struct error *error)
{
    _cleanup_value_ const struct value *answer = NULL;
    _cleanup_value_ const struct value *body = make_lease(quarantine, process);
    bool is_there = quarantine->metadata;
    const struct kube_request request = {.method = is_there ? "PUT" : "POST",
                                         .ref = ref_of(quarantine, is_there),
                                         .body = body,
                                         .unguarded = unguarded,
                                         .timeout = REQUEST_TIMEOUT};
    uint64_t changes = quarantine->changes;
    int r;

    pthread_mutex_unlock(&quarantine->lock);
    r = kube_do(quarantine->config.client, &request, &answer, error);
    pthread_mutex_lock(&quarantine->lock);
    if (r < 0)
        return r;
    value_assign(&quarantine->metadata, value_get(answer, "metadata"));
    quarantine->recorded = changes;
    return 0;
}

/* Somebody else has written it, or a write came through whose answer was lost. */
static int read_again(struct quarantine *quarantine, struct error *error)
{
    _cleanup_value_ const struct value *object = NULL;
    int r;

    pthread_mutex_unlock(&quarantine->lock);
    r = read_lease(quarantine, &object, error);
    pthread_mutex_lock(&quarantine->lock);
    if (r >= 0)
        value_assign(&quarantine->metadata, value_get(object, "metadata"));
    return r;
}

/* With the lock, by one thread at a time. */
static int write_once(struct quarantine *quarantine, struct error *error)
{
    for (unsigned i = 0; i < WRITE_ATTEMPTS; i++) {
        int r;

        if (i && read_again(quarantine, error) < 0)
            return error->code;
        *error = (struct error){0};
        r = send(quarantine, quarantine->config.identity, false, error);
        if (r != ERR_CONFLICT && r != ERR_EXISTS && r != ERR_NOT_FOUND) /* it was not overtaken */
            return r;
    }
    return error->code;
}

/* With the lock: until what has changed by now is recorded, or could not be. */
static void record(struct quarantine *quarantine)
{
    uint64_t wanted = quarantine->changes;

    while (quarantine->recorded < wanted && !quarantine->has_ended) {
        struct error problem = {0};
        int r;

        if (quarantine->is_writing) {
            pthread_cond_wait(&quarantine->written, &quarantine->lock);
            continue;
        }
        quarantine->is_writing = true;
        r = write_once(quarantine, &problem);
        quarantine->is_writing = false;
        pthread_cond_broadcast(&quarantine->written);
        if (r < 0 && !quarantine->was_logged)
            log_warn("which objects are under way could not be recorded", "reason", problem.reason,
                     "error", problem.message, NULL);
        quarantine->was_logged = r < 0;
        if (r < 0)
            return;
    }
}

/* ---- The start ---- */

static void log_death(const struct quarantine *quarantine, const char *process)
{
    char count[24], deaths[24];

    snprintf(count, sizeof(count), "%zu", quarantine->suspects.by_key.count);
    snprintf(deaths, sizeof(deaths), "%u", quarantine->suspects.deaths);
    log_warn("the process before this one did not end in order: what was under way comes last, and "
             "what begins is recorded",
             "process", process, "deathsInARow", deaths, "underWay", count, NULL);
}

/* With the lock. lease: NULL: there is none. */
static void take_over(struct quarantine *quarantine, const struct value *lease)
{
    const char *process = value_string(value_path(lease, "spec", "holderIdentity", NULL));
    const char *text = value_string(value_path(lease, "metadata", "annotations", UNDER_WAY, NULL));
    _cleanup_value_ const struct value *objects = NULL;

    value_assign(&quarantine->metadata, value_get(lease, "metadata"));
    quarantine->is_known = true;
    quarantine->changes++;
    if (text && json_read_str(text, &objects, NULL) >= 0)
        suspects_read(&quarantine->suspects, objects);
    if (process && *process) {
        suspects_bury(&quarantine->suspects);
        log_death(quarantine, process);
    }
    quarantine->is_careful = quarantine->suspects.deaths > 0;
}

static void begin(struct quarantine *quarantine)
{
    _cleanup_value_ const struct value *lease = NULL;
    struct error problem = {0};
    int r = read_lease(quarantine, &lease, &problem);
    bool is_news;

    pthread_mutex_lock(&quarantine->lock);
    if (r >= 0)
        take_over(quarantine, lease);
    is_news = r < 0 && !quarantine->was_logged;
    quarantine->was_logged = quarantine->was_logged || r < 0;
    record(quarantine);
    pthread_mutex_unlock(&quarantine->lock);
    if (is_news)
        log_warn("how the process before this one ended could not be read", "reason",
                 problem.reason, "error", problem.message, NULL);
}

struct quarantine *quarantine_new(const struct quarantine_config *config)
{
    struct quarantine *quarantine = NEW(struct quarantine);

    quarantine->config = *config;
    quarantine->ready = SIZE_MAX;
    quarantine->started_at = now(quarantine);
    pthread_mutex_init(&quarantine->lock, NULL);
    condition_init(&quarantine->written);
    suspects_init(&quarantine->suspects);
    begin(quarantine);
    return quarantine;
}

/* ---- The end ---- */

/* What did not come to its end counts as if it had. */
static void drop_all(struct quarantine *quarantine, bool and_waiting)
{
    struct suspects *suspects = &quarantine->suspects;

    for (struct strmap_entry *e = NULL; (e = strmap_next(&suspects->by_key, e));) {
        struct suspect *suspect = e->value;

        if (and_waiting || suspect->phase != SUSPECT_WAITS)
            suspects_remove(suspects, suspect);
    }
}

void quarantine_end(struct quarantine *quarantine)
{
    struct error problem = {0};

    if (!quarantine)
        return;
    LOCKED(&quarantine->lock);
    while (quarantine->is_writing)
        pthread_cond_wait(&quarantine->written, &quarantine->lock);
    quarantine->has_ended = true;
    drop_all(quarantine, false);
    if (!quarantine->suspects.by_key.count)
        quarantine->suspects.deaths = 0;
    /* Also of a process that may not act any more: the next one to act has written it first, and
     * then this is a conflict. */
    if (quarantine->metadata && send(quarantine, NULL, true, &problem) < 0)
        log_warn("that this process ends in order could not be recorded", "reason", problem.reason,
                 "error", problem.message, NULL);
}

void quarantine_free(struct quarantine *quarantine)
{
    if (!quarantine)
        return;
    suspects_done(&quarantine->suspects);
    value_unref(quarantine->metadata);
    pthread_cond_destroy(&quarantine->written);
    pthread_mutex_destroy(&quarantine->lock);
    free(quarantine);
}

/* ---- In between ---- */

static void remove_key(struct quarantine *quarantine, struct suspect *suspect)
{
    suspects_remove(&quarantine->suspects, suspect);
    quarantine->changes += suspect != NULL;
}

void quarantine_explain(struct error *ret, const char *kind)
{
    err_set(ret, ERR_INTERNAL, QUARANTINED,
            "the operator's process ended %d times while this %s was worked on, so nothing is "
            "begun for it any more",
            QUARANTINE_DEATHS, kind);
    err_hint(ret, "look for the cause in the log of the operator (kubectl logs --previous) and in "
                  "how its container ended (OOMKilled?)");
}

void quarantine_tick(struct quarantine *quarantine, size_t ready)
{
    bool is_known;

    pthread_mutex_lock(&quarantine->lock);
    quarantine->ready = ready;
    is_known = quarantine->is_known;
    if (quarantine->is_careful && now(quarantine) > quarantine->started_at + CAREFUL_TIME) {
        drop_all(quarantine, true);
        quarantine->suspects.deaths = 0;
        quarantine->is_careful = false;
        quarantine->changes++;
    }
    if (is_known)
        record(quarantine);
    pthread_mutex_unlock(&quarantine->lock);
    if (!is_known)
        begin(quarantine);
}

void quarantine_forget_absent(struct quarantine *quarantine,
                              bool (*is_there)(void *arg, const char *key), void *arg)
{
    struct suspects *suspects;

    if (!quarantine)
        return;
    LOCKED(&quarantine->lock);
    suspects = &quarantine->suspects;
    for (struct strmap_entry *e = NULL; (e = strmap_next(&suspects->by_key, e));) {
        struct suspect *suspect = e->value;

        if (suspect->phase == SUSPECT_WAITS && !is_there(arg, suspect->key))
            remove_key(quarantine, suspect);
    }
}

/* With the lock. Others come first. */
static bool is_its_turn(struct quarantine *quarantine, struct suspect *suspect)
{
    int64_t time = now(quarantine), waits = time - quarantine->started_at;
    struct suspects *suspects = &quarantine->suspects;
    bool is_quiet = waits >= SETTLE_TIME && quarantine->ready <= suspects_count_waiting(suspects) &&
                    !suspects_are_busy(suspects, time, BUSY_TIME);

    return (is_quiet || waits >= SUSPECT_TIME) && suspects_turn_is_free(suspects, time) &&
           suspects_is_next(suspects, suspect);
}

int64_t quarantine_wait(struct quarantine *quarantine, const char *key)
{
    struct suspect *suspect;

    if (!quarantine)
        return 0;
    LOCKED(&quarantine->lock);
    suspect = suspects_find(&quarantine->suspects, key);
    if (!suspect || suspect->phase != SUSPECT_WAITS || suspect->deaths >= QUARANTINE_DEATHS)
        return 0;
    suspect->is_wanted = true;
    if (!is_its_turn(quarantine, suspect))
        return ASK_INTERVAL;
    suspect->begun_at = now(quarantine);
    quarantine->suspects.turn = suspect;
    return 0;
}

bool quarantine_enter(struct quarantine *quarantine, const char *key, bool was_held)
{
    struct suspects *suspects;
    struct suspect *suspect;

    if (!quarantine)
        return true;
    LOCKED(&quarantine->lock);
    suspects = &quarantine->suspects;
    suspect = suspects_find(suspects, key);
    if (suspect && suspect->deaths >= QUARANTINE_DEATHS)
        return false;
    if (!suspect && quarantine->is_known && (quarantine->is_careful || was_held))
        suspect = suspects_add(suspects, key, was_held ? QUARANTINE_DEATHS - 1 : 0);
    if (!suspect || suspect->phase != SUSPECT_WAITS)
        return true;
    /* One that was held begins at once, beside another one's turn. */
    suspect->phase = suspect->deaths ? SUSPECT_TURN : SUSPECT_BEGUN;
    suspect->begun_at = now(quarantine);
    quarantine->changes++;
    record(quarantine);
    return true;
}

void quarantine_leave(struct quarantine *quarantine, const char *key, bool has_ended)
{
    struct suspect *suspect;

    if (!quarantine)
        return;
    LOCKED(&quarantine->lock);
    suspect = suspects_find(&quarantine->suspects, key);
    /* As long as that is recorded at all; one that was held is recorded for one operation. */
    if (has_ended || !suspect || !suspect->deaths || !quarantine->is_careful) {
        remove_key(quarantine, suspect);
    } else {
        quarantine->changes += suspect->phase != SUSPECT_WAITS;
        suspects_stand_down(&quarantine->suspects, suspect);
    }
}

void quarantine_forget(struct quarantine *quarantine, const char *key)
{
    if (!quarantine)
        return;
    LOCKED(&quarantine->lock);
    remove_key(quarantine, suspects_find(&quarantine->suspects, key));
}
