#include "controller/reconcile/operations.h"

#include "controller/reconcile/api.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"

struct operations {
    struct operations_config config;
    pthread_mutex_t lock;
    struct strmap attempts;  /* by key */
    struct strmap listed;    /* keys */
    struct strmap news;      /* by key: the versions of objects that are new */
    const char *why_no_more; /* NULL: operations may be begun */
    uint64_t last_ticket;
    _Atomic size_t n_waiting; /* attempts that wait for room */
    _Atomic size_t parked;    /* bytes: the sum over the attempts */

    /* Taken last: calls land with the lock of their operation, which is cancelled with ours. */
    pthread_mutex_t landed_lock;
    struct strmap landed; /* keys of which a call has landed */
};

/* ---- Sets of keys ---- */

static void set_add(struct strmap *set, const char *key)
{
    char *own;

    if (strmap_get(set, key))
        return;
    own = str_new(key);
    strmap_put(set, own, own);
}

static void set_remove(struct strmap *set, const char *key)
{
    free(strmap_remove(set, key));
}

static void set_done(struct strmap *set)
{
    for (struct strmap_entry *e = NULL; (e = strmap_next(set, e));)
        free(e->value);
    strmap_done(set);
}

/* ---- Lifetime ---- */

struct operations *operations_new(const struct operations_config *config)
{
    struct operations *operations = NEW(struct operations);

    operations->config = *config;
    pthread_mutex_init(&operations->lock, NULL);
    pthread_mutex_init(&operations->landed_lock, NULL);
    strmap_init(&operations->attempts);
    strmap_init(&operations->listed);
    strmap_init(&operations->landed);
    strmap_init(&operations->news);
    return operations;
}

/* ---- Versions ---- */

static void version_done(struct object_version *version)
{
    free((char *)(uintptr_t)version->uid);
    *version = (struct object_version){0};
}

static void version_copy(struct object_version *to, const struct object_version *from)
{
    version_done(to);
    *to = *from;
    to->uid = str_new(from->uid);
}

/* With the table's lock. */
static bool is_outdated(const struct attempt *attempt)
{
    const struct object_version *read = &attempt->read, *told = &attempt->told;

    return attempt->has_left || (attempt->was_told && (!str_equal(told->uid, read->uid) ||
                                                       told->generation > read->generation ||
                                                       (told->is_deleting && !read->is_deleting)));
}

/* ---- What is parked ---- */

/* How much the attempt's operation holds now. Without any lock. */
static void account(struct attempt *attempt, size_t bytes)
{
    size_t before = atomic_exchange(&attempt->parked, bytes);

    atomic_fetch_add(&attempt->table->parked, bytes - before);
}

static bool is_too_much(const struct operations *operations, size_t bytes)
{
    return operations->config.memory && bytes > operations->config.memory;
}

/* Bytes that others have reserved for operations that run. With the table's lock. */
static size_t running_beside(const struct operations *operations, const struct attempt *attempt)
{
    size_t bytes = 0;

    for (struct strmap_entry *e = NULL; (e = strmap_next(&operations->attempts, e));) {
        const struct attempt *other = e->value;

        if (other != attempt && !other->parked)
            bytes += other->reserved;
    }
    return bytes;
}

/* Whoever reconciles the key next chooses what goes, and who gets room. */
static void on_park(void *arg, size_t bytes)
{
    struct attempt *attempt = arg;
    const struct operations *operations = attempt->table;

    account(attempt, bytes);
    if (bytes && (operations->n_waiting || is_too_much(operations, operations->parked)))
        operations->config.enqueue(operations->config.arg, attempt->key);
}

/* The largest that is parked and not chosen yet. *ret_chosen: bytes of those that are. With the
 * table's lock. */
static struct attempt *find_largest(struct operations *operations, size_t *ret_chosen)
{
    struct attempt *largest = NULL;

    *ret_chosen = 0;
    for (struct strmap_entry *e = NULL; (e = strmap_next(&operations->attempts, e));) {
        struct attempt *attempt = e->value;

        if (attempt->is_chosen)
            *ret_chosen += attempt->parked;
        else if (attempt->parked && (!largest || attempt->parked > largest->parked))
            largest = attempt;
    }
    return largest;
}

/* With the table's lock. */
static void choose(struct operations *operations)
{
    size_t running = operations->config.memory ? running_beside(operations, NULL) : 0;

    while (is_too_much(operations, operations->parked + running)) {
        size_t chosen;
        struct attempt *attempt = find_largest(operations, &chosen);
        size_t parked = operations->parked;

        if (!attempt || !is_too_much(operations, (parked > chosen ? parked - chosen : 0) + running))
            return;
        attempt->is_chosen = true;
        operations->config.enqueue(operations->config.arg, attempt->key);
    }
}

/* ---- One attempt ---- */

static struct attempt *attempt_new(struct operations *operations, const char *key)
{
    struct attempt *attempt;
    const char *name;
    char *names;

    if (!api_key_split(key, &names, &name))
        return NULL;
    attempt = NEW(struct attempt);
    attempt->table = operations;
    attempt->key = str_new(key);
    attempt->names = names;
    attempt->object = (struct spec_key){names, name};
    return attempt;
}

/* ---- Room ---- */

/* With the table's lock. NULL: none waits. */
static struct attempt *find_oldest(const struct operations *operations)
{
    struct attempt *oldest = NULL;

    for (struct strmap_entry *e = NULL; (e = strmap_next(&operations->attempts, e));) {
        struct attempt *attempt = e->value;

        if (attempt->wants && (!oldest || attempt->ticket < oldest->ticket))
            oldest = attempt;
    }
    return oldest;
}

/* One that is larger than all the room there is runs alone. With the table's lock. */
static bool fits(const struct operations *operations, const struct attempt *attempt, size_t bytes)
{
    size_t running = running_beside(operations, attempt);

    return !running || !is_too_much(operations, running + bytes);
}

/* With the table's lock. */
static void set_wants(struct attempt *attempt, size_t bytes)
{
    struct operations *operations = attempt->table;

    operations->n_waiting += (size_t)(bytes != 0) - (size_t)(attempt->wants != 0);
    attempt->wants = bytes;
}

bool attempt_reserve(struct attempt *attempt, size_t bytes, const struct clock_source *clock)
{
    struct operations *operations = attempt->table;
    const struct attempt *oldest;
    bool may;

    pthread_mutex_lock(&operations->lock);
    oldest = operations->n_waiting ? find_oldest(operations) : NULL;
    may = (!oldest || oldest == attempt || (attempt->ticket && attempt->ticket < oldest->ticket)) &&
          fits(operations, attempt, bytes);
    if (!may && !attempt->ticket) {
        attempt->ticket = ++operations->last_ticket;
        attempt->waits_since = clock->monotonic(clock);
    } else if (may) {
        attempt->ticket = 0;
        attempt->says_it_waits = false;
    }
    attempt->reserved = may ? bytes : 0;
    set_wants(attempt, may ? 0 : bytes);
    pthread_mutex_unlock(&operations->lock);
    return may;
}

void attempt_measure(struct attempt *attempt)
{
    size_t bytes = operation_memory(attempt->operation);

    pthread_mutex_lock(&attempt->table->lock);
    attempt->reserved = bytes;
    pthread_mutex_unlock(&attempt->table->lock);
}

bool attempt_has_no_room(struct attempt *attempt, const struct clock_source *clock)
{
    struct operations *operations = attempt->table;
    bool is_to_be_said =
        !attempt->says_it_waits && clock->monotonic(clock) >= attempt->waits_since + ROOM_INTERVAL;
    bool has_none;

    pthread_mutex_lock(&operations->lock);
    has_none = attempt->wants && !is_to_be_said && !is_outdated(attempt) &&
               (find_oldest(operations) != attempt || !fits(operations, attempt, attempt->wants));
    if (!has_none)
        set_wants(attempt, 0); /* it says anew what it wants */
    pthread_mutex_unlock(&operations->lock);
    return has_none;
}

/* With the table's lock. */
static void give_room(struct operations *operations)
{
    struct attempt *oldest = operations->n_waiting ? find_oldest(operations) : NULL;

    if (oldest && fits(operations, oldest, oldest->wants))
        operations->config.enqueue(operations->config.arg, oldest->key);
}

/* ---- What is new ---- */

void operations_tell_new(struct operations *operations, const char *key, const char *version)
{
    char *both = str_printf("%s%c%s", version, '\0', key); /* freed as one, by the version */

    pthread_mutex_lock(&operations->lock);
    free(strmap_remove(&operations->news, key));
    strmap_put(&operations->news, both + strlen(version) + 1, both);
    pthread_mutex_unlock(&operations->lock);
}

static void free_news(struct operations *operations)
{
    for (struct strmap_entry *e = NULL; (e = strmap_next(&operations->news, e));)
        free(e->value);
    strmap_done(&operations->news);
}

/* ---- One attempt's life ---- */

void attempt_empty(struct attempt *attempt)
{
    struct operation *operation;

    pthread_mutex_lock(&attempt->table->lock);
    operation = TAKE(attempt->operation);
    attempt->is_asked_for = attempt->is_chosen = false;
    attempt->reserved = 0;
    free(TAKE(attempt->preview_of));
    pthread_mutex_unlock(&attempt->table->lock);
    release_free(TAKE(attempt->release));
    run_done(&attempt->run);
    operation_free(operation);
    account(attempt, 0);
    spec_free(TAKE(attempt->spec));
    attempt->kind = ATTEMPT_NEW;
    attempt->revision = 0;
    attempt->progress = (struct attempt_progress){0};
}

void attempt_end(struct attempt *attempt)
{
    attempt_empty(attempt);
    pthread_mutex_lock(&attempt->table->lock);
    version_done(&attempt->read);
    version_done(&attempt->told);
    attempt->was_told = attempt->has_left = false;
    pthread_mutex_unlock(&attempt->table->lock);
    attempt->evictions = 0;
    attempt->rests_until = 0;
}

static void attempt_free(struct attempt *attempt)
{
    attempt_end(attempt);
    free(attempt->key);
    free(attempt->names);
    free(attempt->new_version);
    free(attempt);
}

void operations_abandon(struct operations *operations)
{
    for (struct strmap_entry *e = NULL; (e = strmap_next(&operations->attempts, e));)
        attempt_end(e->value);
}

void operations_free(struct operations *operations)
{
    if (!operations)
        return;
    for (struct strmap_entry *e = NULL; (e = strmap_next(&operations->attempts, e));)
        attempt_free(e->value);
    strmap_done(&operations->attempts);
    set_done(&operations->listed);
    set_done(&operations->landed);
    pthread_mutex_destroy(&operations->landed_lock);
    free_news(operations);
    pthread_mutex_destroy(&operations->lock);
    free(operations);
}

/* ---- For the reconcile of a key ---- */

struct attempt *operations_enter(struct operations *operations, const char *key)
{
    struct attempt *attempt;

    pthread_mutex_lock(&operations->lock);
    attempt = strmap_get(&operations->attempts, key);
    if (!attempt) {
        attempt = attempt_new(operations, key);
        if (attempt)
            strmap_put(&operations->attempts, attempt->key, attempt);
    }
    if (attempt) {
        free(attempt->new_version);
        attempt->new_version = strmap_remove(&operations->news, key);
    }
    pthread_mutex_unlock(&operations->lock);
    return attempt;
}

static void forget_landings(struct operations *operations, const char *key)
{
    pthread_mutex_lock(&operations->landed_lock);
    set_remove(&operations->landed, key);
    pthread_mutex_unlock(&operations->landed_lock);
}

void operations_leave(struct attempt *attempt)
{
    struct operations *operations = attempt->table;
    bool stays = attempt->operation || attempt->rests_until || attempt->wants;

    pthread_mutex_lock(&operations->lock);
    choose(operations);
    if (!stays)
        strmap_remove(&operations->attempts, attempt->key);
    give_room(operations);
    pthread_mutex_unlock(&operations->lock);
    if (stays)
        return;
    forget_landings(operations, attempt->key);
    attempt_free(attempt);
}

bool attempt_reserve_preview(struct attempt *attempt, const char *spec)
{
    struct operations *operations = attempt->table;
    size_t of_spec = 0, of_namespace = 0;
    bool is_free;

    pthread_mutex_lock(&operations->lock);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&operations->attempts, e));) {
        const struct attempt *other = e->value;

        if (other == attempt || !other->preview_of ||
            !str_equal(other->object.namespace_name, attempt->object.namespace_name))
            continue;
        of_namespace++;
        of_spec += str_equal(other->preview_of, spec);
    }
    is_free = of_spec < PREVIEWS_OF_SPEC && of_namespace < PREVIEWS_OF_NAMESPACE;
    free(TAKE(attempt->preview_of));
    if (is_free)
        attempt->preview_of = str_new(spec);
    pthread_mutex_unlock(&operations->lock);
    return is_free;
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

static void on_change(void *arg)
{
    const struct attempt *attempt = arg;
    const struct operations_config *config = &attempt->table->config;

    config->enqueue(config->arg, attempt->key);
}

static void on_landed(void *arg, const struct spec_key *spec)
{
    struct operations *operations = arg;
    _cleanup_free_ char *key = str_printf("%s/%s", spec->namespace_name, spec->name);

    pthread_mutex_lock(&operations->landed_lock);
    set_add(&operations->landed, key);
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

int attempt_open(struct attempt *attempt, const struct operation_config *config,
                 struct error *error)
{
    struct operations *operations = attempt->table;
    struct operation_config own = *config;
    struct operation *operation = NULL;
    int r;

    own.on_change = on_change;
    own.on_park = on_park;
    own.arg = attempt;
    if (!own.scope.thorough) { /* else it makes no calls that change anything */
        own.on_landed = on_landed;
        own.landed_arg = operations;
    }
    forget_landings(operations, attempt->key);
    r = operation_new(&own, &operation, error);
    if (r < 0)
        return r;
    pthread_mutex_lock(&operations->lock);
    attempt->operation = operation;
    if (operations->why_no_more)
        operation_cancel(operation, operations->why_no_more);
    pthread_mutex_unlock(&operations->lock);
    return 0;
}

bool attempt_is_outdated(struct attempt *attempt)
{
    bool result;

    pthread_mutex_lock(&attempt->table->lock);
    result = is_outdated(attempt);
    pthread_mutex_unlock(&attempt->table->lock);
    return result;
}

bool attempt_has_left(struct attempt *attempt)
{
    const struct object_version *read = &attempt->read, *told = &attempt->told;
    bool result;

    pthread_mutex_lock(&attempt->table->lock);
    result = attempt->has_left && (!told->uid || str_equal(told->uid, read->uid));
    pthread_mutex_unlock(&attempt->table->lock);
    return result;
}

bool attempt_is_listed(struct attempt *attempt)
{
    struct operations *operations = attempt->table;
    bool result;

    pthread_mutex_lock(&operations->lock);
    result = strmap_get(&operations->listed, attempt->key) != NULL;
    pthread_mutex_unlock(&operations->lock);
    return result;
}

const char *attempt_outdated_by(struct attempt *attempt)
{
    const char *why;

    pthread_mutex_lock(&attempt->table->lock);
    why = attempt->told.is_deleting || attempt->has_left ? "the Spec was deleted"
                                                         : "a newer generation of the Spec came";
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

/* ---- Eviction ---- */

bool attempt_is_chosen(struct attempt *attempt)
{
    bool result;

    pthread_mutex_lock(&attempt->table->lock);
    attempt->is_chosen = attempt->is_chosen && attempt->parked;
    result = attempt->is_chosen;
    pthread_mutex_unlock(&attempt->table->lock);
    return result;
}

/* ms before the operation would be out of time. */
static int64_t time_left(const struct attempt *attempt, const struct clock_source *clock)
{
    struct arena arena = ARENA_INIT;
    struct state_head head;
    int64_t left;

    ledger_head(operation_ledger(attempt->operation), &arena, &head);
    arena_done(&arena);
    left = head.progressed_at + attempt->run.policy.timeout - clock->now(clock);
    return left > 0 ? left : 0;
}

/* What cannot be stored now is kept, and tried again, by the ledger. */
void attempt_evict(struct attempt *attempt, const struct clock_source *clock)
{
    int64_t rest = EVICTED_FIRST << (attempt->evictions < 8 ? attempt->evictions : 8);
    int64_t left = time_left(attempt, clock);

    if (rest > EVICTED_MOST)
        rest = EVICTED_MOST;
    ledger_flush(operation_ledger(attempt->operation), NULL);
    attempt_empty(attempt);
    attempt->evictions++;
    attempt->rests_until = clock->monotonic(clock) + (left < rest ? left : rest);
}

int64_t attempt_rests(struct attempt *attempt, const struct clock_source *clock)
{
    int64_t left = attempt->rests_until - clock->monotonic(clock);

    if (attempt->rests_until && left > 0 && !attempt_is_outdated(attempt) &&
        !attempt_is_asked_for(attempt))
        return left;
    attempt->rests_until = 0;
    return 0;
}

/* ---- For everybody ---- */

void operations_tell(struct operations *operations, const char *key,
                     const struct object_version *now, bool is_asked_for)
{
    struct attempt *attempt;

    pthread_mutex_lock(&operations->lock);
    if (now->uid)
        set_add(&operations->listed, key);
    else
        set_remove(&operations->listed, key);
    attempt = strmap_get(&operations->attempts, key);
    if (attempt) {
        attempt->has_left = attempt->has_left || !now->uid;
        version_copy(&attempt->told, now);
        attempt->was_told = true;
        attempt->is_asked_for = attempt->is_asked_for || is_asked_for;
        if (attempt->operation && is_outdated(attempt))
            operation_cancel(attempt->operation, "Superseded");
    }
    pthread_mutex_unlock(&operations->lock);
}

void operations_stats(struct operations *operations, struct operations_stats *ret)
{
    *ret = (struct operations_stats){.parked_bytes = operations->parked};
    pthread_mutex_lock(&operations->lock);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&operations->attempts, e));)
        ret->parked += ((const struct attempt *)e->value)->parked > 0;
    pthread_mutex_unlock(&operations->lock);
}

void operations_cancel(struct operations *operations, const char *reason)
{
    pthread_mutex_lock(&operations->lock);
    operations->why_no_more = reason;
    for (struct strmap_entry *e = NULL; (e = strmap_next(&operations->attempts, e));) {
        struct attempt *attempt = e->value;

        if (attempt->operation)
            operation_cancel(attempt->operation, reason);
    }
    pthread_mutex_unlock(&operations->lock);
}
