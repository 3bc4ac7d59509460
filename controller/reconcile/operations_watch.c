/* What the watch reports of a key's object, and the ledger of its calls that landed. */
#include "controller/reconcile/operations_private.h"
#include "controller/reconcile/reason.h"
#include "controller/reconcile/run.h"
#include "controller/serve/metrics.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/kubernetes/client/resource_version.h"

/* ms until an answer counts that is older than what the watch has shown. */
#define STALE_TIME 30000

/* ---- Keys that the watch lists ---- */

struct listed {
    char *key;
    char *version;              /* resourceVersion; NULL: not known */
    bool is_new;                /* and no reconcile has taken it */
    int64_t refused_since;      /* ms, monotonic: answers that are older; 0: there was none */
    const char *ready, *reason; /* of its condition Ready, as labels; NULL: not noted */
};

static void listed_free(struct listed *listed)
{
    if (!listed)
        return;
    free(listed->key);
    free(listed->version);
    free(listed);
}

static void list_key(struct operations *operations, const char *key,
                     const struct object_version *now)
{
    struct listed *listed = strmap_get(&operations->listed, key);

    if (!listed) {
        listed = NEW(struct listed);
        listed->key = str_new(key);
        strmap_put(&operations->listed, listed->key, listed);
    }
    free(listed->version);
    listed->version = str_new(now->version);
    listed->is_new = listed->is_new || now->is_new;
}

void operations_take_listed(struct attempt *attempt)
{
    struct listed *listed = strmap_get(&attempt->table->listed, attempt->key);

    free(attempt->shown);
    attempt->shown = listed ? str_new(listed->version) : NULL;
    attempt->is_new = listed && listed->is_new;
    if (listed)
        listed->is_new = false;
}

void operations_free_listed(struct operations *operations)
{
    for (struct strmap_entry *e = NULL; (e = strmap_next(&operations->listed, e));)
        listed_free(e->value);
    strmap_done(&operations->listed);
}

/* ---- How many are ready ---- */

/* One of the three, in static storage. */
static const char *ready_label(const char *ready)
{
    return str_equal(ready, "True") ? "True" : str_equal(ready, "False") ? "False" : "Unknown";
}

/* With the table's lock. */
static void count_listed(struct operations *operations, const struct listed *listed, double by)
{
    struct metric *objects = operations->config.objects;

    if (objects && listed && listed->reason)
        metric_add(objects, by, listed->ready, listed->reason, NULL);
}

void operations_note(struct operations *operations, const char *key, const char *ready,
                     const char *reason)
{
    struct listed *listed;

    pthread_mutex_lock(&operations->lock);
    listed = strmap_get(&operations->listed, key);
    if (listed) {
        count_listed(operations, listed, -1);
        listed->ready = ready_label(ready);
        listed->reason = reason ? reason_label(reason) : NULL;
        count_listed(operations, listed, 1);
    }
    pthread_mutex_unlock(&operations->lock);
}

static void unlist_key(struct operations *operations, const char *key)
{
    struct listed *listed = strmap_remove(&operations->listed, key);

    count_listed(operations, listed, -1);
    listed_free(listed);
}

/* ---- Versions ---- */

void object_version_done(struct object_version *version)
{
    free((char *)(uintptr_t)version->uid);
    *version = (struct object_version){0};
}

static void version_copy(struct object_version *to, const struct object_version *from)
{
    object_version_done(to);
    *to = (struct object_version){.uid = str_new(from->uid),
                                  .generation = from->generation,
                                  .is_deleting = from->is_deleting};
}

/* With the table's lock. */
static bool is_outdated(const struct attempt *attempt)
{
    const struct object_version *read = &attempt->read, *observed = &attempt->observed;

    return attempt->has_left ||
           (attempt->was_observed &&
            (!str_equal(observed->uid, read->uid) || observed->generation > read->generation ||
             (observed->is_deleting && !read->is_deleting)));
}

/* With the table's lock. False: the answer is what counts from now on. */
static bool is_refused(struct attempt *attempt, struct listed *listed, const char *version)
{
    const struct clock_source *clock = attempt->table->config.clock;
    int64_t now = clock->monotonic(clock);

    if (!listed->refused_since)
        listed->refused_since = now;
    if (now - listed->refused_since < STALE_TIME)
        return true;
    listed->refused_since = 0;
    free(listed->version);
    listed->version = str_new(version);
    return false;
}

/* With the table's lock. version NULL: the object is not there. */
static int check_version(struct attempt *attempt, const char *version, struct error *error)
{
    struct listed *listed = strmap_get(&attempt->table->listed, attempt->key);

    if (!listed)
        return 0;
    if (version && kube_compare_versions(version, attempt->shown) >= 0) {
        listed->refused_since = 0;
        return 0;
    }
    if (!is_refused(attempt, listed, version))
        return 0;
    return err_set(error, ERR_UNAVAILABLE, "StaleAnswer",
                   "the API server answered with %s%s, and its watch has shown version %s: a cache "
                   "may be in between, or a backup was restored",
                   version ? "version " : "nothing", version ? version : "",
                   attempt->shown ? attempt->shown : "none");
}

int attempt_check_answer(struct attempt *attempt, const struct value *object, struct error *error)
{
    const struct value *metadata = value_get(object, "metadata");
    const char *version = value_get_string(metadata, "resourceVersion");
    int r;

    if (object && !version)
        return 0;
    pthread_mutex_lock(&attempt->table->lock);
    r = check_version(attempt, version, error);
    pthread_mutex_unlock(&attempt->table->lock);
    return r;
}

void attempt_read(struct attempt *attempt, const struct value *metadata)
{
    struct object_version version = {
        .uid = value_get_string(metadata, "uid"),
        .generation = value_int(value_get(metadata, "generation"), 0),
        .is_deleting = value_get(metadata, "deletionTimestamp") != NULL,
    };

    pthread_mutex_lock(&attempt->table->lock);
    version_copy(&attempt->read, &version);
    attempt->has_left = false;
    pthread_mutex_unlock(&attempt->table->lock);
}

bool attempt_is_outdated(struct attempt *attempt)
{
    bool result;

    pthread_mutex_lock(&attempt->table->lock);
    result = attempt->superseded_by || is_outdated(attempt);
    pthread_mutex_unlock(&attempt->table->lock);
    return result;
}

bool attempt_has_left(struct attempt *attempt)
{
    const struct object_version *read = &attempt->read, *observed = &attempt->observed;
    bool result;

    pthread_mutex_lock(&attempt->table->lock);
    result = attempt->has_left && (!observed->uid || str_equal(observed->uid, read->uid));
    pthread_mutex_unlock(&attempt->table->lock);
    return result;
}

bool operations_lists(struct operations *operations, const char *key)
{
    bool result;

    pthread_mutex_lock(&operations->lock);
    result = strmap_get(&operations->listed, key) != NULL;
    pthread_mutex_unlock(&operations->lock);
    return result;
}

bool attempt_is_listed(struct attempt *attempt)
{
    return operations_lists(attempt->table, attempt->key);
}

char *attempt_outdated_by(struct attempt *attempt)
{
    const struct object_version *observed = &attempt->observed;
    char *why;

    if (attempt->superseded_by)
        return str_new(attempt->superseded_by);
    pthread_mutex_lock(&attempt->table->lock);
    if (observed->is_deleting || attempt->has_left)
        why = str_new("the Spec was deleted");
    else if (!str_equal(observed->uid, attempt->read.uid))
        why = str_new("the Spec was deleted, and made anew");
    else
        why = run_superseded_by(observed->generation);
    pthread_mutex_unlock(&attempt->table->lock);
    return why;
}

bool attempt_is_asked_for(struct attempt *attempt)
{
    bool result;

    pthread_mutex_lock(&attempt->table->lock);
    result = attempt->is_asked_for;
    pthread_mutex_unlock(&attempt->table->lock);
    return result;
}

/* ---- For everybody ---- */

void operations_observe(struct operations *operations, const char *key,
                        const struct object_version *now, bool is_asked_for)
{
    struct attempt *attempt;

    pthread_mutex_lock(&operations->lock);
    if (now->uid)
        list_key(operations, key, now);
    else
        unlist_key(operations, key);
    attempt = strmap_get(&operations->attempts, key);
    if (attempt) {
        attempt->has_left = attempt->has_left || !now->uid;
        version_copy(&attempt->observed, now);
        attempt->was_observed = true;
        attempt->is_asked_for = attempt->is_asked_for || is_asked_for;
        if (attempt->operation && is_outdated(attempt))
            operation_cancel(attempt->operation, "Superseded");
    }
    pthread_mutex_unlock(&operations->lock);
}

/* ---- Calls that landed ---- */

void operations_forget_landing(struct operations *operations, const char *key)
{
    pthread_mutex_lock(&operations->landed_lock);
    free(strmap_remove(&operations->landed, key));
    pthread_mutex_unlock(&operations->landed_lock);
}

void operations_on_landed(void *arg, const struct spec_key *spec)
{
    struct operations *operations = arg;
    _cleanup_free_ char *key = str_printf("%s/%s", spec->namespace_name, spec->name);

    pthread_mutex_lock(&operations->landed_lock);
    if (!strmap_get(&operations->landed, key)) {
        char *own = str_new(key);

        strmap_put(&operations->landed, own, own);
    }
    pthread_mutex_unlock(&operations->landed_lock);
    operations->config.enqueue(operations->config.arg, key);
}

bool attempt_has_seen_landing(struct attempt *attempt)
{
    struct operations *operations = attempt->table;
    bool result;

    pthread_mutex_lock(&operations->landed_lock);
    result = strmap_get(&operations->landed, attempt->key) != NULL;
    pthread_mutex_unlock(&operations->landed_lock);
    return result;
}

void operations_free_landings(struct operations *operations)
{
    for (struct strmap_entry *e = NULL; (e = strmap_next(&operations->landed, e));)
        free(e->value);
    strmap_done(&operations->landed);
}
