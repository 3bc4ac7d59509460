/* What operations hold in memory: which of them are evicted, and which wait until there is room. */
#include "controller/reconcile/operations_private.h"
#include "engine/base/str.h"

/* A namespace has this part of the room for operations that run: a quarter. */
#define NAMESPACE_SHARE 4

/* ---- Bytes that operations hold ---- */

/* How much the attempt's operation holds now. Without any lock. */
void operations_account(struct attempt *attempt, size_t bytes)
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

/* ---- Operations that are parked ---- */

/* The next reconcile of the key chooses which operation is evicted, and which attempt gets room. */
void operations_on_park(void *arg, size_t bytes)
{
    struct attempt *attempt = arg;
    const struct operations *operations = attempt->table;

    operations_account(attempt, bytes);
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
void operations_choose(struct operations *operations)
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

/* ---- Attempts that wait ---- */

/* Bytes that are reserved for operations that run, by namespace. The keys are the attempts'. With
 * the table's lock. */
static void sum_running(const struct operations *operations, struct strmap *ret)
{
    strmap_init(ret);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&operations->attempts, e));) {
        const struct attempt *attempt = e->value;
        const char *namespace_name = attempt->object.namespace_name;
        uintptr_t sum = (uintptr_t)strmap_get(ret, namespace_name) + attempt->reserved;

        if (attempt->reserved && !attempt->parked)
            strmap_put(ret, namespace_name, (void *)sum);
    }
}

/* Its namespace has a share left, or nothing that runs. */
static bool has_share(const struct operations *operations, const struct strmap *running,
                      const struct attempt *attempt, size_t bytes)
{
    uintptr_t beside = (uintptr_t)strmap_get(running, attempt->object.namespace_name);

    return !beside || !is_too_much(operations, (beside + bytes) * NAMESPACE_SHARE);
}

/* The one that has waited for the longest, of those whose namespace has a share left; NULL: none.
 * With the table's lock. */
static struct attempt *find_oldest(const struct operations *operations)
{
    struct attempt *oldest = NULL;
    struct strmap running;

    if (!operations->n_waiting)
        return NULL;
    sum_running(operations, &running);
    for (struct strmap_entry *e = NULL; (e = strmap_next(&operations->attempts, e));) {
        struct attempt *attempt = e->value;

        if (attempt->wants && (!oldest || attempt->ticket < oldest->ticket) &&
            has_share(operations, &running, attempt, attempt->wants))
            oldest = attempt;
    }
    strmap_done(&running);
    return oldest;
}

/* Alone, an operation may be larger than all the room there is, and than its namespace's share.
 * With the table's lock. */
static bool fits(const struct operations *operations, const struct attempt *attempt, size_t bytes)
{
    size_t beside = running_beside(operations, attempt);
    struct strmap running;
    bool result;

    if (beside && is_too_much(operations, beside + bytes))
        return false;
    sum_running(operations, &running);
    result = has_share(operations, &running, attempt, bytes);
    strmap_done(&running);
    return result;
}

/* With the table's lock. */
static void set_wants(struct attempt *attempt, size_t bytes)
{
    struct operations *operations = attempt->table;

    operations->n_waiting += (size_t)(bytes != 0) - (size_t)(attempt->wants != 0);
    attempt->wants = bytes;
}

/* ---- Room ---- */

bool attempt_reserve(struct attempt *attempt, size_t bytes, const struct clock_source *clock)
{
    struct operations *operations = attempt->table;
    const struct attempt *oldest;
    bool may;

    pthread_mutex_lock(&operations->lock);
    attempt->reserved = 0; /* it is estimated anew */
    oldest = find_oldest(operations);
    may = (!oldest || oldest == attempt || (attempt->ticket && attempt->ticket < oldest->ticket)) &&
          fits(operations, attempt, bytes);
    if (!may && !attempt->ticket) {
        attempt->ticket = ++operations->last_ticket;
        attempt->waits_since = clock->monotonic(clock);
    } else if (may) {
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
    attempt->ticket = 0;
    pthread_mutex_unlock(&attempt->table->lock);
}

bool attempt_has_no_room(struct attempt *attempt, const struct clock_source *clock)
{
    struct operations *operations = attempt->table;
    bool is_to_be_said =
        !attempt->says_it_waits && clock->monotonic(clock) >= attempt->waits_since + ROOM_INTERVAL;
    bool has_none;

    pthread_mutex_lock(&operations->lock);
    has_none = attempt->wants && !is_to_be_said && !operations_is_outdated(attempt) &&
               (find_oldest(operations) != attempt || !fits(operations, attempt, attempt->wants));
    if (!has_none)
        set_wants(attempt, 0); /* it says anew what it wants */
    pthread_mutex_unlock(&operations->lock);
    return has_none;
}

void operations_forget_turn(struct attempt *attempt)
{
    set_wants(attempt, 0);
    attempt->ticket = 0;
}

void attempt_give_up_turn(struct attempt *attempt)
{
    pthread_mutex_lock(&attempt->table->lock);
    if (!attempt->operation && !attempt->wants)
        attempt->ticket = 0;
    pthread_mutex_unlock(&attempt->table->lock);
}

/* With the table's lock. */
void operations_give_room(struct operations *operations)
{
    struct attempt *oldest = find_oldest(operations);

    if (oldest && fits(operations, oldest, oldest->wants))
        operations->config.enqueue(operations->config.arg, oldest->key);
}

/* ---- Previews ---- */

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
