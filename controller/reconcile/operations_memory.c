/* What operations hold in memory: they reserve it before they begin, and are evicted for it. */
#include "controller/reconcile/operations_private.h"
#include "engine/base/str.h"

/* ---- Reservations ---- */

bool operations_reserve(struct attempt *attempt, size_t bytes)
{
    attempt->waits = !budget_reserve(&attempt->table->budget, &attempt->reservation, bytes);
    return !attempt->waits;
}

void operations_give_back(struct attempt *attempt)
{
    if (!attempt->waits)
        budget_give_back(&attempt->table->budget, &attempt->reservation);
}

void operations_stop_waiting(struct attempt *attempt)
{
    attempt->waits = false;
    attempt->wait_told_at = 0;
    operations_give_back(attempt);
    budget_drop_ticket(&attempt->table->budget, &attempt->reservation);
}

void attempt_measure(struct attempt *attempt)
{
    budget_measure(&attempt->table->budget, &attempt->reservation,
                   operation_memory(attempt->operation));
}

bool attempt_waits_for_memory(struct attempt *attempt, int64_t *ret_after)
{
    const struct operations *operations = attempt->table;
    const struct clock_source *clock = operations->config.clock;
    int64_t left = attempt->wait_told_at ? attempt->wait_told_at - clock->monotonic(clock) : 0;

    attempt->waits = attempt->waits && (left > 0 || !attempt->wait_told_at) &&
                     !attempt_is_outdated(attempt) &&
                     budget_is_waiting(&attempt->table->budget, &attempt->reservation);
    if (attempt->waits)
        *ret_after = left;
    return attempt->waits;
}

void attempt_give_up_ticket(struct attempt *attempt)
{
    if (!attempt->operation && !attempt->waits)
        budget_drop_ticket(&attempt->table->budget, &attempt->reservation);
}

/* on_park() of an operation */
void operations_on_park(void *arg, size_t bytes)
{
    struct attempt *attempt = arg;

    budget_park(&attempt->table->budget, &attempt->reservation, bytes);
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
    return budget_is_chosen(&attempt->table->budget, &attempt->reservation);
}

/* ms before the operation would be out of time. */
static int64_t time_left(const struct attempt *attempt)
{
    const struct clock_source *clock = attempt->table->config.clock;
    struct arena arena = ARENA_INIT;
    struct state_head head;
    int64_t left;

    ledger_head(operation_ledger(attempt->operation), &arena, &head);
    arena_done(&arena);
    left = head.progressed_at + attempt->run.policy.timeout - clock->now(clock);
    return left > 0 ? left : 0;
}

/* What cannot be stored now is kept, and tried again, by the ledger. */
void attempt_evict(struct attempt *attempt)
{
    const struct clock_source *clock = attempt->table->config.clock;
    int64_t rest = EVICTED_FIRST << (attempt->evictions < 8 ? attempt->evictions : 8);
    int64_t left = time_left(attempt);

    if (rest > EVICTED_MOST)
        rest = EVICTED_MOST;
    ledger_flush(operation_ledger(attempt->operation), NULL);
    attempt_empty(attempt);
    attempt->evictions++;
    attempt->rests_until = clock->monotonic(clock) + (left < rest ? left : rest);
}

int64_t attempt_rests(struct attempt *attempt)
{
    const struct clock_source *clock = attempt->table->config.clock;
    int64_t left = attempt->rests_until - clock->monotonic(clock);

    if (attempt->rests_until && left > 0 && !attempt_is_outdated(attempt) &&
        !attempt_is_asked_for(attempt))
        return left;
    attempt->rests_until = 0;
    return 0;
}
